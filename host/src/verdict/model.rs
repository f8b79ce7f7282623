//! Verdict types.

use std::time::Duration;

use crate::json::Object;

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
    /// It could not be started.
    SpawnFailed {
        /// What the system said.
        reason: String,
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
    /// The evaluator reported an error itself, as an `{"error": ...}` frame of the streaming form.
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
