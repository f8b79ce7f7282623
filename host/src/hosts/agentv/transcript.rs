//! Messages and events of a conversation, as AgentV has them.

use super::snake_case::snake_case;
use crate::{
    contract::members::{count, elapsed, object, present, text},
    conversation::{Conversation, ToolCall, Turn},
    eval_set::{EvalCase, ExpectedTurn},
    json::Value,
};

/// A message with what the events of a trace say of it.
pub(super) struct Message<'a> {
    role: &'static str,
    content: Option<&'a str>,
    calls: &'a [ToolCall],
}

/// What the user said first, which is the input of the agent.
pub(super) fn input(conversation: &Conversation) -> Vec<Message<'_>> {
    let first = conversation.turns.first().and_then(|turn| turn.user_text.as_deref());
    first.map(|said| Message::new("user", said)).into_iter().collect()
}

/// Everything after that: what the agent did and said, and what the user said between.
pub(super) fn output(conversation: &Conversation) -> Vec<Message<'_>> {
    let mut messages = Vec::new();
    for (index, turn) in conversation.turns.iter().enumerate() {
        if index > 0 {
            messages.push(Message::new("user", turn.user_text.as_deref().unwrap_or_default()));
        }
        messages.extend(of_agent(turn));
    }
    messages
}

fn of_agent(turn: &Turn) -> impl Iterator<Item = Message<'_>> {
    let calls = (!turn.tool_calls.is_empty()).then_some(Message {
        role: "assistant",
        content: None,
        calls: &turn.tool_calls,
    });
    let said = turn.final_text.as_deref().map(|said| Message::new("assistant", said));
    calls.into_iter().chain(said)
}

impl<'a> Message<'a> {
    fn new(role: &'static str, content: &'a str) -> Self {
        Self { role, content: Some(content), calls: &[] }
    }

    pub(super) fn to_value(&self) -> Value {
        let calls = Value::Array(self.calls.iter().map(call).collect());
        present([
            ("role", Some(text(self.role))),
            ("content", self.content.map(text)),
            ("tool_calls", (!self.calls.is_empty()).then_some(calls)),
        ])
    }
}

/// The JSON of messages.
pub(super) fn values<'a>(messages: impl IntoIterator<Item = &'a Message<'a>>) -> Value {
    Value::Array(messages.into_iter().map(Message::to_value).collect())
}

fn call(call: &ToolCall) -> Value {
    present([
        ("tool", Some(text(&call.name))),
        ("input", said(&call.arguments)),
        ("output", said(call.result.value())),
        ("id", call.call_id.as_deref().map(text)),
        ("duration_ms", call.span.map(|(start, end)| elapsed(start, end, 1e6))),
    ])
}

fn said(value: &Value) -> Option<Value> {
    (!value.is_null()).then(|| snake_case(value))
}

/// The expected messages of a golden case.
pub(super) fn expected(case: &EvalCase) -> Value {
    let mut messages = Vec::new();
    for (index, turn) in case.turns.iter().enumerate() {
        if index > 0 {
            messages.push(object([("role", text("user")), ("content", text(&turn.user_text()))]));
        }
        messages.extend(expected_of_agent(turn));
    }
    Value::Array(messages)
}

fn expected_of_agent(turn: &ExpectedTurn) -> Option<Value> {
    let calls: Vec<Value> = turn
        .tool_calls
        .iter()
        .map(|call| {
            let response = call.id.as_ref().and_then(|id| {
                turn.tool_responses.iter().find(|response| response.id.as_ref() == Some(id))
            });
            present([
                ("tool", Some(text(call.name.as_deref().unwrap_or_default()))),
                ("input", said(&call.args)),
                ("output", response.and_then(|response| said(&response.response))),
                ("id", call.id.as_deref().map(text)),
            ])
        })
        .collect();
    let answer = turn.final_text("");
    (answer.is_some() || !calls.is_empty()).then(|| {
        present([
            ("role", Some(text("assistant"))),
            ("content", answer.as_deref().map(text)),
            ("tool_calls", (!calls.is_empty()).then_some(Value::Array(calls))),
        ])
    })
}

/// The events of a trace with these messages.
pub(super) fn events(messages: &[&Message<'_>]) -> Value {
    let mut events = Vec::new();
    let mut push = |id: String, parent: Option<&str>, members: [(&str, Option<Value>); 4]| {
        let [kind, message, tool, metadata] = members;
        events.push(present([
            ("event_id", Some(text(&id))),
            ("parent_event_id", parent.map(text)),
            ("ordinal", Some(count(events.len()))),
            kind,
            message,
            tool,
            metadata,
        ]));
    };
    for (index, message) in messages.iter().enumerate() {
        let id = format!("message-{index}");
        let spoken = Message { calls: &[], ..**message };
        push(id.clone(), None, event("message", Some(spoken.to_value()), None, index, None));
        for (at, call) in message.calls.iter().enumerate() {
            let tool_id = format!("{id}-tool-{at}");
            let called = Some(tool(call, true));
            push(tool_id.clone(), Some(&id), event("tool_call", None, called, index, Some(at)));
            let result = event("tool_result", None, Some(tool(call, false)), index, Some(at));
            push(format!("{tool_id}-result"), Some(&tool_id), result);
        }
    }
    if let Some((index, last)) = messages.iter().enumerate().next_back()
        && last.role == "assistant"
        && last.content.is_some()
    {
        let parent = format!("message-{index}");
        let members = event("final_response", Some(last.to_value()), None, index, None);
        push("final-response".to_owned(), Some(&parent), members);
    }
    Value::Array(events)
}

fn event(
    kind: &str,
    message: Option<Value>,
    tool: Option<Value>,
    index: usize,
    at: Option<usize>,
) -> [(&'static str, Option<Value>); 4] {
    let metadata = present([("message_index", Some(count(index))), ("tool_index", at.map(count))]);
    [("type", Some(text(kind))), ("message", message), ("tool", tool), ("metadata", Some(metadata))]
}

fn tool(call: &ToolCall, with_input: bool) -> Value {
    let status = match call.is_error {
        true => "error",
        false if call.result.is_null() => "unknown",
        false => "ok",
    };
    present([
        ("name", Some(text(&call.name))),
        ("call_id", call.call_id.as_deref().map(text)),
        ("input", said(&call.arguments).filter(|_| with_input)),
        ("output", said(call.result.value())),
        ("status", Some(text(status))),
    ])
}
