//! Verdict types.

use std::{fmt, time::Duration};

use evaluator_metrics::Outcome;
use evaluator_protocol::{Contract, ScoreCount};

use crate::{json::Object, process::SpawnError};

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

/// Why what an evaluator printed is not a result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadAnswer {
    /// Nothing at all was printed.
    Empty,
    /// It is not one JSON document in UTF-8.
    NotJson {
        /// Position and reason.
        reason: String,
    },
    /// It is JSON, but a field has the wrong type or a value that is not allowed.
    Invalid {
        /// Path of the field, e.g. `per_invocation_scores[2]`; empty for the document itself.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It is an answer that only another host understands.
    Foreign {
        /// The contract of that host.
        contract: Contract,
        /// What shows it: keys, or the kind of the answer.
        found: String,
    },
    /// More was printed than is accepted.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
}

/// A valid result.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Overall score, finite and in 0..=1. `None` only for built-in metrics that did not evaluate.
    pub score: Option<f64>,
    /// Status the evaluator gave; `None` leaves it to the threshold.
    pub status: Option<Status>,
    /// Score of each turn; `None` where a turn was not scored.
    pub per_invocation_scores: Vec<Option<f64>>,
    /// Free-form details.
    pub details: Option<Object>,
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

impl From<Outcome> for Verdict {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Scored(scored) => Self::Answer(Answer {
                score: Some(scored.score),
                status: scored.passed.map(|yes| if yes { Status::Passed } else { Status::Failed }),
                per_invocation_scores: scored.per_turn,
                details: scored.details,
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

impl Answer {
    /// The status at this threshold: the one given, else whether the score reaches the threshold. Without a score
    /// nothing was evaluated.
    #[must_use]
    pub fn status_for(&self, threshold: f64) -> Status {
        match (self.status, self.score) {
            (Some(given), _) => given,
            (None, None) => Status::NotEvaluated,
            (None, Some(score)) if score >= threshold => Status::Passed,
            (None, Some(_)) => Status::Failed,
        }
    }
}

/// Outcome of a scored evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The score reached the threshold.
    Passed,
    /// It did not.
    Failed,
    /// The evaluator did not judge (nothing to compare with, not applicable).
    NotEvaluated,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Passed, Self::Failed, Self::NotEvaluated];

    /// The name on the wire, e.g. `NOT_EVALUATED`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::NotEvaluated => "NOT_EVALUATED",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_status_wins_over_the_threshold() {
        let scored = |score, status| Answer { score, status, ..Answer::default() };
        for (score, given, expected) in [
            (Some(0.5), None, Status::Passed),
            (Some(0.49), None, Status::Failed),
            (None, None, Status::NotEvaluated),
            (Some(1.0), Some(Status::Failed), Status::Failed),
            (Some(0.0), Some(Status::Passed), Status::Passed),
            (Some(1.0), Some(Status::NotEvaluated), Status::NotEvaluated),
        ] {
            assert_eq!(scored(score, given).status_for(0.5), expected, "{score:?} {given:?}");
        }
        assert_eq!(scored(Some(1.0), None).status_for(f64::NAN), Status::Failed);
    }
}
