//! What people read. Only this module writes to stderr.

mod bar;
mod columns;
mod config_error;
mod conformance;
mod duration;
mod errors;
mod github;
mod inspection;
mod junit;
mod long_error;
mod markdown;
mod metrics;
mod paint;
mod plain;
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
pub(crate) use paint::{Painted, Target, for_stdout as painted};
pub(crate) use plain::one_line;
pub(crate) use progress::Progress;
pub(crate) use stderr::{LogFormat, LogSettings, configure as configure_log};
pub(crate) use summary::{errors_of_summary, summary};
pub(crate) use table::table;
pub(crate) use validation::{validation_json, validation_text};
pub(crate) use verdict::{counted, sentence, verdict};

use std::borrow::Cow;

use stderr::{Level, line};

/// An error of this program on stderr.
pub(crate) fn message(text: &str) {
    tell(Level::Error, text);
}

/// A mistake on the command line, with the parser's own colours where its text is safe to print.
pub(crate) fn usage_error(error: &clap::Error) {
    match plain::printable(&error.to_string()) {
        Cow::Owned(safe) => line(Level::Error, &safe),
        Cow::Borrowed(_) => {
            // There is nothing left to report a closed stderr to.
            let _ = error.print();
        }
    }
}

/// Something that may not be as it was meant, on stderr.
pub(crate) fn warning(text: &str) {
    tell(Level::Warning, text);
}

/// Something that is good to know, on stderr.
pub(crate) fn note(text: &str) {
    tell(Level::Info, text);
}

/// Writes a message behind the name of the program. Further lines are indented, so that none looks like a message of its own.
fn tell(level: Level, text: &str) {
    line(level, &indented(&format!("evaluator: {text}")));
}

/// The text with all lines but the first indented.
fn indented(text: &str) -> String {
    let mut lines = text.lines();
    let mut shown = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let indent = if line.starts_with("  ") { "" } else { "  " };
        shown.extend(["\n", indent, line]);
    }
    shown
}

/// Something beside the report, on stderr.
pub(crate) fn remark(text: &str) {
    line(Level::Info, &indented(text));
}
