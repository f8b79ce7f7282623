//! Outputs in trace files.

use std::path::Path;

use evaluator_host::run::{ConversationSource as _, Inspection, Runner};
use evaluator_json::Value;
use evaluator_traces::conversation::{Conversation, GroupBy, ToolCall, Turn, TurnPart, Usage};

use super::{Output, TokenUsage};
use crate::json_text::{list, object, text};

/// Nanoseconds of a millisecond.
const MILLISECOND: f64 = 1e6;

/// Id of a conversation, and what the agent did, or why that is not known.
type Named = (String, Result<Output, String>);

/// Reads the conversations of a trace file, in the formats and with the conventions of the host. Their ids are those of golden
/// cases, where the trace names one, else those of their traces.
///
/// # Errors
///
/// The file is not a trace file, or parts of it cannot be used.
pub(super) fn read(file: &Path, runner: &Runner) -> Result<Vec<Named>, String> {
    let (formats, conventions) = (&runner.registries.trace_formats, &runner.registries.conventions);
    let traces = Inspection::new(&[file.to_owned()], formats, conventions, GroupBy::Auto);
    let left_out = traces.left_out();
    if !left_out.is_empty() {
        return Err(format!("{}: {} cannot be used", file.display(), left_out.counted()));
    }
    if let Some(error) = traces.errors.first() {
        return Err(error.to_string());
    }
    let named = |number: usize| {
        let conversation = traces.recordings.load(number).map_err(|error| error.to_string())?;
        let id = conversation.case_id.clone();
        let id = id.unwrap_or_else(|| conversation.trace_id.to_string());
        Ok((id, output(&conversation)))
    };
    (0..traces.recordings.len()).map(named).collect()
}

/// Returns what the agent did. What was not recorded is an error, not an empty answer.
fn output(conversation: &Conversation) -> Result<Output, String> {
    if let Some(error) = conversation.errors.first() {
        return Err(error.clone());
    }
    let unrecorded = conversation.turns.iter().find_map(|turn| turn.unrecorded(TurnPart::Answer));
    if let Some(unrecorded) = unrecorded {
        return Err(unrecorded.to_string());
    }
    let calls = || conversation.turns.iter().flat_map(|turn| &turn.llm_calls);
    let usages: Vec<_> = calls().filter_map(|call| call.usage).collect();
    #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 tokens")]
    let sum = |tokens: fn(&Usage) -> i64| {
        usages.iter().map(tokens).fold(0, i64::saturating_add).max(0) as f64
    };
    let usage = TokenUsage {
        input: sum(|it| it.input_tokens),
        output: sum(|it| it.output_tokens),
        cached: None,
    };
    // The input of the test stands in for the only message of the user.
    let is_whole = conversation.turns.len() > 1;
    let took =
        conversation.turns.iter().map(|turn| turn.end_ns.saturating_sub(turn.start_ns).max(0));
    Ok(Output {
        messages: conversation.turns.iter().flat_map(|turn| messages(turn, is_whole)).collect(),
        usage: (!usages.is_empty()).then_some(usage),
        duration_ms: Some(milliseconds(took.fold(0, i128::saturating_add))),
        model_calls: Some(calls().count()),
        ..Output::default()
    })
}

/// Returns the messages of a turn: that of the user, if it is wanted, the tool calls, and the answer.
fn messages(turn: &Turn, with_user: bool) -> Vec<Value> {
    let message =
        |role: &str, content: &str| object([("role", text(role)), ("content", text(content))]);
    let mut messages = Vec::new();
    if let Some(user) = turn.user_text.as_ref().filter(|_| with_user) {
        messages.push(message("user", user));
    }
    if !turn.tool_calls.is_empty() {
        let calls = list(turn.tool_calls.iter().map(call));
        messages.push(object([("role", text("assistant")), ("tool_calls", calls)]));
    }
    messages.extend(turn.final_text.as_ref().map(|answer| message("assistant", answer)));
    messages
}

fn call(call: &ToolCall) -> Value {
    let mut keys = vec![
        ("tool", text(&call.name)),
        ("input", call.arguments.clone()),
        ("output", call.result.value().clone()),
    ];
    keys.extend(call.call_id.as_ref().map(|id| ("id", text(id))));
    keys.extend(call.span.map(|(start, end)| {
        ("duration_ms", Value::Float(milliseconds(end.saturating_sub(start).max(0))))
    }));
    keys.extend(call.is_error.then(|| ("status", text("error"))));
    object(keys)
}

#[expect(clippy::cast_precision_loss, reason = "durations are floats in these documents")]
fn milliseconds(nanoseconds: i128) -> f64 {
    nanoseconds as f64 / MILLISECOND
}
