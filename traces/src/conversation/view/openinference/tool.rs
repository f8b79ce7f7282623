//! Calls of tools.

use std::borrow::Cow;

use super::{Draft, recorded};
use crate::{
    conversation::{
        message::parse_json,
        view::keys::{TOOL_ARGUMENTS, TOOL_CALL_ID, TOOL_NAME, TOOL_RESULT},
    },
    json::parse_literal,
    json::{Object, Value},
};

impl Draft<'_> {
    /// Fills what is known of a tool's call.
    pub(super) fn apply_openinference_tool(&mut self) {
        let span = self.span;
        let input = recorded(span, "input.value").map(structure).map(unwrap_arguments);
        let output = recorded(span, "output.value").map(structure).map(unwrap_result);
        for name in ["tool_call.id", "tool.id"] {
            if let Some(id) = recorded(span, name) {
                self.attributes.fill(TOOL_CALL_ID, Cow::Borrowed(id));
            }
        }
        if let Some(name) = recorded(span, "tool.name") {
            self.attributes.fill(TOOL_NAME, Cow::Borrowed(name));
        }
        let mut ids = Vec::new();
        if let Some((arguments, id)) = input {
            self.attributes.fill(TOOL_ARGUMENTS, Cow::Owned(arguments));
            ids.extend(id);
        } else if let Some(parameters) = recorded(span, "tool.parameters").map(structure)
            && !is_schema(&parameters)
        {
            self.attributes.fill(TOOL_ARGUMENTS, Cow::Owned(parameters));
        }
        if let Some((result, id)) = output {
            self.attributes.fill(TOOL_RESULT, Cow::Owned(result));
            ids.extend(id);
        }
        for id in ids {
            self.attributes.fill(TOOL_CALL_ID, Cow::Owned(id));
        }
    }
}

/// What a text is the JSON of. Some frameworks hand arguments over as Python prints them. Other text stays text.
pub(super) fn structure(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            parse_json(text).or_else(|| parse_literal(text)).unwrap_or_else(|| value.clone())
        }
        other => other.clone(),
    }
}

/// The parameters a tool has rather than those it was given; the specification says the former, some record the latter.
fn is_schema(parameters: &Value) -> bool {
    parameters.get("type").and_then(Value::as_str) == Some("object")
        && parameters.get("properties").is_some_and(|properties| properties.as_object().is_some())
}

/// Takes the arguments out of the request that `LangChain` passes to tools, with its id.
fn unwrap_arguments(input: Value) -> (Value, Option<Value>) {
    match input {
        Value::Object(mut call)
            if says(&call, "type", "tool_call") && call.contains_key("args") =>
        {
            (take(&mut call, "args"), Some(take(&mut call, "id")))
        }
        other => (other, None),
    }
}

/// Takes the result out of the message that `LangChain` makes of it, or Google's function response, with its id.
fn unwrap_result(output: Value) -> (Value, Option<Value>) {
    match output {
        Value::Object(mut message)
            if says(&message, "type", "tool") && message.contains_key("content") =>
        {
            (structure(&take(&mut message, "content")), Some(take(&mut message, "tool_call_id")))
        }
        Value::Object(mut response)
            if response.contains_key("response")
                && response.contains_key("name")
                && response
                    .keys()
                    .all(|key| matches!(key.as_str(), "id" | "name" | "response")) =>
        {
            (take(&mut response, "response"), Some(take(&mut response, "id")))
        }
        other => (other, None),
    }
}

fn says(object: &Object, key: &str, text: &str) -> bool {
    object.get(key).and_then(Value::as_str) == Some(text)
}

fn take(object: &mut Object, key: &str) -> Value {
    object.get_mut(key).map(std::mem::take).unwrap_or_default()
}
