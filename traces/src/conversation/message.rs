//! Messages as recordings hold them, reduced to what later stages need.
//!
//! A part is text, a tool call, a tool response, or an attachment such as an image; every other part (reasoning, calls that the
//! provider makes itself) only counts as content.

use std::{borrow::Cow, rc::Rc};

use super::{
    attachment::Attachment,
    recorded::{Recorded, parse_json},
};
use crate::json::{
    Object, ParseError, ParseErrorKind, ParseOptions, Paths, Step, Value, parse, parse_leaving,
    strip, to_python,
};

/// The messages of one side of a model call.
pub(super) type Messages = Rc<[Message]>;

/// A message that was given to a model or an agent, or with which it answered.
#[derive(Clone, Debug)]
pub struct Message {
    /// `user`, `assistant`, `tool`, `system` or whatever the producer wrote; never empty.
    pub(super) role: String,
    /// Its parts in order.
    pub(super) parts: Vec<Part>,
}

/// A part of a message.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Text that is neither blank nor a placeholder for content that was not recorded.
    Text(String),
    /// Text that was recorded and is blank.
    Blank,
    /// A tool call of the model.
    ToolCall(CallPart),
    /// A tool response.
    ToolResponse(ResponsePart),
    /// An image, sound, a video or a file.
    Attachment(Box<Attachment>),
    /// Content of another kind.
    Other,
    /// Content that was not recorded: a withheld text, or a part without a type.
    Withheld,
}

/// A tool call.
#[derive(Clone, Debug)]
pub(super) struct CallPart {
    pub(super) id: PartId,
    pub(super) name: String,
    /// JSON text is parsed; text that is not JSON is dropped, since arguments are a structure.
    pub(super) arguments: Value,
    /// Whether the arguments are JSON that was cut off.
    pub(super) is_cut: bool,
}

/// The result of a tool.
#[derive(Clone, Debug)]
pub(super) struct ResponsePart {
    pub(super) id: PartId,
    /// `None` if the part does not name the tool.
    pub(super) name: Option<String>,
    pub(super) response: Recorded,
}

/// The id that connects a tool call with its response.
#[derive(Clone, Debug, Default)]
pub(super) struct PartId {
    /// The id; what is not a string is held as its JSON text.
    pub(super) text: Option<String>,
    /// The type of the id, if it is not a string.
    pub(super) odd_kind: Option<&'static str>,
}

impl PartId {
    /// Reads an id; an empty value does not count.
    pub(super) fn read(value: Option<&Value>) -> Self {
        match value {
            Some(Value::String(id)) if !id.is_empty() => {
                Self { text: Some(id.clone()), odd_kind: None }
            }
            Some(odd) if odd.is_truthy() => {
                Self { text: Some(to_python(odd)), odd_kind: Some(odd.kind()) }
            }
            _ => Self::default(),
        }
    }
}

impl Message {
    /// Returns a message with a text. Roles are `user`, `assistant`, `tool` and `system`.
    pub fn text(role: &str, text: &str) -> Self {
        Self::new(role, vec![Part::text(Some(&Value::String(text.to_owned())))])
    }

    /// A message of `role`, or of the user if that is empty.
    pub(super) fn new(role: &str, parts: Vec<Part>) -> Self {
        let role = if role.is_empty() { "user" } else { role };
        Self { role: role.to_owned(), parts }
    }

    fn has_content(&self) -> bool {
        self.parts.iter().any(|part| !matches!(part, Part::Blank | Part::Withheld))
    }

    fn has_text(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Text(_)))
    }

    /// Returns true for a message of the user that has text or attachments.
    fn is_of_user(&self) -> bool {
        let says = |part: &Part| matches!(part, Part::Text(_) | Part::Attachment(_));
        self.role == "user" && self.parts.iter().any(says) && !only_responses(&self.parts)
    }
}

impl Part {
    /// A text part with this content. Content that is not a string is taken as its JSON text.
    pub(super) fn text(content: Option<&Value>) -> Self {
        match content {
            None | Some(Value::Null) => Self::Withheld,
            Some(Value::String(text)) if strip(text).is_empty() => Self::Blank,
            Some(Value::String(text)) if is_placeholder(text) => Self::Withheld,
            Some(Value::String(text)) => Self::Text(text.clone()),
            Some(structured) => Self::Text(to_python(structured)),
        }
    }

    /// A request for a tool. Without a name it is content of some other kind.
    pub(super) fn tool_call(
        id: Option<&Value>,
        name: Option<&Value>,
        arguments: Option<&Value>,
    ) -> Self {
        let Some(name) = name.and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            return Self::Other;
        };
        let mut is_cut = false;
        let arguments = match arguments {
            Some(Value::String(text)) => parse_json(text).unwrap_or_else(|| {
                is_cut = is_cut_json(text);
                Value::Null
            }),
            other => other.cloned().unwrap_or_default(),
        };
        Self::ToolCall(CallPart { id: PartId::read(id), name: name.to_owned(), arguments, is_cut })
    }

    /// The result of a tool.
    pub(super) fn tool_response(
        id: Option<&Value>,
        name: Option<&Value>,
        response: Option<&Value>,
    ) -> Self {
        let name = match name {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name.clone()),
            Some(odd) => Some(to_python(odd)),
        };
        let response = response.map(Recorded::from).unwrap_or_default();
        Self::ToolResponse(ResponsePart { id: PartId::read(id), name, response })
    }
}

/// Returns true if a message has content of any kind.
pub(super) fn have_content(messages: &[Message]) -> bool {
    messages.iter().any(Message::has_content)
}

/// Returns true if a message has text.
pub(super) fn have_text(messages: &[Message]) -> bool {
    messages.iter().any(Message::has_text)
}

/// Returns true if a message has a text that was recorded and is blank.
pub(super) fn have_blank(messages: &[Message]) -> bool {
    messages.iter().flat_map(|message| &message.parts).any(|part| matches!(part, Part::Blank))
}

/// Returns true for messages that are an answer without text: they have no part but blank texts and content of other kinds.
pub(super) fn answer_nothing(messages: &[Message]) -> bool {
    let is_silent = |part: &Part| matches!(part, Part::Blank | Part::Attachment(_) | Part::Other);
    let mut parts = messages.iter().flat_map(|message| &message.parts);
    !messages.is_empty() && parts.all(is_silent)
}

/// Returns all text of the messages without separators; `None` if there is none.
pub(super) fn text_of<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Option<String> {
    let mut text = String::new();
    for message in messages {
        for part in &message.parts {
            if let Part::Text(content) = part {
                text.push_str(content);
            }
        }
    }
    (!text.is_empty()).then_some(text)
}

/// Returns true for a message of the user that has text.
pub(super) fn is_said_by_user(message: &Message) -> bool {
    message.role == "user" && message.has_text()
}

/// Returns the last consecutive user messages that have text, whatever follows them.
pub(super) fn user_turn(messages: &[Message]) -> &[Message] {
    let Some(last) = messages.iter().rposition(is_said_by_user) else { return &[] };
    let first = messages[..last]
        .iter()
        .rposition(|message| !is_said_by_user(message))
        .map_or(0, |before| before + 1);
    &messages[first..=last]
}

/// Returns the attachments in messages.
pub(super) fn attachments_of(messages: &[Message]) -> Vec<Attachment> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let attachments = parts.filter_map(|part| match part {
        Part::Attachment(attachment) => Some(&**attachment),
        _ => None,
    });
    attachments.cloned().collect()
}

/// Returns the last consecutive user messages that have text or attachments, whatever follows them. Those with attachments of tools,
/// which some libraries hand on in the name of the user, are not among them.
pub(super) fn shown_by_user(messages: &[Message]) -> &[Message] {
    let Some(last) = messages.iter().rposition(Message::is_of_user) else { return &[] };
    let before = messages[..last].iter().rposition(|message| !message.is_of_user());
    let (before, shown) = messages[..=last].split_at(before.map_or(0, |before| before + 1));
    if !have_text(shown) && end_with_tool_response(before) {
        return shown_by_user(before);
    }
    shown
}

/// Returns the messages behind the last one of the user that has text.
pub(super) fn after_user(messages: &[Message]) -> &[Message] {
    &messages[messages.iter().rposition(is_said_by_user).map_or(0, |last| last + 1)..]
}

/// Returns true if the last message has tool responses.
pub(super) fn end_with_tool_response(messages: &[Message]) -> bool {
    messages.last().is_some_and(|last| last.role == "tool" || only_responses(&last.parts))
}

/// Returns true if there are parts and all of them are tool responses.
fn only_responses(parts: &[Part]) -> bool {
    !parts.is_empty() && parts.iter().all(|part| matches!(part, Part::ToolResponse(_)))
}

/// Returns the tool calls in the messages.
pub(super) fn tool_calls(messages: &[Message]) -> impl Iterator<Item = &CallPart> {
    messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    })
}

/// Returns the tool responses in the messages.
pub(super) fn tool_responses(messages: &[Message]) -> impl Iterator<Item = &ResponsePart> {
    messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolResponse(response) => Some(response),
        _ => None,
    })
}

/// Paths of the tool responses in a list of messages and in a single message, which are parsed on first use.
const RESPONSES: Paths = &[
    &[Step::Items, Step::Members, Step::Items, Step::Member("response")],
    &[Step::Items, Step::Members, Step::Items, Step::Member("result")],
    &[Step::Members, Step::Items, Step::Member("response")],
];

/// Returns true for a text that a producer writes in place of content that it does not record.
pub(crate) fn is_placeholder(text: &str) -> bool {
    matches!(strip(text), "" | "<REDACTED>" | "<elided>")
}

/// Returns the value itself or, if it is JSON text, its parsed content. Other text stays text.
pub(crate) fn json_or_text(value: &Value) -> Value {
    match value {
        Value::String(text) => parse_json(text).unwrap_or_else(|| value.clone()),
        other => other.clone(),
    }
}

/// Reads the value of a message attribute: a list of messages or a single one, as a structure or as JSON text.
///
/// The result is empty for placeholders of content that was not recorded.
///
/// # Errors
///
/// The value is neither, e.g. because a limit of the exporter cut it off. The error text is meant to follow the name of the
/// attribute.
pub(crate) fn read_messages(value: &Value) -> Result<Vec<Message>, String> {
    let structure = match value {
        Value::String(text) if is_placeholder(text) => return Ok(Vec::new()),
        Value::String(text) => Cow::Owned(json_text(text, RESPONSES)?),
        other => Cow::Borrowed(other),
    };
    match structure.as_ref() {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => {
            let objects = || items.iter().filter_map(Value::as_object);
            if !items.is_empty() && !objects().any(is_message) {
                return Err("holds no message".to_owned());
            }
            objects().map(read_message).collect()
        }
        Value::Object(message) if is_message(message) => Ok(vec![read_message(message)?]),
        Value::Object(_) => Err("holds no message".to_owned()),
        other => Err(format!("is {} instead of a list of messages", other.kind())),
    }
}

/// The value of text that has to be JSON; arrays and objects at these places become strings that hold their JSON.
///
/// # Errors
///
/// The text is not JSON. The error text is meant to follow the name of the attribute.
pub(crate) fn json_text(text: &str, opaque: Paths) -> Result<Value, String> {
    parse_leaving(text, &ParseOptions::default(), opaque).map(|parsed| parsed.value).map_err(
        |error| match is_cut(text, &error) {
            true => format!("is JSON that was cut off after {} bytes", text.len()),
            false => format!("is not valid JSON: {error}"),
        },
    )
}

/// Returns true for text that starts as a JSON array or object and ends inside it, e.g. because a limit of the exporter cut
/// it off. Other text that is not JSON may be what the model wrote.
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
    const KEYS: [&str; 5] = ["role", "parts", "content", "tool_calls", "finish_reason"];
    object.is_empty() || KEYS.iter().any(|key| object.contains_key(*key))
}

fn read_message(message: &Object) -> Result<Message, String> {
    let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
    let parts = match (message.get("parts"), message.get("content")) {
        (Some(Value::Array(parts)), _) => {
            let parts = parts.iter().filter_map(Value::as_object).map(Part::read).collect();
            with_tool_members(role, message, parts)
        }
        (_, Some(content)) => with_unread_calls(message, parts_of_content(content)),
        (None | Some(Value::Null), None) => with_unread_calls(message, Vec::new()),
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
                // Pydantic AI calls it a result.
                let response = get("response").or_else(|| get("result"));
                Self::tool_response(get("id"), get("name"), response)
            }
            Some(kind) if kind.is_truthy() => Self::other(part),
            _ => Self::Withheld,
        }
    }

    /// Reads a part that is neither text nor of a tool.
    pub(super) fn other(part: &Object) -> Self {
        Attachment::read(part).map_or(Self::Other, |it| Self::Attachment(Box::new(it)))
    }
}

/// The parts of a `content` value: text, a list of texts and typed items, or Google's content object.
pub(crate) fn parts_of_content(content: &Value) -> Vec<Part> {
    match content {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().filter_map(part_of_item).collect(),
        Value::Object(object) => match object.get("parts") {
            Some(Value::Array(parts)) => google_parts(parts),
            _ => vec![Part::text(Some(content))],
        },
        _ => vec![Part::text(Some(content))],
    }
}

/// An item of a content list. Items of unknown kinds count as content, those without a kind do not count.
fn part_of_item(item: &Value) -> Option<Part> {
    let object = match item {
        Value::String(_) => return Some(Part::text(Some(item))),
        Value::Object(object) => object,
        _ => return None,
    };
    if let Some(part) = tool_block(object) {
        return Some(part);
    }
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

/// Adds what some producers write next to the parts of a message, as in `OpenAI`'s form: `tool_calls`, and the id that makes
/// text the response of a tool.
fn with_tool_members(role: &str, message: &Object, mut parts: Vec<Part>) -> Vec<Part> {
    if role == "tool"
        && let Some(id) = message.get("tool_call_id")
        && !parts.iter().any(|part| matches!(part, Part::ToolResponse(_)))
    {
        let text = text_of(&[Message::new(role, parts)]).map(Value::String);
        parts = vec![Part::tool_response(Some(id), message.get("name"), text.as_ref())];
    }
    parts.extend(openai_tool_calls(message.get("tool_calls")));
    parts
}

/// Notes that a message in `OpenAI`'s form has tool calls, which the conventions do not write in this way: it is no answer.
fn with_unread_calls(message: &Object, mut parts: Vec<Part>) -> Vec<Part> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    if calls.is_some_and(|calls| !calls.is_empty()) {
        parts.push(Part::Withheld);
    }
    parts
}

/// The parts of a message in `OpenAI`'s form: its content, which some frameworks call `blocks`, and `tool_calls`. The content
/// of a message of a tool is the response.
pub(crate) fn message_parts(role: &str, message: &Object) -> Vec<Part> {
    let content = ["content", "_content", "blocks"].into_iter().find_map(|key| message.get(key));
    let mut parts = content.map(parts_of_content).unwrap_or_default();
    if role == "tool" && !parts.iter().any(|part| matches!(part, Part::ToolResponse(_))) {
        let response = content.map(plain_blocks);
        let id = message.get("tool_call_id");
        parts = vec![Part::tool_response(id, message.get("name"), response.as_ref())];
    }
    parts.extend(openai_tool_calls(message.get("tool_calls")));
    parts
}

/// Reads a tool call or a tool result as providers and frameworks write them into the content of a message: Anthropic's
/// `tool_use` and `tool_result`, `toolUse` and `toolResult` of Bedrock's Converse API, and the objects of Haystack and
/// LlamaIndex, which have a `tool_name`.
fn tool_block(object: &Object) -> Option<Part> {
    let get = |key| object.get(key);
    match get("type").and_then(Value::as_str) {
        Some("tool_use") => return Some(Part::tool_call(get("id"), get("name"), get("input"))),
        Some("tool_result") => {
            let content = get("content").map(plain_blocks);
            return Some(Part::tool_response(get("tool_use_id"), None, content.as_ref()));
        }
        _ => {}
    }
    if let Some(call) = get("toolUse") {
        return Some(Part::tool_call(call.get("toolUseId"), call.get("name"), call.get("input")));
    }
    if let Some(result) = get("toolResult") {
        let content = result.get("content").map(plain_blocks);
        return Some(Part::tool_response(result.get("toolUseId"), None, content.as_ref()));
    }
    if let Some(arguments) = get("arguments").or_else(|| get("tool_kwargs"))
        && get("tool_name").is_some()
    {
        let id = get("id").or_else(|| get("tool_call_id"));
        return Some(Part::tool_call(id, get("tool_name"), Some(arguments)));
    }
    let (result, origin) = (get("result")?, get("origin")?);
    Some(Part::tool_response(origin.get("id"), origin.get("tool_name"), Some(result)))
}

/// Returns the text of a list of text blocks, the value of a single JSON block, and other values as they are.
pub(crate) fn plain_blocks(value: &Value) -> Value {
    let Some(blocks) = value.as_array().filter(|blocks| !blocks.is_empty()) else {
        return value.clone();
    };
    if let [block] = blocks
        && let Some(json) = block.get("json")
    {
        return json.clone();
    }
    let texts: Option<Vec<&str>> =
        blocks.iter().map(|block| block.get("text").and_then(Value::as_str)).collect();
    texts.map_or_else(|| value.clone(), |texts| Value::String(texts.concat()))
}

/// Returns the parts of a list of blocks, of Anthropic's messages or of Bedrock's Converse API; `None` for anything else.
pub(crate) fn block_parts(value: &Value) -> Option<Vec<Part>> {
    const TYPES: [&str; 7] =
        ["text", "tool_use", "tool_result", "image", "document", "thinking", "redacted_thinking"];
    const KEYS: [&str; 9] = [
        "text",
        "toolUse",
        "toolResult",
        "image",
        "document",
        "video",
        "reasoningContent",
        "citationsContent",
        "cachePoint",
    ];
    let blocks = value.as_array().filter(|blocks| !blocks.is_empty())?;
    let is_block = |block: &Value| {
        let Some(block) = block.as_object() else { return false };
        match block.get("type") {
            Some(kind) => kind.as_str().is_some_and(|kind| TYPES.contains(&kind)),
            None => block.len() == 1 && block.keys().all(|key| KEYS.contains(&key.as_str())),
        }
    };
    let other = |block: &Value| block.as_object().map_or(Part::Other, Part::other);
    let part = |block| part_of_item(block).unwrap_or_else(|| other(block));
    blocks.iter().all(is_block).then(|| blocks.iter().map(part).collect())
}

/// The parts of a content whose text may be the JSON of a list of blocks.
pub(crate) fn parts_of_text(content: &Value) -> Vec<Part> {
    let blocks = json_list(content);
    blocks.as_ref().and_then(block_parts).unwrap_or_else(|| parts_of_content(content))
}

/// Returns the list in JSON text.
pub(crate) fn json_list(content: &Value) -> Option<Value> {
    content.as_str().filter(|text| text.starts_with('[')).and_then(parse_json)
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
            let arguments = function.get("arguments").or_else(|| function.get("args"));
            let arguments = arguments.map(json_or_text);
            Some(Part::tool_call(call.get("id"), function.get("name"), arguments.as_ref()))
        })
        .collect()
}

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
    part.values().any(|value| !value.is_null()).then(|| Part::other(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse_python;
    use serde_json::json;

    fn read(messages: serde_json::Value) -> Vec<Message> {
        read_messages(&parse_python(&messages.to_string()).unwrap()).unwrap()
    }

    fn text(messages: serde_json::Value) -> Option<String> {
        text_of(&read(messages))
    }

    #[test]
    fn text_is_joined_without_separator_and_without_placeholders() {
        let part = |content| json!({"type": "text", "content": content});
        let parts = [
            part(json!("one")),
            part(json!(" <REDACTED> ")),
            part(json!("  ")),
            part(json!(null)),
            part(json!({"b": 1, "a": "é"})),
            part(json!(3.0)),
            json!({"type": "reasoning", "content": "hidden"}),
            json!({"content": "no type"}),
        ];
        let said = text(json!([{"role": "assistant", "parts": parts}]));
        assert_eq!(said.as_deref(), Some(r#"one{"a": "\u00e9", "b": 1}3.0"#));
        assert_eq!(text(json!([{"role": "assistant", "parts": [part(json!("<elided>"))]}])), None);
    }

    #[test]
    fn content_comes_in_many_shapes() {
        let said = |content| text(json!({"role": "user", "content": content}));
        assert_eq!(said(json!("plain")).as_deref(), Some("plain"));
        assert_eq!(said(json!(true)).as_deref(), Some("true"));
        assert_eq!(said(json!({"k": null})).as_deref(), Some(r#"{"k": null}"#));
        assert_eq!(said(json!({"parts": [{"text": "google"}]})).as_deref(), Some("google"));
        let items = json!(["a", {"type": "text", "text": "b"}, {"type": "text", "content": "c"}, {"text": "d"},
            {"type": "image_url"}, 5, null, {"no": "type"}]);
        assert_eq!(said(items).as_deref(), Some("abcd"));
        assert_eq!(said(json!("")), None);
    }

    #[test]
    fn parts_hide_content() {
        let both = json!([{"role": "user", "content": "content", "parts": [{"type": "text", "content": "part"}]}]);
        assert_eq!(text(both).as_deref(), Some("part"));
    }

    #[test]
    fn messages_are_a_list_or_one_and_may_be_text() {
        let one = json!({"role": "user", "content": "hi"});
        assert_eq!(text(json!([one, "junk", 5])).as_deref(), Some("hi"));
        assert_eq!(text(json!(one.to_string())).as_deref(), Some("hi"));
        for nothing in [json!(""), json!("<REDACTED>"), json!(null), json!("null"), json!([])] {
            assert!(read(nothing.clone()).is_empty(), "{nothing}");
        }
    }

    #[test]
    fn what_is_neither_messages_nor_withheld_is_an_error() {
        let whole =
            json!([{"role": "user", "parts": [{"type": "text", "content": "h\u{1}\u{e9}"}]}]);
        let whole = whole.to_string();
        for length in (1..whole.len()).filter(|length| whole.is_char_boundary(*length)) {
            let cut = Value::String(whole[..length].to_owned());
            let error = read_messages(&cut).expect_err("cut");
            assert_eq!(error, format!("is JSON that was cut off after {length} bytes"));
        }
        let cut = |text: &str| is_cut_json(text);
        assert!(cut(r#"{"a": tr"#) && cut(r#"["a\"#) && cut(r#"{"a": -"#) && cut(r#"{"a": "\u00"#));
        assert!(!cut("{'a': 1}") && !cut(r#"{"a": Paris}"#) && !cut("prose") && !cut("{}"));
        for (odd, expected) in [
            (
                json!("just prose"),
                "is not valid JSON: expected a value at line 1 column 1 (byte 0)",
            ),
            (json!([whole]), "holds no message"),
            (json!({"messages": [{"role": "user", "content": "x"}]}), "holds no message"),
            (json!([{"text": "x"}]), "holds no message"),
            (
                json!([{"role": "user", "parts": "x"}]),
                "has a message whose `parts` are a string instead of an array",
            ),
            (json!(5), "is an integer instead of a list of messages"),
        ] {
            let error = read_messages(&parse_python(&odd.to_string()).unwrap()).expect_err("odd");
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn the_user_turn_is_the_last_run_of_user_messages_with_text() {
        let user = |text| json!({"role": "user", "content": text});
        let other = |role| json!({"role": role, "content": "other"});
        let turn = |messages| text_of(user_turn(&read(messages)));
        let messages =
            json!([user("old"), other("assistant"), user("a"), user("b"), other("tool"), user("")]);
        assert_eq!(turn(messages).as_deref(), Some("ab"));
        assert_eq!(turn(json!([user("a"), user(" "), user("b")])).as_deref(), Some("b"));
        assert_eq!(turn(json!([other("system")])), None);
    }

    #[test]
    fn tool_parts_have_parsed_values_and_ids_of_any_type() {
        let messages = read(json!([{"role": "assistant", "parts": [
            {"type": "tool_call", "id": "a", "name": "t", "arguments": "{\"x\": 1}"},
            {"type": "tool_call", "id": 7, "name": "t", "arguments": "not json"},
            {"type": "tool_call", "id": 0, "name": ""},
            {"type": "tool_call_response", "id": {"k": 1}, "response": "null"},
        ]}]));
        let calls: Vec<_> = tool_calls(&messages)
            .map(|call| (call.id.text.as_deref(), call.id.odd_kind, to_python(&call.arguments)))
            .collect();
        assert_eq!(
            calls,
            [
                (Some("a"), None, r#"{"x": 1}"#.to_owned()),
                (Some("7"), Some("an integer"), "null".to_owned())
            ]
        );
        let response = tool_responses(&messages).next().unwrap();
        assert_eq!(response.id.text.as_deref(), Some(r#"{"k": 1}"#));
        assert_eq!(response.response.value().as_str(), Some("null"));
    }

    #[test]
    fn google_content_has_roles_of_its_own() {
        let message = |content: serde_json::Value| {
            google_message(&parse_python(&content.to_string()).unwrap(), "user").unwrap()
        };
        let model = message(json!({"role": "model", "parts": [
            {"text": "thinking", "thought": true}, {"text": "said", "function_call": null},
            {"function_call": {"id": "i", "name": "n", "args": {"a": 1}}}, {"x": null}
        ]}));
        assert_eq!((model.role.as_str(), model.parts.len()), ("assistant", 3));
        assert_eq!(text_of([&model]).as_deref(), Some("said"));
        let response =
            message(json!({"role": "user", "parts": [{"function_response": {"name": "n"}}]}));
        assert_eq!(response.role, "tool");
        assert!(end_with_tool_response(&[model, response]));
    }
}
