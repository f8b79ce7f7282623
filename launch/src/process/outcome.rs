//! What came of a process, as a value.

use std::time::Duration;

use super::{Captured, SpawnError};

/// What came of one process.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// Bytes of its input that nobody had taken when it ended or closed its standard input. A pipe takes some that are never
    /// read, so zero does not mean that all was read.
    pub unsent: u64,
    /// From before its start until nothing of it was left.
    pub duration: Duration,
}

impl Outcome {
    /// Whether it ended by itself while something it had started kept its standard output open, so that more might
    /// have come.
    #[must_use]
    pub fn leaked_pipe(&self) -> bool {
        matches!(self.ending, Ending::Exited(_) | Ending::Signalled(_)) && !self.stdout.ended()
    }
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal, which was not ours.
    Signalled(i32),
    /// It was ended because its time was up.
    TimedOut {
        /// The limit that was passed.
        limit: Duration,
    },
    /// It was ended, or not even started, because the run was cancelled.
    Cancelled,
    /// It could not be started.
    SpawnFailed(SpawnError),
    /// It ended, but the system could not say how.
    Lost {
        /// What the system said.
        reason: String,
    },
}
