//! The answer of a judge, of any generation of AgentV.
//!
//! AgentV records anything that is not a score as a score of 0 or 1. Here it is an error.

use super::super::answer::{
    Answer, BadAnswer, members, missing_score, nonempty, score, unexpected,
};
use crate::json::{Object, Value};

const EXPECTED: &str = "an object like {\"score\": 0.5, \"reasoning\": \"..\"}";

/// Reads `score`; without one the share of `assertions` that passed (AgentV 4), the mean of the scores of `checks`, or
/// `pass` (AgentV 5). All other members become details.
pub(super) fn answer(document: Value, _turns: usize) -> Result<Answer, BadAnswer> {
    let mut object = members(document, EXPECTED)?;
    let value = match object.shift_remove("score") {
        Some(given) => score("score", &given)?,
        None => derived(&object)?,
    };
    let mut details = match object.shift_remove("details") {
        None | Some(Value::Null) => Object::default(),
        Some(Value::Object(details)) => details,
        Some(other) => return Err(unexpected("details", "an object or null", &other)),
    };
    // A member of the answer replaces a detail of the same name.
    details.extend(object);
    Ok(Answer { score: Some(value), details: nonempty(details), ..Answer::default() })
}

/// Returns the score of an answer without `score`.
fn derived(object: &Object) -> Result<f64, BadAnswer> {
    let rows = |key: &str| match object.get(key) {
        Some(Value::Array(rows)) if !rows.is_empty() => Some(rows),
        _ => None,
    };
    if let Some(assertions) = rows("assertions") {
        let passed = assertions.iter().enumerate().map(|(index, row)| {
            let passed = flag(row, "passed", &format!("assertions[{index}]"))?;
            Ok(f64::from(u8::from(passed)))
        });
        return mean(passed.collect::<Result<_, _>>()?);
    }
    if let Some(checks) = rows("checks") {
        let scores = checks.iter().enumerate().map(|(index, row)| {
            let path = format!("checks[{index}]");
            match row.get("score") {
                Some(given) => score(&format!("{path}.score"), given),
                None => Ok(f64::from(u8::from(flag(row, "pass", &path)?))),
            }
        });
        return mean(scores.collect::<Result<_, _>>()?);
    }
    match object.get("pass") {
        Some(Value::Bool(passed)) => Ok(f64::from(u8::from(*passed))),
        _ => Err(missing_score(object)),
    }
}

fn flag(row: &Value, key: &str, path: &str) -> Result<bool, BadAnswer> {
    let found = row.get(key);
    found.and_then(Value::as_bool).ok_or_else(|| {
        unexpected(&format!("{path}.{key}"), "true or false", found.unwrap_or(&Value::Null))
    })
}

#[expect(clippy::cast_precision_loss, reason = "answers have far fewer than 2^53 rows")]
fn mean(scores: Vec<f64>) -> Result<f64, BadAnswer> {
    Ok(scores.iter().sum::<f64>() / scores.len() as f64)
}
