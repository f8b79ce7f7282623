//! Kinds of errors.

/// Stable name of a kind of error, e.g. `timed_out`. Not written as a reference, since serde would borrow it.
pub type ErrorType = &'static str;

/// Error type of evaluations that were not run.
pub const NOT_RUN: ErrorType = "not_run";

/// Error type of evaluations that were cancelled.
pub const CANCELLED: ErrorType = "cancelled";

/// Error type of conversations whose traces cannot be read any more.
pub(crate) const EXTRACTION_FAILED: ErrorType = "extraction_failed";

/// All error types of reports: those of verdicts, and those of conversations that cannot be evaluated.
pub const ERROR_TYPES: [ErrorType; 16] = [
    "exited",
    "signalled",
    "timed_out",
    "leaked_pipe",
    "bad_answer",
    CANCELLED,
    NOT_RUN,
    "lost",
    "spawn_failed",
    "prepare_failed",
    "metric_failed",
    "reported",
    "unusable_recording",
    "no_invocations",
    EXTRACTION_FAILED,
    "_OTHER",
];
