//! Decoding of documents, with errors that name the field and quote the text around it.

use std::fmt;

use serde_core::de::{DeserializeOwned, IgnoredAny};
use serde_path_to_error::Segment;

/// Maximum nesting of documents. Hosts of the contract write up to about 255 levels.
pub const MAX_DEPTH: usize = 512;

/// Decodes one document.
///
/// Input beyond plain JSON has a defined outcome: integers beyond 64 bits become the nearest `f64`; a repeated key is an
/// error where the key is a field of the contract and takes its last value inside `config`, `args` and other free-form
/// objects; a byte order mark, lone surrogates, invalid UTF-8, `NaN` and nesting beyond [`MAX_DEPTH`] are errors.
///
/// # Errors
///
/// [`DecodeError`] with the path of the field, the reason and the text around it.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    // serde would also read some types from an array of their fields; no document is an array.
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
    // serde_json supports 128 levels by default. The depth is checked above.
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
    let is_json = serde_json::from_slice::<IgnoredAny>(bytes).is_ok();
    (is_json && !is_object).then_some(DecodeErrorKind::NotAnObject)
}

/// Returns the greatest nesting of brackets outside of strings.
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

/// Error: a document cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeError {
    /// Path of the field at which reading stopped, e.g. `invocations[0].final_response`; empty for the document itself.
    pub path: String,
    /// The problem.
    pub kind: DecodeErrorKind,
    /// The text around the error, about 60 characters at most; empty if the value was not read from text.
    pub excerpt: String,
}

/// The problem with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// It is empty or whitespace.
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
    /// It is JSON, but not an object.
    NotAnObject,
    /// It is not JSON.
    Syntax {
        /// The parser's message.
        reason: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1, in bytes.
        column: usize,
    },
    /// It is JSON, but not this document.
    Shape {
        /// The value found and the type expected.
        reason: String,
        /// Line, from 1; 0 when the value was not read from text.
        line: usize,
        /// Column, from 1, in bytes.
        column: usize,
    },
}

impl DecodeError {
    /// Creates an error about a value that was decoded before, e.g. a part of `config`.
    pub fn shape(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            kind: DecodeErrorKind::Shape { reason: reason.into(), line: 0, column: 0 },
            excerpt: String::new(),
        }
    }

    /// Decodes `value`, which stands at `path` of a document. Errors have the whole path of the field.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] of kind [`DecodeErrorKind::Shape`].
    pub fn locate<T: DeserializeOwned>(path: &str, value: &serde_json::Value) -> Result<T, Self> {
        serde_path_to_error::deserialize(value).map_err(|error| {
            let path = error.path().iter().fold(path.to_owned(), |path, segment| match segment {
                Segment::Map { key: name } | Segment::Enum { variant: name } => {
                    format!("{path}.{name}")
                }
                Segment::Seq { index } => format!("{path}[{index}]"),
                Segment::Unknown => path,
            });
            Self::shape(path, in_json(error.inner().to_string()))
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

/// Returns the path of the value that ends with, or is about to follow, the first `consumed` bytes, e.g.
/// `invocations[0].final_response`; empty for the document itself.
///
/// Scans the text instead of tracking the deserializer, whose code would have to be compiled a second time for every type.
/// The text has to be valid JSON up to that position.
fn path_at(bytes: &[u8], consumed: usize) -> String {
    let mut open: Vec<Container<'_>> = Vec::new();
    let mut string_start = None;
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate().take(consumed) {
        match (string_start, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(start), b'"') => {
                string_start = None;
                if let Some(Container::Object(key @ None)) = open.last_mut() {
                    *key = Some(&bytes[start..=at]);
                }
            }
            (Some(_), _) => {}
            (None, b'"') => string_start = Some(at),
            (None, b'{') => open.push(Container::Object(None)),
            (None, b'[') => open.push(Container::Array(0)),
            (None, b'}' | b']') => drop(open.pop()),
            (None, b',') => match open.last_mut() {
                Some(Container::Object(key)) => *key = None,
                Some(Container::Array(index)) => *index += 1,
                None => {}
            },
            (None, _) => {}
        }
    }
    let mut path = String::new();
    for container in open {
        match container {
            Container::Object(None) => {}
            Container::Object(Some(key)) => {
                if !path.is_empty() {
                    path.push('.');
                }
                // Valid JSON up to here, so the key can be decoded.
                path.push_str(&serde_json::from_slice::<String>(key).unwrap_or_default());
            }
            Container::Array(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

enum Container<'a> {
    /// In an object: the key of the current value, in its quotes.
    Object(Option<&'a [u8]>),
    /// In an array: the index of the current item.
    Array(usize),
}

/// Converts the end of a position of `serde_json`, whose columns count bytes from 1, to an offset.
fn bytes_to(bytes: &[u8], line: usize, column: usize) -> usize {
    let start = match line.checked_sub(2) {
        None => 0,
        Some(previous) => bytes
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .nth(previous)
            .map_or(bytes.len(), |(newline, _)| newline + 1),
    };
    (start + column).min(bytes.len())
}

/// Returns up to 40 characters before and 20 after an offset, on one line.
fn excerpt_at(bytes: &[u8], offset: usize) -> String {
    let (before, after) = bytes.split_at(offset.min(bytes.len()));
    let before = String::from_utf8_lossy(&before[before.len().saturating_sub(160)..]);
    let after = String::from_utf8_lossy(&after[..after.len().min(80)]);
    let before: Vec<char> = before.chars().collect();
    let excerpt: String = before[before.len().saturating_sub(40)..]
        .iter()
        .copied()
        .chain(after.chars().take(20))
        .collect();
    excerpt.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces "map" and "sequence" in an error of serde, which supports more formats than JSON, by "object" and "array".
///
/// Only the descriptions of the found and the expected type are changed; text of the document between them is not.
fn in_json(reason: String) -> String {
    let Some(rest) = reason.strip_prefix("invalid type: ") else { return reason };
    let Some((found, expected)) = rest.rsplit_once(", expected ") else { return reason };
    let found = match found {
        "map" => "object",
        "sequence" => "array",
        other => other,
    };
    format!("invalid type: {found}, expected {}", expected_in_json(expected))
}

fn expected_in_json(expected: &str) -> String {
    match expected {
        "a map" => "an object".to_owned(),
        "a sequence" => "an array".to_owned(),
        "unit" => "null".to_owned(),
        _ => {
            if let Some(name) = expected.strip_prefix("struct ").filter(|name| !name.contains(' '))
            {
                // The name helps for the author's own settings.
                return format!("an object (`{name}`)");
            }
            match expected.strip_prefix("a tuple of size ") {
                Some(size) => format!("an array of {size}"),
                None => expected.to_owned(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_follows_the_text() {
        let text = r#"{"a": [1, {"b \"c\"": "x,]", "d": {}}], "e": 2}"#;
        for (last, path) in [
            (r#"{"#, ""),
            (r#"{"a": "#, "a"),
            (r#"{"a": ["#, "a[0]"),
            (r#"{"a": [1"#, "a[0]"),
            (r#"{"a": [1, "#, "a[1]"),
            (r#"{"a": [1, {"b \"c\"": "x,]""#, "a[1].b \"c\""),
            (r#"{"a": [1, {"b \"c\"": "x,]", "d": "#, "a[1].d"),
            (r#"{"a": [1, {"b \"c\"": "x,]", "d": {}"#, "a[1].d"),
            (r#"{"a": [1, {"b \"c\"": "x,]", "d": {}}"#, "a[1]"),
            (r#"{"a": [1, {"b \"c\"": "x,]", "d": {}}]"#, "a"),
            (r#"{"a": [1, {"b \"c\"": "x,]", "d": {}}], "e": 2"#, "e"),
            (text, ""),
        ] {
            assert!(text.starts_with(last), "{last}");
            assert_eq!(path_at(text.as_bytes(), last.len()), path, "{last}");
        }
    }

    #[test]
    fn only_words_of_serde_change() {
        for (serde, json) in [
            ("invalid type: map, expected a sequence", "invalid type: object, expected an array"),
            ("invalid type: sequence, expected a map", "invalid type: array, expected an object"),
            (
                "invalid type: null, expected struct Settings",
                "invalid type: null, expected an object (`Settings`)",
            ),
            (
                "invalid type: map, expected a tuple of size 2",
                "invalid type: object, expected an array of 2",
            ),
            (
                "invalid type: string \"map, expected a map\", expected a sequence",
                "invalid type: string \"map, expected a map\", expected an array",
            ),
            ("invalid type: map, expected a string", "invalid type: object, expected a string"),
            ("unknown field `map`, expected a map", "unknown field `map`, expected a map"),
            ("missing field `sequence`", "missing field `sequence`"),
        ] {
            assert_eq!(in_json(serde.to_owned()), json);
        }
    }

    #[test]
    fn what_serde_says_is_known() {
        let said = |error: serde_json::Error| in_json(error.to_string());
        let error = serde_json::from_value::<Vec<u8>>(serde_json::json!({}));
        assert_eq!(said(error.unwrap_err()), "invalid type: object, expected an array");
        let error =
            serde_json::from_value::<std::collections::BTreeMap<String, u8>>(serde_json::json!([
                1
            ]));
        assert_eq!(said(error.unwrap_err()), "invalid type: array, expected an object");
        let error = serde_json::from_value::<(u8, u8)>(serde_json::json!({}));
        assert_eq!(said(error.unwrap_err()), "invalid type: object, expected an array of 2");
    }
}

#[cfg(test)]
mod locate_tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only errors are looked at")]
    #[serde(deny_unknown_fields)]
    struct Settings {
        #[serde(default)]
        share: Option<Share>,
        #[serde(default)]
        rules: Vec<Rule>,
        #[serde(default)]
        limits: BTreeMap<u8, (u8, u8)>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only errors are looked at")]
    #[serde(rename_all = "snake_case")]
    enum Rule {
        Any,
        Contains { words: Vec<String> },
        Least(u8),
    }

    #[derive(Debug, Deserialize)]
    #[serde(try_from = "f64")]
    struct Share;

    impl TryFrom<f64> for Share {
        type Error = String;

        fn try_from(value: f64) -> Result<Self, String> {
            if value <= 1.0 { Ok(Self) } else { Err(format!("{value} is more than 1")) }
        }
    }

    #[test]
    fn errors_have_the_path_of_their_value() {
        for (value, expected) in [
            (json!({"share": 2}), "config.share: 2 is more than 1"),
            (json!({"share": "a"}), "config.share: invalid type: string \"a\", expected f64"),
            (
                json!({"shares": 1}),
                "config.shares: unknown field `shares`, expected one of `share`, `rules`, `limits`",
            ),
            (
                json!({"rules": ["any", "none"]}),
                "config.rules[1]: unknown variant `none`, expected one of `any`, `contains`, `least`",
            ),
            (
                json!({"rules": [{"least": -1}]}),
                "config.rules[0].least: invalid value: integer `-1`, expected u8",
            ),
            (
                json!({"rules": [{"contains": {"words": ["a", 5]}}]}),
                "config.rules[0].contains.words[1]: invalid type: integer `5`, expected a string",
            ),
            (
                json!({"rules": [{"contains": {}}]}),
                "config.rules[0].contains: missing field `words`",
            ),
            (
                json!({"limits": {"7": [1, 2], "8": [1]}}),
                "config.limits.8: invalid length 1, expected a tuple of size 2",
            ),
            (
                json!({"limits": {"7": [1, 2, 3]}}),
                "config.limits.7: invalid length 3, expected fewer elements in array",
            ),
            (
                json!({"limits": {"x": [1, 2]}}),
                "config.limits: invalid value: expected key to be a number in quotes",
            ),
        ] {
            let error = DecodeError::locate::<Settings>("config", &value).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
