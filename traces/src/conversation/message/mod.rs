//! Messages as recordings hold them, reduced to what the stages after this one ask about.
//!
//! A part is kept as text, as a request for a tool, or as the result of one; every other part (images, reasoning,
//! calls the provider makes itself) only counts as "there was something".

mod content;
mod google;
mod read;

use std::rc::Rc;

pub(super) use content::{openai_tool_calls, parts_of_content};
pub(super) use google::{google_message, google_parts};
pub(super) use read::{
    is_cut_json, is_placeholder, json_or_text, json_text, parse_json, read_messages,
};

use super::Recorded;
use crate::json::{Value, to_python};

/// The messages of one side of a call, shared by all who look at them.
pub(super) type Messages = Rc<[Message]>;

/// A message.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// `user`, `assistant`, `tool`, `system` or whatever the producer wrote; never empty.
    pub(super) role: String,
    /// Its parts in order.
    pub(super) parts: Vec<Part>,
}

/// A part of a message.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Text that says something: not empty, not a placeholder for content that was not recorded.
    Text(String),
    /// The model asks for a tool.
    ToolCall(CallPart),
    /// The result of a tool.
    ToolResponse(ResponsePart),
    /// Content of another kind.
    Other,
    /// No content: an empty or withheld text, or a part without a type.
    Empty,
}

/// A request for a tool.
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
    /// `None` when the part does not say which tool it is about.
    pub(super) name: Option<String>,
    pub(super) response: Recorded,
}

/// The id that ties a request to its result.
#[derive(Clone, Debug, Default)]
pub(super) struct PartId {
    /// The id; what is not a string is held as its JSON text.
    pub(super) text: Option<String>,
    /// What the id really is, when it is not a string.
    pub(super) odd_kind: Option<&'static str>,
}

impl PartId {
    /// Reads an id; an empty value is no id.
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
    /// A message of `role`, or of the user if that is empty.
    pub(super) fn new(role: &str, parts: Vec<Part>) -> Self {
        let role = if role.is_empty() { "user" } else { role };
        Self { role: role.to_owned(), parts }
    }

    fn has_content(&self) -> bool {
        self.parts.iter().any(|part| !matches!(part, Part::Empty))
    }

    fn has_text(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Text(_)))
    }
}

impl Part {
    /// A text part with this content. Content that is not a string is taken as its JSON text.
    pub(super) fn text(content: Option<&Value>) -> Self {
        match content {
            None | Some(Value::Null) => Self::Empty,
            Some(Value::String(text)) if is_placeholder(text) => Self::Empty,
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

/// Whether there is anything in them at all.
pub(super) fn have_content(messages: &[Message]) -> bool {
    messages.iter().any(Message::has_content)
}

/// Whether they say anything in words.
pub(super) fn have_text(messages: &[Message]) -> bool {
    messages.iter().any(Message::has_text)
}

/// All text of the messages, put together without a separator; `None` when there is none.
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

/// What the user said last: the last run of user messages that have text, whatever comes after it.
pub(super) fn user_turn(messages: &[Message]) -> &[Message] {
    let speaks = |message: &Message| message.role == "user" && message.has_text();
    let Some(last) = messages.iter().rposition(speaks) else { return &[] };
    let first = messages[..last]
        .iter()
        .rposition(|message| !speaks(message))
        .map_or(0, |before| before + 1);
    &messages[first..=last]
}

/// Whether the last message hands over results of tools.
pub(super) fn end_with_tool_response(messages: &[Message]) -> bool {
    messages.last().is_some_and(|last| last.role == "tool" || only_responses(&last.parts))
}

/// Whether there are parts and all of them are results of tools.
fn only_responses(parts: &[Part]) -> bool {
    !parts.is_empty() && parts.iter().all(|part| matches!(part, Part::ToolResponse(_)))
}

/// The tools the messages ask for.
pub(super) fn tool_calls(messages: &[Message]) -> impl Iterator<Item = &CallPart> {
    messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    })
}

/// The results of tools in the messages.
pub(super) fn tool_responses(messages: &[Message]) -> impl Iterator<Item = &ResponsePart> {
    messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolResponse(response) => Some(response),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::json::parse_python;

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
