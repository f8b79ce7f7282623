//! The document that a custom metric reads.

use std::borrow::Cow;

use serde_json::Value;

use super::{ConversationScenario, EvalMetric, Invocation, object::object};
use crate::{DecodeError, Reply, decode};

object! {
    /// What a custom metric reads: the arguments of its Python signature.
    pub struct MetricInput {
        /// The metric as the evaluation's configuration has it.
        required ["eval_metric" | "evalMetric"] eval_metric: EvalMetric,
        /// The turns that took place.
        required ["actual_invocations" | "actualInvocations"] actual_invocations: Vec<Invocation>,
        /// The turns that were expected; `None` when there is nothing to compare with.
        ["expected_invocations" | "expectedInvocations"] expected_invocations: Option<Vec<Invocation>>,
        /// What the simulated user set out to say; `None` when the turns were written.
        ["conversation_scenario" | "conversationScenario"] conversation_scenario: Option<ConversationScenario>,
    }
}

impl MetricInput {
    /// Names of the arguments, in the order of the Python signature.
    pub const PARAMETERS: [&str; 4] =
        ["eval_metric", "actual_invocations", "expected_invocations", "conversation_scenario"];

    /// What is asked of a metric after these turns.
    #[must_use]
    pub fn new(eval_metric: EvalMetric, actual_invocations: Vec<Invocation>) -> Self {
        Self { eval_metric, actual_invocations, ..Self::default() }
    }

    /// Sets the turns that were expected.
    #[must_use]
    pub fn expected(mut self, expected_invocations: Vec<Invocation>) -> Self {
        self.expected_invocations = Some(expected_invocations);
        self
    }

    /// Sets what the simulated user set out to say.
    #[must_use]
    pub fn scenario(mut self, conversation_scenario: ConversationScenario) -> Self {
        self.conversation_scenario = Some(conversation_scenario);
        self
    }

    /// Reads a document.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] with the path of the field, what is wrong with it and the text around it.
    pub fn from_json(document: &[u8]) -> Result<Self, DecodeError> {
        decode(document)
    }

    /// An argument as JSON, in snake_case whatever the casing of the document, without nulls for what is absent; `None` when
    /// the document does not have it. What is free-form, or not known here, is as it came.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<Cow<'_, Value>> {
        let value = match name {
            "eval_metric" => serde_json::to_value(&self.eval_metric),
            "actual_invocations" => serde_json::to_value(&self.actual_invocations),
            "expected_invocations" => serde_json::to_value(self.expected_invocations.as_ref()?),
            "conversation_scenario" => serde_json::to_value(self.conversation_scenario.as_ref()?),
            _ => return self.unknown.get(name).map(Cow::Borrowed),
        };
        // All of this was read from JSON, so it is JSON.
        value.ok().map(Cow::Owned)
    }

    /// Name of the metric.
    #[must_use]
    pub fn metric_name(&self) -> Option<&str> {
        Some(&self.eval_metric.metric_name)
    }

    /// What ADK expects of an answer.
    #[must_use]
    pub fn reply(&self) -> Reply {
        Reply::Adk { turns: self.actual_invocations.len(), threshold: self.eval_metric.threshold() }
    }
}
