//! The document of a custom metric, and the description of the metric in it.

use std::{borrow::Cow, fmt};

use serde_core::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::Value;

use super::{EvalStatus, Invocation};
use crate::{
    DecodeError, JsonObject, Reply, Score, decode,
    object::{builder, object},
    score::LenientNumber,
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
    #[must_use]
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
    #[must_use]
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

    /// Returns the form of the answer that ADK expects.
    #[must_use]
    pub fn reply(&self) -> Reply {
        Reply::Adk { turns: self.actual_invocations.len(), threshold: self.eval_metric.threshold() }
    }
}

object! {
    /// The metric as it is configured.
    pub struct EvalMetric: lenient {
        /// Name: the key in `criteria`.
        metric_name | "metricName": String = required,
        /// Deprecated by ADK, which does not send it: see [`EvalMetric::threshold`].
        threshold: Option<f64>,
        /// The value of its key in `criteria`.
        criterion: Option<Criterion>,
        /// Path of the Python function that ADK calls.
        custom_function_path | "customFunctionPath": Option<String>,
    } unknown
}

impl EvalMetric {
    /// Creates a metric without a criterion.
    pub fn new(metric_name: impl Into<String>) -> Self {
        Self { metric_name: metric_name.into(), ..Self::default() }
    }

    builder! {
        /// Sets the threshold of the criterion.
        fn with_threshold(self, threshold: f64) { self.criterion.get_or_insert_default().threshold = Some(threshold); }

        /// Sets a key of the criterion that the metric defines.
        fn with_extra(self, key: impl Into<String>, value: impl Into<Value>) {
            self.criterion.get_or_insert_default().extras.insert(key.into(), value.into());
        }
    }

    /// Returns the lowest score that passes: the criterion's threshold. `None` without one, which includes infinite ones, because
    /// JSON cannot represent them.
    #[must_use]
    pub fn threshold(&self) -> Option<f64> {
        self.criterion.as_ref().and_then(|criterion| criterion.threshold).or(self.threshold)
    }

    /// Compares a score with the threshold. Without a threshold, the status is
    /// [`Informational`](EvalStatus::Informational).
    ///
    /// ```
    /// use evaluator_protocol::{Score, adk::{EvalMetric, EvalStatus}};
    ///
    /// let metric = EvalMetric::new("exact_match").with_threshold(0.8);
    /// assert_eq!(metric.status_of(Score::ratio(4, 5)), EvalStatus::Passed);
    /// assert_eq!(metric.status_of(Score::ratio(3, 4)), EvalStatus::Failed);
    /// ```
    #[must_use]
    pub fn status_of(&self, score: Score) -> EvalStatus {
        EvalStatus::of(score, self.threshold())
    }

    /// Returns the keys of the criterion that the metric defines.
    #[must_use]
    pub fn extras(&self) -> Option<&JsonObject> {
        self.criterion.as_ref().map(|criterion| &criterion.extras)
    }
}

/// The value of the metric's key in `criteria`.
///
/// If a field is present in both spellings, the camelCase one counts, as in ADK.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Criterion {
    /// Lowest score that passes.
    pub threshold: Option<f64>,
    /// Whether the final response includes the texts before it in the turn.
    pub include_intermediate_responses_in_final: Option<bool>,
    /// All other keys, unchanged: parameters of the metric.
    pub extras: JsonObject,
}

const THRESHOLD: &str = "threshold";
const INCLUDE: &str = "include_intermediate_responses_in_final";
const INCLUDE_CAMEL: &str = "includeIntermediateResponsesInFinal";

impl<'de> Deserialize<'de> for Criterion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = Criterion;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Criterion, A::Error> {
                let mut criterion = Criterion::default();
                let mut camel = None;
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        THRESHOLD => {
                            criterion.threshold =
                                map.next_value::<Option<LenientNumber>>()?.map(|number| number.0);
                        }
                        INCLUDE => {
                            criterion.include_intermediate_responses_in_final = map.next_value()?;
                        }
                        INCLUDE_CAMEL => camel = map.next_value()?,
                        // Nulls are values here.
                        _ => drop(criterion.extras.insert(key, map.next_value()?)),
                    }
                }
                if camel.is_some() {
                    criterion.include_intermediate_responses_in_final = camel;
                }
                Ok(criterion)
            }
        }

        deserializer.deserialize_map(Keys)
    }
}

impl Serialize for Criterion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(threshold) = self.threshold {
            map.serialize_entry(THRESHOLD, &threshold)?;
        }
        if let Some(include) = self.include_intermediate_responses_in_final {
            map.serialize_entry(INCLUDE, &include)?;
        }
        self.extras.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
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
