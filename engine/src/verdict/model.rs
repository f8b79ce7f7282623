//! Verdict types.

use std::time::Duration;

use evaluator_metrics::Outcome;
use evaluator_protocol::ScoreCount;

use crate::{
    hosts::{Answer, BadAnswer, Status},
    process::SpawnError,
};

/// Result of one evaluation. Only [`Verdict::Answer`] carries a score; every other variant is an error of the
/// evaluator, never a low score of the agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// A valid result.
    Answer(Answer),
    /// It exited with a non-zero code, regardless of its output.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// It was killed by a signal.
    Signalled {
        /// The signal number.
        signal: i32,
    },
    /// It did not exit within its time limit.
    TimedOut {
        /// Time limit.
        limit: Duration,
    },
    /// It exited, but a process that it started kept its standard output open, so the answer may be incomplete.
    LeakedPipe,
    /// It exited with code 0, but its output is not a result.
    BadAnswer(BadAnswer),
    /// It was killed, or not started, because the run was cancelled.
    Cancelled,
    /// It was not started, because the run had stopped at an earlier failure or error. This is neither an error nor a
    /// result.
    NotRun,
    /// It exited, but its exit status is not available.
    Lost {
        /// Error of the system.
        reason: String,
    },
    /// It could not be started.
    SpawnFailed {
        /// Error of the system.
        reason: String,
        /// Whether a retry may succeed: the system was out of processes, memory or descriptors.
        transient: bool,
    },
    /// It could not be prepared: it does not compile, its interpreter is missing, ...
    PrepareFailed {
        /// Reason, possibly several lines.
        reason: String,
    },
    /// A built-in metric could not be computed.
    MetricFailed {
        /// Reason.
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
    /// Returns the status at this threshold; `None` for an error, which is not a status.
    pub fn status(&self, threshold: f64) -> Option<Status> {
        match self {
            Self::Answer(answer) => Some(answer.status_for(threshold)),
            _ => None,
        }
    }

    /// Checks the verdict for a conversation with this number of turns. An answer has a score for each turn or no turn scores:
    /// others cannot be assigned to turns.
    #[must_use]
    pub fn for_turns(self, turns: usize) -> Self {
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

impl From<Outcome> for Verdict {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Scored(scored) => Self::Answer(Answer {
                score: Some(scored.score),
                status: scored.passed.map(|yes| if yes { Status::Passed } else { Status::Failed }),
                per_invocation_scores: scored.per_turn,
                details: scored.details,
                ..Answer::default()
            }),
            Outcome::NotEvaluated { details } => Self::Answer(Answer {
                status: Some(Status::NotEvaluated),
                details: Some(details),
                ..Answer::default()
            }),
            Outcome::Failed { reason } => Self::MetricFailed { reason },
        }
    }
}
