//! The metric of a document, and the status of its scores.

use std::fmt;

use serde_core::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::Value;

use crate::{
    JsonObject, Score,
    object::{Field, builder, object},
    score::LenientNumber,
};

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
    pub fn status_of(&self, score: Score) -> EvalStatus {
        EvalStatus::of(score, self.threshold())
    }

    /// Returns the keys of the criterion that the metric defines.
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

/// The status of a score. ADK uses the status alone: it does not compare the score with a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EvalStatus {
    /// 1: the agent did well enough.
    Passed = 1,
    /// 2: the agent did not do well enough.
    Failed = 2,
    /// 3: nothing was judged. It neither passes nor fails a case.
    #[default]
    NotEvaluated = 3,
    /// 4: a score without a threshold, which neither passes nor fails a case.
    Informational = 4,
}

impl EvalStatus {
    const ALL: [Self; 4] = [Self::Passed, Self::Failed, Self::NotEvaluated, Self::Informational];

    /// Compares a score with a threshold; without a threshold the status is `Informational`.
    pub fn of(score: Score, threshold: Option<f64>) -> Self {
        match threshold {
            Some(threshold) if score.get() >= threshold => Self::Passed,
            Some(_) => Self::Failed,
            None => Self::Informational,
        }
    }

    /// Returns the number in documents.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Returns true for statuses that require a row for each turn.
    pub fn is_verdict(self) -> bool {
        matches!(self, Self::Passed | Self::Failed)
    }
}

impl Field for EvalStatus {}

impl From<crate::EvalStatus> for EvalStatus {
    fn from(status: crate::EvalStatus) -> Self {
        match status {
            crate::EvalStatus::Passed => Self::Passed,
            crate::EvalStatus::Failed => Self::Failed,
            crate::EvalStatus::NotEvaluated => Self::NotEvaluated,
        }
    }
}

impl fmt::Display for EvalStatus {
    /// Formats the name in Python.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::NotEvaluated => "NOT_EVALUATED",
            Self::Informational => "INFORMATIONAL",
        })
    }
}

impl Serialize for EvalStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

impl<'de> Deserialize<'de> for EvalStatus {
    /// Reads the number as ADK does, also as `1.0` and `true`. Names and text are errors.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = EvalStatus;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("1 (PASSED), 2 (FAILED), 3 (NOT_EVALUATED) or 4 (INFORMATIONAL)")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<EvalStatus, E> {
                let mut all = EvalStatus::ALL.into_iter();
                all.find(|status| f64::from(status.number()) == value)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Float(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<EvalStatus, E> {
                let mut all = EvalStatus::ALL.into_iter();
                all.find(|status| u64::from(status.number()) == value)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<EvalStatus, E> {
                match value {
                    true => Ok(EvalStatus::Passed),
                    false => Err(E::invalid_value(de::Unexpected::Bool(value), &self)),
                }
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}
