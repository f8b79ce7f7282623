//! Messages whose content is not in parts: the shape of the `OpenAI` interface.

use super::{Part, google_parts, json_or_text};
use crate::json::Value;

/// The parts of a `content` value: text, a list of texts and typed items, or Google's content object.
pub(crate) fn parts_of_content(content: &Value) -> Vec<Part> {
    match content {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().filter_map(part_of_item).collect(),
        Value::Object(object) => match object.get("parts") {
            Some(Value::Array(parts)) => google_parts(parts),
            _ => vec![Part::text(Some(content))],
        },
        _ => match Part::text(Some(content)) {
            Part::Empty => Vec::new(),
            part => vec![part],
        },
    }
}

/// An item of a content list. Items of unknown kinds count as content, those without a kind do not count.
fn part_of_item(item: &Value) -> Option<Part> {
    let object = match item {
        Value::String(_) => return Some(Part::text(Some(item))),
        Value::Object(object) => object,
        _ => return None,
    };
    match object.get("type") {
        Some(Value::String(kind)) if kind == "text" && !object.contains_key("content") => {
            Some(Part::text(object.get("text")))
        }
        Some(Value::String(kind)) if kind == "text" || !object.contains_key("text") => {
            Some(Part::read(object))
        }
        _ => object.get("text").map(|text| Part::text(Some(text))),
    }
}

/// The parts of a `tool_calls` list, whose items carry name and arguments in `function` or directly.
pub(crate) fn openai_tool_calls(calls: Option<&Value>) -> Vec<Part> {
    let calls = calls.and_then(Value::as_array).unwrap_or_default();
    calls
        .iter()
        .filter_map(Value::as_object)
        .filter_map(|call| {
            let function = call.get("function").and_then(Value::as_object).unwrap_or(call);
            function.get("name").filter(|name| name.as_str().is_some())?;
            let arguments = function.get("arguments").map(json_or_text);
            Some(Part::tool_call(call.get("id"), function.get("name"), arguments.as_ref()))
        })
        .collect()
}
