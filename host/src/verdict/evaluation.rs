//! The record of one evaluation.

use std::time::Duration;

use crate::process::{Captured, Outcome};

use super::{Verdict, from_outcome};

/// Bytes of standard output kept for people to look at when the verdict is not an answer.
const STDOUT_TAIL: usize = 2 << 10;

/// A verdict and the circumstances it came about in.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// How it ended.
    pub verdict: Verdict,
    /// How long it took, from the start of the process (or the sending of the document) on.
    pub duration: Duration,
    /// Standard error, without its middle if it was long.
    pub stderr_tail: String,
    /// The end of what was kept of standard output; empty for answers.
    pub stdout_tail: String,
    /// How many times the document was given to the evaluator: 0 when it could not be started.
    pub attempts: u32,
}

impl Evaluation {
    /// The record of a process that was given one document.
    #[must_use]
    pub fn from_outcome(outcome: &Outcome) -> Self {
        let verdict = from_outcome(outcome);
        let attempts = if matches!(verdict, Verdict::SpawnFailed { .. }) { 0 } else { 1 };
        Self::new(verdict, outcome.duration, &outcome.stderr, outcome.stdout.head())
            .with_attempts(attempts)
    }

    /// The record of something that ended before (or without) a process.
    #[must_use]
    pub fn without_process(verdict: Verdict, duration: Duration) -> Self {
        Self::new(verdict, duration, &Captured::default(), &[]).with_attempts(0)
    }

    pub(crate) fn new(
        verdict: Verdict,
        duration: Duration,
        stderr: &Captured,
        stdout: &[u8],
    ) -> Self {
        let stdout_tail = match verdict {
            Verdict::Answer(_) => String::new(),
            _ => String::from_utf8_lossy(&stdout[stdout.len().saturating_sub(STDOUT_TAIL)..])
                .into_owned(),
        };
        Self { verdict, duration, stderr_tail: stderr.text(), stdout_tail, attempts: 1 }
    }

    fn with_attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }
}
