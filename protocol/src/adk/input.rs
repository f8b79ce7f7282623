//! The document of a custom metric.

use std::borrow::Cow;

use serde_json::Value;

use super::{EvalMetric, Invocation};
use crate::{
    DecodeError, decode,
    object::{builder, object},
};

object! {
    /// The document of a custom metric: the arguments of its Python signature.
    pub struct MetricInput: lenient {
        /// The metric as it is configured.
        eval_metric | "evalMetric": EvalMetric = required,
        /// The actual turns.
        actual_invocations | "actualInvocations": Vec<Invocation> = required,
        /// The expected turns; `None` when there is nothing to compare with.
        expected_invocations | "expectedInvocations": Option<Vec<Invocation>>,
        /// The scenario of the simulated user; `None` when the turns were written by hand.
        conversation_scenario | "conversationScenario": Option<ConversationScenario>,
    } unknown
}

impl MetricInput {
    /// Names of the arguments, in the order of the Python signature.
    pub const PARAMETERS: [&str; 4] =
        ["eval_metric", "actual_invocations", "expected_invocations", "conversation_scenario"];

    /// Creates a document with these turns.
    pub fn new(eval_metric: EvalMetric, actual_invocations: Vec<Invocation>) -> Self {
        Self { eval_metric, actual_invocations, ..Self::default() }
    }

    builder! {
        /// Sets the turns that were expected.
        fn expected(self, expected_invocations: Vec<Invocation>) {
            self.expected_invocations = Some(expected_invocations);
        }

        /// Sets the scenario of the simulated user.
        fn scenario(self, conversation_scenario: ConversationScenario) {
            self.conversation_scenario = Some(conversation_scenario);
        }
    }

    /// Reads a document.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] with the path of the field, the reason and the text around it.
    pub fn from_json(document: &[u8]) -> Result<Self, DecodeError> {
        decode(document)
    }

    /// Returns an argument as JSON, in snake_case whatever the casing of the document, without nulls for absent fields; `None` if
    /// the document does not have it. Free-form and unknown values are unchanged.
    pub fn parameter(&self, name: &str) -> Option<Cow<'_, Value>> {
        let value = match name {
            "eval_metric" => serde_json::to_value(&self.eval_metric),
            "actual_invocations" => serde_json::to_value(&self.actual_invocations),
            "expected_invocations" => serde_json::to_value(self.expected_invocations.as_ref()?),
            "conversation_scenario" => serde_json::to_value(self.conversation_scenario.as_ref()?),
            _ => return self.unknown.get(name).map(Cow::Borrowed),
        };
        // Values read from JSON can be written as JSON.
        value.ok().map(Cow::Owned)
    }
}

object! {
    /// The scenario of a simulated user. Cases with a scenario have no expected invocations.
    pub struct ConversationScenario: lenient {
        /// The first message of the user.
        starting_prompt | "startingPrompt": String = required,
        /// Instructions for the further messages.
        conversation_plan | "conversationPlan": String = required,
        /// The kind of user.
        user_persona | "userPersona": Option<UserPersona>,
    } unknown
}

impl ConversationScenario {
    /// Creates a scenario without a persona.
    pub fn new(starting_prompt: impl Into<String>, conversation_plan: impl Into<String>) -> Self {
        Self {
            starting_prompt: starting_prompt.into(),
            conversation_plan: conversation_plan.into(),
            ..Self::default()
        }
    }
}

object! {
    /// A kind of user.
    pub struct UserPersona: lenient {
        /// Id.
        id: String,
        /// Description.
        description: String,
        /// Behavior of such users.
        behaviors: Vec<UserBehavior>,
    } unknown
}

object! {
    /// A behavior of a kind of user.
    pub struct UserBehavior: lenient {
        /// Name.
        name: String,
        /// Description.
        description: String,
        /// Instructions for the behavior.
        behavior_instructions | "behaviorInstructions": Vec<String>,
        /// Signs that the behavior is missing.
        violation_rubrics | "violationRubrics": Vec<String>,
    } unknown
}
