//! Trying again what may have gone wrong by chance.
//!
//! Only verdicts that [may be transient](crate::verdict::Verdict::may_be_transient) are tried again, and what came of
//! it says so: an evaluator that answers sometimes is flaky, and its answer carries a warning.

use std::time::Duration;

use tokio::time::sleep;

use super::{
    permits::Permits,
    ready::{Given, Ready},
};
use crate::verdict::{Evaluation, Verdict};

/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// No pause is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Evaluates what is given, again where that is asked for and may help. Nothing is tried again when the run is cancelled
/// or has stopped.
pub(super) async fn evaluate(evaluator: &Ready, given: Given<'_>, permits: &Permits) -> Evaluation {
    let retries = evaluator.retries();
    let mut last: Option<Evaluation> = None;
    let mut earlier_errors = Vec::new();
    loop {
        let evaluation = evaluator.evaluate(given, permits).await;
        let evaluation = match last.take() {
            // The run stopped during the pause: what was found out before stands.
            Some(before) if never_began(&evaluation) => before,
            _ => Evaluation { earlier_errors: earlier_errors.clone(), ..evaluation },
        };
        let again = (earlier_errors.len() as u64) < u64::from(retries)
            && evaluation.verdict.may_be_transient()
            && !permits.are_withdrawn()
            && !matches!(evaluation.verdict, Verdict::Cancelled);
        if !again {
            if evaluator.went_wrong(&evaluation.verdict, given) {
                permits.something_went_wrong();
            }
            return evaluation;
        }
        tokio::select! {
            () = sleep(pause(earlier_errors.len())) => {}
            () = evaluator.run_is_cancelled() => return evaluation,
        }
        earlier_errors.extend(evaluation.verdict.error_type());
        last = Some(evaluation);
    }
}

fn never_began(evaluation: &Evaluation) -> bool {
    evaluation.attempts == 0 && matches!(evaluation.verdict, Verdict::NotRun | Verdict::Cancelled)
}

/// How long to wait before the next attempt, after so many that were tried again already.
fn pause(retried: usize) -> Duration {
    let factor = 1u32.checked_shl(u32::try_from(retried).unwrap_or(u32::MAX));
    factor
        .and_then(|factor| FIRST_PAUSE.checked_mul(factor))
        .map_or(LONGEST_PAUSE, |pause| pause.min(LONGEST_PAUSE))
}

/// How many times it was tried, all attempts included.
pub(super) fn attempts(evaluation: &Evaluation) -> u32 {
    u32::try_from(evaluation.earlier_errors.len())
        .map_or(u32::MAX, |earlier| earlier.saturating_add(1))
}

/// What an answer that came late is to be told with.
pub(super) fn warning(evaluation: &Evaluation) -> Option<String> {
    let is_answer = matches!(evaluation.verdict, Verdict::Answer(_));
    (is_answer && !evaluation.earlier_errors.is_empty()).then(|| {
        let before = evaluation.earlier_errors.join(", ");
        format!("it answered only at attempt {} (before: {before})", attempts(evaluation))
    })
}

/// The reason why it broke, with how often it was tried if that was more than once.
pub(super) fn told_in(error: String, evaluation: &Evaluation) -> String {
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
    fn what_was_tried_once_is_told_as_if_there_were_no_retries() {
        for verdict in [Verdict::Answer(Default::default()), Verdict::LeakedPipe] {
            let once = after(verdict, 0);
            assert_eq!((attempts(&once), warning(&once)), (1, None));
            assert_eq!(told_in("broke".to_owned(), &once), "broke");
        }
    }

    #[test]
    fn what_was_tried_more_than_once_says_so() {
        let late = after(Verdict::Answer(Default::default()), 2);
        assert_eq!(attempts(&late), 3);
        let expected = "it answered only at attempt 3 (before: timed_out, timed_out)";
        assert_eq!(warning(&late).as_deref(), Some(expected));
        let broken = after(Verdict::LeakedPipe, 1);
        assert_eq!(warning(&broken), None);
        assert_eq!(told_in("broke".to_owned(), &broken), "broke (attempt 2; before: timed_out)");
        assert_eq!(told_in("a\nb".to_owned(), &broken), "a\nb\n(attempt 2; before: timed_out)");
    }
}
