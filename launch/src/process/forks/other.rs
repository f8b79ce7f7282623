//! Systems that cannot fork: there is no server and no forked process.

use std::{convert::Infallible, time::Duration};

use super::{ForkError, ServerCommand};
use crate::process::{Cancellation, Ending, Limits, Outcome};

/// A server that does not exist.
#[derive(Debug)]
pub struct ForkServer {
    never: Infallible,
}

impl ForkServer {
    /// Always fails.
    ///
    /// # Errors
    ///
    /// [`ForkError::Unusual`].
    pub async fn start(
        _server: ServerCommand,
        _patience: Duration,
        _cancellation: &Cancellation,
    ) -> Result<Self, ForkError> {
        Err(ForkError::Unusual { reason: "this system cannot fork processes".to_owned() })
    }

    /// Never called.
    ///
    /// # Errors
    ///
    /// None.
    pub async fn run(
        &self,
        _input: &[u8],
        _limits: &Limits,
        _cancellation: &Cancellation,
    ) -> Result<Outcome, ForkError> {
        match self.never {}
    }

    /// Never called.
    pub async fn end(self, _patience: Duration) {
        match self.never {}
    }
}

/// A process that does not exist.
#[derive(Debug)]
pub(in super::super) struct Forked {
    never: Infallible,
}

impl Forked {
    pub(in super::super) async fn exited(&mut self) {
        match self.never {}
    }

    pub(in super::super) fn has_exited(&mut self) -> bool {
        match self.never {}
    }

    pub(in super::super) fn terminate(&mut self) {
        match self.never {}
    }

    pub(in super::super) fn kill(&mut self) {
        match self.never {}
    }

    pub(in super::super) fn reap(&mut self) -> Ending {
        match self.never {}
    }
}
