//! Requests that are not answered.

use std::time::Duration;

use crate::{ErrorKind, ModelError};

/// A request that is not answered. Each protocol has a status of its own for the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) cause: Cause,
    pub(super) message: String,
    /// Name of the parameter that is at fault.
    pub(super) param: Option<String>,
    /// Code that the provider gives for a request that it refuses.
    pub(super) code: Option<String>,
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// It has no token, or one that was never given.
    NoToken,
    /// Its token is that of an evaluation that is not served here any more.
    Expired,
    /// The evaluation ended meanwhile.
    Ended,
    NoRoute,
    /// There are no calls left.
    UsedUp,
    /// Its body did not arrive in time.
    Slow,
    TooLarge,
    /// It is not valid.
    Bad,
    /// It has a parameter that the model does not have.
    Unsupported,
    UnknownModel,
    /// The model did not answer in time.
    Late,
    /// The reply cannot be read, or the call ended in a panic.
    Unreadable,
    /// The call has no answer.
    Model {
        kind: ErrorKind,
        status: Option<u16>,
        retry_after: Option<Duration>,
    },
}

impl Fault {
    pub(super) fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into(), param: None, code: None }
    }

    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(Cause::Bad, message)
    }

    pub(super) fn ended() -> Self {
        Self::new(Cause::Ended, "Proxy is shutting down")
    }

    /// Names the parameter that is at fault.
    pub(super) fn of(self, param: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..self }
    }

    /// Returns true if a cassette has no reply to the request, which must not be asked.
    pub(super) fn is_not_recorded(&self) -> bool {
        matches!(self.cause, Cause::Model { kind: ErrorKind::NotInCassette, .. })
    }
}

impl From<&ModelError> for Fault {
    fn from(error: &ModelError) -> Self {
        let ModelError { kind, status, retry_after, .. } = *error;
        // Other failures are not those of the request, whatever the provider says.
        let is_refused = matches!(
            kind,
            ErrorKind::Blocked
                | ErrorKind::InvalidRequest
                | ErrorKind::NotFound
                | ErrorKind::Quota
                | ErrorKind::RateLimited
                | ErrorKind::TooLong
        );
        let refusal = error.refusal.as_deref().filter(|_| is_refused);
        Self {
            param: refusal.and_then(|it| it.param.clone()),
            code: refusal.and_then(|it| it.code.clone()),
            ..Self::new(Cause::Model { kind, status, retry_after }, error.to_string())
        }
    }
}
