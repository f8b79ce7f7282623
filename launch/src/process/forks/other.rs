//! Systems that cannot fork: there is no server and no forked process.

use std::time::Duration;

use super::{ForkError, ServerCommand};
use crate::process::{Cancellation, Ending, Limits, Outcome};

/// A server, which does not exist.
#[derive(Debug)]
pub enum ForkServer {}

impl ForkServer {
    /// Always fails.
    ///
    /// # Errors
    ///
    /// [`ForkError::Unusual`].
    pub async fn start(_: ServerCommand, _: Duration, _: &Cancellation) -> Result<Self, ForkError> {
        Err(ForkError::Unusual { reason: "this system cannot fork processes".to_owned() })
    }

    /// Never called.
    ///
    /// # Errors
    ///
    /// None.
    pub async fn run(
        &self,
        _: &[u8],
        _: &[(String, String)],
        _: &Limits,
        _: &Cancellation,
    ) -> Result<Outcome, ForkError> {
        match *self {}
    }

    /// Never called.
    pub async fn end(self, _: Duration) {
        match self {}
    }
}

/// A forked process, which does not exist.
#[derive(Debug)]
pub(in super::super) enum Forked {}

impl Forked {
    pub(in super::super) fn is_contained(&self) -> bool {
        match *self {}
    }

    pub(in super::super) async fn exited(&mut self) {
        match *self {}
    }

    pub(in super::super) fn terminate(&mut self) {
        match *self {}
    }

    pub(in super::super) fn kill(&mut self) {
        match *self {}
    }

    pub(in super::super) fn reap(&mut self) -> Ending {
        match *self {}
    }
}
