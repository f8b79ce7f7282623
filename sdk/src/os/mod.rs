//! Process functions that the standard library lacks.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use other::{claim_stdout, report_fatal_signals};
#[cfg(unix)]
pub(crate) use unix::{claim_stdout, report_fatal_signals};
