//! What an evaluator reads.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{DecodeError, JsonObject, ProtocolVersion, decode, lenient};

/// The document an evaluator reads: what the agent did, and what was expected of it.
///
/// Fields that a host leaves out take the defaults given here, and fields that are not known are ignored, so that
/// documents of any 1.x version can be read. Built in tests with [`EvalInput::new`] and the methods named like the fields.
///
/// ```
/// use evaluator_protocol::{EvalInput, InvocationData};
/// let input = EvalInput::new("polite")
///     .threshold(0.8)
///     .invocation(InvocationData::new("Book a table", "Gladly, for when?"));
/// assert_eq!(input.invocations[0].final_response.as_deref(), Some("Gladly, for when?"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EvalInput {
    /// Version of this document; [`ProtocolVersion::CURRENT`] when left out.
    #[serde(default)]
    pub protocol_version: ProtocolVersion,
    /// Name of the evaluator in the host's configuration. The only field a document must have.
    pub metric_name: String,
    /// Score from which on the host counts the evaluation as passed; 0.5 when left out.
    #[serde(default = "half", deserialize_with = "lenient::float")]
    pub threshold: f64,
    /// Settings of this evaluator from the host's configuration; empty when left out.
    #[serde(default)]
    pub config: JsonObject,
    /// The turns of the conversation, in order.
    #[serde(default)]
    pub invocations: Vec<InvocationData>,
    /// The golden turns; `None` when there is nothing to compare with.
    #[serde(default)]
    pub expected_invocations: Option<Vec<InvocationData>>,
    /// Whether the host tells which tools the agent called. `false` only in documents made of those of a host that does not:
    /// no calls in their turns say nothing of the agent. Not a field of agentevals; left out when `true`.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub tool_calls_known: bool,
}

pub(crate) fn half() -> f64 {
    0.5
}

pub(crate) fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn is_yes(value: &bool) -> bool {
    *value
}

impl EvalInput {
    /// An input without turns, for the evaluator of that name.
    pub fn new(metric_name: impl Into<String>) -> Self {
        Self {
            protocol_version: ProtocolVersion::CURRENT,
            metric_name: metric_name.into(),
            threshold: half(),
            config: JsonObject::new(),
            invocations: Vec::new(),
            expected_invocations: None,
            tool_calls_known: true,
        }
    }

    /// Reads a document: [`decode`](crate::decode()), compiled once here instead of in every crate that calls it.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] with the path of the field, what is wrong with it and the text around it.
    pub fn from_json(document: &[u8]) -> Result<Self, DecodeError> {
        decode(document)
    }

    /// Sets the threshold.
    #[must_use]
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.threshold = threshold;
        self
    }

    /// Sets one key of the config.
    #[must_use]
    pub fn config(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.config.insert(key.into(), value.into());
        self
    }

    /// Adds a turn.
    #[must_use]
    pub fn invocation(mut self, invocation: InvocationData) -> Self {
        self.invocations.push(invocation);
        self
    }

    /// Adds a golden turn.
    #[must_use]
    pub fn expected(mut self, invocation: InvocationData) -> Self {
        self.expected_invocations.get_or_insert_default().push(invocation);
        self
    }

    /// Says that nothing is known of the tools that the agent called.
    #[must_use]
    pub fn tool_calls_unknown(mut self) -> Self {
        self.tool_calls_known = false;
        self
    }

    /// The turns with their golden turns, as far as both go; `None` without golden turns.
    ///
    /// Where there are more turns than golden ones, or the reverse, the rest is left out. So this is not a score for each turn,
    /// and an agent that stopped early looks like one that finished: compare the lengths, or index the golden turns.
    pub fn pairs(
        &self,
    ) -> Option<impl ExactSizeIterator<Item = (&InvocationData, &InvocationData)>> {
        Some(self.invocations.iter().zip(self.expected_invocations.as_deref()?))
    }
}

impl Default for EvalInput {
    fn default() -> Self {
        Self::new("")
    }
}

/// One turn: what the user said, what the agent did and what it answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InvocationData {
    /// Id of the turn, unique within the conversation.
    #[serde(default)]
    pub invocation_id: String,
    /// What the user said.
    #[serde(default)]
    pub user_content: String,
    /// What the agent answered; `None` when it gave no answer.
    #[serde(default)]
    pub final_response: Option<String>,
    /// What the agent did in between.
    #[serde(default)]
    pub intermediate_steps: IntermediateStepData,
    /// Latencies, tokens and counts of the whole conversation, the same for every turn; `None` when not measured.
    #[serde(default)]
    pub performance_metrics: Option<JsonObject>,
    /// Trace of the turn (since 1.1).
    #[serde(default)]
    pub trace_id: Option<String>,
    /// Anchor span of the turn (since 1.1).
    #[serde(default)]
    pub span_id: Option<String>,
}

impl InvocationData {
    /// A turn with a question and an answer.
    pub fn new(user_content: impl Into<String>, final_response: impl Into<String>) -> Self {
        Self {
            user_content: user_content.into(),
            final_response: Some(final_response.into()),
            ..Self::default()
        }
    }

    /// Sets the id of the turn.
    #[must_use]
    pub fn invocation_id(mut self, id: impl Into<String>) -> Self {
        self.invocation_id = id.into();
        self
    }

    /// Takes the answer away: the agent gave none.
    #[must_use]
    pub fn unanswered(mut self) -> Self {
        self.final_response = None;
        self
    }

    /// Adds a tool call.
    #[must_use]
    pub fn tool_call(mut self, call: ToolCallData) -> Self {
        self.intermediate_steps.tool_calls.push(call);
        self
    }

    /// Adds a tool response.
    #[must_use]
    pub fn tool_response(mut self, response: ToolResponseData) -> Self {
        self.intermediate_steps.tool_responses.push(response);
        self
    }

    /// Names of the tools called, in order.
    pub fn tool_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.intermediate_steps.tool_calls.iter().map(|call| call.name.as_str())
    }
}

/// What an agent did between the user's message and its answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IntermediateStepData {
    /// Tool calls in order.
    #[serde(default)]
    pub tool_calls: Vec<ToolCallData>,
    /// Results of tool calls, in order.
    #[serde(default)]
    pub tool_responses: Vec<ToolResponseData>,
}

/// A tool call the agent made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCallData {
    /// Name of the tool.
    pub name: String,
    /// Arguments.
    #[serde(default)]
    pub args: JsonObject,
    /// Id that ties the call to its response, when the recording had one (since 1.1).
    #[serde(default)]
    pub id: Option<String>,
}

impl ToolCallData {
    /// A call without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Sets one argument.
    #[must_use]
    pub fn arg(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.args.insert(name.into(), value.into());
        self
    }

    /// Sets the id.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// What a tool answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResponseData {
    /// Name of the tool.
    pub name: String,
    /// The result as text: JSON text since 1.1, a Python `repr` in 1.0.
    #[serde(default)]
    pub output: String,
    /// `error` when the call failed.
    #[serde(default)]
    pub status: Option<String>,
    /// Id of the call this answers (since 1.1).
    #[serde(default)]
    pub id: Option<String>,
    /// The result as a structured value (since 1.1).
    #[serde(default)]
    pub response: Value,
}

impl ToolResponseData {
    /// A successful response; `output` is the JSON text of `response`, or the text itself if it is a string.
    pub fn new(name: impl Into<String>, response: impl Into<Value>) -> Self {
        let response = response.into();
        let output = match &response {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self { name: name.into(), output, response, ..Self::default() }
    }

    /// Marks the call as failed.
    #[must_use]
    pub fn failed(mut self) -> Self {
        self.status = Some("error".to_owned());
        self
    }

    /// Sets the id of the call it answers.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Whether the call failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.status.as_deref() == Some("error")
    }
}
