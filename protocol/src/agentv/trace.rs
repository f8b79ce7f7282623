//! Traces: counts, durations and events of a conversation.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Message;
use crate::{
    JsonObject,
    object::{builder, object, open_enum},
};

object! {
    /// Tokens that were used.
    #[derive(Default)]
    pub struct TokenUsage: sparse {
        /// Tokens read.
        input: Option<u64>,
        /// Tokens written.
        output: Option<u64>,
        /// Tokens of `input` that came from a cache.
        cached: Option<u64>,
    } other
}

impl TokenUsage {
    /// So many tokens read and written.
    #[must_use]
    pub fn new(input: u64, output: u64) -> Self {
        Self { input: Some(input), output: Some(output), ..Self::default() }
    }
}

/// The way to an answer in numbers, in the terms of 2.5, whichever version sent them.
///
/// A version that does not send a number leaves it `None`, and the maps empty. The names of tools that are keys here were
/// written in snake_case by AgentV (`getWeather` arrives as `get_weather`), unlike those in messages.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TraceSummary {
    /// How many events there were; AgentV counts tool calls.
    pub event_count: Option<u64>,
    /// The tools called, each once.
    pub tool_names: Vec<String>,
    /// How often each tool was called.
    pub tool_calls_by_name: BTreeMap<String, u64>,
    /// How many errors there were.
    pub error_count: Option<u64>,
    /// Tokens used.
    pub token_usage: Option<TokenUsage>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<f64>,
    /// How long the calls of each tool took, in milliseconds.
    pub tool_durations: BTreeMap<String, Vec<f64>>,
    /// How often the model was called (since 2.7).
    pub llm_call_count: Option<u64>,
}

impl TraceSummary {
    /// A summary that knows nothing but the number of events.
    #[must_use]
    pub fn new(event_count: u64) -> Self {
        Self { event_count: Some(event_count), ..Self::default() }
    }

    builder! {
        /// Sets the number of errors.
        fn error_count(self, errors: u64) { self.error_count = Some(errors); }

        /// Sets how often a tool was called.
        fn tool_calls(self, tool: impl Into<String>, calls: u64) {
            let tool = tool.into();
            if !self.tool_names.contains(&tool) {
                self.tool_names.push(tool.clone());
            }
            self.tool_calls_by_name.insert(tool, calls);
        }

        /// Sets the tokens used.
        fn token_usage(self, usage: TokenUsage) { self.token_usage = Some(usage); }

        /// Sets the cost, in US dollars.
        fn cost_usd(self, cost: f64) { self.cost_usd = Some(cost); }

        /// Sets the time it took, in milliseconds.
        fn duration_ms(self, duration: f64) { self.duration_ms = Some(duration); }
    }
}

object! {
    /// What stands under `trace` and under `trace_summary`: a summary, in the words of any version, and since 4.36 under `trace`
    /// the whole story.
    #[derive(Default)]
    pub struct Trace: sparse {
        /// See [`TraceSummary::event_count`].
        event_count | "eventCount": Option<u64>,
        /// The tools called, each once (up to 3.6).
        tool_names | "toolNames": Option<Vec<String>>,
        /// How often each tool was called (up to 3.6).
        tool_calls_by_name | "toolCallsByName": Option<BTreeMap<String, u64>>,
        /// How often each tool was called (since 3.7).
        tool_calls | "toolCalls": Option<BTreeMap<String, u64>>,
        /// How many errors there were.
        error_count | "errorCount": Option<u64>,
        /// How long the calls of each tool took, in milliseconds.
        tool_durations | "toolDurations": Option<BTreeMap<String, Vec<f64>>>,
        /// How often the model was called.
        llm_call_count | "llmCallCount": Option<u64>,
        /// Tokens used.
        token_usage | "tokenUsage": Option<TokenUsage>,
        /// What it cost, in US dollars.
        cost_usd | "costUsd": Option<f64>,
        /// How long it took, in milliseconds.
        duration_ms | "durationMs": Option<f64>,
        /// When it began.
        start_time | "startTime": Option<String>,
        /// When it ended.
        end_time | "endTime": Option<String>,
        /// The transcript, with the input.
        messages: Option<Vec<Message>>,
        /// What happened, in order.
        events: Option<Vec<TraceEvent>>,
        /// Where it comes from: provider, target, the case.
        metadata: Option<JsonObject>,
    } other
}

impl Trace {
    /// Adds to `summary` what it does not know yet.
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
    /// The summary as 2.5 writes it.
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
        /// Id of the event it belongs to.
        parent_event_id | "parentEventId": Option<String>,
        /// Place among the events, from 0.
        ordinal: Option<u64>,
        /// What happened.
        kind as "type": EventKind = required(EventKind::Message),
        /// When.
        timestamp: Option<String>,
        /// For how long, in milliseconds.
        duration_ms | "durationMs": Option<f64>,
        /// What was said.
        message: Option<Message>,
        /// What a tool did.
        tool: Option<EventTool>,
        /// Where in [`Trace::messages`] it comes from: `message_index`, `tool_index`.
        metadata: Option<JsonObject>,
    } other
}

impl TraceEvent {
    /// A number of its metadata, under the name it has there.
    pub(super) fn index(&self, snake: &str, camel: &str) -> Option<usize> {
        let metadata = self.metadata.as_ref()?;
        let index = metadata.get(snake).or_else(|| metadata.get(camel))?.as_u64()?;
        usize::try_from(index).ok()
    }
}

object! {
    /// What a tool did in an event.
    pub struct EventTool: sparse {
        /// Name of the tool.
        name: String = required,
        /// Id of the call.
        call_id | "callId": Option<String>,
        /// What it was given.
        input: Option<Value>,
        /// What it answered.
        output: Option<Value>,
        /// How it ended.
        status: Option<ToolStatus>,
    } other
}

open_enum! {
    /// What happened in an event of a trace.
    EventKind {
        /// Somebody spoke.
        Message = "message",
        /// The model was called.
        ModelTurn = "model_turn",
        /// A tool was called.
        ToolCall = "tool_call",
        /// A tool answered.
        ToolResult = "tool_result",
        /// The agent gave its answer.
        FinalResponse = "final_response",
        /// Something went wrong.
        Error = "error",
    }
}

open_enum! {
    /// How a tool call ended.
    ToolStatus {
        /// Well.
        Ok = "ok",
        /// With an error.
        Error = "error",
        /// Not in time.
        Timeout = "timeout",
        /// It was called off.
        Cancelled = "cancelled",
        /// Nobody knows.
        Unknown = "unknown",
    }
}

impl ToolStatus {
    /// Whether the call is known to have failed.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Error | Self::Timeout | Self::Cancelled)
    }
}
