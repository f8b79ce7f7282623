//! Requests with retries.

use std::time::Duration;

use evaluator_models::{Cancel, Clock, ErrorKind, Method, ModelError};
use serde_json::{Map, Value};

use super::client::EvalsServer;

/// Requests of one call.
pub(super) const ATTEMPTS: u32 = 3;
/// Longest time for one request.
const REQUEST_LIMIT: Duration = Duration::from_secs(600);
/// Longest wait that a server may ask for.
const MOST_ASKED: Duration = Duration::from_secs(120);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// Requests to a server until a deadline.
#[derive(Debug)]
pub(super) struct Transport<'a> {
    pub(super) server: &'a EvalsServer,
    pub(super) clock: &'a dyn Clock,
    pub(super) cancel: &'a Cancel,
    /// Time on the clock after which nothing is sent.
    pub(super) deadline: Duration,
    /// Maximum number of requests of a call.
    pub(super) attempts: u32,
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Failure {
    /// The deadline is reached.
    TimedOut,
    /// The run was cancelled.
    Cancelled,
    /// The server did not answer, or refused.
    Refused(ModelError),
}

/// What happened before an answer.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Warnings about requests that were sent again.
    pub(super) warnings: Vec<String>,
    /// Whether a request that failed may have been carried out.
    pub(super) is_unclear: bool,
}

impl Transport<'_> {
    /// Returns the time that is left.
    pub(super) fn left(&self) -> Duration {
        self.deadline.saturating_sub(self.clock.now())
    }

    /// Waits, unless the deadline or the cancellation comes first.
    pub(super) fn wait(&self, duration: Duration) -> Result<(), Failure> {
        self.check()?;
        self.clock.wait(duration.min(self.left()), self.cancel);
        self.check()
    }

    fn check(&self) -> Result<(), Failure> {
        if self.cancel.is_cancelled() {
            Err(Failure::Cancelled)
        } else if self.left().is_zero() {
            Err(Failure::TimedOut)
        } else {
            Ok(())
        }
    }

    /// Sends a request, and again if the failure may pass.
    pub(super) fn send(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        history: &mut History,
    ) -> Result<Value, Failure> {
        let body = body.map(|body| body.as_object().cloned().unwrap_or_default());
        let mut attempt = 1;
        loop {
            self.check()?;
            let error = match self.send_once(method, path, body.as_ref()) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            history.is_unclear |= match error.status {
                None => true,
                Some(status) => matches!(status, 408 | 409 | 500..),
            };
            // A request that used up the time that was left.
            let is_late = error.kind == ErrorKind::Timeout && self.left().is_zero();
            let wait = self.pause(attempt, &error);
            if is_late {
                return Err(Failure::TimedOut);
            }
            if attempt >= self.attempts || !is_transient(&error) || wait >= self.left() {
                return Err(Failure::Refused(error));
            }
            history.warnings.push(format!(
                "{method} {path} was sent again after {:.1} s: {}",
                wait.as_secs_f64(),
                error.message
            ));
            self.wait(wait)?;
            attempt += 1;
        }
    }

    fn send_once(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Map<String, Value>>,
    ) -> Result<Value, ModelError> {
        let limit = self.left().min(REQUEST_LIMIT);
        let more = self.server.headers.iter().map(|(name, value)| (*name, value.as_str()));
        let headers: Vec<(&str, &str)> =
            [("accept", "application/json")].into_iter().chain(more).collect();
        self.server.server.request((method.clone(), path), &headers, body, limit)
    }

    /// Returns the wait before the next request: that of the server if it is short enough, else 0.5 s doubling to 8 s, less up
    /// to a quarter.
    fn pause(&self, attempt: u32, error: &ModelError) -> Duration {
        match error.retry_after {
            Some(asked) if asked <= MOST_ASKED => asked,
            _ => {
                let doubled = FIRST_WAIT.saturating_mul(1 << attempt.saturating_sub(1).min(8));
                let less = 1.0 - 0.25 * self.clock.jitter().clamp(0.0, 1.0);
                let wait = doubled.min(LONGEST_WAIT);
                Duration::try_from_secs_f64(wait.as_secs_f64() * less).unwrap_or(wait)
            }
        }
    }
}

/// Returns true if the same request may be answered later. A quota that is used up does not pass.
fn is_transient(error: &ModelError) -> bool {
    match error.kind {
        ErrorKind::Quota => false,
        ErrorKind::Network | ErrorKind::Timeout => true,
        _ => error.status.is_some_and(|status| matches!(status, 408 | 409 | 429 | 500..)),
    }
}
