//! Damage of tool calls and their results.

use evaluator_json::{Object, Value, python_eq};
use evaluator_traces::conversation::{Conversation, ToolCall};

use crate::{
    subject::{Site, Subject, calls},
    values::{MOST_VARIANTS, changed, leaf, leaves, timeout},
};

/// Name of the argument that is added.
const ADDED: &str = "unexpected";

/// Returns the places of all calls.
pub(crate) fn all(subject: &Subject<'_>) -> Vec<Site> {
    calls(subject, |_, _| true)
}

/// Removes a call and its response.
pub(crate) fn drop_call(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    let Some(turn) = site.turn_in(conversation) else { return false };
    let Some(call) = site.call_index().filter(|call| *call < turn.tool_calls.len()) else {
        return false;
    };
    turn.tool_calls.remove(call);
    for text in turn.texts.iter_mut().filter(|text| text.after_calls > call) {
        text.after_calls -= 1;
    }
    count(conversation, |calls| calls.saturating_sub(1));
    true
}

/// Returns the calls that differ from the next one.
pub(crate) fn before_another(subject: &Subject<'_>) -> Vec<Site> {
    calls(subject, |turn, call| {
        let [one, other] = [call, call + 1].map(|index| turn.tool_calls.get(index));
        let same = |one: &ToolCall, other: &ToolCall| {
            one.name == other.name && python_eq(&one.arguments, &other.arguments)
        };
        one.zip(other).is_some_and(|(one, other)| !same(one, other))
    })
}

/// Exchanges a call with the next one.
pub(crate) fn swap_calls(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    let Some(turn) = site.turn_in(conversation) else { return false };
    let Some(call) = site.call_index().filter(|call| call + 1 < turn.tool_calls.len()) else {
        return false;
    };
    turn.tool_calls.swap(call, call + 1);
    true
}

/// Calls a tool of another name.
pub(crate) fn rename_tool(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    edit(conversation, site, |call| {
        call.name.push_str("_x");
        true
    })
}

/// Returns the leaves of the arguments of all calls.
pub(crate) fn leaves_of_arguments(subject: &Subject<'_>) -> Vec<Site> {
    variants(subject, |call| leaves(&call.arguments))
}

/// Changes one leaf of the arguments.
pub(crate) fn change_arg(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    edit(conversation, site, |call| {
        let Some(leaf) = leaf(&mut call.arguments, site.edit()) else { return false };
        *leaf = changed(leaf);
        true
    })
}

/// Returns the arguments of all calls.
pub(crate) fn arguments(subject: &Subject<'_>) -> Vec<Site> {
    variants(subject, |call| call.arguments.as_object().map_or(0, Object::len))
}

/// Removes an argument.
pub(crate) fn drop_arg(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    edit(conversation, site, |call| match &mut call.arguments {
        Value::Object(arguments) => arguments.shift_remove_index(site.edit()).is_some(),
        _ => false,
    })
}

/// Returns the calls to which an argument can be added.
pub(crate) fn with_room(subject: &Subject<'_>) -> Vec<Site> {
    calls(subject, |turn, call| match &turn.tool_calls[call].arguments {
        Value::Null => true,
        Value::Object(arguments) => !arguments.contains_key(ADDED),
        _ => false,
    })
}

/// Adds an argument.
pub(crate) fn add_arg(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    edit(conversation, site, |call| {
        if call.arguments.is_null() {
            call.arguments = Value::Object(Object::default());
        }
        match &mut call.arguments {
            Value::Object(arguments) => {
                arguments.insert(ADDED.to_owned(), Value::Bool(true)).is_none()
            }
            _ => false,
        }
    })
}

/// Makes a call twice.
pub(crate) fn duplicate_call(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    let Some(turn) = site.turn_in(conversation) else { return false };
    let Some(index) = site.call_index() else { return false };
    let Some(mut copy) = turn.tool_calls.get(index).cloned() else { return false };
    if let Some(id) = &mut copy.call_id {
        id.push_str("-2");
    }
    turn.tool_calls.insert(index + 1, copy);
    for text in turn.texts.iter_mut().filter(|text| text.after_calls > index) {
        text.after_calls += 1;
    }
    count(conversation, |calls| calls.saturating_add(1));
    true
}

/// Returns the calls that succeeded.
pub(crate) fn succeeded(subject: &Subject<'_>) -> Vec<Site> {
    calls(subject, |turn, call| !turn.tool_calls[call].is_error)
}

/// Makes a call fail.
pub(crate) fn error_result(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    edit(conversation, site, |call| {
        call.result = timeout().into();
        !std::mem::replace(&mut call.is_error, true)
    })
}

/// Returns the last call of each turn with an answer.
pub(crate) fn last_of_answered(subject: &Subject<'_>) -> Vec<Site> {
    calls(subject, |turn, call| call + 1 == turn.tool_calls.len() && turn.final_text.is_some())
}

/// Makes a call fail, and claims in the answer that it worked.
pub(crate) fn claim_success(
    conversation: &mut Conversation,
    subject: &Subject<'_>,
    site: Site,
) -> bool {
    // A call that failed already stays as it is.
    let _ = error_result(conversation, subject, site);
    let Some(turn) = site.turn_in(conversation) else { return false };
    let Some(call) = site.call_index().and_then(|call| turn.tool_calls.get(call)) else {
        return false;
    };
    let claim = format!("Done: {} worked, and everything is as you asked.", call.name);
    turn.final_text.replace(claim).is_some()
}

/// Changes a call.
fn edit(
    conversation: &mut Conversation,
    site: Site,
    change: impl FnOnce(&mut ToolCall) -> bool,
) -> bool {
    let Some(turn) = site.turn_in(conversation) else { return false };
    let call = site.call_index().and_then(|call| turn.tool_calls.get_mut(call));
    call.is_some_and(change)
}

/// Returns several edits of each call.
fn variants(subject: &Subject<'_>, number: impl Fn(&ToolCall) -> usize) -> Vec<Site> {
    let mut sites = Vec::new();
    for site in all(subject) {
        let turn = site.turn_of(subject.conversation);
        let call = turn.and_then(|turn| turn.tool_calls.get(site.call_index()?));
        let number = call.map_or(0, &number).min(MOST_VARIANTS);
        sites.extend((0..number).map(|variant| site.variant(variant)));
    }
    sites
}

/// Changes the number of calls that is recorded next to the turns.
fn count(conversation: &mut Conversation, change: impl FnOnce(usize) -> usize) {
    if let Some(performance) = &mut conversation.performance {
        performance.counts.tool_calls = change(performance.counts.tool_calls);
    }
}
