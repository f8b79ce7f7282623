//! Why an evaluation failed or broke, in a sentence.

use std::borrow::Cow;

use evaluator_results::{EvaluationOutcome, EvaluationReport};

/// Returns why an evaluation failed.
pub(crate) fn of_failure(evaluation: &EvaluationReport) -> Cow<'_, str> {
    let own = evaluation.reason().or(evaluation.failure_reason.as_deref().map(Cow::Borrowed));
    own.or(evaluation.difference().map(Cow::Owned)).unwrap_or_else(|| {
        match (evaluation.score, evaluation.threshold) {
            (Some(score), Some(threshold)) if score < threshold => {
                format!("score {score} is below the threshold {threshold}").into()
            }
            (Some(score), _) => {
                format!("failed by the evaluator itself, with score {score}").into()
            }
            (None, _) => "failed without a score".into(),
        }
    })
}

/// Returns why an evaluation failed or broke; `None` if it did neither.
pub(crate) fn of(evaluation: &EvaluationReport) -> Option<Cow<'_, str>> {
    match evaluation.outcome() {
        EvaluationOutcome::Failed => Some(of_failure(evaluation)),
        EvaluationOutcome::Error => {
            let EvaluationReport { headline, error, .. } = evaluation;
            headline.as_deref().or(error.as_deref()).map(Cow::Borrowed)
        }
        _ => None,
    }
}
