//! Files in, traces and errors out.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    error::{LoadError, LoadErrorKind},
    format::{Format, detect},
    jaeger,
    left_out::LeftOut,
    model::Trace,
    otlp,
    pool::Pool,
    spool::copy_if_needed,
    tree,
};
use crate::json::{self, MARKED};

/// The traces of a file.
#[derive(Clone, Debug, Default)]
pub struct FileTraces {
    /// Traces in the order of their first spans.
    pub traces: Vec<Trace>,
    /// Parts of the file that cannot be used.
    pub left_out: LeftOut,
}

/// The traces of some files, and what went wrong.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Traces in file order, and within a file in the order of their first spans.
    pub traces: Vec<Trace>,
    /// One error per file that could not be loaded, or only in part.
    pub errors: Vec<LoadError>,
}

/// Loads trace files in the order given. A file that cannot be loaded adds an error and the others go on.
///
/// Without `format` the content of each file decides.
#[must_use]
pub fn load(paths: &[PathBuf], format: Option<Format>) -> Loaded {
    let mut loaded = Loaded::default();
    for path in paths {
        match load_file(path, format) {
            Ok(FileTraces { traces, left_out }) => {
                loaded.errors.extend(LoadError::of_content(path, traces.len(), left_out));
                loaded.traces.extend(traces);
            }
            Err(error) => loaded.errors.push(error),
        }
    }
    loaded
}

/// Loads one trace file, which may be compressed; `-` is the standard input.
///
/// # Errors
///
/// The file cannot be read, is not UTF-8, or is not of the format.
pub fn load_file(path: &Path, format: Option<Format>) -> Result<FileTraces, LoadError> {
    let copy = copy_if_needed(path).map_err(|kind| LoadError { path: path.to_owned(), kind })?;
    load_source(copy.as_deref().unwrap_or(path), path, format)
}

/// Loads the file `source`, which is called `path` in errors and traces.
pub(super) fn load_source(
    source: &Path,
    path: &Path,
    format: Option<Format>,
) -> Result<FileTraces, LoadError> {
    let fail = |kind| LoadError { path: path.to_owned(), kind };
    let bytes = fs::read(source).map_err(|error| fail(LoadErrorKind::Read(error)))?;
    let text = str::from_utf8(&bytes).map_err(|error| {
        let offset = error.valid_up_to();
        fail(LoadErrorKind::NotUtf8 {
            offset,
            byte: bytes.get(offset).copied().unwrap_or_default(),
        })
    })?;
    load_text(text, path, format)
}

/// Loads the text of a trace file; `path` is only named in errors and traces.
///
/// # Errors
///
/// The text is not of the format, or of no known one.
pub fn load_text(text: &str, path: &Path, format: Option<Format>) -> Result<FileTraces, LoadError> {
    let mut pool =
        decode(text, path, format).map_err(|kind| LoadError { path: path.to_owned(), kind })?;
    let left_out = pool.take_left_out();
    Ok(FileTraces { traces: tree::build(pool, path), left_out })
}

fn decode(text: &str, path: &Path, format: Option<Format>) -> Result<Pool, LoadErrorKind> {
    let whole = json::parse(text, &MARKED);
    let Some(format) = format.or_else(|| detect(text, &whole)) else {
        return Err(LoadErrorKind::Undetected { path: path.to_owned(), json: whole.err() });
    };
    let mut pool = Pool::default();
    match (format, whole) {
        (Format::JaegerJson, Ok(parsed)) => {
            pool.replaced_surrogates += parsed.replaced_surrogates;
            pool.repeated_keys |= parsed.repeated_keys;
            jaeger::decode(parsed.value, &mut pool)?;
        }
        (Format::JaegerJson, Err(json)) => {
            return Err(LoadErrorKind::InvalidJaeger { path: path.to_owned(), json });
        }
        (Format::OtlpJson, Ok(parsed)) => {
            pool.replaced_surrogates += parsed.replaced_surrogates;
            pool.repeated_keys |= parsed.repeated_keys;
            otlp::decode(parsed.value, &mut pool)?;
        }
        (Format::OtlpJson, Err(json)) => otlp::decode_lines(text, &json, &mut pool)?,
    }
    Ok(pool)
}
