//! Thresholds, and what Agenta takes for one.

use std::fmt;

use serde_json::Value;

/// The threshold where none is given.
pub const DEFAULT_THRESHOLD: f64 = 0.5;

/// A threshold: the score from which on `success` is true, above 0 and at most 1.
///
/// What counts as none (absent, `null`, `false`, 0, an empty text, list or object) stands for [`DEFAULT_THRESHOLD`].
///
/// # Errors
///
/// [`ThresholdError`]: it is no number, or not in that range.
pub fn threshold(value: Option<&Value>) -> Result<f64, ThresholdError> {
    let Some(value) = value.filter(|value| !is_none(value)) else { return Ok(DEFAULT_THRESHOLD) };
    match value.as_f64() {
        Some(number) if number > 0.0 && number <= 1.0 => Ok(number),
        _ => Err(ThresholdError { found: value.to_string() }),
    }
}

/// What Python takes for false.
pub(super) fn is_none(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
    }
}

/// A threshold that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThresholdError {
    found: String,
}

impl fmt::Display for ThresholdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a threshold: expected a number above 0 and at most 1", self.found)
    }
}

impl std::error::Error for ThresholdError {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_none_is_the_default() {
        assert_eq!(threshold(None), Ok(0.5));
        for none in [json!(null), json!(0), json!(0.0), json!(-0.0), json!(""), json!(false)] {
            assert_eq!(threshold(Some(&none)), Ok(0.5), "{none}");
        }
    }

    #[test]
    fn only_numbers_in_range_are_thresholds() {
        for (value, expected) in [(json!(0.9), 0.9), (json!(1.0), 1.0), (json!(1e-9), 1e-9)] {
            assert_eq!(threshold(Some(&value)), Ok(expected));
        }
        for wrong in [json!(1.5), json!(-0.1), json!("0.5"), json!(true), json!([0.5]), json!(2)] {
            assert!(threshold(Some(&wrong)).is_err(), "{wrong}");
        }
        assert_eq!(threshold(Some(&json!(1))), Ok(1.0));
        assert_eq!(
            threshold(Some(&json!(2))).unwrap_err().to_string(),
            "2 is not a threshold: expected a number above 0 and at most 1"
        );
    }
}
