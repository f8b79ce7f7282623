//! What is known of the way to an answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EventKind, Message, ToolStatus};
use crate::JsonObject;

/// Tokens that were used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenUsage {
    /// Tokens read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Tokens of `input` that came from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// All other keys.
    #[serde(flatten)]
    pub other: JsonObject,
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

    /// Sets the number of errors.
    #[must_use]
    pub fn error_count(mut self, errors: u64) -> Self {
        self.error_count = Some(errors);
        self
    }

    /// Sets how often a tool was called.
    #[must_use]
    pub fn tool_calls(mut self, tool: impl Into<String>, calls: u64) -> Self {
        let tool = tool.into();
        if !self.tool_names.contains(&tool) {
            self.tool_names.push(tool.clone());
        }
        self.tool_calls_by_name.insert(tool, calls);
        self
    }

    /// Sets the tokens used.
    #[must_use]
    pub fn token_usage(mut self, usage: TokenUsage) -> Self {
        self.token_usage = Some(usage);
        self
    }

    /// Sets the cost, in US dollars.
    #[must_use]
    pub fn cost_usd(mut self, cost: f64) -> Self {
        self.cost_usd = Some(cost);
        self
    }

    /// Sets the time it took, in milliseconds.
    #[must_use]
    pub fn duration_ms(mut self, duration: f64) -> Self {
        self.duration_ms = Some(duration);
        self
    }
}

/// What stands under `trace` and under `trace_summary`: a summary, in the words of any version, and since 4.36 under `trace`
/// the whole story.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trace {
    /// See [`TraceSummary::event_count`].
    #[serde(default, alias = "eventCount", skip_serializing_if = "Option::is_none")]
    pub event_count: Option<u64>,
    /// The tools called, each once (up to 3.6).
    #[serde(default, alias = "toolNames", skip_serializing_if = "Option::is_none")]
    pub tool_names: Option<Vec<String>>,
    /// How often each tool was called (up to 3.6).
    #[serde(default, alias = "toolCallsByName", skip_serializing_if = "Option::is_none")]
    pub tool_calls_by_name: Option<BTreeMap<String, u64>>,
    /// How often each tool was called (since 3.7).
    #[serde(default, alias = "toolCalls", skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<BTreeMap<String, u64>>,
    /// How many errors there were.
    #[serde(default, alias = "errorCount", skip_serializing_if = "Option::is_none")]
    pub error_count: Option<u64>,
    /// How long the calls of each tool took, in milliseconds.
    #[serde(default, alias = "toolDurations", skip_serializing_if = "Option::is_none")]
    pub tool_durations: Option<BTreeMap<String, Vec<f64>>>,
    /// How often the model was called.
    #[serde(default, alias = "llmCallCount", skip_serializing_if = "Option::is_none")]
    pub llm_call_count: Option<u64>,
    /// Tokens used.
    #[serde(default, alias = "tokenUsage", skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    /// What it cost, in US dollars.
    #[serde(default, alias = "costUsd", skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How long it took, in milliseconds.
    #[serde(default, alias = "durationMs", skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// When it began.
    #[serde(default, alias = "startTime", skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
    /// When it ended.
    #[serde(default, alias = "endTime", skip_serializing_if = "Option::is_none")]
    pub end_time: Option<String>,
    /// The transcript, with the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Message>>,
    /// What happened, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<TraceEvent>>,
    /// Where it comes from: provider, target, the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// All other keys.
    #[serde(flatten)]
    pub other: JsonObject,
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

/// An event of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TraceEvent {
    /// Id of the event.
    #[serde(default, alias = "eventId", skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    /// Id of the event it belongs to.
    #[serde(default, alias = "parentEventId", skip_serializing_if = "Option::is_none")]
    pub parent_event_id: Option<String>,
    /// Place among the events, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordinal: Option<u64>,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// For how long, in milliseconds.
    #[serde(default, alias = "durationMs", skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// What was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// What a tool did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<EventTool>,
    /// Where in [`Trace::messages`] it comes from: `message_index`, `tool_index`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// All other keys.
    #[serde(flatten)]
    pub other: JsonObject,
}

impl TraceEvent {
    /// A number of its metadata, under the name it has there.
    pub(super) fn index(&self, snake: &str, camel: &str) -> Option<usize> {
        let metadata = self.metadata.as_ref()?;
        let index = metadata.get(snake).or_else(|| metadata.get(camel))?.as_u64()?;
        usize::try_from(index).ok()
    }
}

/// What a tool did in an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventTool {
    /// Name of the tool.
    pub name: String,
    /// Id of the call.
    #[serde(default, alias = "callId", skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// What it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// What it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
    /// All other keys.
    #[serde(flatten)]
    pub other: JsonObject,
}
