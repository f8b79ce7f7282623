//! Limits of a supervised process.

use std::time::Duration;

/// How long a process may run and how much of its output is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run from its start on. Default 30 s; [`Duration::MAX`] for no limit.
    pub timeout: Duration,
    /// Bytes kept of standard output (of a process that is spoken to in lines: of one line). Default 64 MiB.
    pub stdout_cap: usize,
    /// Bytes kept of the beginning of standard error. Default 16 KiB.
    pub stderr_head: usize,
    /// Bytes kept of the end of standard error. Default 48 KiB.
    pub stderr_tail: usize,
    /// How long it may take to end by itself after it was asked to (`TERM`). Default 50 ms.
    pub term_grace: Duration,
    /// How long to wait for the end of its outputs after it has exited. Default 100 ms.
    pub eof_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            stdout_cap: 64 << 20,
            stderr_head: 16 << 10,
            stderr_tail: 48 << 10,
            term_grace: Duration::from_millis(50),
            eof_grace: Duration::from_millis(100),
        }
    }
}

impl Limits {
    /// The default limits with another timeout.
    #[must_use]
    pub fn with_timeout(timeout: Duration) -> Self {
        Self { timeout, ..Self::default() }
    }
}
