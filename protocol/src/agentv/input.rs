//! The document of a code judge: one view of the keys of all versions of AgentV.

use std::collections::BTreeMap;

use serde_core::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{
    MemberResult, Message, TokenUsage, ToolCall, Trace, TraceSummary,
    wire::{Derived, Output, Wire},
};
use crate::{DecodeError, JsonObject, decode, object::builder};

/// The document of a code judge, of any version of AgentV.
///
/// The methods have the names of the documented contract (2.5) and find their values under the keys of all versions, see the
/// table of [this module](crate::agentv). Nothing is required: a missing value is `None`, or an empty slice for the lists that
/// the contract has always had.
///
/// ```
/// use evaluator_protocol::agentv::CodeJudgeInput;
///
/// let old = br#"{"question": "Capital of France?", "candidate_answer": "Paris.", "expected_outcome": "Says Paris"}"#;
/// let new = br#"{"input": [{"role": "user", "content": "Capital of France?"}], "output": "Paris.", "criteria": "Says Paris"}"#;
/// for document in [&old[..], new] {
///     let input = CodeJudgeInput::from_json(document)?;
///     assert_eq!(input.question(), Some("Capital of France?"));
///     assert_eq!(input.candidate_answer(), Some("Paris."));
///     assert_eq!(input.expected_outcome(), Some("Says Paris"));
/// }
/// # Ok::<(), evaluator_protocol::DecodeError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodeJudgeInput {
    pub(super) wire: Wire,
    derived: Derived,
}

impl CodeJudgeInput {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] with the path of the value that is of the wrong type.
    pub fn from_json(document: &[u8]) -> Result<Self, DecodeError> {
        decode(document)
    }

    pub(super) fn from_wire(wire: Wire) -> Self {
        let derived = Derived::of(&wire);
        Self { wire, derived }
    }

    /// Changes the document.
    fn edit(&mut self, change: impl FnOnce(&mut Wire)) {
        change(&mut self.wire);
        self.derived = Derived::of(&self.wire);
    }

    /// Returns the question: the host's text, else the texts of the user's messages, joined by spaces.
    pub fn question(&self) -> Option<&str> {
        let Wire { question, input_text, .. } = &self.wire;
        first([question, input_text, &self.derived.question])
    }

    /// Returns the description of a good answer. Version 5 does not send it.
    pub fn expected_outcome(&self) -> Option<&str> {
        first([&self.wire.criteria, &self.wire.expected_outcome])
    }

    /// Returns the reference answer: the host's text, else the last expected message, else `expected` of the config, as version 5
    /// is configured.
    pub fn reference_answer(&self) -> Option<&str> {
        self.written_reference().or(self.derived.reference.as_deref())
    }

    /// Returns the reference answer if it is a separate text.
    pub(super) fn written_reference(&self) -> Option<&str> {
        first([&self.wire.reference_answer, &self.wire.expected_output_text])
    }

    /// Returns the agent's answer; an answer without text is `Some("")`.
    ///
    /// A large answer is in a file, see [`unread_output`](Self::unread_output), which the SDK reads.
    pub fn candidate_answer(&self) -> Option<&str> {
        let Wire { output, answer, output_text, candidate_answer, .. } = &self.wire;
        output
            .as_ref()
            .and_then(Output::text)
            .or(answer.as_deref())
            .or(output_text.as_deref())
            .or(candidate_answer.as_deref())
            .or(self.derived.answer.as_deref())
    }

    /// Returns the path of the file with the answer, or the transcript, unless it was read. The host removes it after the judge
    /// exits.
    pub fn unread_output(&self) -> Option<&str> {
        self.wire.output_path.as_deref().filter(|_| self.wire.output.is_none())
    }

    /// Sets `output` to the content of that file, a JSON string or an array of messages.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] at `output_path`: the content is neither. The error does not quote it.
    pub fn read_output(&mut self, content: &[u8]) -> Result<(), DecodeError> {
        let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        let output = serde_json::from_slice(content).map_err(|error| {
            let reason = format!(
                "the file holds neither a JSON string nor an array of messages: {}",
                place(&error)
            );
            DecodeError::shape("output_path", reason)
        })?;
        self.edit(|wire| wire.output = Some(output));
        Ok(())
    }

    /// Returns the input of the agent, message by message.
    pub fn input_messages(&self) -> &[Message] {
        self.wire.input()
    }

    /// Returns the messages of a good answer.
    pub fn expected_messages(&self) -> &[Message] {
        self.wire.expected()
    }

    /// Returns the messages of the agent. The transcript since 4.36 starts with the input, which is left out here.
    pub fn output_messages(&self) -> Option<&[Message]> {
        self.messages().map(|messages| &messages[self.wire.input_in_transcript()..])
    }

    /// Returns the transcript as the host wrote it; since 4.36 it starts with the input.
    pub fn messages(&self) -> Option<&[Message]> {
        self.wire.transcript().map(|(_, messages)| messages)
    }

    /// Returns true if the document has no output of the agent, in a file or otherwise.
    pub(crate) fn is_about_nothing(&self) -> bool {
        self.candidate_answer().is_none()
            && self.messages().is_none()
            && self.unread_output().is_none()
            && self.results().is_none()
    }

    /// Returns the tool calls of the agent, in order; `None` without a transcript.
    pub fn tool_calls(&self) -> Option<impl Iterator<Item = &ToolCall>> {
        self.output_messages()
            .map(|messages| messages.iter().flat_map(|message| &message.tool_calls))
    }

    /// Returns files with guidelines, as absolute paths. Since 3.9 they are among the [`input_files`](Self::input_files).
    pub fn guideline_files(&self) -> &[String] {
        let Wire { guideline_files, guideline_paths, .. } = &self.wire;
        guideline_files.as_ref().or(guideline_paths.as_ref()).map_or(&[], Vec::as_slice)
    }

    /// Returns files that belong to the question, as absolute paths.
    pub fn input_files(&self) -> &[String] {
        self.wire.input_files.as_deref().unwrap_or_default()
    }

    /// Returns the summary of the trace; `None` without a trace.
    pub fn trace_summary(&self) -> Option<&TraceSummary> {
        self.derived.summary.as_ref()
    }

    /// Returns the `trace` as the host wrote it, since 4.36 with events.
    pub fn trace(&self) -> Option<&Trace> {
        self.wire.trace.as_ref()
    }

    /// Returns the number of tokens used.
    pub fn token_usage(&self) -> Option<&TokenUsage> {
        self.wire.token_usage.as_ref().or_else(|| self.trace_summary()?.token_usage.as_ref())
    }

    /// Returns the cost, in US dollars.
    pub fn cost_usd(&self) -> Option<f64> {
        self.wire.cost_usd.or_else(|| self.trace_summary()?.cost_usd)
    }

    /// Returns the duration, in milliseconds.
    pub fn duration_ms(&self) -> Option<f64> {
        self.wire.duration_ms.or_else(|| self.trace_summary()?.duration_ms)
    }

    /// Returns the start time as the host wrote it (ISO 8601).
    pub fn start_time(&self) -> Option<&str> {
        self.time(&self.wire.start_time, |trace| &trace.start_time)
    }

    /// Returns the end time as the host wrote it (ISO 8601).
    pub fn end_time(&self) -> Option<&str> {
        self.time(&self.wire.end_time, |trace| &trace.end_time)
    }

    fn time<'a>(
        &'a self,
        above: &'a Option<String>,
        of: fn(&Trace) -> &Option<String>,
    ) -> Option<&'a str> {
        let traces = [&self.wire.trace_summary, &self.wire.trace];
        let inside = || traces.into_iter().flatten().find_map(|trace| of(trace).as_deref());
        above.as_deref().or_else(inside)
    }

    /// Returns the agent's changes to its workspace, as a unified diff.
    pub fn file_changes(&self) -> Option<&str> {
        self.wire.file_changes.as_deref()
    }

    /// Returns the path of the agent's workspace.
    pub fn workspace_path(&self) -> Option<&str> {
        self.wire.workspace_path.as_deref()
    }

    /// Returns the metadata of the case from the configuration.
    pub fn metadata(&self) -> Option<&JsonObject> {
        self.wire.metadata.as_ref()
    }

    /// Returns the settings of the judge: the keys of its entry that AgentV does not use itself, overridden by those of a
    /// block `config`, which 2.5 sends separately. All names are in snake_case, as most commands of AgentV write them, at
    /// any depth: `minLength` of a configuration is `min_length`, and `Tags` is unchanged.
    pub fn config(&self) -> Option<&JsonObject> {
        self.derived.config.as_ref().or(self.wire.config.as_ref())
    }

    /// Returns the results of the members by name, in documents for the aggregator of a composite evaluator, which have no other
    /// keys.
    pub fn results(&self) -> Option<&BTreeMap<String, MemberResult>> {
        self.wire.results.as_ref()
    }

    /// Returns keys of later versions.
    pub fn other(&self) -> &JsonObject {
        &self.wire.other
    }
}

impl Serialize for CodeJudgeInput {
    /// Writes the keys under which the document was read.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CodeJudgeInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Wire::deserialize(deserializer).map(Self::from_wire)
    }
}

/// Returns the first text that is not empty.
fn first<const N: usize>(places: [&Option<String>; N]) -> Option<&str> {
    places.into_iter().flatten().map(String::as_str).find(|text| !text.is_empty())
}

/// Describes an error in a file by its position, without quoting the file, whose content is unknown.
fn place(error: &serde_json::Error) -> String {
    let what = if error.is_data() { "wrong type" } else { "not JSON" };
    format!("{what} at line {} column {}", error.line(), error.column())
}

/// Builds documents in the form of the documented contract (2.5).
impl CodeJudgeInput {
    /// Creates a document with a question and an answer.
    pub fn new(question: impl Into<String>, candidate_answer: impl Into<String>) -> Self {
        Self::from_wire(Wire {
            question: Some(question.into()),
            candidate_answer: Some(candidate_answer.into()),
            ..Wire::default()
        })
    }

    builder! {
        /// Sets the description of a good answer.
        fn with_expected_outcome(self, outcome: impl Into<String>) {
            self.edit(|wire| wire.expected_outcome = Some(outcome.into()));
        }

        /// Sets the reference answer.
        fn with_reference_answer(self, answer: impl Into<String>) {
            self.edit(|wire| wire.reference_answer = Some(answer.into()));
        }

        /// Adds a message to the input of the agent.
        fn with_input_message(self, message: Message) {
            self.edit(|wire| wire.input_messages.get_or_insert_default().push(message));
        }

        /// Adds a message to the expected messages.
        fn with_expected_message(self, message: Message) {
            self.edit(|wire| wire.expected_messages.get_or_insert_default().push(message));
        }

        /// Adds a message to the messages of the agent.
        fn with_output_message(self, message: Message) {
            self.edit(|wire| wire.output_messages.get_or_insert_default().push(message));
        }

        /// Adds a file with guidelines.
        fn with_guideline_file(self, path: impl Into<String>) {
            self.edit(|wire| wire.guideline_files.get_or_insert_default().push(path.into()));
        }

        /// Adds a file that belongs to the question.
        fn with_input_file(self, path: impl Into<String>) {
            self.edit(|wire| wire.input_files.get_or_insert_default().push(path.into()));
        }

        /// Sets the summary of the trace.
        fn with_trace_summary(self, summary: TraceSummary) {
            self.edit(|wire| wire.trace_summary = Some(summary.into()));
        }

        /// Sets the trace with its events, as sent since 4.36.
        fn with_trace(self, trace: Trace) { self.edit(|wire| wire.trace = Some(trace)); }

        /// Sets one key of the config.
        fn with_config(self, key: impl Into<String>, value: impl Into<Value>) {
            self.edit(|wire| {
                wire.config.get_or_insert_default().insert(key.into(), value.into());
            });
        }

        /// Sets one key of the metadata of the case.
        fn with_metadata(self, key: impl Into<String>, value: impl Into<Value>) {
            self.edit(|wire| {
                wire.metadata.get_or_insert_default().insert(key.into(), value.into());
            });
        }

        /// Sets the path of the workspace and the agent's changes to it, as a unified diff.
        fn with_workspace(self, path: impl Into<String>, changes: impl Into<String>) {
            self.edit(|wire| {
                wire.workspace_path = Some(path.into());
                wire.file_changes = Some(changes.into());
            });
        }
    }
}
