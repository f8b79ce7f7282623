//! Messages as attributes with an index in their name: `gen_ai.prompt.0.content`, `gen_ai.completion.0.role`.

use std::collections::BTreeMap;

use super::Draft;
use crate::{
    conversation::message::{Message, Part, have_content, json_or_text, parts_of_content},
    json::{Object, Value},
};

/// The fields of each message or tool call, by number.
type ByIndex<'a> = BTreeMap<u64, BTreeMap<&'a str, &'a Value>>;

impl Draft<'_> {
    /// Fills messages from indexed attributes.
    pub(super) fn apply_indexed(&mut self) {
        if self.needs_input() {
            self.input = messages(&self.span.attributes, "gen_ai.prompt.");
        }
        if self.needs_output() {
            self.output = messages(&self.span.attributes, "gen_ai.completion.");
        }
    }
}

fn messages(attributes: &Object, prefix: &str) -> Vec<Message> {
    let mut entries = ByIndex::new();
    for (key, value) in attributes {
        if let Some(rest) = key.strip_prefix(prefix) {
            insert(&mut entries, rest, value);
        }
    }
    let messages: Vec<_> = entries.values().map(message).collect();
    if have_content(&messages) { messages } else { Vec::new() }
}

/// Adds a value whose name is a number, a dot and the name of a field; other names are not ours.
fn insert<'a>(entries: &mut ByIndex<'a>, name: &'a str, value: &'a Value) {
    if let Some((index, field)) = name.split_once('.')
        && index.bytes().all(|byte| byte.is_ascii_digit())
        && !field.is_empty()
        && let Ok(index) = index.parse()
    {
        entries.entry(index).or_default().insert(field, value);
    }
}

fn message(fields: &BTreeMap<&str, &Value>) -> Message {
    let get = |field| fields.get(field).copied();
    let role = get("role").and_then(Value::as_str).unwrap_or("user");
    if role == "tool" {
        let response = get("content").map(json_or_text);
        let part = Part::tool_response(get("tool_call_id"), None, response.as_ref());
        return Message::new(role, vec![part]);
    }
    let mut parts = get("content").map(parts_of_content).unwrap_or_default();
    let mut calls = ByIndex::new();
    for (field, value) in fields {
        if let Some(rest) = field.strip_prefix("tool_calls.") {
            insert(&mut calls, rest, value);
        }
    }
    for call in calls.values() {
        let get = |field| call.get(field).copied();
        if get("name").and_then(Value::as_str).is_some() {
            let arguments = get("arguments").map(json_or_text);
            parts.push(Part::tool_call(get("id"), get("name"), arguments.as_ref()));
        }
    }
    Message::new(role, parts)
}
