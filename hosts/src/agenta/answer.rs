//! The result of an Agenta evaluator.

use super::super::answer::{
    Answer, BadAnswer, Status, invalid, nonempty, number, score, unexpected,
};
use crate::json::{Object, Value};

const EXPECTED: &str = "a number from 0 to 1, true, false, or an object with `score` or `success`";

/// Reads a score, a boolean, or an object with either and additional metrics. `success` decides if it is given, else the
/// threshold. The score belongs to the last turn.
pub(super) fn answer(document: Value, turns: usize) -> Result<Answer, BadAnswer> {
    let answer = match document {
        Value::Object(object) => of_object(object)?,
        Value::Bool(flag) => Answer { score: Some(f64::from(u8::from(flag))), ..Answer::default() },
        other => Answer { score: Some(of_scalar(&other)?), ..Answer::default() },
    };
    if turns < 2 {
        return Ok(answer);
    }
    let mut scores = vec![None; turns];
    scores[turns - 1] = answer.score;
    Ok(Answer { per_invocation_scores: scores, ..answer })
}

/// Reads a number, or text that is a number, as Agenta does for custom code v1 and v2.
fn of_scalar(value: &Value) -> Result<f64, BadAnswer> {
    let read = match value {
        Value::String(_) => number(value).map_or(Value::Null, Value::Float),
        other => other.clone(),
    };
    score("", &read).map_err(|_| unexpected("", EXPECTED, value))
}

fn of_object(mut object: Object) -> Result<Answer, BadAnswer> {
    let success = match object.shift_remove("success") {
        None => None,
        Some(Value::Bool(success)) => Some(success),
        Some(other) => return Err(unexpected("success", "true or false", &other)),
    };
    let given = match (object.shift_remove("score"), success) {
        // A boolean is a score of 1 or 0, as in the other interfaces of Agenta.
        (Some(Value::Bool(flag)), _) | (None, Some(flag)) => f64::from(u8::from(flag)),
        (Some(given), _) => score("score", &given)?,
        (None, None) => {
            let reason = format!("expected {EXPECTED}, and the object has neither");
            return Err(invalid("", reason));
        }
    };
    Ok(Answer {
        score: Some(given),
        status: success.map(|success| if success { Status::Passed } else { Status::Failed }),
        details: nonempty(object),
        ..Answer::default()
    })
}
