//! HTTP replies to Agenta as plain data.
//!
//! The body of a request is an [`EvaluateInput`](super::EvaluateInput) in the form [`Webhook`](super::Form::Webhook) or
//! [`Remote`](super::Form::Remote).

use super::Outputs;

/// Longest reply that Agenta reads, in bytes.
pub const MAX_REPLY: usize = 1 << 20;

/// An HTTP reply.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpReply {
    /// Status. Agenta reads an answer from 200, and reports every other status as an error.
    pub status: u16,
    /// Content type.
    pub content_type: &'static str,
    /// Body.
    pub body: String,
}

impl HttpReply {
    /// Creates an answer. An answer that cannot be written, or is longer than [`MAX_REPLY`], becomes an error, because Agenta
    /// would not report the reason.
    pub fn answer(outputs: &Outputs) -> Self {
        match serde_json::to_string(outputs) {
            Ok(body) if body.len() <= MAX_REPLY => {
                Self { status: 200, content_type: "application/json", body }
            }
            Ok(body) => {
                let message = format!(
                    "the answer has {} bytes, and Agenta reads {MAX_REPLY} at most",
                    body.len()
                );
                Self::error(ErrorStatus::Failed, &message)
            }
            Err(error) => {
                let message = format!("the answer cannot be written as JSON: {error}");
                Self::error(ErrorStatus::Failed, &message)
            }
        }
    }

    /// Creates an error. Agenta shows the message, so it is plain text: Agenta fails on a body that is a JSON object.
    pub fn error(status: ErrorStatus, message: &str) -> Self {
        // Agenta parses every body that is valid JSON, whatever its content type.
        let is_json = serde_json::from_str::<serde_core::de::IgnoredAny>(message).is_ok();
        let body = match message.trim() {
            "" => status.text().to_owned(),
            message if is_json => format!("{}: {message}", status.text()),
            message => message.to_owned(),
        };
        Self { status: status.code(), content_type: "text/plain; charset=utf-8", body }
    }
}

/// Reason of an error reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorStatus {
    /// The document cannot be decoded.
    BadRequest = 400,
    /// The caller is not authorized.
    Unauthorized = 401,
    /// The evaluator does not exist.
    NotFound = 404,
    /// The document is too large.
    TooLarge = 413,
    /// The evaluator does not judge this document, or refuses it.
    NotEvaluated = 422,
    /// Too many requests.
    Busy = 429,
    /// The evaluator failed.
    Failed = 500,
    /// The server is shutting down.
    Unavailable = 503,
    /// The evaluator timed out.
    TimedOut = 504,
}

impl ErrorStatus {
    /// Returns the HTTP status.
    pub const fn code(self) -> u16 {
        self as u16
    }

    const fn text(self) -> &'static str {
        match self {
            Self::BadRequest => "the document cannot be read",
            Self::Unauthorized => "unauthorized",
            Self::NotFound => "the evaluator does not exist",
            Self::TooLarge => "the document is too large",
            Self::NotEvaluated => "not evaluated",
            Self::Busy => "too many requests",
            Self::Failed => "the evaluator failed",
            Self::Unavailable => "the server is shutting down",
            Self::TimedOut => "the evaluator took too long",
        }
    }
}
