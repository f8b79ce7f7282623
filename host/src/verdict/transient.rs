//! Which verdicts another try may change.

use super::Verdict;

/// Signals by which others end a process: the person at the terminal, an administrator, the system when memory is short.
/// HUP, INT, QUIT, KILL and TERM have these numbers everywhere. A program that breaks ends by others (SEGV, ABRT, FPE ...).
const SIGNALS_OF_OTHERS: [i32; 5] = [1, 2, 3, 9, 15];

impl Verdict {
    /// Whether the same evaluation may end otherwise when it is tried again, though nobody has changed anything.
    ///
    /// | verdict | | why |
    /// |---|---|---|
    /// | timed out | yes | the machine may have been busy |
    /// | ended by HUP, INT, QUIT, KILL or TERM | yes | others end programs by these |
    /// | could not be started | if the system was out of processes, memory or descriptors | others may give some back |
    /// | lost | yes | nobody knows how it ended |
    /// | leaked pipe | yes | whatever still had the pipe open may have been about to end |
    /// | cancelled, not run | yes | it was not tried to its end |
    /// | answer | no | it is one, however low |
    /// | reported error | no | the evaluator worked, and said no |
    /// | exit code, any other signal | no | the program decided, or broke by itself |
    /// | bad answer | no | as above |
    /// | not ready, metric failed | no | something has to be mended first |
    #[must_use]
    pub fn may_be_transient(&self) -> bool {
        match self {
            Self::TimedOut { .. }
            | Self::Lost { .. }
            | Self::LeakedPipe
            | Self::Cancelled
            | Self::NotRun => true,
            Self::Signalled { signal } => SIGNALS_OF_OTHERS.contains(signal),
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
    /// Answers do, and what an evaluator reports or does wrong by itself. What may be transient does not, and neither does
    /// what can be repaired without a change of the evaluator: a program that was not prepared or not there, and a metric.
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
    use crate::verdict::{Answer, BadAnswer};

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
        }
    }
}
