//! Comparing a conversation turn by turn with its golden case.

use super::MetricInput;
use crate::{
    conversation::Turn,
    eval_set::ExpectedTurn,
    json::{Object, Value},
    verdict::{Answer, Status},
};

/// The golden turns, or the answer to give when there are none.
pub(super) fn reference<'a>(input: &MetricInput<'a>) -> Result<&'a [ExpectedTurn], Answer> {
    match input.golden {
        Ok(case) => Ok(&case.turns),
        Err(unmatched) => Err(not_evaluated(&unmatched.to_string())),
    }
}

/// The answer of a metric that has nothing to judge.
pub(super) fn not_evaluated(reason: &str) -> Answer {
    let details = Object::from_iter([("reason".to_owned(), Value::String(reason.to_owned()))]);
    Answer { status: Some(Status::NotEvaluated), details: Some(details), ..Answer::default() }
}

/// Scores each turn that has a golden turn of the same number; the score is their mean.
///
/// Turns without a counterpart are counted in the details and do not change the score.
pub(super) fn mean_over_turns<'a>(
    actual: &'a [Turn],
    expected: &'a [ExpectedTurn],
    mut details: Object,
    score: impl FnMut((&'a Turn, &'a ExpectedTurn)) -> f64,
) -> Answer {
    let scores: Vec<f64> = actual.iter().zip(expected).map(score).collect();
    if scores.is_empty() {
        return not_evaluated("no turns to compare");
    }
    if actual.len() != expected.len() {
        details.insert("missing_turns".to_owned(), difference(expected.len(), actual.len()));
        details.insert("unexpected_turns".to_owned(), difference(actual.len(), expected.len()));
    }
    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 turns")]
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    Answer {
        score: Some(mean),
        status: None,
        per_invocation_scores: scores.into_iter().map(Some).collect(),
        details: (!details.is_empty()).then_some(details),
    }
}

fn difference(more: usize, fewer: usize) -> Value {
    Value::Int(i64::try_from(more.saturating_sub(fewer)).unwrap_or(i64::MAX))
}
