//! Conversations, independent of the program that recorded them.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    path::PathBuf,
    sync::Arc,
};

use super::{attachment::Attachment, convention::OPERATIONS, recorded::Recorded};
use crate::{json::Value, trace::SpanStatus};

/// Different values of attributes in a conversation, by their names. Attributes without a value are missing.
pub type Labels = BTreeMap<String, Vec<String>>;

/// A group of traces that is evaluated together: the turns of one trace, or of all traces of a session.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Trace id that the report shows: the id of the group's first trace.
    pub trace_id: Arc<str>,
    /// File of that trace, as it was given.
    pub file: PathBuf,
    /// Turns in order of (start, span id), continuations joined. Empty when nothing was found.
    pub turns: Vec<Turn>,
    /// Value of the attribute `agentevals.eval.case.id`, if any span or resource carries it.
    pub case_id: Option<String>,
    /// Values of attributes that distinguish conversations, see [`find_labels`](Self::find_labels). Empty unless the
    /// reader asked for attributes.
    pub labels: Labels,
    /// Sorted, unique.
    pub warnings: Vec<String>,
    /// Reasons why the conversation cannot be evaluated: contradictory or unreadable parts of the recording. Sorted,
    /// unique.
    pub errors: Vec<String>,
    /// Different values of `gen_ai.operation.name` in a conversation without turns, in recorded order; empty in others.
    pub operations: Vec<String>,
    /// Number of recorded spans that were dropped because they are copies of others.
    pub dropped_copies: usize,
    /// Latencies, tokens and counts; `None` if they were not measured.
    pub performance: Option<PerformanceMetrics>,
}

/// Maximum number of operations that are named.
const OPERATIONS_NAMED: usize = 5;

impl Conversation {
    /// Returns the different failures of turns, in order.
    pub fn failures(&self) -> Vec<&TurnFailure> {
        let mut seen = HashSet::new();
        let failures = self.turns.iter().filter_map(|turn| turn.failure.as_ref());
        failures.filter(|failure| seen.insert(*failure)).collect()
    }

    /// Returns what is known about why there are no turns, as a clause: the operations of the spans, and which of them would be
    /// turns. `None` if there are turns, or no span has an operation.
    pub fn why_no_turns(&self) -> Option<String> {
        let named = |operation: &String| {
            let meant = similar_operation(operation);
            let hint = meant.map(|meant| format!(" (did you mean `{meant}`?)")).unwrap_or_default();
            format!("`{operation}`{hint}")
        };
        let named: Vec<String> = self.operations.iter().take(OPERATIONS_NAMED).map(named).collect();
        let more = if self.operations.len() > OPERATIONS_NAMED { ", ..." } else { "" };
        (!named.is_empty()).then(|| {
            format!(
                "gen_ai.operation.name is {}{more} in its spans, and a turn needs `invoke_agent`, `invoke_workflow` or a model call \
                 such as `chat`",
                named.join(", ")
            )
        })
    }
}

/// Returns the operation that an unknown one seems to mean.
fn similar_operation(operation: &str) -> Option<&'static str> {
    let known = OPERATIONS.map(|(name, _)| name);
    if known.contains(&operation) {
        return None;
    }
    let spelled = operation.to_lowercase().replace(['-', ' ', '.'], "_");
    let likeness = |name: &&str| strsim::jaro_winkler(&spelled, name);
    let best = known.into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&best) > 0.85).then_some(best)
}

/// A turn: the message of the user, the steps of the agent, and its answer.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Turn {
    /// Trace of the anchor span.
    pub trace_id: Arc<str>,
    /// Span id of the anchor span; the turn's `invocation_id` on the wire.
    pub span_id: String,
    /// Whether the anchor is a plain root span rather than an agent or workflow span.
    pub root_anchored: bool,
    /// Name of the agent, if recorded.
    pub agent_name: Option<String>,
    /// Text of the user's messages; `None` if no text was recorded.
    pub user_text: Option<String>,
    /// Text of the agent's answer, empty if it answered without text; `None` if no answer was recorded.
    pub final_text: Option<String>,
    /// Images, sound and files in messages before that of the user, unless an earlier turn has them. Evaluators do not get them.
    #[serde(skip)]
    pub earlier_attachments: Vec<Attachment>,
    /// Images, sound and files of the user. Evaluators do not get them.
    #[serde(skip)]
    pub user_attachments: Vec<Attachment>,
    /// Images, sound and files between the message of the user and the answer, such as results of tools. Evaluators do not get
    /// them.
    #[serde(skip)]
    pub step_attachments: Vec<Attachment>,
    /// Images, sound and files in the answer. Evaluators do not get them.
    #[serde(skip)]
    pub final_attachments: Vec<Attachment>,
    /// Logical LLM calls in order of (start, end).
    pub llm_calls: Vec<LlmCall>,
    /// Tool calls, paired with their results.
    pub tool_calls: Vec<ToolCall>,
    /// Nanoseconds since the epoch, least start of all member spans.
    pub start_ns: i128,
    /// Nanoseconds since the epoch, greatest end of all member spans.
    pub end_ns: i128,
    /// Status of the anchor span.
    pub status: SpanStatus,
    /// The span that results about this turn belong to.
    pub judged: JudgedSpan,
    /// Texts of the agent before its answer, in order.
    #[serde(skip)]
    pub texts: Vec<IntermediateText>,
    /// Agents whose instructions or tools were recorded, in the order in which they acted.
    #[serde(skip)]
    pub agents: Vec<RecordedAgent>,
    /// Where the text of the user was recorded.
    #[serde(skip)]
    pub user_source: Option<Source>,
    /// Where the text of the answer was recorded.
    #[serde(skip)]
    pub final_source: Option<Source>,
    /// The failure of a turn that has no answer, or whose anchor span failed.
    #[serde(skip)]
    pub failure: Option<TurnFailure>,
    /// Parts that the producer did not record. They are unknown, not empty.
    #[serde(skip)]
    pub unrecorded: Vec<Unrecorded>,
    /// Whether documents with the turn get keys that no contract has, to test that evaluators ignore them. Never recorded.
    #[serde(skip)]
    pub has_unknown_keys: bool,
}

impl Turn {
    /// Returns all attachments, in order.
    pub fn attachments(&self) -> impl Iterator<Item = &Attachment> {
        let Self { earlier_attachments, user_attachments, .. } = self;
        let Self { step_attachments, final_attachments, .. } = self;
        let said = earlier_attachments.iter().chain(user_attachments);
        said.chain(step_attachments).chain(final_attachments)
    }

    /// Returns the part if the producer did not record it, as with content switched off.
    pub fn unrecorded(&self, part: TurnPart) -> Option<&Unrecorded> {
        self.unrecorded.iter().find(|unrecorded| unrecorded.part == part)
    }
}

/// Text of an agent before its answer, such as what it says before it calls a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntermediateText {
    /// The text.
    pub text: String,
    /// Number of the turn's tool calls that precede it.
    pub after_calls: usize,
    /// Where it was recorded.
    pub source: Option<Source>,
}

/// An agent of a turn.
#[derive(Clone, Debug, Default)]
pub struct RecordedAgent {
    /// Name, if recorded.
    pub name: Option<String>,
    /// Instructions, if recorded.
    pub instructions: Option<String>,
    /// Where the instructions were recorded.
    pub instructions_source: Option<Source>,
    /// Tools that it may call, as far as they were recorded.
    pub tools: Vec<ToolDeclaration>,
    /// Where the tools were recorded.
    pub tools_source: Option<Source>,
}

/// Declaration of a tool.
#[derive(Clone, Debug, Default)]
pub struct ToolDeclaration {
    /// Name of the tool.
    pub name: String,
    /// Description, if recorded.
    pub description: Option<String>,
    /// Schema of the arguments, `Null` if it was not recorded.
    pub parameters: Value,
}

/// Failure of a turn, as one of its agent or model spans records it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, derive_more::Display)]
#[display("{message} (span {span})")]
pub struct TurnFailure {
    /// Message of the exception, else the description of the status or the type of the error; at most 300 characters.
    pub message: String,
    /// Name of the span.
    pub span: String,
}

/// A part of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnPart {
    /// Text of the user.
    User,
    /// Text of the answer.
    Answer,
    /// Tool calls.
    ToolCalls,
    /// Arguments of tool calls.
    Arguments,
}

/// A part of a turn that the producer did not record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unrecorded {
    /// The part.
    pub part: TurnPart,
    /// Attribute that would have held it.
    pub attribute: &'static str,
    /// How content is switched on; `None` if the library is not known, or the part may be missing because the turn failed.
    pub switch: Option<&'static str>,
}

/// A sentence without its full stop.
impl fmt::Display for Unrecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (part, verb) = match self.part {
            TurnPart::User => ("the text of the user", "was"),
            TurnPart::Answer => ("the answer", "was"),
            TurnPart::ToolCalls => ("the tool calls", "were"),
            TurnPart::Arguments => ("the arguments of the tool calls", "were"),
        };
        let Self { attribute, switch, .. } = self;
        write!(f, "{part} {verb} not recorded: there is no {attribute}")?;
        match switch {
            Some(switch) => write!(f, "; to record content, {switch}"),
            None => Ok(()),
        }
    }
}

/// Where a part of a conversation was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The trace.
    pub trace_id: Arc<str>,
    /// The span.
    pub span_id: String,
    /// Name of the attribute or the event.
    pub attribute: &'static str,
}

/// Where the parts of a tool call were recorded; `None` for parts that were not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallSources {
    /// Name of the tool.
    pub name: Option<Source>,
    /// Arguments.
    pub arguments: Option<Source>,
    /// Result, or the error that takes its place.
    pub result: Option<Source>,
    /// Message of the error.
    pub error: Option<Source>,
}

/// The span that records what is judged in a turn: the agent or workflow that anchors it, else the model call that ended
/// last, unless the anchor is a model call itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct JudgedSpan {
    /// Its trace.
    pub trace_id: Arc<str>,
    /// Its id.
    pub span_id: String,
    /// The name of the agent, if the span itself has it.
    pub agent_name: Option<String>,
    /// The id of the conversation, if the span itself has it.
    pub conversation_id: Option<String>,
}

/// One logical call of a model; wrapper spans around it are folded in.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct LlmCall {
    /// Span id of the innermost span of the call.
    pub span_id: String,
    /// Requested model.
    pub request_model: Option<String>,
    /// Responding model.
    pub response_model: Option<String>,
    /// Id of the response.
    pub response_id: Option<String>,
    /// Input and output token counts, `None` when the call recorded no usage.
    pub usage: Option<Usage>,
    /// Whether a tool made this call.
    pub delegated: bool,
    /// Nanoseconds since the epoch.
    pub start_ns: i128,
    /// Nanoseconds since the epoch.
    pub end_ns: i128,
}

/// Token counts of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Usage {
    /// Prompt tokens.
    pub input_tokens: i64,
    /// Completion tokens.
    pub output_tokens: i64,
    /// Tokens written to the prompt cache.
    pub cache_creation_tokens: i64,
    /// Tokens read from the prompt cache.
    pub cache_read_tokens: i64,
}

/// One call of a tool.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ToolCall {
    /// Name of the tool.
    pub name: String,
    /// Id that connects the call with its response, if recorded.
    pub call_id: Option<String>,
    /// Arguments as recorded; JSON text is parsed.
    pub arguments: Value,
    /// Result as recorded, or the message of the error if the call failed without one; JSON text is parsed, `Null` when
    /// none was recorded.
    pub result: Recorded,
    /// Whether the call was recorded as failed.
    pub is_error: bool,
    /// Message of the exception or of the status of a call that failed.
    #[serde(skip)]
    pub error: Option<String>,
    /// Start and end of the outermost tool span; `None` if only messages record the call.
    pub span: Option<(i128, i128)>,
    /// Where the parts were recorded.
    #[serde(skip)]
    pub sources: CallSources,
}

/// Least, median, greatest and percentiles of a sample. Zeros when the sample is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Stats {
    /// Least value.
    pub min: f64,
    /// Mean of the middle two.
    pub median: f64,
    /// Greatest value.
    pub max: f64,
    /// Number of values.
    pub count: usize,
    /// The median.
    pub p50: f64,
    /// 95th percentile: `sorted[floor(n * 0.95)]`.
    pub p95: f64,
    /// 99th percentile: `sorted[floor(n * 0.99)]`.
    pub p99: f64,
}

/// Latencies in milliseconds, token counts and call counts of one conversation, in the wire's shape.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PerformanceMetrics {
    /// Latencies in milliseconds.
    pub latency: Latency,
    /// Token counts.
    pub tokens: Tokens,
    /// Call counts.
    pub counts: Counts,
    /// Sorted names of the models used.
    pub models: Vec<String>,
    /// Sorted names of the tools called.
    pub tool_names: Vec<String>,
}

/// Latencies in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Latency {
    /// Per turn.
    pub overall: Stats,
    /// Per logical LLM call.
    pub llm_calls: Stats,
    /// Per tool call that has a span.
    pub tool_executions: Stats,
}

/// Token counts.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tokens {
    /// Prompt tokens of all calls.
    pub total_prompt: i64,
    /// Completion tokens of all calls.
    pub total_output: i64,
    /// Both.
    pub total: i64,
    /// Input and output tokens per LLM call.
    pub per_llm_call: Stats,
    /// Tokens written to the prompt cache.
    pub cache_creation_tokens: i64,
    /// Tokens read from the prompt cache.
    pub cache_read_tokens: i64,
}

/// Call counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Logical LLM calls.
    pub llm_calls: usize,
    /// Tool calls, those without a span included.
    pub tool_calls: usize,
    /// Turns.
    pub invocations: usize,
}
