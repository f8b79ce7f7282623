//! The answer of an evaluator of Agenta.

use std::fmt;

use serde_core::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use super::Form;
use crate::{
    EvalResult, EvalStatus, IntoScore, JsonObject, Score,
    object::{builder, untagged},
};

/// An answer, in one of the forms that Agenta records.
///
/// Every form supports an [`EvaluateResult`] with a score: `{"score": 0.75, "success": true}`. The others are for custom code
/// of interface v3 and remote workflows; webhooks support all but lists.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outputs {
    /// Metrics, usually `score` and `success`.
    Result(EvaluateResult),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Value>),
}

untagged!(Outputs { Result, Text, List });

impl Outputs {
    /// Completes the answer: adds `success` to every score, and a score where the form requires one.
    ///
    /// # Errors
    ///
    /// [`OutputsError`]: documents of this form do not support such an answer.
    pub fn settle(self, form: Form, threshold: f64) -> Result<Self, OutputsError> {
        let found = match &self {
            Self::Result(result) if result.is_empty() => "an empty object, which says nothing",
            Self::Result(result) if form == Form::CodeV1 && !result.is_judged() => {
                "metrics without a score"
            }
            Self::Text(_) if form == Form::CodeV1 => "a text",
            Self::List(_) if matches!(form, Form::CodeV1 | Form::Webhook) => "a list",
            _ => "",
        };
        if !found.is_empty() {
            let reason =
                format!("Agenta does not accept {found} as an answer ({form}): return a score");
            return Err(OutputsError { reason });
        }
        Ok(match self {
            Self::Result(mut result) => {
                if form == Form::CodeV1 {
                    result.score = result.score.or(result.success.map(Score::from));
                }
                let reached = result.score.map(|score| score.get() >= threshold);
                result.success = result.success.or(reached);
                Self::Result(result)
            }
            other => other,
        })
    }
}

impl From<EvaluateResult> for Outputs {
    fn from(result: EvaluateResult) -> Self {
        Self::Result(result)
    }
}

/// Converts a value as interface v3 does with the return value of a Python function.
impl TryFrom<Value> for Outputs {
    type Error = OutputsError;

    fn try_from(value: Value) -> Result<Self, OutputsError> {
        match value {
            Value::Object(object) => EvaluateResult::try_from(object).map(Self::Result),
            Value::Bool(success) => Ok(Self::Result(EvaluateResult::succeeded(success))),
            Value::Number(_) => Ok(Self::Result(EvaluateResult::new(score_of(value)?))),
            Value::String(text) => Ok(Self::Text(text)),
            Value::Array(items) => Ok(Self::List(items)),
            Value::Null => Err(OutputsError { reason: "null is not a result".to_owned() }),
        }
    }
}

/// Metrics. Agenta declares `score` and `success`.
///
/// ```
/// use evaluator_protocol::{Score, agenta::EvaluateResult};
///
/// let result = EvaluateResult::new(Score::ratio(3, 4)).metric("words", 12);
/// assert_eq!(result.success, None); // the threshold decides
/// assert_eq!(serde_json::to_string(&result.success(true))?, r#"{"score":0.75,"success":true,"words":12}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct EvaluateResult {
    /// The score; not written if `None`.
    pub score: Option<Score>,
    /// Whether the output is good enough; with `None` the threshold decides.
    pub success: Option<bool>,
    /// The author's metrics, without `score` and `success`.
    pub metrics: JsonObject,
}

impl EvaluateResult {
    /// Creates a result with this score; the threshold decides `success`.
    pub fn new(score: impl IntoScore) -> Self {
        Self { score: Some(score.into_score()), ..Self::default() }
    }

    /// Creates a result without a score.
    pub fn succeeded(success: bool) -> Self {
        Self { success: Some(success), ..Self::default() }
    }

    builder! {
        /// Sets whether the output is good enough, regardless of the threshold.
        fn success(self, success: bool) { self.success = Some(success); }

        /// Adds a metric of your own: a number, a flag, a text, or an object of those. `score` and `success` cannot be set so.
        fn metric(self, name: impl Into<String>, value: impl Into<Value>) {
            self.metrics.insert(name.into(), value.into());
        }
    }

    /// Converts a result of the default contract: its score, and whether it is a success. Agenta declares only these two, so
    /// details and scores of turns are dropped.
    pub fn from_eval_result(result: &EvalResult, threshold: f64) -> Self {
        let success = match result.status {
            Some(status) => status == EvalStatus::Passed,
            None => result.score.get() >= threshold,
        };
        Self::new(result.score).success(success)
    }

    fn is_judged(&self) -> bool {
        self.score.is_some() || self.success.is_some()
    }

    fn is_empty(&self) -> bool {
        !self.is_judged() && self.metrics.is_empty()
    }
}

impl TryFrom<JsonObject> for EvaluateResult {
    type Error = OutputsError;

    /// Reads `score` and `success`; everything else is a metric.
    fn try_from(mut metrics: JsonObject) -> Result<Self, OutputsError> {
        let score = metrics.remove("score").map(score_of).transpose()?;
        let success = match metrics.remove("success") {
            None => None,
            Some(Value::Bool(success)) => Some(success),
            Some(other) => {
                return Err(OutputsError { reason: format!("success: {other} is not a boolean") });
            }
        };
        Ok(Self { score, success, metrics })
    }
}

fn score_of(value: Value) -> Result<Score, OutputsError> {
    Score::deserialize(&value).map_err(|error| OutputsError { reason: format!("score: {error}") })
}

impl Serialize for EvaluateResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(score) = self.score {
            map.serialize_entry("score", &score)?;
        }
        if let Some(success) = self.success {
            map.serialize_entry("success", &success)?;
        }
        let own = |(name, _): &(&String, &Value)| !matches!(name.as_str(), "score" | "success");
        for (name, value) in self.metrics.iter().filter(own) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Error: a value is not a result, or not one that Agenta accepts from this kind of call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputsError {
    reason: String,
}

impl fmt::Display for OutputsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for OutputsError {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settled(value: Value, form: Form) -> Result<Value, String> {
        let outputs = Outputs::try_from(value).map_err(|error| error.to_string())?;
        let outputs = outputs.settle(form, 0.5).map_err(|error| error.to_string())?;
        Ok(serde_json::to_value(outputs).unwrap())
    }

    #[test]
    fn a_score_always_comes_with_a_success() {
        for form in Form::ALL {
            assert_eq!(settled(json!(0.5), form), Ok(json!({"score": 0.5, "success": true})));
            assert_eq!(settled(json!(0), form), Ok(json!({"score": 0.0, "success": false})));
            assert_eq!(
                settled(json!({"score": 0.1, "success": true, "why": "r"}), form),
                Ok(json!({"score": 0.1, "success": true, "why": "r"}))
            );
        }
    }

    #[test]
    fn a_flag_alone_is_a_score_where_one_is_needed() {
        assert_eq!(settled(json!(true), Form::Code), Ok(json!({"success": true})));
        assert_eq!(settled(json!(true), Form::CodeV1), Ok(json!({"score": 1.0, "success": true})));
    }

    #[test]
    fn what_a_form_does_not_take_is_refused() {
        let metrics = json!({"a": 1, "b": {"score": 0.5}});
        assert_eq!(settled(metrics.clone(), Form::Remote), Ok(metrics.clone()));
        assert_eq!(
            settled(metrics, Form::CodeV1).unwrap_err(),
            "Agenta does not accept metrics without a score as an answer (custom code v1): return a score"
        );
        assert_eq!(settled(json!("0.75"), Form::Webhook), Ok(json!("0.75")));
        assert!(settled(json!("0.75"), Form::CodeV1).is_err());
        assert_eq!(settled(json!([1, "x"]), Form::Code), Ok(json!([1, "x"])));
        assert!(settled(json!([1]), Form::Webhook).is_err());
        for form in Form::ALL {
            assert!(settled(json!({}), form).is_err());
            assert!(settled(json!(null), form).is_err());
        }
    }

    #[test]
    fn scores_are_scores() {
        let error = |value: Value| Outputs::try_from(value).unwrap_err().to_string();
        assert!(error(json!(2)).starts_with("score: 2 is not a score"));
        assert!(error(json!({"score": -1})).starts_with("score: -1 is not a score"));
        assert!(error(json!({"score": null})).starts_with("score: invalid type: null"));
        assert_eq!(error(json!({"success": 1})), "success: 1 is not a boolean");
    }

    #[test]
    fn the_status_of_an_evaluator_decides() {
        let written = |result| {
            let result = EvaluateResult::from_eval_result(&result, 0.8);
            serde_json::to_value(result).unwrap()
        };
        let result = EvalResult::new(Score::ratio(9, 10)).detail("why", "x");
        assert_eq!(written(result.clone()), json!({"score": 0.9, "success": true}));
        let failed = result.status(EvalStatus::Failed);
        assert_eq!(written(failed), json!({"score": 0.9, "success": false}));
        let passed = EvalResult::new(Score::ZERO).status(EvalStatus::Passed);
        assert_eq!(written(passed), json!({"score": 0.0, "success": true}));
    }
}
