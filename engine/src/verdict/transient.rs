//! Verdicts that a retry may change.

use super::Verdict;

/// Signals that a process receives from outside: from the user, an administrator, or the system when memory is short. HUP,
/// INT, QUIT, KILL and TERM have these numbers everywhere. A crash has other signals (SEGV, ABRT, FPE ...).
const EXTERNAL_SIGNALS: [i32; 5] = [1, 2, 3, 9, 15];

impl Verdict {
    /// Returns true if a retry of the same evaluation may have another verdict.
    ///
    /// | verdict | | why |
    /// |---|---|---|
    /// | timed out | yes | the machine may have been busy |
    /// | killed by HUP, INT, QUIT, KILL or TERM | yes | these come from outside |
    /// | could not be started | if the system was out of processes, memory or descriptors | other processes may release them |
    /// | lost | yes | its exit status is unknown |
    /// | leaked pipe | yes | the process with the open pipe may have been about to exit |
    /// | cancelled, not run | yes | it was not finished |
    /// | answer | no | a low score is an answer |
    /// | reported error | no | the evaluator decided |
    /// | exit code, any other signal | no | the program decided or crashed |
    /// | bad answer | no | as above |
    /// | not prepared, metric failed | no | a user has to fix the cause |
    pub fn may_be_transient(&self) -> bool {
        match self {
            Self::TimedOut { .. }
            | Self::Lost { .. }
            | Self::LeakedPipe
            | Self::Cancelled
            | Self::NotRun => true,
            Self::Signalled { signal } => EXTERNAL_SIGNALS.contains(signal),
            Self::SpawnFailed { transient, .. } => *transient,
            Self::Answer(_)
            | Self::Exited { .. }
            | Self::BadAnswer(_)
            | Self::PrepareFailed { .. }
            | Self::MetricFailed { .. }
            | Self::Reported { .. } => false,
        }
    }

    /// Returns true if the same evaluation would most likely end the same way again, so that its record can stand for it.
    ///
    /// That holds for answers and for errors that an evaluator reports or causes. It does not hold for errors that may be
    /// transient, and for those that can be repaired without a change of the evaluator: a program that was not prepared or
    /// does not exist, and a metric.
    pub(crate) fn is_lasting(&self) -> bool {
        let can_be_repaired = matches!(
            self,
            Self::SpawnFailed { .. } | Self::PrepareFailed { .. } | Self::MetricFailed { .. }
        );
        !can_be_repaired && !self.may_be_transient()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        report::ERROR_TYPES,
        verdict::{Answer, BadAnswer},
    };

    #[test]
    fn each_verdict_is_worth_another_try_or_not() {
        let reason = String::new;
        for (verdict, expected) in [
            (Verdict::Answer(Answer::default()), false),
            (Verdict::Answer(Answer { score: Some(0.0), ..Answer::default() }), false),
            (Verdict::Exited { code: 1 }, false),
            (Verdict::Exited { code: 137 }, false),
            (Verdict::Signalled { signal: 1 }, true),
            (Verdict::Signalled { signal: 2 }, true),
            (Verdict::Signalled { signal: 3 }, true),
            (Verdict::Signalled { signal: 9 }, true),
            (Verdict::Signalled { signal: 15 }, true),
            (Verdict::Signalled { signal: 6 }, false),
            (Verdict::Signalled { signal: 11 }, false),
            (Verdict::Signalled { signal: 13 }, false),
            (Verdict::TimedOut { limit: Duration::ZERO }, true),
            (Verdict::LeakedPipe, true),
            (Verdict::BadAnswer(BadAnswer::Empty), false),
            (Verdict::BadAnswer(BadAnswer::TooLarge { limit: 1 }), false),
            (Verdict::Cancelled, true),
            (Verdict::NotRun, true),
            (Verdict::Lost { reason: reason() }, true),
            (Verdict::SpawnFailed { reason: reason(), transient: true }, true),
            (Verdict::SpawnFailed { reason: reason(), transient: false }, false),
            (Verdict::PrepareFailed { reason: reason() }, false),
            (Verdict::MetricFailed { reason: reason() }, false),
            (Verdict::Reported { kind: "timeout".to_owned(), message: reason() }, false),
        ] {
            assert_eq!(verdict.may_be_transient(), expected, "{verdict:?}");
            let is_error = verdict.error_type().is_some_and(|kind| ERROR_TYPES.contains(&kind));
            assert_eq!(verdict.status(0.5).is_none(), is_error, "{verdict:?}");
        }
    }
}
