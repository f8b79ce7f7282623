//! Errors of loading trace files.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::UnusableParts;
use crate::json::{Interrupted, ParseError, string_repr};

/// The extensions for messages.
pub(super) const EXTENSIONS_TEXT: &str = ".json, .jsonl, .ndjson, each with or without .gz or .zst";

/// A trace file could not be loaded.
///
/// The message is that of reports. If the text is not JSON, a source of the error has the position.
#[derive(Debug, thiserror::Error)]
#[error("{}", sentence(path, kind))]
#[non_exhaustive]
pub struct LoadError {
    /// The file, as it was given.
    pub path: PathBuf,
    /// The problem.
    #[source]
    pub kind: LoadErrorKind,
}

impl LoadError {
    /// Returns the error of a file that was read, if parts of it are unusable or it has no traces.
    pub(super) fn of_content(path: &Path, traces: usize, unusable: UnusableParts) -> Option<Self> {
        let kind = match (traces, unusable.is_empty()) {
            (_, false) => LoadErrorKind::Unusable(unusable),
            (0, true) => LoadErrorKind::NoSpans,
            (_, true) => return None,
        };
        Some(Self { path: path.to_owned(), kind })
    }
}

impl From<Interrupted> for LoadErrorKind {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::Read(error) => Self::Read(error),
            Interrupted::NotUtf8 { offset, byte } => Self::NotUtf8 { offset, byte },
        }
    }
}

/// The problem of a trace file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadErrorKind {
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[source] io::Error),
    /// The file is not UTF-8.
    #[error("not UTF-8: invalid byte 0x{byte:02x} at offset {offset}")]
    NotUtf8 {
        /// Offset of the first invalid byte.
        offset: usize,
        /// That byte.
        byte: u8,
    },
    /// The content is not of a known format.
    #[error(
        "Could not detect trace format for {}. Expected Jaeger JSON ({{\"data\": [...]}}) or OTLP JSON \
         ({{\"resourceSpans\": [...]}} / {{\"batches\": [...]}}). Use --format if the content is one of these.",
        quoted(path)
    )]
    Undetected {
        /// The file, as it was given.
        path: PathBuf,
        /// Position at which it is not JSON, if it is not.
        #[source]
        json: Option<ParseError>,
    },
    /// The file has to be Jaeger JSON and is not JSON.
    #[error("Invalid Jaeger JSON in {}", quoted(path))]
    InvalidJaeger {
        /// The file, as it was given.
        path: PathBuf,
        /// Position at which it is not JSON.
        #[source]
        json: ParseError,
    },
    /// The file has to be Jaeger JSON and has no list `data`.
    #[error("Invalid Jaeger JSON format: expected top-level 'data' key")]
    NoJaegerData,
    /// The file has to be OTLP JSON and is other JSON.
    #[error("not an OTLP JSON document: expected resourceSpans, resourceLogs or batches")]
    NotOtlp,
    /// A line of a JSON-lines file is not JSON.
    #[error("line {line}: invalid JSON")]
    InvalidLine {
        /// The line, counted from 1.
        line: usize,
        /// Position at which it is not JSON.
        #[source]
        json: ParseError,
    },
    /// A line of a JSON-lines file is JSON but not OTLP.
    #[error("line {line}: expected an OTLP export document, a span or an array of spans")]
    NotOtlpLine {
        /// The line, counted from 1.
        line: usize,
    },
    /// Parts of the file cannot be used; the others are.
    #[error("{0}")]
    Unusable(UnusableParts),
    /// An object that holds spans has a key more than once.
    #[error("{position}the key `{key}` is repeated; remove one of them")]
    RepeatedKey {
        /// Position of the object, with a separator; empty for the document itself.
        position: String,
        /// The key.
        key: String,
    },
    /// The content is compressed and cannot be decompressed.
    #[error("cannot decompress the {format} content: {error}")]
    Decompress {
        /// The compression format.
        format: &'static str,
        /// The problem.
        #[source]
        error: io::Error,
    },
    /// The file has no traces, so nothing of it is evaluated.
    #[error(
        "it holds no spans with a trace id and a span id; log records count only in the file with the spans of their trace"
    )]
    NoSpans,
    /// A directory has no trace files.
    #[error("the directory has no trace files ({extensions})", extensions = EXTENSIONS_TEXT)]
    EmptyDirectory,
    /// A list that contains all spans has the wrong type.
    #[error("{path}: expected an array, found {found}")]
    NotAnArray {
        /// Path in the document: `resourceSpans[0].scopeSpans`.
        path: String,
        /// Type of the value, with its article.
        found: &'static str,
    },
}

fn sentence(path: &Path, kind: &LoadErrorKind) -> String {
    let path = path.display();
    match kind {
        LoadErrorKind::Unusable(parts) => {
            format!("Trace file '{path}' is used only in part: {parts}")
        }
        _ => format!("Failed to load trace file '{path}': {kind}"),
    }
}

fn quoted(path: &Path) -> String {
    string_repr(&path.to_string_lossy())
}
