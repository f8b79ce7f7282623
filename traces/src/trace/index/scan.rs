//! The scan of a text: one value, or one per line.

use std::sync::Arc;

use indexmap::IndexSet;

use super::{
    grammar::{Grammar, Stop},
    input::Input,
    interner::Interner,
    records::{FileRecords, Origin, Records, Walk},
    root::{Root, root},
    tracked::TrackedAttributes,
};
use crate::{
    json::{ParseError, ParseErrorKind, ScanError},
    trace::{error::LoadErrorKind, model::Scope, otlp::span_list, unusable::Position},
};

/// Notes on a text of a known format.
#[derive(Debug)]
pub(super) struct Scanned {
    pub(super) grammar: Grammar,
    pub(super) records: FileRecords,
    pub(super) origins: Vec<Origin>,
    pub(super) lone_surrogates: usize,
    /// Whether the text is one span, without a document or a list around it.
    pub(super) is_bare_span: bool,
}

/// Scans a text.
///
/// # Errors
///
/// The text cannot be read or used, or is of none of the expected formats.
pub(super) fn scan<'t>(
    input: &Input<'t>,
    tracked: TrackedAttributes,
    names: &'t mut Interner,
    scopes: &'t mut IndexSet<Arc<Scope>>,
) -> Result<Scanned, LoadErrorKind> {
    let expected = input.expected;
    if !expected.otlp && !expected.jaeger {
        return Err(input.undetected(None));
    }
    let length = input.length().map_err(LoadErrorKind::Read)?;
    let mut walk = Walk::new(input.scanner()?, (expected, length), tracked, names, scopes);
    let (grammar, is_bare_span, records) = match value(&mut walk, false).map(|(_, found)| found) {
        Ok(Some(Root { grammar, is_bare_span, records })) => {
            (grammar, is_bare_span, records.checked()?)
        }
        Ok(None) if !expected.is_given => return Err(input.undetected(None)),
        Ok(None) if expected.otlp => return Err(LoadErrorKind::NotOtlp),
        Ok(None) => return Err(LoadErrorKind::NoJaegerData),
        Err(Stop::Load(kind)) => return Err(kind),
        Err(Stop::Scan(ScanError::Interrupted(interrupted))) => return Err(interrupted.into()),
        Err(Stop::Scan(ScanError::Json { kind, offset })) => {
            let bytes = input.bytes().map_err(LoadErrorKind::Read)?;
            let whole = ParseError::in_text(kind, bytes, offset).map_err(LoadErrorKind::Read)?;
            let records = lines(input, whole, &mut walk);
            if records.is_err() {
                // Invalid UTF-8 is reported before anything else.
                input.scanner()?.drain()?;
            }
            (Grammar::Otlp, false, records?)
        }
    };
    let lone_surrogates = walk.scanner.lone_surrogates;
    Ok(Scanned { grammar, records, origins: walk.origins, lone_surrogates, is_bare_span })
}

/// Scans a text, or a line, that is one value. Returns true if a line is blank instead, and what is in it if it is of one of
/// the expected formats.
fn value(walk: &mut Walk<'_>, is_line: bool) -> Result<(bool, Option<Root>), Stop> {
    walk.scanner.begin()?;
    let found = match walk.scanner.peek()? {
        None if is_line => return Ok((true, None)),
        Some(b'{') => root(walk)?,
        Some(b'[') if walk.expected.otlp => span_list(walk)?.map(|spans| Root {
            grammar: Grammar::Otlp,
            is_bare_span: false,
            records: FileRecords { spans, ..FileRecords::default() },
        }),
        _ => {
            walk.scanner.skip_value()?;
            None
        }
    };
    walk.scanner.finish()?;
    Ok((false, found))
}

/// Scans every line that is not blank of a text that is not one value, for the reason `whole`. Only OTLP has lines. If the
/// format is not given, the first line has to be OTLP. Bare spans come after the spans of all documents.
///
/// Lines end with `\n`; other separators of Unicode may stand inside JSON strings and do not end a line.
fn lines<'t>(
    input: &Input<'t>,
    whole: ParseError,
    walk: &mut Walk<'t>,
) -> Result<FileRecords, LoadErrorKind> {
    let mut is_otlp = walk.expected.is_given;
    if is_otlp && !walk.expected.otlp {
        return Err(LoadErrorKind::InvalidJaeger { path: input.path.to_owned(), json: whole });
    }
    let mut found =
        FileRecords { spans: Records::with_capacity(walk.capacity), ..FileRecords::default() };
    let mut bare = Records::default();
    walk.scanner = input.scanner()?.by_line();
    walk.expected.jaeger = false;
    walk.out = Records::default();
    walk.origins.clear();
    walk.capacity = 0;
    let mut number = 1;
    loop {
        walk.position = Position::in_line(number);
        match value(walk, true) {
            Ok((true, _)) => {}
            Ok((_, Some(Root { is_bare_span, records, .. }))) => {
                is_otlp = true;
                let FileRecords { spans, logs } = records.checked()?;
                if is_bare_span { &mut bare } else { &mut found.spans }.append(spans);
                found.logs.append(logs);
            }
            Err(Stop::Load(kind)) => return Err(kind),
            Err(Stop::Scan(ScanError::Interrupted(interrupted))) => return Err(interrupted.into()),
            _ if !is_otlp => break,
            Ok((_, None)) => return Err(LoadErrorKind::NotOtlpLine { line: number }),
            Err(Stop::Scan(ScanError::Json { kind, offset })) => {
                // A text that is wrong for another reason than a second value that follows the first was meant to be one
                // document, and where that breaks is what helps.
                let json = match whole.kind {
                    ParseErrorKind::TrailingText => {
                        let bytes = input.bytes().map_err(LoadErrorKind::Read)?;
                        ParseError::in_text(kind, bytes, offset).map_err(LoadErrorKind::Read)?
                    }
                    _ => whole,
                };
                return Err(LoadErrorKind::InvalidLine { line: number, json });
            }
        }
        if !walk.scanner.next_line()? {
            break;
        }
        number += 1;
    }
    if !is_otlp {
        return Err(input.undetected(Some(whole)));
    }
    found.spans.append(bare);
    Ok(found)
}
