//! Reading `gen_ai.input.messages` and `gen_ai.output.messages`.

use std::borrow::Cow;

use super::{Message, Part, have_content, parts_of_content};
use crate::{
    json::{Object, Paths, Step, Value, parse_python, parse_python_leaving},
    python_text::strip,
};

/// Longer texts are not parsed: nobody records messages of this size on purpose.
const MAX_JSON_CHARS: usize = 4 * 1024 * 1024;

/// The results of tools in a list of messages and in a single message, which are parsed when they
/// are asked for.
const RESPONSES: Paths = &[
    &[Step::Items, Step::Members, Step::Items, Step::Member("response")],
    &[Step::Members, Step::Items, Step::Member("response")],
];

/// Whether a producer wrote this in place of content it did not record.
pub(crate) fn is_placeholder(text: &str) -> bool {
    matches!(strip(text), "" | "<REDACTED>" | "<elided>")
}

/// The value that `text` is the JSON of. `None` when it is not JSON, or the JSON of `null`, which says as little.
pub(crate) fn parse_json(text: &str) -> Option<Value> {
    if is_too_long(text) {
        return None;
    }
    parse_python(text).filter(|value| !value.is_null())
}

/// As [`parse_json`], but arrays and objects at these places become strings that hold their JSON.
pub(crate) fn parse_json_leaving(text: &str, opaque: Paths) -> Option<Value> {
    if is_too_long(text) {
        return None;
    }
    parse_python_leaving(text, opaque).filter(|value| !value.is_null())
}

fn is_too_long(text: &str) -> bool {
    text.len() > MAX_JSON_CHARS && text.chars().nth(MAX_JSON_CHARS).is_some()
}

/// The value itself or, if it is JSON text, what the text holds. Other text stays text.
pub(crate) fn json_or_text(value: &Value) -> Value {
    match value {
        Value::String(text) => parse_json(text).unwrap_or_else(|| value.clone()),
        other => other.clone(),
    }
}

/// Reads the value of a message attribute: a list of messages or a single one, as a structure or as JSON text.
///
/// Empty when it is neither or when no message has any content.
pub(crate) fn read_messages(value: &Value) -> Vec<Message> {
    let structure = match value {
        Value::String(text) if is_placeholder(text) => return Vec::new(),
        Value::String(text) => match parse_json_leaving(text, RESPONSES) {
            Some(parsed) => Cow::Owned(parsed),
            None => return Vec::new(),
        },
        other => Cow::Borrowed(other),
    };
    let messages: Vec<Message> = match structure.as_ref() {
        Value::Array(items) => {
            items.iter().filter_map(Value::as_object).map(read_message).collect()
        }
        Value::Object(message) => vec![read_message(message)],
        _ => Vec::new(),
    };
    if have_content(&messages) { messages } else { Vec::new() }
}

fn read_message(message: &Object) -> Message {
    let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
    let parts = match (message.get("parts"), message.get("content")) {
        (Some(Value::Array(parts)), _) => {
            parts.iter().filter_map(Value::as_object).map(Part::read).collect()
        }
        (_, Some(content)) => parts_of_content(content),
        _ => Vec::new(),
    };
    Message::new(role, parts)
}

impl Part {
    /// Reads a part that names its kind in `type`.
    pub(super) fn read(part: &Object) -> Self {
        let get = |key| part.get(key);
        match get("type") {
            Some(Value::String(kind)) if kind == "text" => Self::text(get("content")),
            Some(Value::String(kind)) if kind == "tool_call" => {
                Self::tool_call(get("id"), get("name"), get("arguments"))
            }
            Some(Value::String(kind)) if kind == "tool_call_response" => {
                Self::tool_response(get("id"), get("name"), get("response"))
            }
            Some(kind) if kind.is_truthy() => Self::Other,
            _ => Self::Empty,
        }
    }
}
