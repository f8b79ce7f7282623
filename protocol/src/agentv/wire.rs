//! The document as it is written, with the keys of every generation.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, SeqAccess, Visitor, value::SeqAccessDeserializer},
};

use super::{MemberResult, Message, TokenUsage, Trace};
use crate::JsonObject;

macro_rules! wire {
    ($($(#[doc = $doc:literal])* $name:ident $(/ $camel:literal)?: $type:ty,)*) => {
        /// Every key that AgentV writes or has ever written, and the rest. Keys in camelCase read the same; `null` reads as
        /// nothing.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub(super) struct Wire {
            $(
                $(#[doc = $doc])*
                #[serde(default, $(alias = $camel,)? skip_serializing_if = "Option::is_none")]
                pub(super) $name: Option<$type>,
            )*
            /// All other keys.
            #[serde(flatten)]
            pub(super) other: JsonObject,
        }
    };
}

wire! {
    /// Up to 3.5.
    question: String,
    /// 3.3 to 3.14.
    input_text / "inputText": String,
    /// Up to 2.5.
    expected_outcome / "expectedOutcome": String,
    /// Since 2.7.
    criteria: String,
    /// Up to 3.5.
    reference_answer / "referenceAnswer": String,
    /// 3.3 to 3.14.
    expected_output_text / "expectedOutputText": String,
    /// Up to 2.5.
    candidate_answer / "candidateAnswer": String,
    /// 2.7 to 3.5, and again from 4.36 to 4.39.
    answer: String,
    /// 3.3 to 3.14.
    output_text / "outputText": String,
    /// The transcript from 2.7 to 4.35, the answer since.
    output: Output,
    /// Since 2.7, where the answer is too large.
    output_path / "outputPath": String,
    /// Up to 2.5.
    input_messages / "inputMessages": Vec<Message>,
    /// Since 2.7.
    input: Vec<Message>,
    /// Up to 2.5.
    expected_messages / "expectedMessages": Vec<Message>,
    /// Since 2.7.
    expected_output / "expectedOutput": Vec<Message>,
    /// Up to 2.5.
    output_messages / "outputMessages": Vec<Message>,
    /// Since 4.36.
    messages: Vec<Message>,
    /// 0.7 to 3.8.
    guideline_files / "guidelineFiles": Vec<String>,
    /// Up to 1.5, beside or instead of `guideline_files`.
    guideline_paths / "guidelinePaths": Vec<String>,
    /// Always.
    input_files / "inputFiles": Vec<String>,
    /// Up to 2.5, and again since 4.36.
    trace_summary / "traceSummary": Trace,
    /// Since 2.7.
    trace: Trace,
    /// Since 2.9.
    token_usage / "tokenUsage": TokenUsage,
    /// Since 2.9.
    cost_usd / "costUsd": f64,
    /// Since 2.9.
    duration_ms / "durationMs": f64,
    /// Since 2.9.
    start_time / "startTime": String,
    /// Since 2.9.
    end_time / "endTime": String,
    /// Where there is a workspace.
    file_changes / "fileChanges": String,
    /// Where there is a workspace.
    workspace_path / "workspacePath": String,
    /// Since 4.33.
    metadata: JsonObject,
    /// Since 2.0.
    config: JsonObject,
    /// Of composite aggregators, instead of everything else.
    results: BTreeMap<String, MemberResult>,
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

    /// The transcript, with its key.
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

    /// How many messages at the start of the transcript are the input. Their contents need not be the same, since files are
    /// put into them.
    pub(super) fn input_in_transcript(&self) -> usize {
        let (Some(messages), input) = (&self.messages, self.input()) else { return 0 };
        let roles = |messages: &[Message]| {
            messages.iter().map(|message| message.role.clone()).collect::<Vec<_>>()
        };
        if roles(messages).starts_with(&roles(input)) { input.len() } else { 0 }
    }
}

/// What stands under `output`.
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

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Messages(messages) => messages.serialize(serializer),
        }
    }
}

/// Told by the type, since both meanings came and went with versions. Read without a detour, so that errors have their
/// place.
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
