//! The `EvaluationResult` of a custom metric.

use super::super::answer::{
    Answer, BadAnswer, Status, invalid, members, nonempty, number, score, unexpected,
};
use crate::json::{Object, Value};

const EXPECTED: &str =
    "an `EvaluationResult` like {\"overall_score\": 0.5, \"overall_eval_status\": 1}";

const STATUSES: &str = "1 (PASSED), 2 (FAILED), 3 (NOT_EVALUATED) or 4 (INFORMATIONAL)";

/// Reads a result. PASSED and FAILED require a score and a row for each turn; NOT_EVALUATED and INFORMATIONAL do not judge, so
/// their numbers are details.
pub(super) fn answer(document: Value, turns: usize) -> Result<Answer, BadAnswer> {
    let mut object = members(document, EXPECTED)?;
    let overall = object.shift_remove("overall_score").unwrap_or_default();
    let given = object.shift_remove("overall_eval_status");
    let Some(given) = given else {
        let reason = format!("{STATUSES} is required, but the field is missing");
        return Err(invalid("overall_eval_status", reason));
    };
    let status = status("overall_eval_status", &given)?;
    let mut rows = rows(object.shift_remove("per_invocation_results"))?;
    let verdict = match status {
        1 => Status::Passed,
        2 => Status::Failed,
        _ => return Ok(unjudged(status, overall, rows, object)),
    };
    if overall.is_null() {
        let reason = format!("it is missing in a result that says {}", verdict.as_str());
        return Err(invalid("overall_score", reason));
    }
    let overall = score("overall_score", &overall)?;
    if rows.len() != turns {
        let reason = format!(
            "a result that is PASSED or FAILED has a row for each turn, in order: it has {}, and the conversation has \
             {turns} turns",
            rows.len()
        );
        return Err(invalid("per_invocation_results", reason));
    }
    let mut scores = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter_mut().enumerate() {
        scores.push(row_score(row, index)?);
    }
    Ok(Answer {
        score: Some(overall),
        status: Some(verdict),
        per_invocation_scores: scores,
        details: nonempty(with_rows(object, rows)),
        ..Answer::default()
    })
}

/// Returns the answer of a metric that did not judge.
fn unjudged(status: u8, overall: Value, rows: Vec<Object>, mut object: Object) -> Answer {
    object.insert("overall_score".to_owned(), overall);
    if status == 4 {
        object.insert("overall_eval_status".to_owned(), Value::String("INFORMATIONAL".to_owned()));
    }
    Answer {
        status: Some(Status::NotEvaluated),
        details: nonempty(with_rows(object, rows)),
        ..Answer::default()
    }
}

/// Reads the status of a result or row: any number with the value of a status, as in ADK.
fn status(path: &str, value: &Value) -> Result<u8, BadAnswer> {
    let is_number = matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(true));
    let known = number(value)
        .filter(|_| is_number)
        .and_then(|number| (1..=4_u8).find(|known| f64::from(*known) == number));
    known.ok_or_else(|| unexpected(path, STATUSES, value))
}

/// Reads the rows, without their invocations.
fn rows(value: Option<Value>) -> Result<Vec<Object>, BadAnswer> {
    let path = "per_invocation_results";
    let items = match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(unexpected(path, "an array of objects", &other)),
    };
    let read = |(index, item)| match item {
        Value::Object(mut row) => {
            for key in ["actual_invocation", "expected_invocation"] {
                row.shift_remove(key);
            }
            Ok(row)
        }
        other => Err(unexpected(&format!("{path}[{index}]"), "an object", &other)),
    };
    items.into_iter().enumerate().map(read).collect()
}

/// Removes the score from a row and returns it; the other members become details.
fn row_score(row: &mut Object, index: usize) -> Result<Option<f64>, BadAnswer> {
    let path = format!("per_invocation_results[{index}]");
    if let Some(given) = row.get("eval_status").filter(|given| !given.is_null()) {
        status(&format!("{path}.eval_status"), given)?;
    }
    row.shift_remove("eval_status");
    match row.shift_remove("score") {
        None | Some(Value::Null) => Ok(None),
        Some(given) => score(&format!("{path}.score"), &given).map(Some),
    }
}

/// Returns the other members of a result and of its rows.
fn with_rows(mut object: Object, rows: Vec<Object>) -> Object {
    let rows: Vec<Object> = rows
        .into_iter()
        .map(|row| row.into_iter().filter(|(_, value)| !value.is_empty_like()).collect())
        .collect();
    if rows.iter().any(|row: &Object| !row.is_empty()) {
        let rows = rows.into_iter().map(Value::Object).collect();
        object.insert("per_invocation_results".to_owned(), Value::Array(rows));
    }
    object
}
