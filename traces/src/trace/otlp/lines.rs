//! JSON lines: an export document or a bare span per line, as collectors write files.

use super::{
    super::{
        error::LoadErrorKind,
        format::{is_document, is_otlp},
        left_out::Position,
        pool::Pool,
    },
    document::{bare_span, document},
};
use crate::{
    json::strip,
    json::{self, MARKED, ParseError, ParseErrorKind, Parsed, Value},
};

/// Decodes every line that is not blank. `whole` is why the text is not one JSON value.
///
/// Lines end with `\n`; other separators of Unicode may stand inside JSON strings and do not end a line. Bare spans
/// come after the spans of all documents.
pub(in super::super) fn decode_lines(
    text: &str,
    whole: &ParseError,
    pool: &mut Pool,
) -> Result<(), LoadErrorKind> {
    let mut spans = Vec::new();
    let mut start = 0;
    for (index, line) in text.split('\n').enumerate() {
        let (line_start, number) = (start, index + 1);
        start += line.len() + 1;
        if strip(line).is_empty() {
            continue;
        }
        let parsed = read_line(line, line_start, number, whole)?;
        pool.replaced_surrogates += parsed.replaced_surrogates;
        pool.repeated_keys |= parsed.repeated_keys;
        pool.position = Position::in_line(number);
        match parsed.value {
            Value::Object(object) if is_document(&object) => document(object, pool)?,
            Value::Object(object) if is_otlp(&object) => spans.push((number, object)),
            _ => return Err(LoadErrorKind::NotOtlpLine { line: number }),
        }
    }
    for (number, span) in spans {
        pool.position = Position::in_line(number);
        bare_span(span, pool);
    }
    pool.position = Position::default();
    Ok(())
}

/// Reads line `number`, which starts at byte `start` of the text.
pub(in super::super) fn read_line(
    line: &str,
    start: usize,
    number: usize,
    whole: &ParseError,
) -> Result<Parsed, LoadErrorKind> {
    json::parse(strip(line), &MARKED).map_err(|error| {
        let skipped = &line[..line.len() - line.trim_start_matches(json::is_space).len()];
        let json = position(error, whole, number, start, skipped);
        LoadErrorKind::InvalidLine { line: number, json }
    })
}

/// The position in the file of an error in a line.
///
/// When the text as a whole is wrong for another reason than a second value following the first, it was meant to be
/// one document, and where that breaks is what helps.
fn position(
    mut error: ParseError,
    whole: &ParseError,
    line: usize,
    line_start: usize,
    skipped: &str,
) -> ParseError {
    if whole.kind != ParseErrorKind::TrailingText {
        return whole.clone();
    }
    error.line = line;
    error.column += skipped.chars().count();
    error.offset += line_start + skipped.len();
    error
}
