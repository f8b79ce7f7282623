//! The output of an agent, as a `cli` target writes it.

use std::borrow::Cow;

use evaluator_json::{Object, ParseOptions, Value, parse};

use crate::json_text::{compact, finite};

/// What an agent did for one test.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
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
    #[must_use]
    pub fn read(text: &str) -> Self {
        let options = ParseOptions { non_finite: false, ..ParseOptions::default() };
        let value = parse(text.trim_start_matches('\u{feff}'), &options).ok().map(|it| it.value);
        let object = value.as_ref().and_then(Value::as_object);
        object.and_then(Self::of_object).unwrap_or_else(|| Self::of_text(text))
    }

    /// Creates an output that is just an answer.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        let member = |key: &str, text: &str| (key.to_owned(), Value::String(text.to_owned()));
        let message = [member("role", "assistant"), member("content", text)];
        Self { messages: vec![Value::Object(message.into_iter().collect())], ..Self::default() }
    }

    /// Reads an object in the form of a `cli` target; `None` if it has another form.
    #[must_use]
    pub fn of_object(object: &Object) -> Option<Self> {
        let messages = ["output", "output_messages", "outputMessages"]
            .iter()
            .find_map(|key| object.get(*key)?.as_array())
            .map(|items| items.iter().filter(|item| is_message(item)).cloned().collect::<Vec<_>>())
            .filter(|messages| !messages.is_empty());
        let text = || object.get("text")?.as_str().map(Self::of_text);
        let output = match messages {
            Some(messages) => Self { messages, ..Self::default() },
            None => text()?,
        };
        Some(output.measured(object))
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

    /// Returns the text of the last message of the assistant; empty without one.
    #[must_use]
    pub fn answer(&self) -> Cow<'_, str> {
        let mut messages = self.messages.iter().rev();
        match messages
            .find(|message| role(message) == Some("assistant"))
            .and_then(|it| it.get("content"))
        {
            None | Some(Value::Null) => Cow::Borrowed(""),
            Some(Value::String(text)) => Cow::Borrowed(text),
            Some(Value::Array(blocks))
                if blocks.iter().all(|block| block.as_object().is_some()) =>
            {
                let text = |block: &Value| {
                    let text = block.get("text").or_else(|| block.get("value"))?;
                    text.as_str().map(str::to_owned)
                };
                let texts: Vec<String> = blocks.iter().filter_map(text).collect();
                Cow::Owned(texts.join("\n"))
            }
            Some(other) => Cow::Owned(compact(other)),
        }
    }

    /// Returns the tool calls of all messages, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = ToolCall<'_>> {
        self.messages.iter().flat_map(|message| {
            let calls = message.get("tool_calls").or_else(|| message.get("toolCalls"));
            calls.and_then(Value::as_array).into_iter().flatten().filter_map(|call| {
                let duration = call.get("duration_ms").or_else(|| call.get("durationMs"));
                let status = call.get("status").and_then(Value::as_str);
                Some(ToolCall {
                    tool: call.get("tool")?.as_str()?,
                    input: call.get("input"),
                    duration_ms: duration.and_then(finite),
                    is_error: matches!(status, Some("error" | "timeout" | "cancelled")),
                })
            })
        })
    }

    /// Returns the number of model calls: that of the messages of the assistant, if no other was recorded.
    #[must_use]
    pub fn count_model_calls(&self) -> usize {
        let messages = || self.messages.iter().filter(|message| role(message) == Some("assistant"));
        self.model_calls.unwrap_or_else(|| messages().count())
    }
}

fn role(message: &Value) -> Option<&str> {
    message.get("role")?.as_str()
}

fn is_message(value: &Value) -> bool {
    role(value).is_some()
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
            (r#"{"output": [{"role": "user", "content": "x"}]}"#, ""),
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            ("[1]", "[1]"),
            ("", ""),
        ] {
            assert_eq!(Output::read(text).answer(), answer, "{text}");
        }
    }

    #[test]
    fn measurements_are_those_of_the_wrapper() {
        let text = r#"{"text": "", "token_usage": {"input": 1, "output": 2, "cached": 3}, "cost_usd": 0.5, "duration_ms": -1}"#;
        let output = Output::read(text);
        assert_eq!(output.usage, Some(TokenUsage { input: 1.0, output: 2.0, cached: Some(3.0) }));
        assert_eq!((output.cost_usd, output.duration_ms), (Some(0.5), None));
    }
}
