//! Joining turns that are rounds of one turn.
//!
//! Telemetry of a client library knows no agents: each call of the model is a trace of its own, and a turn with tools
//! comes as several. A round that starts with the results of tools continues the turn that asked for them.

use std::collections::HashSet;

use super::{
    llm_calls::{self, Call},
    message::{end_with_tool_response, tool_calls, tool_responses},
    tool_calls::{calls_in_parts, complete_from_parts},
    turns::DraftTurn,
};
use crate::trace::SpanStatus;

/// Finish reasons that say the model asked for a tool.
const TOOL_REASONS: [&str; 4] = ["tool_calls", "tool_call", "tool_use", "function_call"];

/// Sorts turns by (start, span id) and joins continuations.
pub(super) fn join(mut turns: Vec<DraftTurn>) -> Vec<DraftTurn> {
    turns.sort_by(|a, b| (a.start_ns, &a.span_id).cmp(&(b.start_ns, &b.span_id)));
    let mut joined: Vec<DraftTurn> = Vec::with_capacity(turns.len());
    for mut turn in turns {
        match joined.last_mut() {
            Some(previous) if continues(previous, &turn) => merge(previous, turn),
            previous => {
                if let Some(previous) = previous.filter(|previous| may_continue(previous, &turn)) {
                    turn.warnings.push(format!(
                        "turn {} may continue turn {} after a tool call, but message content was not captured; \
                         kept as its own turn",
                        turn.span_id, previous.span_id
                    ));
                }
                joined.push(turn);
            }
        }
    }
    joined
}

/// The call a continuation starts with; calls are sorted.
fn first_call(turn: &DraftTurn) -> Option<&Call> {
    turn.calls.first()
}

/// The call that ended last, the first of several.
fn last_call(turn: &DraftTurn) -> Option<&Call> {
    turn.calls.iter().rev().max_by_key(|call| (call.record.end_ns, call.record.start_ns))
}

fn continues(previous: &DraftTurn, turn: &DraftTurn) -> bool {
    let (Some(first), Some(last)) = (first_call(turn), last_call(previous)) else { return false };
    if !turn.root_anchored || !end_with_tool_response(&first.input) {
        return false;
    }
    let requested: HashSet<&str> =
        tool_calls(&last.output).filter_map(|part| part.id.text.as_deref()).collect();
    let mut answered =
        tool_responses(&first.input).filter_map(|part| part.id.text.as_deref()).peekable();
    if requested.is_empty() || answered.peek().is_none() {
        tool_calls(&last.output).next().is_some()
    } else {
        answered.any(|id| requested.contains(id))
    }
}

/// Whether only the missing content keeps us from knowing.
fn may_continue(previous: &DraftTurn, turn: &DraftTurn) -> bool {
    let (Some(first), Some(last)) = (first_call(turn), last_call(previous)) else { return false };
    turn.root_anchored
        && first.input.is_empty()
        && last.finish_reasons.iter().any(|reason| TOOL_REASONS.contains(&reason.as_str()))
}

fn merge(previous: &mut DraftTurn, turn: DraftTurn) {
    previous.calls.extend(turn.calls);
    llm_calls::sort(&mut previous.calls);
    previous.warnings.extend(turn.warnings);
    // Calls that only the messages knew are looked for again: now there are more messages.
    let spans: Vec<_> = std::mem::take(&mut previous.tools)
        .into_iter()
        .chain(turn.tools)
        .filter(|tool| tool.span.is_some())
        .collect();
    previous.tools = if spans.is_empty() {
        calls_in_parts(&previous.calls, &mut previous.warnings)
    } else {
        complete_from_parts(spans, &previous.calls, &mut previous.warnings)
    };
    previous.agent_name = previous.agent_name.take().or(turn.agent_name);
    if !previous.user.recorded {
        previous.user = turn.user;
    }
    if turn.answer.recorded {
        previous.answer = turn.answer;
    }
    previous.start_ns = previous.start_ns.min(turn.start_ns);
    previous.end_ns = previous.end_ns.max(turn.end_ns);
    if turn.status == SpanStatus::Error {
        previous.status = SpanStatus::Error;
    }
}
