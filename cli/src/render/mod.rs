//! What people read. Only this module writes to stderr.

mod columns;
mod config_error;
mod duration;
mod metrics;
mod progress;
mod summary;
mod table;
mod verdict;

pub(crate) use columns::Columns;
pub(crate) use config_error::config_error;
pub(crate) use progress::Progress;
pub(crate) use summary::summary;
pub(crate) use table::table;
pub(crate) use verdict::verdict;

use std::io::{self, Write};

use evaluator_host::verdict::Status;

/// A message of this program on stderr.
pub(crate) fn message(text: &str) {
    line(&format!("evaluator: {text}"));
}

/// A line on stderr. There is no place left to complain to when that fails.
fn line(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// The mark of a status; an error has the mark of what was not evaluated, and says `ERROR` beside it.
fn icon(status: Status) -> &'static str {
    match status {
        Status::Passed => "[PASS]",
        Status::Failed => "[FAIL]",
        Status::NotEvaluated => "[----]",
    }
}
