//! Documents: their traces, spans and processes.

use super::record::processes;
use crate::{
    json::Value,
    trace::{
        error::LoadErrorKind,
        index::{
            grammar::{Grammar, Stop},
            records::{Field, Listed, Records, SpanDraft, Walk},
            tracked::{Found, scan_attributes},
        },
        otlp::no_list,
        unusable::{Part, Side},
    },
};

/// The members `data` and `errors` of a document.
#[derive(Default)]
pub(in crate::trace) struct Document {
    /// Whether `data` is a list; `None` if it is absent.
    is_list: Option<bool>,
    traces: Records,
    errors: Option<Value>,
}

impl Document {
    /// Scans the value of one of the members.
    pub(in crate::trace) fn member(&mut self, walk: &mut Walk<'_>, key: &str) -> Result<(), Stop> {
        match (key, self.is_list, &self.errors) {
            ("data", None, _) => {
                let (traces, is_list) = walk.apart(walk.capacity, traces)?;
                self.traces.append(traces);
                self.is_list = Some(is_list);
            }
            ("errors", _, None) => self.errors = Some(walk.scanner.value()?),
            _ => {
                let (failed, ()) = walk.apart(0, |walk| walk.skip_repeated(key))?;
                self.traces.append(failed);
            }
        }
        Ok(())
    }

    /// Returns true if `data` is present.
    pub(in crate::trace) fn is_present(&self) -> bool {
        self.is_list.is_some()
    }

    /// Returns true if `data` holds spans.
    pub(in crate::trace) fn holds_spans(&self) -> bool {
        !self.traces.ranges.is_empty() || self.traces.unusable.have_spans()
    }

    /// Adds the notes on the traces to those of the file.
    pub(in crate::trace) fn finish(self, walk: &mut Walk<'_>) {
        walk.out.append(self.traces);
        if self.is_list != Some(true) {
            walk.out.fail(LoadErrorKind::NoJaegerData);
        }
        walk.out.unusable.add_reported(&self.errors.unwrap_or_default());
    }
}

/// Scans the value of `data`. Returns true if it is a list.
fn traces(walk: &mut Walk<'_>) -> Result<bool, Stop> {
    if walk.scanner.peek()? != Some(b'[') {
        walk.skip_unread()?;
        return Ok(false);
    }
    walk.each_item((0, "data", Part::List), (Part::Trace, "the trace"), trace)?;
    Ok(true)
}

/// Scans a trace: its spans, and the processes that they name, which may come before them or after.
fn trace(walk: &mut Walk<'_>) -> Result<(), Stop> {
    let first = walk.out.ranges.len();
    let (mut recorded, mut listed) = (None, None);
    walk.each_member(&["processes", "spans"], |walk, member| {
        match member {
            Some(0) if recorded.is_some() => walk.skip_repeated("processes")?,
            Some(0) => recorded = Some(walk.located_value()?),
            Some(_) if listed.is_some() => walk.skip_repeated("spans")?,
            Some(_) => {
                listed = Some(walk.each_record((1, "spans", Part::Trace), Side::Spans, span)?);
            }
            None => walk.skip_unread()?,
        }
        Ok(())
    })?;
    match listed.unwrap_or(Listed::Absent) {
        Listed::Absent => walk.skip(Part::Trace, &no_list("spans")),
        Listed::Items(0) => walk.skip(Part::Trace, "the trace has no spans"),
        Listed::Items(_) | Listed::Unusable => {}
    }
    let mut tracked = Found::default();
    if let Some((location, value)) = recorded {
        let (resources, mut warnings) = processes(value);
        walk.out.warnings.append(&mut warnings);
        // The process of a span is known when the span is read.
        tracked.is_unknown = resources
            .values()
            .any(|process| walk.tracked.keys.iter().any(|key| process.contains_key(*key)));
        walk.add_origins(Some(location), &[(first..walk.out.ranges.len(), None)])?;
    }
    Ok(walk.track_resource(&tracked, first)?)
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
                draft.tracked = scan_attributes(&mut walk.scanner, walk.tracked, Grammar::Jaeger)?;
                return Ok(());
            }
            None => return Ok(walk.scanner.skip_value()?),
        };
        draft.set(field, true, walk.scanner.value()?);
        Ok(())
    })?;
    Ok(walk.add_span(Grammar::Jaeger, draft, start)?)
}
