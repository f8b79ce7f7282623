//! Why a trace file could not be loaded.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{LeftOut, inputs};
use crate::{json::ParseError, json::string_repr};

/// A trace file could not be loaded.
///
/// The text is what a report shows; where the text was not JSON, the chain of sources says at which position.
#[derive(Debug, thiserror::Error)]
#[error("{}", sentence(path, kind))]
#[non_exhaustive]
pub struct LoadError {
    /// The file, as it was given.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub kind: LoadErrorKind,
}

impl LoadError {
    /// Returns the error of a file that could be read and is used only in part, or has no traces at all.
    pub(super) fn of_content(path: &Path, traces: usize, left_out: LeftOut) -> Option<Self> {
        let kind = match (traces, left_out.is_empty()) {
            (_, false) => LoadErrorKind::LeftOut(left_out),
            (0, true) => LoadErrorKind::NoSpans,
            (_, true) => return None,
        };
        Some(Self { path: path.to_owned(), kind })
    }
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
         ({{\"resourceSpans\": [...]}} / {{\"batches\": [...]}}). Use --format if the content is one of these.",
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
    /// Parts of it cannot be used; the others are.
    #[error("{0}")]
    LeftOut(LeftOut),
    /// An object that holds spans has a key more than once.
    #[error("{position}the key `{key}` is repeated; remove one of them")]
    RepeatedKey {
        /// Where the object is, with a separator; empty for the document itself.
        position: String,
        /// The key.
        key: String,
    },
    /// The content is compressed and cannot be decompressed.
    #[error("cannot decompress the {format} content: {error}")]
    Decompress {
        /// The compression format.
        format: &'static str,
        /// What is wrong with it.
        #[source]
        error: io::Error,
    },
    /// It has no trace, so what it should have recorded is not evaluated.
    #[error(
        "it holds no spans with a trace id and a span id; log records count only in the file with the spans of their trace"
    )]
    NoSpans,
    /// A directory has no trace files.
    #[error("the directory has no trace files ({extensions})", extensions = inputs::EXTENSIONS_TEXT)]
    EmptyDirectory,
    /// A part that holds all others has the wrong type.
    #[error("{path}: expected an array, found {found}")]
    NotAnArray {
        /// Where in the document: `resourceSpans[0].scopeSpans`.
        path: String,
        /// What is there instead, with its article.
        found: &'static str,
    },
}

fn sentence(path: &Path, kind: &LoadErrorKind) -> String {
    let path = path.display();
    match kind {
        LoadErrorKind::LeftOut(left_out) => {
            format!("Trace file '{path}' is used only in part: {left_out}")
        }
        _ => format!("Failed to load trace file '{path}': {kind}"),
    }
}

fn quoted(path: &Path) -> String {
    string_repr(&path.to_string_lossy())
}
