//! Traces: counts, durations and events of a conversation.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Message;
use crate::{
    JsonObject,
    object::{builder, object, open_enum},
};

object! {
    /// Numbers of tokens.
    #[derive(Default)]
    pub struct TokenUsage: sparse {
        /// Input tokens.
        input: Option<u64>,
        /// Output tokens.
        output: Option<u64>,
        /// Tokens of `input` that came from a cache.
        cached: Option<u64>,
    } other
}

impl TokenUsage {
    /// Creates the numbers of input and output tokens.
    pub fn new(input: u64, output: u64) -> Self {
        Self { input: Some(input), output: Some(output), ..Self::default() }
    }
}

/// Summary of a trace, in the form of 2.5.
///
/// Numbers that a version does not send are `None`, and maps empty. AgentV writes names of tools in snake_case where they are
/// keys (`getWeather` arrives as `get_weather`), unlike those in messages.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TraceSummary {
    /// Number of events; AgentV counts tool calls.
    pub event_count: Option<u64>,
    /// Names of the tools called, without repetition.
    pub tool_names: Vec<String>,
    /// Number of calls of each tool.
    pub tool_calls_by_name: BTreeMap<String, u64>,
    /// Number of errors.
    pub error_count: Option<u64>,
    /// Numbers of tokens.
    pub token_usage: Option<TokenUsage>,
    /// Cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// Duration, in milliseconds.
    pub duration_ms: Option<f64>,
    /// Durations of the calls of each tool, in milliseconds.
    pub tool_durations: BTreeMap<String, Vec<f64>>,
    /// Number of model calls (since 2.7).
    pub llm_call_count: Option<u64>,
}

impl TraceSummary {
    /// Creates a summary with the number of events.
    pub fn new(event_count: u64) -> Self {
        Self { event_count: Some(event_count), ..Self::default() }
    }

    builder! {
        /// Sets the number of errors.
        fn error_count(self, errors: u64) { self.error_count = Some(errors); }

        /// Sets the number of calls of a tool.
        fn tool_calls(self, tool: impl Into<String>, calls: u64) {
            let tool = tool.into();
            if !self.tool_names.contains(&tool) {
                self.tool_names.push(tool.clone());
            }
            self.tool_calls_by_name.insert(tool, calls);
        }

        /// Sets the numbers of tokens.
        fn token_usage(self, usage: TokenUsage) { self.token_usage = Some(usage); }

        /// Sets the cost, in US dollars.
        fn cost_usd(self, cost: f64) { self.cost_usd = Some(cost); }

        /// Sets the duration, in milliseconds.
        fn duration_ms(self, duration: f64) { self.duration_ms = Some(duration); }
    }
}

object! {
    /// The value of `trace` and of `trace_summary`: a summary in the form of any version; since 4.36 `trace` also has the
    /// messages and events.
    #[derive(Default)]
    pub struct Trace: sparse {
        /// See [`TraceSummary::event_count`].
        event_count | "eventCount": Option<u64>,
        /// Names of the tools called, without repetition (up to 3.6).
        tool_names | "toolNames": Option<Vec<String>>,
        /// Number of calls of each tool (up to 3.6).
        tool_calls_by_name | "toolCallsByName": Option<BTreeMap<String, u64>>,
        /// Number of calls of each tool (since 3.7).
        tool_calls | "toolCalls": Option<BTreeMap<String, u64>>,
        /// Number of errors.
        error_count | "errorCount": Option<u64>,
        /// Durations of the calls of each tool, in milliseconds.
        tool_durations | "toolDurations": Option<BTreeMap<String, Vec<f64>>>,
        /// Number of model calls.
        llm_call_count | "llmCallCount": Option<u64>,
        /// Numbers of tokens.
        token_usage | "tokenUsage": Option<TokenUsage>,
        /// Cost, in US dollars.
        cost_usd | "costUsd": Option<f64>,
        /// Duration, in milliseconds.
        duration_ms | "durationMs": Option<f64>,
        /// Start time.
        start_time | "startTime": Option<String>,
        /// End time.
        end_time | "endTime": Option<String>,
        /// The transcript, including the input.
        messages: Option<Vec<Message>>,
        /// The events, in order.
        events: Option<Vec<TraceEvent>>,
        /// Origin of the trace: provider, target, case.
        metadata: Option<JsonObject>,
    } other
}

impl Trace {
    /// Sets the values that `summary` lacks.
    pub(super) fn complete(&self, summary: &mut TraceSummary) {
        let calls = self.tool_calls_by_name.as_ref().or(self.tool_calls.as_ref());
        fill(&mut summary.event_count, &self.event_count);
        fill(&mut summary.error_count, &self.error_count);
        fill(&mut summary.llm_call_count, &self.llm_call_count);
        fill(&mut summary.token_usage, &self.token_usage);
        fill(&mut summary.cost_usd, &self.cost_usd);
        fill(&mut summary.duration_ms, &self.duration_ms);
        if summary.tool_calls_by_name.is_empty() {
            summary.tool_calls_by_name = calls.cloned().unwrap_or_default();
        }
        if summary.tool_names.is_empty() {
            summary.tool_names = match &self.tool_names {
                Some(names) => names.clone(),
                None => calls.into_iter().flat_map(BTreeMap::keys).cloned().collect(),
            };
        }
        if summary.tool_durations.is_empty() {
            summary.tool_durations = self.tool_durations.clone().unwrap_or_default();
        }
    }
}

fn fill<T: Clone>(known: &mut Option<T>, more: &Option<T>) {
    if known.is_none() {
        known.clone_from(more);
    }
}

impl From<TraceSummary> for Trace {
    /// Converts a summary to the form of 2.5.
    fn from(summary: TraceSummary) -> Self {
        Self {
            event_count: summary.event_count,
            tool_names: Some(summary.tool_names),
            tool_calls_by_name: Some(summary.tool_calls_by_name),
            error_count: summary.error_count,
            tool_durations: Some(summary.tool_durations).filter(|durations| !durations.is_empty()),
            llm_call_count: summary.llm_call_count,
            token_usage: summary.token_usage,
            cost_usd: summary.cost_usd,
            duration_ms: summary.duration_ms,
            ..Self::default()
        }
    }
}

object! {
    /// An event of a trace.
    pub struct TraceEvent: sparse {
        /// Id of the event.
        event_id | "eventId": Option<String>,
        /// Id of the parent event.
        parent_event_id | "parentEventId": Option<String>,
        /// Index among the events, from 0.
        ordinal: Option<u64>,
        /// Kind of the event.
        kind as "type": EventKind = required(EventKind::Message),
        /// Time of the event.
        timestamp: Option<String>,
        /// Duration, in milliseconds.
        duration_ms | "durationMs": Option<f64>,
        /// The message.
        message: Option<Message>,
        /// The tool call.
        tool: Option<EventTool>,
        /// Origin in [`Trace::messages`]: `message_index`, `tool_index`.
        metadata: Option<JsonObject>,
    } other
}

impl TraceEvent {
    /// Returns a number of the metadata, in either spelling of its key.
    pub(super) fn index(&self, snake: &str, camel: &str) -> Option<usize> {
        let metadata = self.metadata.as_ref()?;
        let index = metadata.get(snake).or_else(|| metadata.get(camel))?.as_u64()?;
        usize::try_from(index).ok()
    }
}

object! {
    /// The tool call of an event.
    pub struct EventTool: sparse {
        /// Name of the tool.
        name: String = required,
        /// Id of the call.
        call_id | "callId": Option<String>,
        /// Arguments.
        input: Option<Value>,
        /// Result.
        output: Option<Value>,
        /// Outcome.
        status: Option<ToolStatus>,
    } other
}

open_enum! {
    /// Kind of an event of a trace.
    EventKind {
        /// A message.
        Message = "message",
        /// A model call.
        ModelTurn = "model_turn",
        /// A tool call.
        ToolCall = "tool_call",
        /// The result of a tool call.
        ToolResult = "tool_result",
        /// The answer of the agent.
        FinalResponse = "final_response",
        /// An error.
        Error = "error",
    }
}

open_enum! {
    /// Outcome of a tool call.
    ToolStatus {
        /// It succeeded.
        Ok = "ok",
        /// It failed.
        Error = "error",
        /// It timed out.
        Timeout = "timeout",
        /// It was cancelled.
        Cancelled = "cancelled",
        /// The outcome is unknown.
        Unknown = "unknown",
    }
}

impl ToolStatus {
    /// Returns true if the call is known to have failed.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Error | Self::Timeout | Self::Cancelled)
    }
}
