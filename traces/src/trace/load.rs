//! Loading whole files.

use std::{fs, path::Path};

use super::{
    decoded::Decoded,
    error::{LoadError, LoadErrorKind},
    inputs::copy_if_needed,
    model::Trace,
    registry::TraceFormats,
    unusable::UnusableParts,
};
use crate::json::{self, MARKED};

/// The traces of a file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FileTraces {
    /// Traces in the order of their first spans.
    pub traces: Vec<Trace>,
    /// Parts of the file that cannot be used.
    pub unusable: UnusableParts,
}

/// Loads a trace file, which may be compressed; `-` is the standard input.
///
/// # Errors
///
/// The file cannot be read, is not UTF-8, or is not of a known format.
pub fn load_file(path: &Path, formats: &TraceFormats) -> Result<FileTraces, LoadError> {
    let copy = copy_if_needed(path).map_err(|kind| LoadError { path: path.to_owned(), kind })?;
    load_source(copy.as_deref().unwrap_or(path), path, formats)
}

/// Loads the file `source`, which is called `path` in errors and traces.
pub(super) fn load_source(
    source: &Path,
    path: &Path,
    formats: &TraceFormats,
) -> Result<FileTraces, LoadError> {
    let fail = |kind| LoadError { path: path.to_owned(), kind };
    let bytes = fs::read(source).map_err(|error| fail(LoadErrorKind::Read(error)))?;
    match str::from_utf8(&bytes) {
        Ok(text) => load_text(text, path, formats),
        Err(error) => {
            let offset = error.valid_up_to();
            Err(fail(LoadErrorKind::NotUtf8 { offset, byte: bytes[offset] }))
        }
    }
}

/// Loads the text of a trace file; `path` is the name of the file in errors and traces.
///
/// # Errors
///
/// The text is not of a known format, or cannot be decoded.
pub fn load_text(text: &str, path: &Path, formats: &TraceFormats) -> Result<FileTraces, LoadError> {
    let fail = |kind| LoadError { path: path.to_owned(), kind };
    let json = json::parse(text, &MARKED);
    let Some(format) = formats.of(text, &json) else {
        return Err(fail(LoadErrorKind::Undetected { path: path.to_owned(), json: json.err() }));
    };
    let mut decoded = Decoded::new(path);
    format.decode(text, json, &mut decoded).map_err(fail)?;
    let unusable = decoded.take_unusable();
    Ok(FileTraces { traces: decoded.into_traces(), unusable })
}
