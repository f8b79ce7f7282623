//! Golden conversations.

use crate::json::Value;

/// A set of golden conversations.
#[derive(Clone, Debug, Default)]
pub struct EvalSet {
    /// Id of the set.
    pub id: String,
    /// Cases in file order; those without a conversation cannot be matched.
    pub cases: Vec<EvalCase>,
}

/// One golden conversation.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct EvalCase {
    /// Id of the case.
    pub id: String,
    /// Golden turns in order.
    pub turns: Vec<ExpectedTurn>,
}

/// A golden turn.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ExpectedTurn {
    /// `invocation_id` of the eval set, or empty.
    pub invocation_id: String,
    /// Text parts of the user's message, each non-empty.
    pub user_parts: Vec<String>,
    /// Text parts of the reference answer; `None` when the set has no answer for this turn.
    pub final_parts: Option<Vec<String>>,
    /// Expected tool calls in order.
    pub tool_calls: Vec<ExpectedCall>,
    /// Calls found in the events of a turn that was recorded as events, or in its intermediate responses. The trajectory
    /// metric expects them after the others; evaluators get [`ExpectedTurn::tool_calls`] only.
    pub event_calls: Vec<ExpectedCall>,
    /// Recorded results of the expected calls.
    pub tool_responses: Vec<ExpectedResponse>,
}

impl ExpectedTurn {
    /// Returns the user's message as one text.
    #[must_use]
    pub fn user_text(&self) -> String {
        self.user_parts.concat()
    }

    /// Returns the reference answer as one text, with `separator` between the parts; `None` if there is no text.
    #[must_use]
    pub fn final_text(&self, separator: &str) -> Option<String> {
        self.final_parts
            .as_ref()
            .filter(|parts| !parts.is_empty())
            .map(|parts| parts.join(separator))
    }

    /// Returns the calls that the trajectory metric expects, in order.
    pub fn trajectory(&self) -> impl Iterator<Item = &ExpectedCall> {
        self.tool_calls.iter().chain(&self.event_calls)
    }
}

/// An expected tool call.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ExpectedCall {
    /// Id of the call.
    pub id: Option<String>,
    /// Name of the tool; `None` if the set has none, which no call matches.
    pub name: Option<String>,
    /// Arguments: `Null` when the set has none, else an object.
    pub args: Value,
}

/// The result of an expected tool call.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ExpectedResponse {
    /// Id of the call it answers.
    pub id: Option<String>,
    /// Name of the tool, empty if the set has none.
    pub name: String,
    /// The result: `Null` or an object.
    pub response: Value,
}
