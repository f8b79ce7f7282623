//! Retries of evaluations.
//!
//! Only verdicts that [may be transient](crate::verdict::Verdict::may_be_transient) are retried. The report shows it: an
//! answer of a retried evaluation has a warning, because the evaluator is flaky.

use std::time::Duration;

use tokio::time::sleep;

use super::{
    permits::Permits,
    prepared::{Input, PreparedEvaluator},
};
use crate::{
    models::ProxyUsage,
    verdict::{Evaluation, Verdict},
};

/// Pause before the first retry; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Maximum pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Evaluates the input, with the retries of the evaluator. There are no retries after the run was cancelled or has
/// stopped.
pub async fn evaluate(
    evaluator: &PreparedEvaluator,
    input: Input<'_>,
    permits: &Permits,
) -> Evaluation {
    let retries = evaluator.retries();
    let mut last: Option<Evaluation> = None;
    let mut earlier_errors = Vec::new();
    let mut asked: Option<ProxyUsage> = None;
    loop {
        let mut evaluation = evaluator.evaluate(input, permits).await;
        // The calls of all attempts count.
        asked = match (asked.take(), evaluation.asked.take()) {
            (Some(earlier), Some(asked)) => Some(earlier.and(asked)),
            (earlier, asked) => asked.or(earlier),
        };
        evaluation.asked.clone_from(&asked);
        let evaluation = match last.take() {
            // The run stopped during the pause, so the last attempt counts.
            Some(before) if was_not_started(&evaluation) => before,
            _ => Evaluation { earlier_errors: earlier_errors.clone(), ..evaluation },
        };
        let again = (earlier_errors.len() as u64) < u64::from(retries)
            && evaluation.verdict.may_be_transient()
            && !permits.is_closed()
            && !matches!(evaluation.verdict, Verdict::Cancelled);
        if !again {
            if evaluator.is_failure(&evaluation.verdict, input) {
                permits.record_failure();
            }
            return evaluation;
        }
        tokio::select! {
            () = sleep(pause(earlier_errors.len())) => {}
            () = evaluator.cancelled() => return evaluation,
        }
        earlier_errors.extend(evaluation.verdict.error_type());
        last = Some(evaluation);
    }
}

fn was_not_started(evaluation: &Evaluation) -> bool {
    evaluation.attempts == 0 && matches!(evaluation.verdict, Verdict::NotRun | Verdict::Cancelled)
}

/// Returns the pause before the next retry, after `retried` retries.
fn pause(retried: usize) -> Duration {
    let factor = 2u32.saturating_pow(u32::try_from(retried).unwrap_or(u32::MAX));
    FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE)
}

/// Returns the number of attempts, at least 1.
pub(crate) fn attempts(evaluation: &Evaluation) -> u32 {
    u32::try_from(evaluation.earlier_errors.len())
        .map_or(u32::MAX, |earlier| earlier.saturating_add(1))
}

/// Returns the warning about an answer that needed retries.
pub(crate) fn warning(evaluation: &Evaluation) -> Option<String> {
    let is_answer = matches!(evaluation.verdict, Verdict::Answer(_));
    (is_answer && !evaluation.earlier_errors.is_empty()).then(|| {
        let before = evaluation.earlier_errors.join(", ");
        format!("it answered only at attempt {} (before: {before})", attempts(evaluation))
    })
}

/// Returns the error with the number of attempts, if there was more than one.
pub(crate) fn with_attempts(error: String, evaluation: &Evaluation) -> String {
    if evaluation.earlier_errors.is_empty() {
        return error;
    }
    let blank = if error.contains('\n') { '\n' } else { ' ' };
    let before = evaluation.earlier_errors.join(", ");
    format!("{error}{blank}(attempt {}; before: {before})", attempts(evaluation))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(verdict: Verdict, earlier: usize) -> Evaluation {
        let earlier_errors = vec!["timed_out"; earlier];
        Evaluation { earlier_errors, ..Evaluation::without_process(verdict, Duration::ZERO) }
    }

    #[test]
    fn pauses_grow_up_to_a_bound() {
        let pauses: Vec<u128> = (0..7).map(|retried| pause(retried).as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 2000, 2000]);
        assert_eq!(pause(usize::MAX), LONGEST_PAUSE);
    }

    #[test]
    fn a_single_attempt_is_not_mentioned() {
        for verdict in [Verdict::Answer(Default::default()), Verdict::LeakedPipe] {
            let once = after(verdict, 0);
            assert_eq!((attempts(&once), warning(&once)), (1, None));
            assert_eq!(with_attempts("broke".to_owned(), &once), "broke");
        }
    }

    #[test]
    fn retries_are_mentioned() {
        let late = after(Verdict::Answer(Default::default()), 2);
        assert_eq!(attempts(&late), 3);
        let expected = "it answered only at attempt 3 (before: timed_out, timed_out)";
        assert_eq!(warning(&late).as_deref(), Some(expected));
        let broken = after(Verdict::LeakedPipe, 1);
        assert_eq!(warning(&broken), None);
        assert_eq!(
            with_attempts("broke".to_owned(), &broken),
            "broke (attempt 2; before: timed_out)"
        );
        assert_eq!(
            with_attempts("a\nb".to_owned(), &broken),
            "a\nb\n(attempt 2; before: timed_out)"
        );
    }
}
