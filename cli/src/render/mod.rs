//! What people read. Only this module writes to stderr.

mod bar;
mod columns;
mod config_error;
mod conformance;
mod duration;
mod github;
mod inspection;
mod junit;
mod long_error;
mod markdown;
mod metrics;
mod paint;
mod progress;
mod stderr;
mod summary;
mod table;
mod validation;
mod verdict;
mod words;

pub(crate) use columns::Columns;
pub(crate) use config_error::{config_error, config_remarks};
pub(crate) use conformance::{conformance_json, conformance_text};
pub(crate) use github::github;
pub(crate) use inspection::{inspection_json, inspection_text};
pub(crate) use junit::junit;
pub(crate) use markdown::markdown;
pub(crate) use paint::{Painted, for_stdout as painted};
pub(crate) use progress::Progress;
pub(crate) use summary::{errors_of_summary, summary};
pub(crate) use table::table;
pub(crate) use validation::{validation_json, validation_text};
pub(crate) use verdict::{sentence, verdict};

use stderr::line;

/// A message of this program on stderr.
pub(crate) fn message(text: &str) {
    line(&format!("evaluator: {text}"));
}

/// Something beside the report, on stderr.
pub(crate) fn remark(text: &str) {
    line(text);
}
