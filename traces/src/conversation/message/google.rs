//! Google's content objects, as the Agent Development Kit and Google's libraries record them.

use super::{Message, Part, only_responses};
use crate::json::{Object, Value};

/// The message of a content object; `None` when it is not an object.
pub(crate) fn google_message(content: &Value, default_role: &str) -> Option<Message> {
    let content = content.as_object()?;
    let parts = google_parts(content.get("parts").and_then(Value::as_array).unwrap_or_default());
    let role = if only_responses(&parts) {
        "tool"
    } else {
        match content.get("role").and_then(Value::as_str) {
            None => default_role,
            Some("model") => "assistant",
            Some(role) => role,
        }
    };
    Some(Message::new(role, parts))
}

/// The parts of a content object. A part has its kind as a key, next to keys that are null.
pub(crate) fn google_parts(parts: &[Value]) -> Vec<Part> {
    parts.iter().filter_map(Value::as_object).filter_map(google_part).collect()
}

fn google_part(part: &Object) -> Option<Part> {
    if let Some(text) = part.get("text").filter(|text| !text.is_null()) {
        let thought = part.get("thought").is_some_and(Value::is_truthy);
        return Some(if thought { Part::Other } else { Part::text(Some(text)) });
    }
    let object = |key| part.get(key).and_then(Value::as_object);
    if let Some(call) = object("function_call") {
        return Some(Part::tool_call(call.get("id"), call.get("name"), call.get("args")));
    }
    if let Some(response) = object("function_response") {
        let get = |key| response.get(key);
        return Some(Part::tool_response(get("id"), get("name"), get("response")));
    }
    part.values().any(|value| !value.is_null()).then_some(Part::Other)
}
