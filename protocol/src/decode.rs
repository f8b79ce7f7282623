//! From bytes to a document, with errors that say where.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::{
    place::{bytes_to, excerpt_at, path_at},
    terms::in_json,
};

/// Nesting that is still read. Hosts of the contract write up to about 255 levels.
pub const MAX_DEPTH: usize = 512;

/// Reads one document.
///
/// What is not plain JSON has a defined outcome: integers beyond 64 bits become the nearest `f64`; a repeated key is an
/// error where the key is a field of the contract and takes its last value inside `config`, `args` and other free-form
/// objects; a byte order mark, lone surrogates, invalid UTF-8, `NaN` and nesting beyond [`MAX_DEPTH`] are errors.
///
/// # Errors
///
/// [`DecodeError`] with the path of the field, what is wrong with it and the text around it.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    // serde would also read a struct from an array of its fields; no document is one.
    if bytes.trim_ascii_start().first() == Some(&b'{') {
        if let Ok(value) = serde_json::from_slice(bytes) {
            return Ok(value);
        }
    }
    decode_slowly(bytes)
}

#[cold]
fn decode_slowly<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    if let Some(kind) = obvious_problem(bytes) {
        return Err(DecodeError { path: String::new(), excerpt: excerpt_at(bytes, 0), kind });
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    // serde_json gives up at 128 levels. The bound is checked above instead, and only documents that failed come here.
    deserializer.disable_recursion_limit();
    let result =
        T::deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    result.map_err(|error| DecodeError::from_json(bytes, &error))
}

fn obvious_problem(bytes: &[u8]) -> Option<DecodeErrorKind> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Some(DecodeErrorKind::Empty);
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Some(DecodeErrorKind::ByteOrderMark);
    }
    if let Err(error) = std::str::from_utf8(bytes) {
        return Some(DecodeErrorKind::NotUtf8 { offset: error.valid_up_to() });
    }
    if depth(bytes) > MAX_DEPTH {
        return Some(DecodeErrorKind::TooDeep);
    }
    let is_object = bytes.trim_ascii_start().first() == Some(&b'{');
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    (is_json && !is_object).then_some(DecodeErrorKind::NotAnObject)
}

/// Greatest nesting of brackets outside of strings.
fn depth(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Why a document could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeError {
    /// Path of the field at which reading stopped, e.g. `invocations[0].final_response`; empty for the document itself.
    pub path: String,
    /// What is wrong.
    pub kind: DecodeErrorKind,
    /// The text around the place, at most some 60 characters; empty when there is none.
    pub excerpt: String,
}

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// There is nothing but whitespace.
    Empty,
    /// It starts with a byte order mark.
    ByteOrderMark,
    /// It is not UTF-8.
    NotUtf8 {
        /// Offset of the first bad byte.
        offset: usize,
    },
    /// It is nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// It is JSON, but an array, a string, a number ...
    NotAnObject,
    /// It is not JSON.
    Syntax {
        /// What was found or expected.
        reason: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1, in bytes.
        column: usize,
    },
    /// It is JSON, but not this document.
    Shape {
        /// What was found and what was expected.
        reason: String,
        /// Line, from 1; 0 when the value did not come from text.
        line: usize,
        /// Column, from 1, in bytes.
        column: usize,
    },
}

impl DecodeError {
    /// An error about a value that was read before, e.g. a part of `config`.
    pub fn shape(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            kind: DecodeErrorKind::Shape { reason: reason.into(), line: 0, column: 0 },
            excerpt: String::new(),
        }
    }

    /// Reads `value`, which stands at `path` of a document, and names the bad field by its whole path.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] of kind [`DecodeErrorKind::Shape`].
    pub fn locate<T: DeserializeOwned>(path: &str, value: serde_json::Value) -> Result<T, Self> {
        serde_path_to_error::deserialize(value).map_err(|error| {
            let place = match error.path().to_string() {
                inner if inner == "." => path.to_owned(),
                inner if inner.starts_with('[') => format!("{path}{inner}"),
                inner => format!("{path}.{inner}"),
            };
            Self::shape(place, in_json(error.inner().to_string()))
        })
    }

    fn from_json(bytes: &[u8], error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let suffix = format!(" at line {line} column {column}");
        let reason = in_json(text.strip_suffix(&suffix).unwrap_or(&text).to_owned());
        let consumed = bytes_to(bytes, line, column);
        let (path, kind) = if error.is_data() {
            (path_at(bytes, consumed), DecodeErrorKind::Shape { reason, line, column })
        } else {
            (String::new(), DecodeErrorKind::Syntax { reason, line, column })
        };
        Self { path, kind, excerpt: excerpt_at(bytes, consumed.saturating_sub(1)) }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        match &self.kind {
            DecodeErrorKind::Empty => f.write_str("the document is empty")?,
            DecodeErrorKind::ByteOrderMark => {
                f.write_str(
                    "the document starts with a byte order mark; write it as UTF-8 without one",
                )?;
            }
            DecodeErrorKind::NotUtf8 { offset } => {
                write!(f, "the document is not UTF-8 (byte {offset})")?
            }
            DecodeErrorKind::NotAnObject => f.write_str("expected a JSON object")?,
            DecodeErrorKind::TooDeep => {
                write!(f, "the document is nested deeper than {MAX_DEPTH} levels")?;
            }
            DecodeErrorKind::Syntax { reason, line, column } => {
                write!(f, "invalid JSON: {reason} at line {line} column {column}")?;
            }
            DecodeErrorKind::Shape { reason, line: 0, .. } => f.write_str(reason)?,
            DecodeErrorKind::Shape { reason, line, column } => {
                write!(f, "{reason} at line {line} column {column}")?;
            }
        }
        if self.excerpt.is_empty() { Ok(()) } else { write!(f, ", near `{}`", self.excerpt) }
    }
}

impl std::error::Error for DecodeError {}
