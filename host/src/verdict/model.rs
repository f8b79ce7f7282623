//! Verdict types.

use std::time::Duration;

use evaluator_protocol::ScoreCount;

use crate::{
    hosts::{Answer, BadAnswer, Status},
    process::SpawnError,
};

/// How one evaluation ended. Only [`Verdict::Answer`] carries a score; every other variant is an error of the
/// evaluator, never a low score of the agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// The evaluator gave a valid result.
    Answer(Answer),
    /// It ended with a non-zero exit code, whatever it had printed.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// A signal ended it.
    Signalled {
        /// The signal number.
        signal: i32,
    },
    /// It was still running when its time was up.
    TimedOut {
        /// The limit that was passed.
        limit: Duration,
    },
    /// It ended, but something it started kept its standard output open, so the answer may be incomplete.
    LeakedPipe,
    /// It ended well, but what it printed is not a result.
    BadAnswer(BadAnswer),
    /// It was ended, or not even started, because the run was cancelled.
    Cancelled,
    /// It was not started, because the run had stopped at an earlier failure or error. Nothing is known of it, which is
    /// neither an error nor a result.
    NotRun,
    /// It ended, but the system could not say how.
    Lost {
        /// What the system said.
        reason: String,
    },
    /// It could not be started.
    SpawnFailed {
        /// What the system said.
        reason: String,
        /// Whether it may be started a moment later: the system was out of processes, memory or descriptors.
        transient: bool,
    },
    /// It could not be made ready (it did not compile, its interpreter is missing ...).
    PrepareFailed {
        /// What is wrong, possibly several lines.
        reason: String,
    },
    /// A built-in metric could not be computed.
    MetricFailed {
        /// What is wrong.
        reason: String,
    },
    /// The evaluator reported an error itself, by printing `{"error": ...}`.
    Reported {
        /// Kind of the error, as reported.
        kind: String,
        /// The evaluator's own message.
        message: String,
    },
}

impl Verdict {
    /// The status at this threshold; `None` when the evaluator broke, which is not a status.
    #[must_use]
    pub fn status(&self, threshold: f64) -> Option<Status> {
        match self {
            Self::Answer(answer) => Some(answer.status_for(threshold)),
            _ => None,
        }
    }

    /// The verdict for a conversation of that many turns. An answer has a score for each of them, or none: the scores of one
    /// with another number belong to no turn for certain.
    #[must_use]
    pub(crate) fn for_turns(self, turns: usize) -> Self {
        let Self::Answer(answer) = &self else { return self };
        match ScoreCount::check(answer.per_invocation_scores.len(), turns) {
            Ok(()) => self,
            Err(count) => Self::BadAnswer(BadAnswer::Invalid {
                path: "per_invocation_scores".to_owned(),
                reason: count.to_string(),
            }),
        }
    }
}

impl From<SpawnError> for Verdict {
    fn from(error: SpawnError) -> Self {
        Self::SpawnFailed { reason: error.to_string(), transient: error.transient }
    }
}
