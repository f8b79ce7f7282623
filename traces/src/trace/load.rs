//! Loading whole files.

use std::{fs, path::Path};

use super::{
    decoded::Decoded,
    error::{LoadError, LoadErrorKind},
    index::decode,
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
    /// Whether the text is one span, without a document or a list around it.
    pub is_bare_span: bool,
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
    let mut decoded = Decoded::new(path);
    let result = match decode(text, path, formats.expected(), &mut decoded) {
        Err(LoadErrorKind::Undetected { .. }) if formats.have_others() => {
            let json = json::parse(text, &MARKED);
            match formats.of(text, &json) {
                Some(format) => format.decode(text, json, &mut decoded),
                None => Err(LoadErrorKind::Undetected { path: path.to_owned(), json: json.err() }),
            }
        }
        result => result,
    };
    result.map_err(|kind| LoadError { path: path.to_owned(), kind })?;
    let unusable = std::mem::take(&mut decoded.unusable);
    let is_bare_span = decoded.is_bare_span;
    Ok(FileTraces { traces: decoded.into_traces(), unusable, is_bare_span })
}
