//! The messages of a model call.

use super::{
    fields::{Fields, inner_objects, objects, whole_list},
    is_withheld,
    tool::structure,
};
use crate::{
    conversation::message::{Message, Part, have_content, parts_of_content, text_of},
    json::{Object, Value},
};

/// What goes into a call, or what comes out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Input,
    Output,
}

impl Side {
    fn role(self) -> &'static str {
        match self {
            Self::Input => "user",
            Self::Output => "assistant",
        }
    }
}

/// The messages under `llm.input_messages` or `llm.output_messages`; none when they say nothing.
///
/// # Errors
///
/// The list is JSON text that was cut off; the error is the name of the attribute.
pub(super) fn read(attributes: &Object, side: Side) -> Result<Vec<Message>, &'static str> {
    let name = match side {
        Side::Input => "llm.input_messages",
        Side::Output => "llm.output_messages",
    };
    let whole = whole_list(attributes, name)?;
    let messages: Vec<Message> = objects(attributes, name, whole.as_deref())
        .values()
        .map(|fields| message(fields, side))
        .collect();
    Ok(if have_content(&messages) { messages } else { Vec::new() })
}

/// The texts of calls that know no messages: `llm.prompts` and `llm.choices`.
///
/// # Errors
///
/// The list is JSON text that was cut off; the error is the name of the attribute.
pub(super) fn read_texts(attributes: &Object, side: Side) -> Result<Vec<Message>, &'static str> {
    let (name, field) = match side {
        Side::Input => ("llm.prompts", "prompt.text"),
        Side::Output => ("llm.choices", "completion.text"),
    };
    let whole = whole_list(attributes, name)?;
    let as_texts = whole.as_deref().and_then(Value::as_array).unwrap_or_default();
    let flattened = objects(attributes, name, whole.as_deref());
    let texts = flattened.values().filter_map(|fields| fields.get(field).copied());
    let messages: Vec<Message> = as_texts
        .iter()
        .filter(|item| item.as_str().is_some())
        .chain(texts)
        .filter(|text| !is_withheld(text))
        .map(|text| Message::new(side.role(), vec![Part::text(Some(text))]))
        .collect();
    Ok(if have_content(&messages) { messages } else { Vec::new() })
}

fn message(fields: &Fields<'_>, side: Side) -> Message {
    let get = |name: &str| fields.get(name).copied().filter(|value| !is_withheld(value));
    let role = get("message.role").and_then(Value::as_str).unwrap_or(side.role());
    let mut parts = get("message.content").map(parts_of_content).unwrap_or_default();
    // A message has either; of one that has both, they say the same.
    if !parts.iter().any(|part| matches!(part, Part::Text(_))) {
        parts.extend(inner_objects(fields, "message.contents").values().map(content));
    }
    if matches!(role, "tool" | "function") {
        let texts = [Message::new(role, parts)];
        let content = get("message.content").cloned();
        let content = content.or_else(|| text_of(&texts).map(Value::String));
        let part =
            Part::tool_response(get("message.tool_call_id"), get("message.name"), content.as_ref());
        return Message::new("tool", vec![part]);
    }
    for call in inner_objects(fields, "message.tool_calls").values() {
        let get = |name: &str| call.get(name).copied();
        parts.extend(request(
            get("tool_call.id"),
            get("tool_call.function.name"),
            get("tool_call.function.arguments"),
        ));
    }
    // How a call was recorded before there could be several.
    parts.extend(request(
        None,
        get("message.function_call_name"),
        get("message.function_call_arguments_json"),
    ));
    Message::new(role, parts)
}

fn request(id: Option<&Value>, name: Option<&Value>, arguments: Option<&Value>) -> Option<Part> {
    let name = name.filter(|name| name.as_str().is_some_and(|name| !name.is_empty()))?;
    let arguments = arguments.filter(|arguments| !is_withheld(arguments)).map(structure);
    Some(Part::tool_call(id, Some(name), arguments.as_ref()))
}

/// One of `message.contents`. Reasoning has text as well, but is not said to anybody.
fn content(fields: &Fields<'_>) -> Part {
    let text = fields.get("message_content.text").copied().filter(|text| !is_withheld(text));
    match fields.get("message_content.type").and_then(|kind| kind.as_str()) {
        None | Some("text") => Part::text(text),
        Some(_) => Part::Other,
    }
}
