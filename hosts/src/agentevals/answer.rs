//! Answers of the default contract.

use super::super::{
    answer::{
        Answer, BadAnswer, SCORE, Status, in_range, members, missing_score, number, quoted,
        unexpected,
    },
    recognize::is_foreign_key,
};
use crate::json::{Object, Value};

/// Reads an answer of the default contract, an object.
///
/// `score` is required: a finite number from 0 to 1, as a number, boolean or string. `status`, `per_invocation_scores` and
/// `details` are optional. Other keys are ignored, see [`Answer::dropped_keys`].
///
/// # Errors
///
/// [`BadAnswer::Invalid`] names the field and shows its value.
pub fn answer_from(document: Value) -> Result<Answer, BadAnswer> {
    let mut object = members(document, "an object")?;
    Ok(Answer {
        score: Some(required_score(&object)?),
        status: status(&object)?,
        per_invocation_scores: per_invocation_scores(&object)?,
        dropped_keys: dropped_keys(&object),
        details: details(object.swap_remove("details"))?,
    })
}

/// Keys of an answer of the default contract.
pub const ANSWER_KEYS: [&str; 4] = ["score", "status", "per_invocation_scores", "details"];

/// Returns keys that are not read. An answer for several hosts has keys of other contracts, and `error`.
fn dropped_keys(object: &Object) -> Vec<String> {
    let is_read = |key: &str| {
        ANSWER_KEYS.contains(&key) || key == "error" || key.starts_with('_') || is_foreign_key(key)
    };
    object.keys().filter(|key| !is_read(key)).map(|key| quoted(key)).collect()
}

fn required_score(object: &Object) -> Result<f64, BadAnswer> {
    let value = object.get("score").ok_or_else(|| missing_score(object))?;
    in_range(number(value)).ok_or_else(|| unexpected("score", SCORE, value))
}

fn status(object: &Object) -> Result<Option<Status>, BadAnswer> {
    let value = match object.get("status") {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value,
    };
    Status::ALL
        .into_iter()
        .find(|status| value.as_str() == Some(status.as_str()))
        .map(Some)
        .ok_or_else(|| {
            unexpected("status", r#""PASSED", "FAILED", "NOT_EVALUATED" or null"#, value)
        })
}

fn per_invocation_scores(object: &Object) -> Result<Vec<Option<f64>>, BadAnswer> {
    let items = match object.get("per_invocation_scores") {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => {
            return Err(unexpected(
                "per_invocation_scores",
                "an array of numbers and nulls",
                other,
            ));
        }
    };
    let read = |(index, item): (usize, &Value)| match (item, number(item)) {
        (Value::Null, _) => Ok(None),
        (_, Some(score)) if score.is_finite() => Ok(Some(score)),
        _ => Err(unexpected(
            &format!("per_invocation_scores[{index}]"),
            "a finite number or null",
            item,
        )),
    };
    items.iter().enumerate().map(read).collect()
}

fn details(value: Option<Value>) -> Result<Option<Object>, BadAnswer> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(details)) => Ok(Some(details).filter(|details| !details.is_empty())),
        Some(other) => Err(unexpected("details", "an object or null", &other)),
    }
}
