//! Requests that a model's own interface does not have: their common part is translated, the rest is an error.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    Api, JsonSchema, Message, Params, Request, Role,
    proxy::fault::{Cause, Fault},
};

/// Keys that say nothing to the model.
const LABELS: [&str; 5] = ["metadata", "prompt_cache_key", "safety_identifier", "store", "user"];

/// Translates a request.
///
/// # Errors
///
/// It has a part that only models with this interface have, or that is not valid.
pub(super) fn request(api: Api, body: &Map<String, Value>) -> Result<Request, Fault> {
    if api == Api::Embeddings {
        let text = "embeddings come from OpenAI-compatible servers only; offer such a model";
        return Err(Fault::new(Cause::Unsupported, text).of("model"));
    }
    let mut translated = Translated::default();
    for (key, value) in body.iter().filter(|(_, value)| !value.is_null()) {
        let read = translated.common(key, value)?
            || match api {
                Api::ChatCompletions => translated.chat(key, value)?,
                Api::Responses => translated.response(key, value)?,
                Api::Messages => translated.message(key, value)?,
                Api::Embeddings => false,
            };
        if !read && !is_neutral(key, value) {
            return Err(unsupported(key));
        }
    }
    let Translated { system, messages, params } = translated;
    if messages.is_empty() {
        let key = if api == Api::Responses { "input" } else { "messages" };
        return Err(Fault::bad(format!("`{key}` is missing or empty")).of(key));
    }
    let messages = system.into_iter().chain(messages).collect();
    Ok(Request { params, ..Request::new(messages) })
}

/// Returns true for values that ask for nothing.
fn is_neutral(key: &str, value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Number(number) if key == "n" => number.as_u64() == Some(1),
        Value::Number(number) => key.ends_with("_penalty") && number.as_f64() == Some(0.0),
        _ => LABELS.contains(&key),
    }
}

fn unsupported(key: &str) -> Fault {
    let text =
        format!("the offered model does not have `{key}`; remove it, or offer another model");
    Fault::new(Cause::Unsupported, text).of(key)
}

/// Reads a value of a type.
fn read<T: DeserializeOwned>(key: &str, value: &Value) -> Result<Option<T>, Fault> {
    let wrong = |_| Fault::bad(format!("`{key}` has a value of the wrong type")).of(key);
    T::deserialize(value).map(Some).map_err(wrong)
}

/// A translated request so far.
#[derive(Default)]
struct Translated {
    system: Option<Message>,
    messages: Vec<Message>,
    params: Params,
}

impl Translated {
    /// Reads a key that all interfaces have. Returns false for other keys.
    fn common(&mut self, key: &str, value: &Value) -> Result<bool, Fault> {
        match key {
            "temperature" => self.params.temperature = read(key, value)?,
            "top_p" => self.params.top_p = read(key, value)?,
            "messages" | "input" => self.messages = messages(key, value)?,
            _ => return Ok(LABELS.contains(&key)),
        }
        Ok(true)
    }

    /// Reads a key of chat completions.
    fn chat(&mut self, key: &str, value: &Value) -> Result<bool, Fault> {
        match key {
            "max_tokens" | "max_completion_tokens" => {
                self.params.max_output_tokens = read(key, value)?;
            }
            "seed" => self.params.seed = read(key, value)?,
            "reasoning_effort" => self.params.reasoning_effort = read(key, value)?,
            "stop" => {
                self.params.stop = match value {
                    Value::String(text) => vec![text.clone()],
                    list => read(key, list)?.unwrap_or_default(),
                }
            }
            "response_format" => self.format(key, value, value.get("json_schema"))?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads a key of responses.
    fn response(&mut self, key: &str, value: &Value) -> Result<bool, Fault> {
        match key {
            "instructions" => self.system = read(key, value)?.map(|it: String| Message::system(it)),
            "max_output_tokens" => self.params.max_output_tokens = read(key, value)?,
            "reasoning" => match only(value, "effort") {
                Some(effort) => self.params.reasoning_effort = read(key, effort)?,
                None => return Ok(false),
            },
            "text" => match only(value, "format") {
                Some(format) => self.format("text.format", format, Some(format))?,
                None => return Ok(false),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads a key of Anthropic's messages.
    fn message(&mut self, key: &str, value: &Value) -> Result<bool, Fault> {
        match key {
            "system" => self.system = Some(Message::system(text(key, value)?)),
            "max_tokens" => self.params.max_output_tokens = read(key, value)?,
            "top_k" => self.params.top_k = read(key, value)?,
            "stop_sequences" => self.params.stop = read(key, value)?.unwrap_or_default(),
            "thinking" => match value.get("type").and_then(Value::as_str) {
                Some("disabled") => {}
                Some("enabled") => {
                    let budget = value.get("budget_tokens").unwrap_or(&Value::Null);
                    self.params.thinking_budget = read(key, budget)?;
                }
                _ => return Ok(false),
            },
            "output_config" => match only(value, "format") {
                Some(format) => self.format("output_config.format", format, Some(format))?,
                None => return Ok(false),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads the form of the reply. `schema` has its name and schema.
    fn format(&mut self, key: &str, value: &Value, schema: Option<&Value>) -> Result<(), Fault> {
        match value.get("type").and_then(Value::as_str) {
            Some("text") => {}
            Some("json_object") => self.params.is_json_object = true,
            Some("json_schema") => {
                let part = |name: &str| schema.and_then(|schema| schema.get(name));
                let missing = || Fault::bad(format!("`{key}` has no schema")).of(key);
                self.params.json_schema = Some(JsonSchema {
                    name: part("name").and_then(Value::as_str).unwrap_or("reply").to_owned(),
                    schema: part("schema").ok_or_else(missing)?.clone(),
                });
            }
            _ => return Err(unsupported(key)),
        }
        Ok(())
    }
}

/// Returns the member of an object that has no other members with a value.
fn only<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let object = value.as_object()?;
    let is_alone = object.iter().all(|(name, value)| name == key || value.is_null());
    object.get(key).filter(|_| is_alone)
}

/// Reads messages, or the text of a user.
fn messages(key: &str, value: &Value) -> Result<Vec<Message>, Fault> {
    let list = match value {
        Value::String(text) => return Ok(vec![Message::user(text)]),
        Value::Array(list) => list,
        _ => return Err(Fault::bad(format!("`{key}` must be a list")).of(key)),
    };
    let message = |(index, message): (usize, &Value)| {
        let place = |part: &str| format!("{key}[{index}].{part}");
        let role = match message.get("role").and_then(Value::as_str) {
            Some("system") => Role::System,
            Some("developer") => Role::Developer,
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => return Err(unsupported(&place("role"))),
        };
        let known = ["role", "content", "type", "id", "status"];
        let members = message.as_object().into_iter().flatten();
        for (name, value) in members.filter(|(name, _)| !known.contains(&&***name)) {
            if !is_neutral(name, value) {
                return Err(unsupported(&place(name)));
            }
        }
        let content = message.get("content").unwrap_or(&Value::Null);
        Ok(Message::new(role, text(&place("content"), content)?))
    };
    list.iter().enumerate().map(message).collect()
}

/// Reads a text, or the texts of parts.
fn text(key: &str, value: &Value) -> Result<String, Fault> {
    let parts = match value {
        Value::String(text) => return Ok(text.clone()),
        Value::Array(parts) => parts,
        _ => return Err(Fault::bad(format!("`{key}` must be text")).of(key)),
    };
    let part = |part: &Value| match part.get("type").and_then(Value::as_str) {
        Some("text" | "input_text" | "output_text") => {
            part.get("text").and_then(Value::as_str).map(str::to_owned)
        }
        _ => None,
    };
    parts.iter().map(|it| part(it).ok_or_else(|| unsupported(key))).collect()
}
