//! Eval sets: golden conversations, and the errors of reading them.

use std::{io, path::PathBuf};

use crate::json::{ParseError, Value};

/// An eval set could not be loaded.
#[derive(Debug, thiserror::Error)]
#[error("Failed to load eval set '{}': {kind}", path.display())]
#[non_exhaustive]
pub struct EvalSetError {
    /// The file, as it was given.
    pub path: PathBuf,
    /// The problem.
    #[source]
    pub kind: EvalSetErrorKind,
}

/// The problem of an eval set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalSetErrorKind {
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[source] io::Error),
    /// The file is not UTF-8.
    #[error("not UTF-8: invalid byte 0x{byte:02x} at offset {offset}")]
    NotUtf8 {
        /// Offset of the first invalid byte.
        offset: usize,
        /// That byte.
        byte: u8,
    },
    /// The file is not JSON.
    #[error("invalid JSON: {0}")]
    Json(#[source] ParseError),
    /// A field has the wrong shape.
    #[error("{path}: {problem}")]
    Field {
        /// Path in the document: `eval_cases[0].conversation[1].user_content`.
        path: String,
        /// The problem.
        problem: FieldProblem,
    },
}

/// The problem of a field of an eval set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldProblem {
    /// The field is required and absent.
    #[error("required field is missing{}", hint(found.as_deref(), "('", "' is not read here)"))]
    Missing {
        /// A similar key that is present.
        found: Option<String>,
    },
    /// The key is unknown.
    #[error("unknown key{}", hint(meant.as_deref(), "(did you mean '", "'?)"))]
    Unknown {
        /// A similar known key.
        meant: Option<String>,
    },
    /// The value has the wrong type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// The expected type, with its article.
        expected: &'static str,
        /// The type of the value, with its article.
        found: &'static str,
    },
    /// The field is present in both spellings of its key.
    #[error("the key is also present in camelCase")]
    Twice,
    /// A case has both or neither of `conversation` and `conversation_scenario`.
    #[error("expected exactly one of 'conversation' and 'conversation_scenario'")]
    NotExactlyOne,
}

/// Returns a key between two texts, after a space; empty without a key.
fn hint(key: Option<&str>, before: &str, after: &str) -> String {
    key.map_or_else(String::new, |key| format!(" {before}{key}{after}"))
}

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
    /// Golden turns in order; none if the case has a scenario.
    pub turns: Vec<ExpectedTurn>,
    /// Rubrics of all turns, as the set has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rubrics: Vec<Value>,
    /// What a simulated user should do, as the set has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Value>,
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
    /// Rubrics of the turn, as the set has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rubrics: Vec<Value>,
}

impl ExpectedTurn {
    /// Returns the user's message as one text.
    pub fn user_text(&self) -> String {
        self.user_parts.concat()
    }

    /// Returns the reference answer as one text, with `separator` between the parts; `None` if there is no text.
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
