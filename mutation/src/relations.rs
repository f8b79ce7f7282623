//! Edits that must not change a score.

use evaluator_json::Value;
use evaluator_traces::conversation::{Conversation, ToolCall};

use crate::{
    subject::{Site, Subject},
    values::each_object,
};

/// Nanoseconds of a day.
const DAY: i128 = 86_400 * 1_000_000_000;

/// The whole conversation, if it has turns.
pub(crate) fn whole(subject: &Subject<'_>) -> Vec<Site> {
    match subject.conversation.turns.is_empty() {
        true => Vec::new(),
        false => vec![Site::turn(0)],
    }
}

/// Returns the whole conversation if it has a tool call that fulfils a condition.
fn if_calls(subject: &Subject<'_>, is_one: impl Fn(&ToolCall) -> bool) -> Vec<Site> {
    let mut calls = subject.conversation.turns.iter().flat_map(|turn| &turn.tool_calls);
    if calls.any(is_one) { whole(subject) } else { Vec::new() }
}

/// Returns true if an object inside of a value has several keys.
fn has_order(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_order),
        Value::Object(members) => members.len() > 1 || members.values().any(has_order),
        _ => false,
    }
}

/// Returns the whole conversation if an object has an order.
pub(crate) fn ordered(subject: &Subject<'_>) -> Vec<Site> {
    if_calls(subject, |call| has_order(&call.arguments) || has_order(call.result.value()))
}

/// Reverses the order of the keys of objects.
pub(crate) fn key_order(conversation: &mut Conversation, _: &Subject<'_>, _: Site) -> bool {
    each_call(conversation, |call| {
        each_object(&mut call.arguments, &|object| object.reverse());
        if has_order(call.result.value()) {
            let mut result = call.result.value().clone();
            each_object(&mut result, &|object| object.reverse());
            call.result = result.into();
        }
    });
    true
}

/// Renames ids of traces, spans and calls, the same ones alike.
pub(crate) fn rename_ids(conversation: &mut Conversation, _: &Subject<'_>, _: Site) -> bool {
    let renamed = |id: &str| format!("{id}f0");
    conversation.trace_id = renamed(&conversation.trace_id).into();
    for turn in &mut conversation.turns {
        turn.trace_id = renamed(&turn.trace_id).into();
        turn.judged.trace_id = renamed(&turn.judged.trace_id).into();
        let calls = turn.llm_calls.iter_mut().map(|call| &mut call.span_id);
        let spans = [&mut turn.span_id, &mut turn.judged.span_id].into_iter().chain(calls);
        let ids = turn.tool_calls.iter_mut().filter_map(|call| call.call_id.as_mut());
        spans.chain(ids).for_each(|id| *id = renamed(id));
    }
    true
}

/// Returns the largest integer up to which all have a float.
const EXACT: u64 = 1 << 53;

/// Replaces integers by floats. Returns false if there are none.
fn float(value: &mut Value) -> bool {
    match value {
        Value::Int(number) if number.unsigned_abs() <= EXACT => {
            #[expect(clippy::cast_precision_loss, reason = "the number is small enough")]
            let number = *number as f64;
            *value = Value::Float(number);
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |any, item| float(item) | any),
        Value::Object(members) => members.values_mut().fold(false, |any, item| float(item) | any),
        _ => false,
    }
}

/// Returns the whole conversation if an argument has an integer.
pub(crate) fn with_integers(subject: &Subject<'_>) -> Vec<Site> {
    if_calls(subject, |call| float(&mut call.arguments.clone()))
}

/// Writes integers in arguments as floats.
pub(crate) fn float_arguments(conversation: &mut Conversation, _: &Subject<'_>, _: Site) -> bool {
    let mut has_changed = false;
    each_call(conversation, |call| has_changed |= float(&mut call.arguments));
    has_changed
}

/// Adds white space at the ends of texts.
pub(crate) fn white_space(conversation: &mut Conversation, _: &Subject<'_>, _: Site) -> bool {
    for turn in &mut conversation.turns {
        for text in [&mut turn.user_text, &mut turn.final_text].into_iter().flatten() {
            if !text.is_empty() {
                *text = format!(" {text}\n");
            }
        }
    }
    true
}

/// Shifts all times by a day.
pub(crate) fn shift_times(conversation: &mut Conversation, _: &Subject<'_>, _: Site) -> bool {
    for turn in &mut conversation.turns {
        let calls = turn.llm_calls.iter_mut().flat_map(|it| [&mut it.start_ns, &mut it.end_ns]);
        let spans = turn.tool_calls.iter_mut().filter_map(|call| call.span.as_mut());
        let spans = spans.flat_map(|(start, end)| [start, end]);
        let own = [&mut turn.start_ns, &mut turn.end_ns];
        own.into_iter().chain(calls).chain(spans).for_each(|time| *time = time.saturating_add(DAY));
    }
    true
}

/// Adds keys that no contract has to the documents that evaluators read.
pub(crate) fn unknown_keys(conversation: &mut Conversation, _: &Subject<'_>, _: Site) -> bool {
    conversation.turns.iter_mut().for_each(|turn| turn.has_unknown_keys = true);
    true
}

/// Changes nothing: the conversation is evaluated again, in another order of conversations.
pub(crate) fn again(_: &mut Conversation, _: &Subject<'_>, _: Site) -> bool {
    true
}

/// Returns the whole conversation if it has a golden case with as many turns.
pub(crate) fn with_golden(subject: &Subject<'_>) -> Vec<Site> {
    match subject.golden {
        Some(golden) if golden.turns.len() == subject.conversation.turns.len() => whole(subject),
        _ => Vec::new(),
    }
}

/// Does what the golden case does.
pub(crate) fn golden(conversation: &mut Conversation, subject: &Subject<'_>, _: Site) -> bool {
    let Some(golden) = subject.golden else { return false };
    for (turn, golden) in conversation.turns.iter_mut().zip(&golden.turns) {
        turn.final_text = golden.final_text("").or(turn.final_text.take());
        let calls = golden.trajectory().map(|call| ToolCall {
            name: call.name.clone().unwrap_or_default(),
            call_id: call.id.clone(),
            arguments: call.args.clone(),
            ..ToolCall::default()
        });
        turn.tool_calls = calls.collect();
        turn.texts.clear();
    }
    true
}

fn each_call(conversation: &mut Conversation, change: impl FnMut(&mut ToolCall)) {
    conversation.turns.iter_mut().flat_map(|turn| &mut turn.tool_calls).for_each(change);
}
