//! Why a trace file could not be loaded.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{json::ParseError, python_text::string_repr};

/// A trace file could not be loaded.
///
/// The text is what a report shows; where the text was not JSON, the chain of sources says at which position.
#[derive(Debug, thiserror::Error)]
#[error("Failed to load trace file '{}': {kind}", path.display())]
#[non_exhaustive]
pub struct LoadError {
    /// The file, as it was given.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub kind: LoadErrorKind,
}

/// What is wrong with a trace file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadErrorKind {
    /// It cannot be read.
    #[error("{0}")]
    Read(#[source] io::Error),
    /// It is not UTF-8.
    #[error("not UTF-8: invalid byte 0x{byte:02x} at offset {offset}")]
    NotUtf8 {
        /// Offset of the first byte that does not belong.
        offset: usize,
        /// That byte.
        byte: u8,
    },
    /// Its content is of no known format.
    #[error(
        "Could not detect trace format for {}. Expected Jaeger JSON ({{\"data\": [...]}}) or OTLP JSON \
         ({{\"resourceSpans\": [...]}} / {{\"batches\": [...]}}). Pass an explicit format= override if needed.",
        quoted(path)
    )]
    Undetected {
        /// The file, as it was given.
        path: PathBuf,
        /// Where it stops being JSON, if it does.
        #[source]
        json: Option<ParseError>,
    },
    /// It should be Jaeger JSON and is not JSON.
    #[error("Invalid Jaeger JSON in {}", quoted(path))]
    InvalidJaeger {
        /// The file, as it was given.
        path: PathBuf,
        /// Where it stops being JSON.
        #[source]
        json: ParseError,
    },
    /// It should be Jaeger JSON and has no list called `data`.
    #[error("Invalid Jaeger JSON format: expected top-level 'data' key")]
    NoJaegerData,
    /// It should be OTLP JSON and is some other JSON.
    #[error("not an OTLP JSON document: expected resourceSpans, resourceLogs or batches")]
    NotOtlp,
    /// A line of a JSON-lines file is not JSON.
    #[error("line {line}: invalid JSON")]
    InvalidLine {
        /// The line, counted from 1.
        line: usize,
        /// Where it stops being JSON.
        #[source]
        json: ParseError,
    },
    /// A line of a JSON-lines file is JSON but nothing of OTLP.
    #[error("line {line}: expected an OTLP export document or a span")]
    NotOtlpLine {
        /// The line, counted from 1.
        line: usize,
    },
    /// A part that holds all others has the wrong type.
    #[error("{path}: expected an array, found {found}")]
    NotAnArray {
        /// Where in the document: `resourceSpans[0].scopeSpans`.
        path: String,
        /// What is there instead, with its article.
        found: &'static str,
    },
}

fn quoted(path: &Path) -> String {
    string_repr(&path.to_string_lossy())
}
