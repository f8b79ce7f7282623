//! The keys of all versions of AgentV, and the values derived from several of them.

use std::{collections::BTreeMap, fmt};

use serde_core::{
    Deserialize, Deserializer,
    de::{self, SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use serde_json::Value;

use super::{MemberResult, Message, Role, TokenUsage, Trace, TraceSummary};
use crate::{
    JsonObject,
    object::{object, untagged},
};

object! {
    /// The document as it is written, with every key of any version of AgentV.
    #[derive(Default)]
    pub(super) struct Wire: sparse {
        /// Up to 3.5.
        question: Option<String>,
        /// 3.3 to 3.14.
        input_text | "inputText": Option<String>,
        /// Up to 2.5.
        expected_outcome | "expectedOutcome": Option<String>,
        /// Since 2.7.
        criteria: Option<String>,
        /// Up to 3.5.
        reference_answer | "referenceAnswer": Option<String>,
        /// 3.3 to 3.14.
        expected_output_text | "expectedOutputText": Option<String>,
        /// Up to 2.5.
        candidate_answer | "candidateAnswer": Option<String>,
        /// 2.7 to 3.5, and again from 4.36 to 4.39.
        answer: Option<String>,
        /// 3.3 to 3.14.
        output_text | "outputText": Option<String>,
        /// The transcript from 2.7 to 4.35, the answer since.
        output: Option<Output>,
        /// Since 2.7, for large answers.
        output_path | "outputPath": Option<String>,
        /// Up to 2.5.
        input_messages | "inputMessages": Option<Vec<Message>>,
        /// Since 2.7.
        input: Option<Vec<Message>>,
        /// Up to 2.5.
        expected_messages | "expectedMessages": Option<Vec<Message>>,
        /// Since 2.7.
        expected_output | "expectedOutput": Option<Vec<Message>>,
        /// Up to 2.5.
        output_messages | "outputMessages": Option<Vec<Message>>,
        /// Since 4.36.
        messages: Option<Vec<Message>>,
        /// 0.7 to 3.8.
        guideline_files | "guidelineFiles": Option<Vec<String>>,
        /// Up to 1.5, next to or instead of `guideline_files`.
        guideline_paths | "guidelinePaths": Option<Vec<String>>,
        /// Always.
        input_files | "inputFiles": Option<Vec<String>>,
        /// Up to 2.5, and again since 4.36.
        trace_summary | "traceSummary": Option<Trace>,
        /// Since 2.7.
        trace: Option<Trace>,
        /// Since 2.9.
        token_usage | "tokenUsage": Option<TokenUsage>,
        /// Since 2.9.
        cost_usd | "costUsd": Option<f64>,
        /// Since 2.9.
        duration_ms | "durationMs": Option<f64>,
        /// Since 2.9.
        start_time | "startTime": Option<String>,
        /// Since 2.9.
        end_time | "endTime": Option<String>,
        /// With a workspace.
        file_changes | "fileChanges": Option<String>,
        /// With a workspace.
        workspace_path | "workspacePath": Option<String>,
        /// Since 4.33.
        metadata: Option<JsonObject>,
        /// Since 2.0.
        config: Option<JsonObject>,
        /// For composite aggregators, instead of all other keys.
        results: Option<BTreeMap<String, MemberResult>>,
    } other
}

impl Wire {
    pub(super) fn input(&self) -> &[Message] {
        let Self { input, input_messages, .. } = self;
        input.as_ref().or(input_messages.as_ref()).map_or(&[], Vec::as_slice)
    }

    pub(super) fn expected(&self) -> &[Message] {
        let Self { expected_output, expected_messages, .. } = self;
        expected_output.as_ref().or(expected_messages.as_ref()).map_or(&[], Vec::as_slice)
    }

    /// Returns the transcript, with its key.
    pub(super) fn transcript(&self) -> Option<(&'static str, &[Message])> {
        let output = self.output.as_ref().and_then(Output::messages);
        [
            ("messages", self.messages.as_deref()),
            ("output", output),
            ("output_messages", self.output_messages.as_deref()),
        ]
        .into_iter()
        .find_map(|(key, messages)| Some((key, messages?)))
    }

    /// Returns the number of messages at the start of the transcript that are the input. Contents may differ, because the host
    /// inserts files.
    pub(super) fn input_in_transcript(&self) -> usize {
        let (Some(messages), input) = (&self.messages, self.input()) else { return 0 };
        let roles = |messages: &[Message]| {
            messages.iter().map(|message| message.role.clone()).collect::<Vec<_>>()
        };
        if roles(messages).starts_with(&roles(input)) { input.len() } else { 0 }
    }
}

/// The value of `output`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Output {
    /// The answer.
    Text(String),
    /// The transcript.
    Messages(Vec<Message>),
}

impl Output {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Messages(_) => None,
        }
    }

    pub(super) fn messages(&self) -> Option<&[Message]> {
        match self {
            Self::Text(_) => None,
            Self::Messages(messages) => Some(messages),
        }
    }
}

untagged!(Output { Text, Messages });

/// The type decides, because both meanings exist in several versions. Read without buffering, so that errors have their
/// position.
impl<'de> Deserialize<'de> for Output {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Output;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of messages")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Output, E> {
                Ok(Output::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Output, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(items)).map(Output::Messages)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Values derived from several keys whenever a document is read or changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Derived {
    pub(super) question: Option<String>,
    pub(super) answer: Option<String>,
    pub(super) reference: Option<String>,
    pub(super) summary: Option<TraceSummary>,
    pub(super) config: Option<JsonObject>,
}

impl Derived {
    pub(super) fn of(wire: &Wire) -> Self {
        let config = wire.config.as_ref().and_then(|config| unified_config(wire, config));
        Self {
            question: texts_of_users(wire.input()),
            answer: answer(wire),
            reference: reference(wire, config.as_ref().or(wire.config.as_ref())),
            summary: summary(wire),
            config,
        }
    }
}

/// Returns the texts of the user, joined by spaces.
pub(super) fn texts_of_users(messages: &[Message]) -> Option<String> {
    let texts: Vec<String> = messages
        .iter()
        .filter(|message| message.role == Role::User)
        .map(|message| message.text().trim().to_owned())
        .filter(|text| !text.is_empty())
        .collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// Returns the last message of the agent with text.
fn answer(wire: &Wire) -> Option<String> {
    let places = [
        wire.output.as_ref().and_then(Output::messages),
        wire.messages.as_deref().map(|messages| &messages[wire.input_in_transcript()..]),
        wire.output_messages.as_deref(),
    ];
    places.into_iter().flatten().find_map(|messages| {
        let spoken = messages.iter().filter(|message| message.role == Role::Assistant);
        // Messages with tool calls often have an empty text.
        let answers = |message: &&Message| {
            message.content.is_some()
                && (message.tool_calls.is_empty() || !message.text().is_empty())
        };
        spoken.rev().find(answers).map(|message| message.text().into_owned())
    })
}

/// Returns the content of the last expected message, or its tool calls; else the reference that version 5 is configured with.
fn reference(wire: &Wire, config: Option<&JsonObject>) -> Option<String> {
    let last = wire.expected().last().and_then(|message| match &message.content {
        Some(content) => Some(content.text().into_owned()),
        None if message.tool_calls.is_empty() => None,
        None => serde_json::to_string_pretty(&message.tool_calls).ok(),
    });
    last.filter(|text| !text.is_empty()).or_else(|| configured_reference(config?))
}

/// Returns the key `expected` of the config as text.
pub(super) fn configured_reference(config: &JsonObject) -> Option<String> {
    match config.get("expected")? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        other => Some(format!("{other:#}")),
    }
}

fn summary(wire: &Wire) -> Option<TraceSummary> {
    let places = [&wire.trace_summary, &wire.trace];
    if places.iter().all(|place| place.is_none()) {
        return None;
    }
    let mut summary = TraceSummary::default();
    for place in places.into_iter().flatten() {
        place.complete(&mut summary);
    }
    let above = Trace {
        token_usage: wire.token_usage.clone(),
        cost_usd: wire.cost_usd,
        duration_ms: wire.duration_ms,
        ..Trace::default()
    };
    above.complete(&mut summary);
    Some(summary)
}

/// Returns the config in the form of later versions, if this one differs: the block `config`, which 2.5 does not merge, overrides
/// the rest, and names are converted to snake_case, which `pipeline grade` does not do.
fn unified_config(wire: &Wire, config: &JsonObject) -> Option<JsonObject> {
    let is_old = wire.candidate_answer.is_some()
        || wire.expected_outcome.is_some()
        || wire.output_messages.is_some();
    let inner = config.get("config").and_then(Value::as_object).filter(|_| is_old);
    if inner.is_none() && !has_camel_case(config) {
        return None;
    }
    let mut merged = config.clone();
    if let Some(inner) = inner {
        merged.remove("config");
        merged.extend(inner.clone());
    }
    Some(with_snake_case(merged))
}

fn has_camel_case(object: &JsonObject) -> bool {
    fn inside(value: &Value) -> bool {
        match value {
            Value::Object(object) => has_camel_case(object),
            Value::Array(items) => items.iter().any(inside),
            _ => false,
        }
    }
    object.iter().any(|(key, value)| is_camel_case(key) || inside(value))
}

fn is_camel_case(key: &str) -> bool {
    let is_upper = |letter: char| letter.is_ascii_uppercase();
    !key.starts_with(is_upper) && key.contains(is_upper)
}

/// Converts a name by AgentV's rule: each upper-case letter becomes `_` and its lower-case form, unless the name begins with
/// one.
pub fn in_snake_case(name: &str) -> String {
    let is_camel = is_camel_case(name);
    let mut converted = String::with_capacity(name.len());
    for letter in name.chars() {
        if is_camel && letter.is_ascii_uppercase() {
            converted.extend(['_', letter.to_ascii_lowercase()]);
        } else {
            converted.push(letter);
        }
    }
    converted
}

/// Converts the names in an object. If two names become the same, the one that was in snake_case is kept.
fn with_snake_case(object: JsonObject) -> JsonObject {
    fn inside(value: Value) -> Value {
        match value {
            Value::Object(object) => Value::Object(with_snake_case(object)),
            Value::Array(items) => items.into_iter().map(inside).collect(),
            other => other,
        }
    }
    let (camel, mut snake): (JsonObject, JsonObject) = object
        .into_iter()
        .map(|(key, value)| (key, inside(value)))
        .partition(|(key, _)| is_camel_case(key));
    for (key, value) in camel {
        snake.entry(in_snake_case(&key)).or_insert(value);
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_rewritten_as_agentv_does() {
        for (key, written) in [
            ("filePath", "file_path"),
            ("minLength", "min_length"),
            ("Tags", "Tags"),
            ("Read", "Read"),
            ("aBC", "a_b_c"),
            ("snake_case", "snake_case"),
            ("été", "été"),
        ] {
            assert_eq!(in_snake_case(key), written);
        }
    }
}
