//! The fast path for Jaeger JSON.

use std::collections::HashMap;

use super::{
    grammar::{Grammar, Stop},
    input::Input,
    otlp,
    reader::{Problem, Reader},
    records::{Field, FileRecords, RecordRange, SpanDraft, Walk, once},
    scan::Scan,
    tracked::{Found, scan_attributes},
};
use crate::{
    json::{Object, ParseError, Value},
    trace::{
        decoded::Decoded,
        error::LoadErrorKind,
        jaeger,
        otlp::no_list,
        unusable::{Part, Side},
    },
};

/// The fast path of the format `jaeger-json`.
#[derive(Debug)]
pub(super) struct Jaeger;

impl Grammar for Jaeger {
    fn keys(&self, is_list: bool) -> &'static [&'static str] {
        if is_list { &[] } else { &["data"] }
    }

    fn id_keys(&self) -> [&'static str; 2] {
        ["traceID", "spanID"]
    }

    fn time_unit(&self) -> i128 {
        jaeger::MICROSECOND
    }

    fn attributes(&self, items: Value) -> Object {
        jaeger::tags(items, "", &mut Vec::new())
    }

    fn mismatch(&self) -> LoadErrorKind {
        LoadErrorKind::NoJaegerData
    }
}

impl Scan for Jaeger {
    fn document(&self, walk: &mut Walk<'_>) -> Result<Option<FileRecords>, Stop> {
        if walk.scanner.peek()? != Some(b'{') {
            walk.scanner.skip_value()?;
            return Ok(None);
        }
        let (mut data, mut errors, mut is_otlp) = (None, None, false);
        let mut keys = vec!["data", "errors"];
        keys.extend(otlp::KEYS);
        walk.each_member(&keys, |walk, member| {
            match member {
                Some(0) => {
                    once(&data)?;
                    let is_list = walk.scanner.peek()? == Some(b'[');
                    if is_list {
                        walk.each_item((0, "data"), (Part::Trace, "the trace"), trace)?;
                    } else {
                        walk.scanner.skip_value()?;
                    }
                    data = Some(is_list);
                }
                Some(1) => {
                    once(&errors)?;
                    errors = Some(walk.scanner.value()?);
                }
                Some(_) => {
                    // The whole-file decoder decides between the formats, unless one is given.
                    is_otlp = true;
                    walk.skip_unread()?;
                }
                None => walk.skip_unread()?,
            }
            Ok(())
        })?;
        if is_otlp && !walk.is_given {
            return Err(Stop::Fallback);
        }
        if data != Some(true) {
            // A text that is not JSON is the first thing to report.
            walk.scanner.finish()?;
            return Err(LoadErrorKind::NoJaegerData.into());
        }
        let mut spans = std::mem::take(&mut walk.out);
        spans.unusable.add_reported(&errors.unwrap_or_default());
        Ok(Some(FileRecords { spans, ..FileRecords::default() }))
    }

    fn lines(
        &self,
        input: &Input<'_>,
        whole: ParseError,
        _walk: &mut Walk<'_>,
    ) -> Result<FileRecords, Stop> {
        if !input.is_given {
            return Err(input.undetected(Some(whole)));
        }
        Err(LoadErrorKind::InvalidJaeger { path: input.path.to_owned(), json: whole }.into())
    }

    fn spans(
        &self,
        reader: &Reader<'_>,
        ranges: &[RecordRange],
        out: &mut Decoded,
    ) -> Result<(), Problem> {
        // Their problems have been reported by the scan.
        let processes =
            reader.resources(ranges, |value| jaeger::processes(value, &mut Decoded::default()))?;
        let none = HashMap::new();
        for range in ranges {
            let processes = reader.resource(range).and_then(|offset| processes.get(&offset));
            for span in reader.objects(range, out)? {
                jaeger::span(span, processes.unwrap_or(&none), out);
            }
        }
        Ok(())
    }
}

/// Scans a trace: its spans, and the processes that they name, which may come before them or after.
fn trace(walk: &mut Walk<'_>) -> Result<(), Stop> {
    let first = walk.out.ranges.len();
    let (mut processes, mut listed) = (None, None);
    walk.each_member(&["processes", "spans"], |walk, member| {
        match member {
            Some(0) => {
                once(&processes)?;
                processes = Some(walk.located_value()?);
            }
            Some(_) => {
                once(&listed)?;
                listed = Some(walk.each_record((1, "spans"), Side::Spans, span)?);
            }
            None => walk.skip_unread()?,
        }
        Ok(())
    })?;
    match listed.flatten() {
        None => walk.skip(Part::Trace, &no_list("spans")),
        Some(0) => walk.skip(Part::Trace, jaeger::NO_SPANS),
        Some(_) => {}
    }
    let mut tracked = Found::default();
    if let Some((location, value)) = processes {
        let mut out = Decoded::default();
        let decoded = jaeger::processes(value, &mut out);
        walk.out.warnings.append(&mut out.file_warnings);
        // The process of a span is known when the span is read.
        tracked.is_unknown = decoded
            .values()
            .any(|process| walk.tracked.keys.iter().any(|key| process.contains_key(*key)));
        walk.add_origins(Some(location), &[(first..walk.out.ranges.len(), None)])?;
    }
    walk.track_resource(&tracked, first)
}

/// Scans the span that starts here.
fn span(walk: &mut Walk<'_>) -> Result<(), Stop> {
    let start = walk.scanner.offset();
    let mut draft = SpanDraft::default();
    walk.each_member(&["traceID", "spanID", "startTime", "tags"], |walk, member| {
        let field = match member {
            Some(0) => Field::TraceId,
            Some(1) => Field::SpanId,
            Some(2) => Field::Start,
            Some(_) => {
                draft.tracked = scan_attributes(&mut walk.scanner, walk.tracked, &Jaeger)?;
                return Ok(());
            }
            None => return Ok(walk.scanner.skip_value()?),
        };
        draft.set(field, true, walk.scanner.value()?);
        Ok(())
    })?;
    walk.add_span(draft, start)
}
