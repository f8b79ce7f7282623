//! The output of an agent, as a `cli` target writes it.

use std::borrow::Cow;

use evaluator_json::{MARKED, Object, ParseOptions, Value, parse, take_repeated_key};

use crate::json_text::{compact, finite};

/// Keys of an object in the form of a `cli` target, and of the rows of results.
const KEYS: &str = "\
    output output_messages outputMessages text token_usage tokenUsage cost_usd costUsd duration_ms durationMs start_time \
    startTime end_time endTime error execution_status";

/// What an agent did for one test.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Messages, each an object with `role`.
    pub messages: Vec<Value>,
    /// Tokens.
    pub usage: Option<TokenUsage>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
    /// Duration in milliseconds.
    pub duration_ms: Option<f64>,
    /// Number of model calls, if it is not that of the messages of the assistant.
    pub model_calls: Option<usize>,
    /// Time of the start.
    pub start_time: Option<String>,
    /// Time of the end.
    pub end_time: Option<String>,
}

/// Tokens of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TokenUsage {
    /// Tokens that were sent.
    pub input: f64,
    /// Tokens that were received.
    pub output: f64,
    /// Tokens from a cache.
    pub cached: Option<f64>,
}

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'o> {
    /// Name.
    pub tool: &'o str,
    /// Arguments.
    pub input: Option<&'o Value>,
    /// Duration in milliseconds.
    pub duration_ms: Option<f64>,
    /// Whether its status says that it failed.
    pub is_error: bool,
}

impl Output {
    /// Reads what a `cli` target wrote: messages in `output` or `output_messages`, the answer in `text`, or the answer itself.
    ///
    /// # Errors
    ///
    /// The text is empty, or is such an object that is damaged, or says that the agent failed.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("it is empty; an empty answer is `{\"text\": \"\"}`".to_owned());
        }
        let json = text.trim_start_matches('\u{feff}');
        match parse(json, &ParseOptions { non_finite: false, ..MARKED }) {
            Ok(parsed) => match parsed.value {
                Value::Object(object) => {
                    strictly(object, Self::of_object).unwrap_or_else(|| Ok(Self::of_text(text)))
                }
                _ => Ok(Self::of_text(text)),
            },
            // Without its end, the answer of the agent is not known.
            Err(error) if begins_as_object(json) => {
                Err(format!("it begins as a JSON object with the output, and is not JSON: {error}"))
            }
            Err(_) => Ok(Self::of_text(text)),
        }
    }

    /// Creates an output that is just an answer.
    pub fn of_text(text: &str) -> Self {
        let member = |key: &str, text: &str| (key.to_owned(), Value::String(text.to_owned()));
        let message = [member("role", "assistant"), member("content", text)];
        Self { messages: vec![Value::Object(message.into_iter().collect())], ..Self::default() }
    }

    /// Reads an object in the form of a `cli` target; `None` if it has another form. The error is the reason why the agent failed.
    pub(super) fn of_object(object: &Object) -> Option<Result<Self, String>> {
        let messages = ["output", "output_messages", "outputMessages"]
            .iter()
            .find_map(|key| object.get(*key)?.as_array())
            .filter(|items| items.iter().any(is_like_message))
            .map(<[Value]>::to_vec);
        let output = match messages {
            Some(messages) => Self { messages, ..Self::default() },
            None => Self::of_text(object.get("text")?.as_str()?),
        };
        Some(match failure(object) {
            Some(reason) => Err(reason),
            None => Ok(output.measured(object)),
        })
    }

    /// Checks that every message and every tool call can be read, and that the agent did anything.
    ///
    /// # Errors
    ///
    /// A message has no role, a tool call names no tool, or there is neither an answer nor a tool call.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (index, message) in (1_usize..).zip(&self.messages) {
            if role(message).is_none() {
                return Err(format!("message {index} of the output has no `role`"));
            }
            let calls = calls(message).iter().zip(1_usize..);
            if let Some((_, number)) = { calls }.find(|(call, _)| tool(call).is_none()) {
                return Err(format!(
                    "tool call {number} of message {index} of the output has no `tool`, the name of the tool"
                ));
            }
        }
        if self.answer().is_none() && self.tool_calls().next().is_none() {
            return Err(
                "the output has neither an answer (`content` of a message of the role `assistant`) nor a tool call".to_owned()
            );
        }
        Ok(())
    }

    /// Adds the measurements of an object.
    #[must_use]
    pub fn measured(mut self, object: &Object) -> Self {
        let get = |keys: [&str; 2]| keys.iter().find_map(|key| object.get(*key));
        let number = |keys| get(keys).and_then(finite).filter(|number| *number >= 0.0);
        let text = |keys| get(keys).and_then(Value::as_str).map(str::to_owned);
        self.usage = get(["token_usage", "tokenUsage"]).and_then(usage);
        self.cost_usd = number(["cost_usd", "costUsd"]);
        self.duration_ms = number(["duration_ms", "durationMs"]);
        self.start_time = text(["start_time", "startTime"]);
        self.end_time = text(["end_time", "endTime"]);
        self
    }

    /// Returns the text of the last message of the assistant that has content. `None` without one, which is not an empty answer.
    pub fn answer(&self) -> Option<Cow<'_, str>> {
        let spoken = |message: &&Value| role(message) == Some("assistant");
        let contents = self.messages.iter().rev().filter(spoken).filter_map(|it| it.get("content"));
        Some(match { contents }.find(|content| !content.is_null())? {
            Value::String(text) => Cow::Borrowed(text),
            Value::Array(blocks) if blocks.iter().all(|block| block.as_object().is_some()) => {
                let text = |block: &Value| {
                    let text = block.get("text").or_else(|| block.get("value"))?;
                    text.as_str().map(str::to_owned)
                };
                let texts: Vec<String> = blocks.iter().filter_map(text).collect();
                Cow::Owned(texts.join("\n"))
            }
            other => Cow::Owned(compact(other)),
        })
    }

    /// Returns the tool calls of all messages, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = ToolCall<'_>> {
        self.messages.iter().flat_map(calls).filter_map(|call| {
            let duration = call.get("duration_ms").or_else(|| call.get("durationMs"));
            let status = call.get("status").and_then(Value::as_str);
            Some(ToolCall {
                tool: tool(call)?,
                input: call.get("input"),
                duration_ms: duration.and_then(finite),
                is_error: matches!(status, Some("error" | "timeout" | "cancelled")),
            })
        })
    }

    /// Returns what was measured, as text.
    pub(crate) fn measurements(&self) -> String {
        let Self { messages: _, usage, cost_usd, duration_ms, model_calls, start_time, end_time } =
            self;
        let usage = usage.map(|usage| (usage.input, usage.output, usage.cached));
        let numbers = (usage, cost_usd, duration_ms, model_calls);
        serde_json::to_string(&(numbers, start_time, end_time)).unwrap_or_default()
    }

    /// Returns the number of model calls: that of the messages of the assistant, if no other was recorded.
    pub fn count_model_calls(&self) -> usize {
        let messages = || self.messages.iter().filter(|message| role(message) == Some("assistant"));
        self.model_calls.unwrap_or_else(|| messages().count())
    }
}

/// Reads an object that was parsed with [`MARKED`]. An output with a repeated key is an error; in an answer it is not.
pub(super) fn strictly(
    mut object: Object,
    read: fn(&Object) -> Option<Result<Output, String>>,
) -> Option<Result<Output, String>> {
    let repeated = take_repeated_key(&mut object);
    let output = read(&object);
    let is_known = |key: &String| KEYS.split_whitespace().any(|known| known == key);
    match repeated.filter(|key| output.is_some() || is_known(key)) {
        Some(key) => Some(Err(format!("the key `{key}` is repeated"))),
        None => output,
    }
}

fn role(message: &Value) -> Option<&str> {
    message.get("role")?.as_str()
}

/// Returns true if a value has a key of messages. Other lists are answers in JSON.
fn is_like_message(value: &Value) -> bool {
    ["role", "content", "tool_calls", "toolCalls"].iter().any(|key| value.get(key).is_some())
}

/// Returns the tool calls of a message.
pub(crate) fn calls(message: &Value) -> &[Value] {
    let calls = message.get("tool_calls").or_else(|| message.get("toolCalls"));
    calls.and_then(Value::as_array).unwrap_or_default()
}

fn tool(call: &Value) -> Option<&str> {
    call.get("tool")?.as_str()
}

/// Returns true if a text that is not JSON begins as an object with the output: its first key is one of that form, or the
/// beginning of one, at which the text ends.
fn begins_as_object(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix('{') else { return false };
    let rest = rest.trim_start();
    let Some(key) = rest.strip_prefix('"') else { return rest.is_empty() };
    let mut known = KEYS.split_whitespace();
    match key.split_once('"') {
        Some((key, _)) => known.any(|known| known == key),
        None => known.any(|known| known.starts_with(key)),
    }
}

/// Returns why the agent failed, if a recording says that it did. Errors of evaluators leave its output as it is.
pub(super) fn failure(recording: &Object) -> Option<String> {
    let text = |key: &str| recording.get(key).and_then(Value::as_str);
    let status = recording.get("execution_status").filter(|status| !status.is_null());
    let reason = match recording.get("error") {
        None | Some(Value::Null | Value::Bool(false)) => None,
        Some(Value::String(text)) if text.trim().is_empty() => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(error) => Some(match error.get("message").and_then(Value::as_str) {
            Some(message) => message.to_owned(),
            None => compact(error),
        }),
    };
    let reason = match (status.map(Value::as_str), reason) {
        (Some(Some("execution_error")), _) if text("failure_stage") == Some("evaluator") => None,
        (Some(Some("execution_error")), None) => Some("its status is `execution_error`".to_owned()),
        (Some(Some("ok" | "quality_failure")) | None, reason) => reason,
        (Some(_), Some(reason)) => Some(reason),
        (Some(other), None) => {
            let status = other.map_or_else(String::new, |name| format!(" `{name}`"));
            Some(format!("its `execution_status`{status} is not known"))
        }
    };
    reason.map(|reason| format!("the recorded run failed: {reason}"))
}

fn usage(value: &Value) -> Option<TokenUsage> {
    let number = |key: &str| value.get(key).and_then(finite).filter(|number| *number >= 0.0);
    let cached = number("cached");
    Some(TokenUsage { input: number("input")?, output: number("output")?, cached })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_an_output() {
        for (text, answer) in [
            ("Paris", "Paris"),
            (" Paris. \n", " Paris. \n"),
            (r#"{"text": "Paris"}"#, "Paris"),
            (
                r#"{"output": [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]}"#,
                "b",
            ),
            (
                r#"{"output_messages": [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]}"#,
                "a",
            ),
            (
                r#"{"output": [{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "value": "b"}]}]}"#,
                "a\nb",
            ),
            (r#"{"output": [{"role": "assistant", "content": {"a": 1.0}}]}"#, r#"{"a":1}"#),
            (r#"{"output": []}"#, r#"{"output": []}"#),
            (r#"{"output": "x"}"#, r#"{"output": "x"}"#),
            (r#"{"output": [{"role": "assistant", "content": "a"}, {"role": "assistant"}]}"#, "a"),
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            (r#"{"output": [1]}"#, r#"{"output": [1]}"#),
            (r#"{"city": "Par"#, r#"{"city": "Par"#),
            ("{output}", "{output}"),
            ("[1]", "[1]"),
            (r#"{"text": ""}"#, ""),
            (r#"{"text": "Paris", "error": null, "execution_status": "quality_failure"}"#, "Paris"),
            (
                r#"{"text": "a", "error": "judge", "execution_status": "execution_error", "failure_stage": "evaluator"}"#,
                "a",
            ),
        ] {
            let output = Output::read(text).unwrap();
            assert_eq!(output.answer().unwrap(), answer, "{text}");
            output.check().unwrap();
        }
    }

    #[test]
    fn damaged_and_failed_outputs_are_errors() {
        let message = r#"{"role": "assistant", "content": "Paris"}"#;
        for (text, reason) in [
            ("", "it is empty"),
            (" \n", "it is empty"),
            ("{", "is not JSON: "),
            (r#"{"outp"#, "is not JSON: "),
            (r#"{"output": [{"role": "assistant", "content": "I think Paris"#, "is not JSON: "),
            (r#"{"text": "Paris"} {"text": "Rome"}"#, "is not JSON: "),
            (&format!(r#"{{"output": [{message}], "output": []}}"#), "`output` is repeated"),
            (r#"{"output": [{"role": "user", "role": "assistant"}]}"#, "`role` is repeated"),
            (r#"{"text": "Paris", "error": {"message": "boom"}}"#, "failed: boom"),
            (r#"{"text": "Paris", "error": {"code": 1}}"#, r#"failed: {"code":1}"#),
            (r#"{"text": "Paris", "error": "boom"}"#, "failed: boom"),
            (r#"{"text": "Paris", "execution_status": "execution_error"}"#, "`execution_error`"),
            (r#"{"text": "Paris", "execution_status": "lost"}"#, "`lost` is not known"),
            (&format!(r#"{{"output": [{message}, {{"content": "b"}}]}}"#), "message 2 of"),
            (r#"{"output": [{"role": "user", "content": "x"}]}"#, "neither an answer"),
            (r#"{"output": [{"role": "assistant", "content": null}]}"#, "neither an answer"),
            (
                r#"{"output": [{"role": "assistant", "tool_calls": [{"name": "search"}]}]}"#,
                "tool call 1 of message 1",
            ),
        ] {
            let output = Output::read(text);
            let error = output.and_then(|output| output.check()).err().unwrap_or_default();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn measurements_are_those_of_the_wrapper() {
        let text = r#"{"text": "", "token_usage": {"input": 1, "output": 2, "cached": 3}, "cost_usd": 0.5, "duration_ms": -1}"#;
        let output = Output::read(text).unwrap();
        assert_eq!(output.usage, Some(TokenUsage { input: 1.0, output: 2.0, cached: Some(3.0) }));
        assert_eq!((output.cost_usd, output.duration_ms), (Some(0.5), None));
    }
}
