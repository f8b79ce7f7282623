//! The agentevals contract, version 1.1. Documents of version 1.0 read the same: every field added since has a default.
//!
//! Names are those of the contract's Python SDK.

use std::fmt;

use serde_core::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::{
    DecodeError, IntoScore, IntoTurnScore, JsonObject, ProtocolVersion, Score, decode,
    object::{Field, builder, object, read_text},
};

/// Keys of [details](EvalResult::details) whose text explains a result, in order of precedence. Reports show the first text
/// that is not empty.
pub const REASON_KEYS: [&str; 5] = ["reasoning", "reason", "rationale", "explanation", "message"];
/// Keys of [details](EvalResult::details) that list negative findings, in order of precedence. Reports show the first list
/// of texts if no text explains the result.
pub const MISS_KEYS: [&str; 8] =
    ["misses", "issues", "problems", "errors", "failures", "missing", "mismatches", "differences"];

/// The threshold of documents that have none.
pub(crate) const DEFAULT_THRESHOLD: f64 = 0.5;

object! {
    /// The document an evaluator reads: what the agent did, and what was expected of it.
    ///
    /// Fields that a host leaves out take the defaults given here, and unknown fields are ignored, so that documents of any
    /// 1.x version can be read. Tests build one with [`EvalInput::new`] and the methods named like the fields.
    ///
    /// ```
    /// use evaluator_protocol::{EvalInput, InvocationData};
    /// let input = EvalInput::new("polite")
    ///     .threshold(0.8)
    ///     .invocation(InvocationData::new("Book a table", "Gladly, for when?"));
    /// assert_eq!(input.invocations[0].final_response.as_deref(), Some("Gladly, for when?"));
    /// ```
    pub struct EvalInput: strict {
        /// Version of this document. Default: [`ProtocolVersion::CURRENT`].
        protocol_version: ProtocolVersion,
        /// Name of the evaluator in the host's configuration. The only required field.
        metric_name: String = required,
        /// Lowest score that the host counts as passed. Default: 0.5.
        threshold: f64 = number(DEFAULT_THRESHOLD),
        /// Settings of this evaluator from the host's configuration. Default: empty.
        config: JsonObject,
        /// The turns of the conversation, in order.
        invocations: Vec<InvocationData>,
        /// The golden turns; `None` when there is nothing to compare with.
        expected_invocations: Option<Vec<InvocationData>>,
        /// Whether the host reports tool calls. It is `false` only in documents converted from those of a host that does
        /// not: in such a document, an empty list of tool calls does not mean that the agent called no tools. Not a field
        /// of agentevals; it is not written when `true`.
        tool_calls_known: bool = unless(true),
    }
}

impl EvalInput {
    /// Creates an input without turns.
    pub fn new(metric_name: impl Into<String>) -> Self {
        Self { metric_name: metric_name.into(), ..Self::blank() }
    }

    /// Reads a document: [`decode`](crate::decode()), compiled once here instead of in every crate that calls it.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] with the path of the field, the reason and the text around it.
    pub fn from_json(document: &[u8]) -> Result<Self, DecodeError> {
        decode(document)
    }

    builder! {
        /// Sets the threshold.
        fn threshold(self, threshold: f64) { self.threshold = threshold; }

        /// Sets one key of the config.
        fn config(self, key: impl Into<String>, value: impl Into<Value>) { self.config.insert(key.into(), value.into()); }

        /// Adds a turn.
        fn invocation(self, invocation: InvocationData) { self.invocations.push(invocation); }

        /// Adds a golden turn.
        fn expected(self, invocation: InvocationData) {
            self.expected_invocations.get_or_insert_default().push(invocation);
        }

        /// Marks the tool calls of the agent as unknown.
        fn tool_calls_unknown(self) { self.tool_calls_known = false; }
    }

    /// Returns each turn with its golden turn, up to the length of the shorter list; `None` without golden turns.
    ///
    /// The rest of the longer list is left out. An agent that stopped early therefore looks like one that finished: compare
    /// the lengths, or index the golden turns.
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

object! {
    /// One turn: the user's message, the agent's steps and its answer.
    #[derive(Default)]
    pub struct InvocationData: strict {
        /// Id of the turn, unique within the conversation.
        invocation_id: String,
        /// The user's message.
        user_content: String,
        /// The agent's answer; `None` when it gave none.
        final_response: Option<String>,
        /// Tool calls and their results.
        intermediate_steps: IntermediateStepData,
        /// Latencies, tokens and counts of the whole conversation, the same for every turn; `None` when not measured.
        performance_metrics: Option<JsonObject>,
        /// Trace of the turn (since 1.1).
        trace_id: Option<String>,
        /// Anchor span of the turn (since 1.1).
        span_id: Option<String>,
    }
}

impl InvocationData {
    /// Creates a turn with a question and an answer.
    pub fn new(user_content: impl Into<String>, final_response: impl Into<String>) -> Self {
        Self {
            user_content: user_content.into(),
            final_response: Some(final_response.into()),
            ..Self::default()
        }
    }

    builder! {
        /// Sets the id of the turn.
        fn invocation_id(self, id: impl Into<String>) { self.invocation_id = id.into(); }

        /// Removes the answer: the agent gave none.
        fn unanswered(self) { self.final_response = None; }

        /// Adds a tool call.
        fn tool_call(self, call: ToolCallData) { self.intermediate_steps.tool_calls.push(call); }

        /// Adds a tool response.
        fn tool_response(self, response: ToolResponseData) { self.intermediate_steps.tool_responses.push(response); }
    }

    /// Returns the names of the tools called, in order.
    pub fn tool_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.intermediate_steps.tool_calls.iter().map(|call| call.name.as_str())
    }
}

object! {
    /// The agent's steps between the user's message and its answer.
    #[derive(Default)]
    pub struct IntermediateStepData: strict {
        /// Tool calls, in order.
        tool_calls: Vec<ToolCallData>,
        /// Results of tool calls, in order.
        tool_responses: Vec<ToolResponseData>,
    }
}

object! {
    /// A tool call of the agent.
    #[derive(Default)]
    pub struct ToolCallData: strict {
        /// Name of the tool.
        name: String = required,
        /// Arguments.
        args: JsonObject,
        /// Id that links the call to its response, if it was recorded (since 1.1).
        id: Option<String>,
    }
}

impl ToolCallData {
    /// Creates a call without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    builder! {
        /// Sets one argument.
        fn arg(self, name: impl Into<String>, value: impl Into<Value>) { self.args.insert(name.into(), value.into()); }

        /// Sets the id.
        fn id(self, id: impl Into<String>) { self.id = Some(id.into()); }
    }
}

object! {
    /// The response of a tool.
    #[derive(Default)]
    pub struct ToolResponseData: strict {
        /// Name of the tool.
        name: String = required,
        /// The result as text: JSON text since 1.1, a Python `repr` in 1.0.
        output: String,
        /// `error` when the call failed.
        status: Option<String>,
        /// Id of the call this responds to (since 1.1).
        id: Option<String>,
        /// The result as a structured value (since 1.1).
        response: Value,
    }
}

impl ToolResponseData {
    /// Creates a successful response. `output` is the JSON text of `response`, or the text itself if it is a string.
    pub fn new(name: impl Into<String>, response: impl Into<Value>) -> Self {
        let response = response.into();
        let output = match &response {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self { name: name.into(), output, response, ..Self::default() }
    }

    builder! {
        /// Marks the call as failed.
        fn failed(self) { self.status = Some("error".to_owned()); }

        /// Sets the id of the call this responds to.
        fn id(self, id: impl Into<String>) { self.id = Some(id.into()); }
    }

    /// Returns true if the call failed.
    pub fn is_error(&self) -> bool {
        self.status.as_deref() == Some("error")
    }
}

object! {
    /// The document an evaluator writes.
    ///
    /// All four fields are always written, the absent ones as `null`, as the contract's Python SDK does.
    ///
    /// ```
    /// use evaluator_protocol::{EvalResult, Score};
    /// let result = EvalResult::new(Score::ratio(1, 2)).detail("issues", vec!["no answer to the second question"]);
    /// assert_eq!(result.score, Score::ratio(1, 2));
    /// ```
    pub struct EvalResult: strict {
        /// Overall score.
        score: Score = required(Score::ZERO),
        /// Outcome, if the evaluator decides it itself; with `None` the host compares the score with the threshold.
        status: Option<EvalStatus>,
        /// Score of each turn, in the order of the input; `None` for a turn that was not scored. Either empty or as long as
        /// the conversation: any other length is an error, because scores could not be assigned to turns.
        per_invocation_scores: Vec<Option<Score>>,
        /// Details that explain the score.
        details: Option<JsonObject>,
    }
}

impl EvalResult {
    /// Creates a result with this score and nothing else.
    pub fn new(score: impl IntoScore) -> Self {
        Self { score: score.into_score(), ..Self::blank() }
    }

    /// Creates a result with the mean of the turns' scores, and the scores themselves.
    ///
    /// Takes an item for each turn: a [`Score`], or an `Option<Score>` that is `None` for a turn that is not scored. Such a
    /// turn is written as `null` and does not count in the mean. If no turn is scored, the result is
    /// [`EvalResult::not_evaluated`].
    ///
    /// ```
    /// use evaluator_protocol::{EvalResult, Score};
    /// let result = EvalResult::mean_of([Some(Score::ONE), None, Some(Score::ZERO)]);
    /// assert_eq!(result.score, Score::ratio(1, 2));
    /// assert_eq!(result.per_invocation_scores, [Some(Score::ONE), None, Some(Score::ZERO)]);
    /// ```
    pub fn mean_of<S: IntoTurnScore>(per_invocation_scores: impl IntoIterator<Item = S>) -> Self {
        let scores: Vec<Option<Score>> =
            per_invocation_scores.into_iter().map(S::into_turn_score).collect();
        match Score::mean(scores.iter().copied().flatten()) {
            Some(mean) => Self::new(mean).per_invocation_scores(scores),
            None if scores.is_empty() => Self::not_evaluated("the conversation has no turns"),
            None => Self::not_evaluated("no turn was scored").per_invocation_scores(scores),
        }
    }

    /// Creates the result of an evaluator that does not judge this conversation: neither a pass nor a failure.
    ///
    /// The contract requires a number all the same, so `score` is 0; hosts show the status.
    pub fn not_evaluated(reason: impl Into<String>) -> Self {
        Self::new(Score::ZERO).status(EvalStatus::NotEvaluated).detail("reason", reason.into())
    }

    builder! {
        /// Sets the outcome, regardless of the threshold.
        fn status(self, status: EvalStatus) { self.status = Some(status); }

        /// Adds a detail.
        fn detail(self, key: impl Into<String>, value: impl Into<Value>) {
            self.details.get_or_insert_default().insert(key.into(), value.into());
        }
    }

    /// Sets the score of each turn.
    #[must_use]
    pub fn per_invocation_scores<S: IntoTurnScore>(
        mut self,
        scores: impl IntoIterator<Item = S>,
    ) -> Self {
        self.per_invocation_scores = scores.into_iter().map(S::into_turn_score).collect();
        self
    }

    /// Checks that there is one score for each of `turns` turns, or none at all.
    ///
    /// # Errors
    ///
    /// [`ScoreCount`]: the numbers differ.
    pub fn check_turns(&self, turns: usize) -> Result<(), ScoreCount> {
        ScoreCount::check(self.per_invocation_scores.len(), turns)
    }
}

impl Default for EvalResult {
    /// Scores 0: a result that was never filled in must not pass.
    fn default() -> Self {
        Self::new(Score::ZERO)
    }
}

/// Error: the number of scores of a result is not the number of turns of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScoreCount {
    /// Number of scores.
    pub scores: usize,
    /// Number of turns.
    pub turns: usize,
}

impl ScoreCount {
    /// Checks that there are as many scores as turns, or none.
    ///
    /// # Errors
    ///
    /// Both numbers, if they differ.
    pub fn check(scores: usize, turns: usize) -> Result<(), Self> {
        if scores == 0 || scores == turns { Ok(()) } else { Err(Self { scores, turns }) }
    }
}

impl fmt::Display for ScoreCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let Self { scores, turns } = *self;
        write!(
            f,
            "{scores} score{} for a conversation of {turns} turn{}; give one for each turn, in order, null for a turn that \
             is not scored, or none at all",
            plural(scores),
            plural(turns)
        )
    }
}

impl std::error::Error for ScoreCount {}

/// Outcome of an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EvalStatus {
    /// The agent did well enough.
    Passed,
    /// The agent did not do well enough.
    Failed,
    /// Nothing was judged: there is nothing to compare with, or the evaluator does not apply.
    #[default]
    NotEvaluated,
}

impl EvalStatus {
    /// All outcomes.
    pub const ALL: [Self; 3] = [Self::Passed, Self::Failed, Self::NotEvaluated];

    /// Returns the name in documents, e.g. `NOT_EVALUATED`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::NotEvaluated => "NOT_EVALUATED",
        }
    }
}

impl fmt::Display for EvalStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for EvalStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for EvalStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a status", |name| {
            let known = Self::ALL.into_iter().find(|status| status.as_str() == name);
            let names = Self::ALL.map(|status| format!("`{status}`")).join(", ");
            known.ok_or_else(|| format!("unknown variant `{name}`, expected one of {names}"))
        })
    }
}

impl Field for EvalStatus {}

/// Summarizes measured values in the form of agentevals: the median is the mean of the middle two, a percentile is the
/// value at that share of the sorted list.
pub(crate) fn statistics(mut values: Vec<f64>) -> Value {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let at = |index: usize| values.get(index).or(values.last()).copied().unwrap_or_default();
    let percentile = |share: f64| at((count as f64 * share) as usize);
    let median = (at(count.saturating_sub(1) / 2) + at(count / 2)) / 2.0;
    json!({
        "min": at(0),
        "median": median,
        "max": at(count),
        "count": count,
        "p50": median,
        "p95": percentile(0.95),
        "p99": percentile(0.99),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_summarized_as_agentevals_does() {
        let summary = |values: &[f64]| statistics(values.to_vec());
        assert_eq!(
            summary(&[250.0]),
            json!({"min": 250.0, "median": 250.0, "max": 250.0, "count": 1, "p50": 250.0, "p95": 250.0, "p99": 250.0})
        );
        assert_eq!(
            summary(&[4.0, 1.0, 3.0, 2.0]),
            json!({"min": 1.0, "median": 2.5, "max": 4.0, "count": 4, "p50": 2.5, "p95": 4.0, "p99": 4.0})
        );
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(summary(&hundred)["p95"], 96.0);
        assert_eq!(
            summary(&[]),
            json!({"min": 0.0, "median": 0.0, "max": 0.0, "count": 0, "p50": 0.0, "p95": 0.0, "p99": 0.0})
        );
    }
}
