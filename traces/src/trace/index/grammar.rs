//! The grammars of trace files, and how a scan by them can end.

use crate::{
    json::{Object, ScanError, Value},
    trace::{error::LoadErrorKind, jaeger, otlp},
};

/// A format of this crate. Its files are scanned without holding them, and their traces are read one by one.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    Otlp,
    Jaeger,
}

impl Grammar {
    /// Returns the keys of the ids of a span: that of its trace, and its own.
    pub(super) fn id_keys(self) -> [&'static str; 2] {
        match self {
            Self::Otlp => ["traceId", "spanId"],
            Self::Jaeger => ["traceID", "spanID"],
        }
    }

    /// Returns the unit of times in nanoseconds.
    pub(super) fn time_unit(self) -> i128 {
        match self {
            Self::Otlp => 1,
            Self::Jaeger => jaeger::MICROSECOND,
        }
    }

    /// Decodes a list of attributes. Its problems are reported when the span is read.
    pub(super) fn attributes(self, items: Value) -> Object {
        match self {
            Self::Otlp => otlp::attributes(items, &mut Vec::new()),
            Self::Jaeger => jaeger::tags(items, "", &mut Vec::new()),
        }
    }
}

/// The grammars that a text may have.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct Expected {
    pub(in crate::trace) otlp: bool,
    pub(in crate::trace) jaeger: bool,
    /// Whether the format is given, so that it is not detected.
    pub(in crate::trace) is_given: bool,
}

/// Reason for which a scan ended early.
#[derive(Debug, derive_more::From)]
pub(in crate::trace) enum Stop {
    /// The text is not JSON or cannot be read.
    Scan(ScanError),
    /// The text is not of the format.
    Load(LoadErrorKind),
}
