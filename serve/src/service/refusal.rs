//! Errors instead of answers.

use evaluator_protocol::agenta::http::ErrorStatus;

/// Error instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Class of the error: of the request, of the document, or of the evaluator.
    pub status: ErrorStatus,
    /// Stable name: the error type of a verdict, e.g. `timed_out`, or `bad_document`, `unknown_contract`, `other_contract`,
    /// `refused`, `not_evaluated`, `unfit_answer`, `outdated`.
    pub kind: &'static str,
    /// Message.
    pub message: String,
    /// The cause in one line, where the message has several, e.g. a traceback.
    pub headline: Option<String>,
}

impl Refusal {
    /// Returns an error.
    pub fn new(status: ErrorStatus, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into(), headline: None }
    }
}
