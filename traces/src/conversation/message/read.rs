//! Reading `gen_ai.input.messages` and `gen_ai.output.messages`.

use std::borrow::Cow;

use super::{Message, Part, have_content, parts_of_content};
use crate::{
    json::strip,
    json::{
        Object, ParseError, ParseErrorKind, ParseOptions, Paths, Step, Value, parse, parse_leaving,
        parse_python,
    },
};

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
    parse_python(text).filter(|value| !value.is_null())
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
/// Empty when no message has any content, and for what stands in place of content that was not recorded.
///
/// # Errors
///
/// The value is neither, as when a limit of the exporter cut it off. The text reads after the name of the attribute.
pub(crate) fn read_messages(value: &Value) -> Result<Vec<Message>, String> {
    let structure = match value {
        Value::String(text) if is_placeholder(text) => return Ok(Vec::new()),
        Value::String(text) => Cow::Owned(json_text(text, RESPONSES)?),
        other => Cow::Borrowed(other),
    };
    let messages: Vec<Message> = match structure.as_ref() {
        Value::Null => Vec::new(),
        Value::Array(items) => {
            let objects = || items.iter().filter_map(Value::as_object);
            if !items.is_empty() && !objects().any(is_message) {
                return Err("holds no message".to_owned());
            }
            objects().map(read_message).collect::<Result<_, _>>()?
        }
        Value::Object(message) if is_message(message) => vec![read_message(message)?],
        Value::Object(_) => return Err("holds no message".to_owned()),
        other => return Err(format!("is {} instead of a list of messages", other.kind())),
    };
    Ok(if have_content(&messages) { messages } else { Vec::new() })
}

/// The value of text that has to be JSON; arrays and objects at these places become strings that hold their JSON.
///
/// # Errors
///
/// The text is not JSON. The text of the error reads after the name of the attribute.
pub(crate) fn json_text(text: &str, opaque: Paths) -> Result<Value, String> {
    parse_leaving(text, &ParseOptions::default(), opaque).map(|parsed| parsed.value).map_err(
        |error| match is_cut(text, &error) {
            true => format!("is JSON that was cut off after {} bytes", text.len()),
            false => format!("is not valid JSON: {error}"),
        },
    )
}

/// Returns true for text that starts as a JSON array or object and ends inside it, as when a limit of the exporter cut it
/// off. Other text that is not JSON may be what the model wrote.
pub(crate) fn is_cut_json(text: &str) -> bool {
    if !text.trim_start().starts_with(['{', '[']) {
        return false;
    }
    match parse(text, &ParseOptions::default()) {
        Ok(_) => false,
        Err(error) => is_cut(text, &error),
    }
}

fn is_cut(text: &str, error: &ParseError) -> bool {
    const WORDS: [&str; 6] = ["true", "false", "null", "NaN", "-Infinity", "Infinity"];
    match error.kind {
        ParseErrorKind::UnexpectedEnd | ParseErrorKind::UnterminatedString => true,
        ParseErrorKind::ExpectedValue => {
            let rest = text.get(error.offset..).unwrap_or_default().trim_end();
            WORDS.iter().any(|word| word.starts_with(rest))
        }
        // The escape would need more characters than there are.
        ParseErrorKind::InvalidUnicodeEscape | ParseErrorKind::InvalidEscape => {
            let rest = text.get(error.offset..).unwrap_or_default();
            rest.len() < 6 && !rest.contains('"')
        }
        _ => false,
    }
}

/// Returns true for an object with a key of a message, and for an empty one.
fn is_message(object: &Object) -> bool {
    const KEYS: [&str; 4] = ["role", "parts", "content", "tool_calls"];
    object.is_empty() || KEYS.iter().any(|key| object.contains_key(*key))
}

fn read_message(message: &Object) -> Result<Message, String> {
    let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
    let parts = match (message.get("parts"), message.get("content")) {
        (Some(Value::Array(parts)), _) => {
            parts.iter().filter_map(Value::as_object).map(Part::read).collect()
        }
        (_, Some(content)) => parts_of_content(content),
        (None | Some(Value::Null), None) => Vec::new(),
        (Some(other), None) => {
            return Err(format!(
                "has a message whose `parts` are {} instead of an array",
                other.kind()
            ));
        }
    };
    Ok(Message::new(role, parts))
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
