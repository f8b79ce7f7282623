//! Turns as lists of messages, as AgentV's templates show them.

use evaluator_json::{Value, object};

use crate::judge::{Content, JudgedTurn, Part};

/// Returns the messages of the user.
pub(super) fn user_messages(turns: &[JudgedTurn]) -> Vec<Value> {
    let users = turns.iter().filter_map(JudgedTurn::user_text);
    users.map(|text| object([("role", "user".into()), ("content", text.into())])).collect()
}

/// Returns the messages of the agent and the responses of its tools.
pub(super) fn answer_messages(turns: &[JudgedTurn]) -> Vec<Value> {
    let mut messages = Vec::new();
    for turn in turns {
        let events = turn.steps.events().iter().filter_map(|event| event.content.as_ref());
        messages.extend(events.chain(&turn.answer).filter_map(message));
    }
    messages
}

/// Returns a message, `None` if there is nothing in it.
fn message(content: &Content) -> Option<Value> {
    let text = content.texts().join("\n");
    let calls = content.parts.iter().filter_map(|part| match part {
        Part::Call(call) => {
            Some(object([("tool", name(call.name.as_deref())), ("input", call.args.clone())]))
        }
        Part::Response(response) => Some(object([
            ("tool", name(response.name.as_deref())),
            ("output", response.response.clone()),
        ])),
        Part::Text(_) | Part::Other => None,
    });
    let calls: Vec<Value> = calls.collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let is_response = content.parts.iter().any(|part| matches!(part, Part::Response(_)));
    let mut members = vec![("role", if is_response { "tool" } else { "assistant" }.into())];
    if !text.is_empty() {
        members.push(("content", text.into()));
    }
    if !calls.is_empty() {
        members.push(("tool_calls", Value::Array(calls)));
    }
    Some(object(members))
}

fn name(tool: Option<&str>) -> Value {
    tool.map_or(Value::Null, Value::from)
}
