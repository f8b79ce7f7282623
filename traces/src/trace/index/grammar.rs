//! What scans need to know of a format.

use std::fmt;

use crate::{
    json::{Object, ScanError, Value},
    trace::error::LoadErrorKind,
};

/// Names and units of a format.
pub(super) trait Grammar: fmt::Debug + Sync {
    /// Returns the keys of an object at the top of a text by which the format is recognized; for a text that is a list,
    /// those of its first item.
    fn keys(&self, is_list: bool) -> &'static [&'static str];

    /// Returns the keys of the ids of a span: that of its trace, and its own.
    fn id_keys(&self) -> [&'static str; 2];

    /// Returns the unit of times in nanoseconds.
    fn time_unit(&self) -> i128;

    /// Decodes a list of attributes. Its problems are reported when the span is read.
    fn attributes(&self, items: Value) -> Object;

    /// Returns the error of a file that has to be of the format and is not.
    fn mismatch(&self) -> LoadErrorKind;
}

/// Reason for which a scan ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The text is not JSON or cannot be read.
    Scan(ScanError),
    /// The text is not of the format.
    Load(LoadErrorKind),
    /// Only the whole-file decoder understands the text.
    Fallback,
}

impl From<ScanError> for Stop {
    fn from(error: ScanError) -> Self {
        Self::Scan(error)
    }
}

impl From<LoadErrorKind> for Stop {
    fn from(kind: LoadErrorKind) -> Self {
        Self::Load(kind)
    }
}
