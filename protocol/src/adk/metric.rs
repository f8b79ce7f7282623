//! The metric that is asked for, and its criterion.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::Value;

use super::{
    EvalStatus,
    object::{Number, object},
};
use crate::{JsonObject, Score, lenient};

object! {
    /// The metric as the evaluation's configuration has it.
    pub struct EvalMetric {
        /// Its name: the key in `criteria`.
        required ["metric_name" | "metricName"] metric_name: String,
        /// Deprecated by ADK, which leaves it out: see [`EvalMetric::threshold`].
        ["threshold"] threshold: Number,
        /// What was written under its name in `criteria`.
        ["criterion"] criterion: Option<Criterion>,
        /// The Python function that ADK calls.
        ["custom_function_path" | "customFunctionPath"] custom_function_path: Option<String>,
    }
}

impl EvalMetric {
    /// A metric without a criterion.
    pub fn new(metric_name: impl Into<String>) -> Self {
        Self { metric_name: metric_name.into(), ..Self::default() }
    }

    /// Sets the threshold of the criterion.
    #[must_use]
    pub fn with_threshold(mut self, threshold: f64) -> Self {
        self.criterion.get_or_insert_default().threshold = Some(threshold);
        self
    }

    /// Sets one of the keys that are the metric's own.
    #[must_use]
    pub fn with_extra(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.criterion.get_or_insert_default().extras.insert(key.into(), value.into());
        self
    }

    /// Score from which on an evaluation passes: that of the criterion. `None` when there is none, as for an infinite one,
    /// which JSON cannot carry.
    #[must_use]
    pub fn threshold(&self) -> Option<f64> {
        self.criterion.as_ref().and_then(|criterion| criterion.threshold).or(self.threshold)
    }

    /// The status of a score: whether it reaches the threshold. Without a threshold nothing says what is enough, and the
    /// score is for information.
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

    /// The keys of the criterion that are the metric's own.
    #[must_use]
    pub fn extras(&self) -> Option<&JsonObject> {
        self.criterion.as_ref().map(|criterion| &criterion.extras)
    }
}

/// What was written under the name of a metric in `criteria`.
///
/// Where a field of its own is there in both spellings, the camelCase one counts, as in ADK.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Criterion {
    /// Score from which on an evaluation passes.
    pub threshold: Option<f64>,
    /// Whether the final response is meant with all that was said before it in the turn.
    pub include_intermediate_responses_in_final: Option<bool>,
    /// All other keys, as they were written: parameters of the metric. They are never re-cased.
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
                                map.next_value::<Option<Lenient>>()?.map(|Lenient(value)| value);
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

/// A number as ADK reads it from its configuration: numeric text and booleans count.
struct Lenient(f64);

impl<'de> Deserialize<'de> for Lenient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        lenient::float(deserializer).map(Self)
    }
}
