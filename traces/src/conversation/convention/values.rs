//! The messages of the user and the agent in `input.value` and `output.value`.
//!
//! The values are the arguments and the result of any function: plain text, or JSON in the shape of some framework. If
//! the message cannot be distinguished from the rest, the result is empty, and the model calls have to provide it.

use std::slice;

use crate::{
    conversation::message::{
        Message, Part, after_user, answer_nothing, google_parts, have_text, is_cut_json,
        is_placeholder, message_parts, parts_of_content, user_turn,
    },
    conversation::recorded::parse_json,
    json::{Object, Value, is_repr, parse_literal, parse_repr, strip},
};

/// Maximum depth of a message.
const MAX_DEPTH: usize = 4;

/// Members with the message of the user, in order of precedence.
const USER_KEYS: [&str; 12] = [
    "new_message",
    "input",
    "inputs",
    "query",
    "question",
    "user_input",
    "user_query",
    "user_message",
    "prompt",
    "message",
    "text",
    "task",
];

/// Members with the answer of the agent, in order of precedence.
const AGENT_KEYS: [&str; 12] = [
    "final_output",
    "final_answer",
    "output",
    "outputs",
    "answer",
    "response",
    "output_text",
    "result",
    "content",
    "message",
    "text",
    "completion",
];

/// Returns the messages of the user in a value; none if they cannot be distinguished.
///
/// # Errors
///
/// The value is JSON that was cut off.
pub(super) fn said_by_user(
    value: Option<&Value>,
    mime_type: Option<&Value>,
) -> Result<Vec<Message>, CutOff> {
    Ok(match read(value, mime_type)? {
        Some(Said::Text(text)) => vec![plain("user", &text)],
        Some(Said::Structure(structure)) => user_messages(&structure, 0),
        Some(Said::Nothing) | None => Vec::new(),
    })
}

/// Returns the answer of the agent in a value; none if it cannot be distinguished.
///
/// # Errors
///
/// The value is JSON that was cut off.
pub(super) fn said_by_agent(
    value: Option<&Value>,
    mime_type: Option<&Value>,
) -> Result<Vec<Message>, CutOff> {
    Ok(match read(value, mime_type)? {
        Some(Said::Text(text)) => vec![plain("assistant", &text)],
        Some(Said::Structure(structure)) => agent_message(&structure, 0).into_iter().collect(),
        // A function that returns nothing leaves the answer to the model calls, if they have one.
        Some(Said::Nothing) => vec![Message::new("assistant", Vec::new())],
        None => Vec::new(),
    })
}

/// Returns the messages that follow those of the user in a value that holds the history of a run; none if it holds none.
pub(super) fn steps_of_agent(value: Option<&Value>, mime_type: Option<&Value>) -> Vec<Message> {
    match read(value, mime_type) {
        Ok(Some(Said::Structure(structure))) => steps(&structure, 0).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn steps(value: &Value, depth: usize) -> Option<Vec<Message>> {
    if depth > MAX_DEPTH {
        return None;
    }
    match history(value) {
        Some(history) => Some(after_user(&history).to_vec()),
        None => find(value, &AGENT_KEYS, |member| steps(member, depth + 1)),
    }
}

/// Returns the messages of a model call: a list of messages, one message, or a text of this role.
///
/// # Errors
///
/// The value is JSON that was cut off.
pub(super) fn history_of(value: Option<&Value>, role: &str) -> Result<Vec<Message>, CutOff> {
    Ok(match read(value, None)? {
        Some(Said::Text(text)) => vec![plain(role, &text)],
        Some(Said::Structure(structure)) => history(&structure).unwrap_or_default(),
        Some(Said::Nothing) => vec![Message::new(role, vec![Part::Blank])],
        None => Vec::new(),
    })
}

/// Takes the arguments out of the call of a Python function, which tracers record as `args` and `kwargs`, next to flags.
///
/// Positional arguments are kept unless they are alone.
pub(super) fn unwrap_call(value: Value) -> Value {
    let is_flag = |(key, value): (&String, &Value)| {
        matches!(key.as_str(), "args" | "kwargs") || matches!(value, Value::Bool(_) | Value::Null)
    };
    let Value::Object(mut call) = value else { return value };
    let positional = match call.get("args") {
        None | Some(Value::Null) => &[],
        Some(Value::Array(items)) => &items[..],
        Some(_) => return Value::Object(call),
    };
    match call.get("kwargs") {
        Some(Value::Object(named)) if call.iter().all(is_flag) => match positional {
            [] => call.swap_remove("kwargs").unwrap_or_default(),
            [only] if named.is_empty() => only.clone(),
            _ => Value::Object(call),
        },
        _ => Value::Object(call),
    }
}

/// Returns true if a value holds a message of this role with text, or an empty answer.
pub(super) fn holds_message(value: Option<&Value>, mime_type: Option<&Value>, role: &str) -> bool {
    let Ok(Some(Said::Structure(structure))) = read(value, mime_type) else { return false };
    holds(&structure, 0, &|history| history.iter().any(|message| is_said_by(role, message)))
}

fn is_said_by(role: &str, message: &Message) -> bool {
    let message_only = slice::from_ref(message);
    let is_said = have_text(message_only) || (role == "assistant" && answer_nothing(message_only));
    message.role == role && is_said
}

fn holds(value: &Value, depth: usize, is_wanted: &dyn Fn(&[Message]) -> bool) -> bool {
    match (history(value), value) {
        _ if depth > MAX_DEPTH => false,
        (Some(history), _) => is_wanted(&history),
        (None, Value::Object(members)) => {
            members.values().any(|member| holds(member, depth + 1, is_wanted))
        }
        _ => false,
    }
}

/// A value is JSON that was cut off.
#[derive(Clone, Copy, Debug)]
pub(super) struct CutOff;

enum Said {
    Text(Value),
    Structure(Value),
    /// A blank text.
    Nothing,
}

fn plain(role: &str, text: &Value) -> Message {
    Message::new(role, vec![Part::text(Some(text))])
}

fn read(value: Option<&Value>, mime_type: Option<&Value>) -> Result<Option<Said>, CutOff> {
    let text = match value {
        None => return Ok(None),
        Some(Value::String(text)) if strip(text).is_empty() => {
            return Ok(Some(Said::Nothing));
        }
        Some(Value::String(text)) if is_placeholder(text) => return Ok(None),
        Some(Value::String(text)) => text,
        Some(structure @ (Value::Object(_) | Value::Array(_))) => {
            return Ok(Some(Said::Structure(structure.clone())));
        }
        Some(scalar) => return Ok(Some(Said::Text(scalar.clone()))),
    };
    let mime_type = mime_type.and_then(Value::as_str).unwrap_or_default();
    if is_repr(text) {
        // An object of the framework, which may hold a message; often cut off.
        return Ok(parse_repr(text).map(Said::Structure));
    }
    let as_written = Said::Text(Value::String(text.clone()));
    if mime_type.starts_with("text/") {
        return Ok(Some(as_written));
    }
    Ok(match parse_json(text) {
        Some(structure @ (Value::Object(_) | Value::Array(_))) => Some(Said::Structure(structure)),
        Some(said @ Value::String(_)) if !mime_type.is_empty() => Some(Said::Text(said)),
        Some(_) => Some(as_written),
        // Python's notation of something, which may hold a message and may be the text of objects.
        None if text.trim_start().starts_with(['{', '[']) => match parse_literal(text) {
            Some(structure) => Some(Said::Structure(structure)),
            None if is_cut_json(text) => return Err(CutOff),
            None => None,
        },
        None => Some(as_written),
    })
}

fn user_messages(value: &Value, depth: usize) -> Vec<Message> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    if let Some(history) = history(value) {
        return user_turn(&history).to_vec();
    }
    if let Some(text) = only_text_argument(value) {
        return vec![plain("user", text)];
    }
    find(value, &USER_KEYS, |member| {
        let messages = match member {
            text @ Value::String(_) => vec![plain("user", text)],
            other => user_messages(other, depth + 1),
        };
        Some(messages).filter(|messages| have_text(messages))
    })
    .unwrap_or_default()
}

/// Returns the only text among the positional arguments of the call of a Python function.
fn only_text_argument(value: &Value) -> Option<&Value> {
    let arguments = value.get("args").filter(|_| value.get("kwargs").is_some())?.as_array()?;
    let mut texts = arguments.iter().filter(|argument| argument.as_str().is_some());
    texts.next().filter(|_| texts.next().is_none())
}

fn agent_message(value: &Value, depth: usize) -> Option<Message> {
    if depth > MAX_DEPTH {
        return None;
    }
    if let Some(history) = history(value) {
        return history.iter().rev().find(|message| is_said_by("assistant", message)).cloned();
    }
    // The output of a crew or a task of CrewAI.
    if let Some(raw @ Value::String(_)) = value.get("raw")
        && value.get("json_dict").is_some()
    {
        return Some(plain("assistant", raw));
    }
    // The whole response of a provider.
    if let Some([choice, ..]) = value.get("choices").and_then(Value::as_array) {
        return agent_message(choice, depth + 1);
    }
    let said = |member: &Value| match (member, member.get("parts")) {
        (text @ Value::String(_), _) => Some(plain("assistant", text)),
        // Google's content object: what answers has the role of a model, or none.
        (_, Some(Value::Array(parts))) => Some(Message::new("assistant", google_parts(parts))),
        (other, _) => agent_message(other, depth + 1),
    };
    let that = |is_answer: fn(&[Message]) -> bool| {
        find(value, &AGENT_KEYS, |member| {
            said(member).filter(|message| is_answer(slice::from_ref(message)))
        })
    };
    that(have_text).or_else(|| that(answer_nothing))
}

/// Returns the result of `read` for the first of these members that has one, else for the only member.
fn find<T>(value: &Value, keys: &[&str], read: impl Fn(&Value) -> Option<T>) -> Option<T> {
    let object = value.as_object()?;
    let known = keys.iter().filter_map(|key| object.get(*key)).find_map(&read);
    known.or_else(|| object.values().next().filter(|_| object.len() == 1).and_then(&read))
}

/// Reads a list of messages, a single message, or an object with `messages`.
fn history(value: &Value) -> Option<Vec<Message>> {
    match value {
        Value::Array(items) => {
            // A batch of histories, of which frameworks trace the first.
            let items = match &items[..] {
                [Value::Array(first), ..] if pair(first).is_none() => first,
                items => items,
            };
            let messages: Vec<Message> = items.iter().filter_map(message).collect();
            (!messages.is_empty()).then_some(messages)
        }
        Value::Object(object) => match object.get("messages") {
            Some(messages @ Value::Array(_)) => history(messages),
            _ => message(value).map(|message| vec![message]),
        },
        _ => None,
    }
}

fn message(item: &Value) -> Option<Message> {
    match item {
        Value::Array(items) => pair(items),
        // The text that Python shows for a message of Haystack or LlamaIndex.
        Value::String(text) => match parse_repr(text)? {
            Value::Object(object) => of_object(&object, &object),
            _ => None,
        },
        Value::Object(object) => match (object.get("kwargs"), object.get("data")) {
            // The two ways in which LangChain writes its messages as JSON.
            (Some(Value::Object(inner)), _) if object.contains_key("lc") => {
                of_object(inner, object)
            }
            (_, Some(Value::Object(inner))) => of_object(inner, object),
            _ => of_object(object, object),
        },
        _ => None,
    }
}

/// Reads a pair of role and text.
fn pair(items: &[Value]) -> Option<Message> {
    match items {
        [Value::String(role), content] => {
            Some(Message::new(role_named(role)?, parts_of_content(content)))
        }
        _ => None,
    }
}

/// Reads a message whose role is in the object itself or, as its type, in the object around it.
fn of_object(object: &Object, around: &Object) -> Option<Message> {
    let named = |object: &Object, key| object.get(key).and_then(Value::as_str).and_then(role_named);
    let role = named(object, "role")
        .or_else(|| named(object, "_role"))
        .or_else(|| named(object, "type"))
        .or_else(|| named(around, "type"))?;
    const CONTENT: [&str; 4] = ["content", "_content", "blocks", "tool_calls"];
    let parts = match (object.get("content"), object.get("parts")) {
        (None | Some(Value::Null), Some(Value::Array(parts))) => google_parts(parts),
        _ if CONTENT.iter().any(|key| object.contains_key(*key)) => message_parts(role, object),
        _ => return None,
    };
    Some(Message::new(role, parts))
}

/// Returns the role of a framework's name for it; `None` if the name is unknown.
fn role_named(word: &str) -> Option<&'static str> {
    Some(match word {
        "user" | "human" | "HumanMessage" => "user",
        "assistant" | "ai" | "model" | "AIMessage" | "AIMessageChunk" => "assistant",
        "system" | "developer" | "SystemMessage" => "system",
        "tool" | "function" | "ToolMessage" => "tool",
        _ => return None,
    })
}
