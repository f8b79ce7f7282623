//! Errors of calls.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::refusal::Refusal;

/// Kind of a [`ModelError`]. As text, it is the name in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, derive_more::Display)]
#[display(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Too many requests.
    RateLimited,
    /// Quota, credit or spend limit is used up.
    Quota,
    /// The server is overloaded or failed.
    Unavailable,
    /// No connection, or it was lost.
    Network,
    /// The server did not answer in time.
    Timeout,
    /// The certificate of the server is not trusted.
    Certificate,
    /// The request is not valid for the server.
    InvalidRequest,
    /// The model does not exist.
    NotFound,
    /// The request is longer than the model can read.
    TooLong,
    /// The key is missing, wrong, or not sufficient.
    Unauthorized,
    /// A content filter withheld the reply, or did not accept the request.
    Blocked,
    /// The model refused to answer.
    Refused,
    /// The answer is not one of the provider's format.
    BadAnswer,
    /// The answer has no reply.
    NoReply,
    /// The budget is spent.
    BudgetExceeded,
    /// A budget of tokens or money needs usage, and the answer has none.
    UsageMissing,
    /// The cassette has no reply to the request.
    NotInCassette,
    /// The cassette cannot be read or written.
    Cassette,
    /// The configuration cannot be used.
    Config,
    /// The run was stopped.
    Cancelled,
    /// The time in calls reached the limit of the evaluation.
    DeadlineExceeded,
}

/// Repetitions of a call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    Never,
    Once,
    Backoff,
}

impl ErrorKind {
    /// Returns true if the same call may succeed later without a change.
    pub fn is_transient(self) -> bool {
        self.retry() != Retry::Never
    }

    pub(crate) fn retry(self) -> Retry {
        match self {
            Self::RateLimited | Self::Unavailable | Self::Network | Self::Timeout => Retry::Backoff,
            Self::BadAnswer | Self::NoReply => Retry::Once,
            _ => Retry::Never,
        }
    }

    /// Returns true if every other call to the same server would fail in the same way.
    pub(crate) fn stops_queue(self) -> bool {
        matches!(self, Self::Quota | Self::Unauthorized)
    }
}

/// A call that has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {}{message}", if .model.is_empty() { String::new() } else { format!("model `{model}`: ") })]
pub struct ModelError {
    /// Kind.
    pub kind: ErrorKind,
    /// Provider and model, or empty.
    pub model: String,
    /// Error with a hint, without secrets.
    pub message: String,
    /// HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// Number of requests that were sent.
    pub attempts: u32,
    /// Wait that the server asked for.
    pub retry_after: Option<Duration>,
    /// Whether a later attempt is pointless although the kind is transient, such as a limit per day.
    pub(crate) is_final: bool,
    /// What the server says about the request, if there was an answer.
    pub(crate) refusal: Option<Box<Refusal>>,
}

impl ModelError {
    /// Creates an error.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            model: String::new(),
            message: message.into(),
            status: None,
            attempts: 0,
            retry_after: None,
            is_final: false,
            refusal: None,
        }
    }

    /// Names the model, unless the error does already.
    #[must_use]
    pub(crate) fn of_model(mut self, provider: &str, model: &str) -> Self {
        if self.model.is_empty() {
            self.model = format!("{provider}/{model}");
        }
        self
    }

    /// Returns the name of the parameter that the server refuses, one of those that were sent.
    pub(crate) fn refused_parameter(&self, sent: &Map<String, Value>) -> Option<String> {
        self.refusal.as_ref().filter(|_| self.kind == ErrorKind::InvalidRequest)?.parameter(sent)
    }

    /// Adds which key of the configuration to change, for a request that was made of one.
    #[must_use]
    pub(crate) fn with_hint(mut self) -> Self {
        self.message += &self.refusal.as_ref().map(|refusal| refusal.hint()).unwrap_or_default();
        self
    }

    pub(crate) fn retry(&self) -> Retry {
        if self.is_final { Retry::Never } else { self.kind.retry() }
    }
}
