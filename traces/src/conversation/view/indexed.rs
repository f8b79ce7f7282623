//! Lists of objects that are flattened into attributes (`gen_ai.prompt.0.content`), and messages in this form.

use std::{borrow::Cow, collections::BTreeMap};

use super::Draft;
use crate::{
    conversation::message::{Message, Part, have_content, json_or_text, parts_of_content},
    json::{Object, Value},
};

/// Objects nested deeper than this stay whole; the convention's own end at the fifth level.
const MAX_DEPTH: usize = 8;

/// The fields of an object, by path.
pub(super) type Fields<'a> = BTreeMap<Cow<'a, str>, &'a Value>;

/// The objects of the list `name` in order of their numbers: those of `whole`, and those that were flattened.
pub(super) fn objects<'a>(
    attributes: &'a Object,
    name: &str,
    whole: Option<&'a Value>,
) -> BTreeMap<u64, Fields<'a>> {
    let mut objects = BTreeMap::new();
    for (index, item) in (0..).zip(whole.and_then(Value::as_array).unwrap_or_default()) {
        flatten(objects.entry(index).or_default(), String::new(), item, 0);
    }
    for (key, value) in attributes {
        if let Some(path) = key.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) {
            insert(&mut objects, path, value);
        }
    }
    objects
}

/// The objects of a list inside of an object.
pub(super) fn inner_objects<'a>(fields: &'a Fields<'a>, name: &str) -> BTreeMap<u64, Fields<'a>> {
    let mut objects = BTreeMap::new();
    for (key, value) in fields {
        if let Some(path) = key.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) {
            insert(&mut objects, path, value);
        }
    }
    objects
}

/// Adds a value whose path is a number, a dot and the name of a field; other paths are not ours.
fn insert<'a>(objects: &mut BTreeMap<u64, Fields<'a>>, path: &'a str, value: &'a Value) {
    if let Some((index, field)) = path.split_once('.')
        && index.bytes().all(|byte| byte.is_ascii_digit())
        && !field.is_empty()
        && let Ok(index) = index.parse()
    {
        objects.entry(index).or_default().insert(Cow::Borrowed(field), value);
    }
}

fn flatten<'a>(fields: &mut Fields<'a>, path: String, value: &'a Value, depth: usize) {
    let below = |name: &str| {
        if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
    };
    match value {
        Value::Object(object) if depth < MAX_DEPTH => {
            for (name, value) in object {
                flatten(fields, below(name), value, depth + 1);
            }
        }
        Value::Array(items)
            if depth < MAX_DEPTH && items.iter().any(|item| item.as_object().is_some()) =>
        {
            for (index, item) in items.iter().enumerate() {
                flatten(fields, below(&index.to_string()), item, depth + 1);
            }
        }
        _ => {
            fields.insert(Cow::Owned(path), value);
        }
    }
}

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
    let messages: Vec<_> =
        objects(attributes, prefix.trim_end_matches('.'), None).values().map(message).collect();
    if have_content(&messages) { messages } else { Vec::new() }
}

fn message(fields: &Fields<'_>) -> Message {
    let get = |field: &str| fields.get(field).copied();
    let role = get("role").and_then(Value::as_str).unwrap_or("user");
    if role == "tool" {
        let response = get("content").map(json_or_text);
        let part = Part::tool_response(get("tool_call_id"), None, response.as_ref());
        return Message::new(role, vec![part]);
    }
    let mut parts = get("content").map(parts_of_content).unwrap_or_default();
    for call in inner_objects(fields, "tool_calls").values() {
        let get = |field: &str| call.get(field).copied();
        if get("name").and_then(Value::as_str).is_some() {
            let arguments = get("arguments").map(json_or_text);
            parts.push(Part::tool_call(get("id"), get("name"), arguments.as_ref()));
        }
    }
    Message::new(role, parts)
}
