//! Turns of several traces that are rounds of one turn.
//!
//! Client libraries do not record agents: each model call is a trace of its own, and a turn with tools consists of several
//! traces. A round that starts with tool results continues the turn that requested them.

use std::collections::HashSet;

use super::{
    agents,
    message::{end_with_tool_response, tool_calls, tool_responses},
    tool_calls::{Call, calls_in_parts, complete_from_parts, sort},
    turns::{DraftTurn, TOOL_REASONS, most_recorded},
};
use crate::trace::SpanStatus;

/// Sorts turns by (start, span id) and joins continuations.
pub(super) fn join(mut turns: Vec<DraftTurn>) -> Vec<DraftTurn> {
    turns.sort_by(|a, b| (a.start_ns, &a.span_id).cmp(&(b.start_ns, &b.span_id)));
    let mut joined: Vec<DraftTurn> = Vec::with_capacity(turns.len());
    // The turns of several rounds.
    let mut merged: Vec<usize> = Vec::new();
    for mut turn in turns {
        let last = joined.len().saturating_sub(1);
        match joined.last_mut() {
            Some(previous) if continues(previous, &turn) => {
                merge(previous, turn);
                merged.push(last);
            }
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
    merged.dedup();
    for index in merged {
        find_tools(&mut joined[index]);
    }
    joined
}

/// Returns the first call of a turn; calls are sorted.
fn first_call(turn: &DraftTurn) -> Option<&Call> {
    turn.calls.first()
}

/// Returns the call that ended last, the first of several.
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

/// Returns true if it is unknown whether a turn continues the previous one, only because message content is missing.
fn may_continue(previous: &DraftTurn, turn: &DraftTurn) -> bool {
    let (Some(first), Some(last)) = (first_call(turn), last_call(previous)) else { return false };
    turn.root_anchored
        && first.input.is_empty()
        && last.finish_reasons.iter().any(|reason| TOOL_REASONS.contains(&reason.as_str()))
}

/// Searches the messages of all rounds together again for tool calls without spans.
///
/// Called once for all rounds, because each round repeats the messages of those before it.
fn find_tools(turn: &mut DraftTurn) {
    let mut spans = std::mem::take(&mut turn.tools);
    spans.retain(|tool| tool.span.is_some());
    turn.tools = if spans.is_empty() {
        calls_in_parts(&turn.calls, &mut turn.warnings)
    } else {
        complete_from_parts(spans, &turn.calls, &mut turn.warnings)
    };
}

fn merge(previous: &mut DraftTurn, turn: DraftTurn) {
    previous.calls.extend(turn.calls);
    sort(&mut previous.calls);
    previous.warnings.extend(turn.warnings);
    previous.tools.extend(turn.tools);
    agents::merge(&mut previous.agents, turn.agents);
    previous.agent_name = previous.agent_name.take().or(turn.agent_name);
    if !previous.user.recorded {
        previous.user = turn.user;
    }
    if turn.answer.recorded {
        previous.answer = turn.answer;
    }
    // Later rounds repeat the history.
    for (known, its) in previous.beside.iter_mut().zip(turn.beside) {
        *known = most_recorded([std::mem::take(known), its]);
    }
    previous.start_ns = previous.start_ns.min(turn.start_ns);
    previous.end_ns = previous.end_ns.max(turn.end_ns);
    if turn.status == SpanStatus::Error {
        previous.status = SpanStatus::Error;
    }
    previous.failed |= turn.failed;
    // The turn went on after a failure of an earlier round.
    previous.anchor_failed = turn.anchor_failed;
    previous.failure = turn.failure;
    previous.unreadable |= turn.unreadable;
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::conversation::{
        testing::{Recording, answers, asks, says, span_id},
        turns::turns_of,
    };

    /// The turns of two traces, the first of which requests a tool call.
    fn joined(output: Value, second: Recording) -> Vec<DraftTurn> {
        let first = Recording::default()
            .with_trace_id(1)
            .chat((1, 0), (0, 10), json!([says("user", "weather?")]), output)
            .trace();
        join(turns_of(&first).into_iter().chain(turns_of(&second.trace())).collect())
    }

    fn round(input: Value) -> Recording {
        Recording::default().with_trace_id(2).chat(
            (2, 0),
            (20, 30),
            input,
            json!([says("assistant", "sunny")]),
        )
    }

    #[test]
    fn a_round_with_results_continues_the_turn_that_asked() {
        let ask = json!([asks("c1", "weather", json!({"city": "Paris"}))]);
        let turns =
            joined(ask, round(json!([says("user", "weather?"), answers("c1", json!("sun"))])));
        assert_eq!(turns.len(), 1);
        let turn = &turns[0];
        assert_eq!(turn.span_id, span_id(1));
        assert_eq!(turn.user.text.as_deref(), Some("weather?"));
        assert_eq!(turn.answer.text.as_deref(), Some("sunny"));
        assert_eq!((turn.start_ns, turn.end_ns), (0, 30_000_000));
        assert_eq!(turn.tools[0].result.value().as_str(), Some("sun"));
    }

    #[test]
    fn a_turn_of_many_rounds_has_each_call_once_with_its_result() {
        let round = |number: u64| {
            let said = (1..number).flat_map(|before| {
                let id = format!("c{before}");
                [asks(&id, "count", json!({"n": before})), answers(&id, json!(before * 10))]
            });
            let input: Vec<Value> = std::iter::once(says("user", "count")).chain(said).collect();
            let output = json!([asks(&format!("c{number}"), "count", json!({"n": number}))]);
            let times = (number * 10, number * 10 + 5);
            let recording = Recording::default().with_trace_id(number);
            recording.chat((number, 0), times, json!(input), output).trace()
        };
        let rounds: Vec<_> = (1..=5).map(round).collect();
        let turns = join(rounds.iter().flat_map(turns_of).collect());
        assert_eq!((turns.len(), turns[0].calls.len()), (1, 5));
        let results: Vec<String> =
            turns[0].tools.iter().map(|tool| crate::json::to_python(tool.result.value())).collect();
        assert_eq!(results, ["10", "20", "30", "40", "null"]);
    }

    #[test]
    fn ids_that_differ_and_agents_of_their_own_do_not_continue() {
        let ask = || json!([asks("c1", "weather", json!({}))]);
        assert_eq!(joined(ask(), round(json!([answers("c2", json!("sun"))]))).len(), 2);
        assert_eq!(joined(ask(), round(json!([answers("", json!("sun"))]))).len(), 1);
        let nothing_asked = json!([says("assistant", "hm")]);
        assert_eq!(joined(nothing_asked, round(json!([answers("c1", json!("sun"))]))).len(), 2);
        let agent = Recording::default()
            .with_trace_id(2)
            .span((9, 0), "agent", (20, 40), json!({"gen_ai.operation.name": "invoke_agent"}))
            .chat((2, 9), (20, 30), json!([answers("c1", json!("sun"))]), json!(null));
        assert_eq!(joined(ask(), agent).len(), 2);
    }

    #[test]
    fn without_content_there_is_only_a_warning() {
        let silent = |number, times, attributes: Value| {
            let mut all = json!({"gen_ai.operation.name": "chat"});
            if let (Some(all), Some(more)) = (all.as_object_mut(), attributes.as_object()) {
                all.extend(more.clone());
            }
            Recording::default().with_trace_id(number).span((number, 0), "chat", times, all).trace()
        };
        let reason = json!({"gen_ai.response.finish_reasons": ["tool_calls"]});
        let (first, second) = (silent(1, (0, 10), reason), silent(2, (20, 30), json!({})));
        let turns = join(turns_of(&first).into_iter().chain(turns_of(&second)).collect());
        assert_eq!(turns.len(), 2);
        let warning = format!(
            "turn {} may continue turn {} after a tool call, but message content was not captured; \
             kept as its own turn",
            span_id(2),
            span_id(1)
        );
        assert_eq!(turns[1].warnings, [warning]);
    }
}
