//! Documents made in tests.

use serde_json::Value;

use super::{CodeJudgeInput, Message, Trace, TraceSummary};

/// Makes documents in the terms of the documented contract (2.5).
impl CodeJudgeInput {
    /// A question and an answer.
    pub fn new(question: impl Into<String>, candidate_answer: impl Into<String>) -> Self {
        Self::default().edit(|wire| {
            wire.question = Some(question.into());
            wire.candidate_answer = Some(candidate_answer.into());
        })
    }

    /// Sets what a good answer achieves.
    #[must_use]
    pub fn with_expected_outcome(self, outcome: impl Into<String>) -> Self {
        self.edit(|wire| wire.expected_outcome = Some(outcome.into()))
    }

    /// Sets a good answer.
    #[must_use]
    pub fn with_reference_answer(self, answer: impl Into<String>) -> Self {
        self.edit(|wire| wire.reference_answer = Some(answer.into()))
    }

    /// Adds a message to what the agent was given.
    #[must_use]
    pub fn with_input_message(self, message: Message) -> Self {
        self.edit(|wire| wire.input_messages.get_or_insert_default().push(message))
    }

    /// Adds a message to what a good agent says.
    #[must_use]
    pub fn with_expected_message(self, message: Message) -> Self {
        self.edit(|wire| wire.expected_messages.get_or_insert_default().push(message))
    }

    /// Adds a message to what the agent said.
    #[must_use]
    pub fn with_output_message(self, message: Message) -> Self {
        self.edit(|wire| wire.output_messages.get_or_insert_default().push(message))
    }

    /// Adds a file with guidelines.
    #[must_use]
    pub fn with_guideline_file(self, path: impl Into<String>) -> Self {
        self.edit(|wire| wire.guideline_files.get_or_insert_default().push(path.into()))
    }

    /// Adds a file that belongs to the question.
    #[must_use]
    pub fn with_input_file(self, path: impl Into<String>) -> Self {
        self.edit(|wire| wire.input_files.get_or_insert_default().push(path.into()))
    }

    /// Sets the way to the answer in numbers.
    #[must_use]
    pub fn with_trace_summary(self, summary: TraceSummary) -> Self {
        self.edit(|wire| wire.trace_summary = Some(summary.into()))
    }

    /// Sets the way to the answer with its events, as versions since 4.36 send it.
    #[must_use]
    pub fn with_trace(self, trace: Trace) -> Self {
        self.edit(|wire| wire.trace = Some(trace))
    }

    /// Sets one key of the config.
    #[must_use]
    pub fn with_config(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.edit(|wire| {
            wire.config.get_or_insert_default().insert(key.into(), value.into());
        })
    }

    /// Sets one key of what the configuration says of the case.
    #[must_use]
    pub fn with_metadata(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.edit(|wire| {
            wire.metadata.get_or_insert_default().insert(key.into(), value.into());
        })
    }

    /// Sets the workspace and what the agent changed in it, as a unified diff.
    #[must_use]
    pub fn with_workspace(self, path: impl Into<String>, changes: impl Into<String>) -> Self {
        self.edit(|wire| {
            wire.workspace_path = Some(path.into());
            wire.file_changes = Some(changes.into());
        })
    }
}
