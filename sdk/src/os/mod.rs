//! What the standard library cannot do with the process.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use other::{claim_stdout, report_fatal_signals};
#[cfg(unix)]
pub(crate) use unix::{claim_stdout, report_fatal_signals};
