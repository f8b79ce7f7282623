//! Why an evaluation failed or broke, in a sentence.

use std::borrow::Cow;

use evaluator_results::{EvaluationOutcome, EvaluationReport};

use super::text::rounded;

/// Returns why an evaluation failed.
pub(crate) fn of_failure(evaluation: &EvaluationReport) -> Cow<'_, str> {
    let own = evaluation.reason().or(evaluation.failure_reason.as_deref().map(Cow::Borrowed));
    own.or(evaluation.difference().map(Cow::Owned)).unwrap_or_else(|| {
        match (evaluation.score, evaluation.threshold) {
            (Some(score), Some(threshold)) if score < threshold => {
                // All digits where fewer would be those of the threshold.
                let (short, threshold) = (rounded(score, 6), threshold.to_string());
                let score = if short == threshold { score.to_string() } else { short };
                format!("score {score} is below the threshold {threshold}").into()
            }
            (Some(score), _) => {
                format!("failed by the evaluator itself, with score {}", rounded(score, 6)).into()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_reasons_have_few_digits() {
        let mut failed = EvaluationReport::new("check");
        failed.threshold = Some(0.5);
        let mut of = |score| {
            failed.score = Some(score);
            of_failure(&failed).into_owned()
        };
        assert_eq!(of(1.0 / 3.0), "score 0.333333 is below the threshold 0.5");
        assert_eq!(of(0.5 - 1e-9), "score 0.499999999 is below the threshold 0.5");
        assert_eq!(of(0.7 - 1e-9), "failed by the evaluator itself, with score 0.7");
    }
}
