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
        unusable::{Part, SPAN_KEYS, Side, SpanKeys},
    },
};

/// The members `data` and `errors` of a document.
#[derive(Default)]
pub(in crate::trace) struct Document {
    /// Whether `data` is a list; `None` if it is absent.
    is_list: Option<bool>,
    traces: Records,
    errors: Option<Value>,
    /// `errors`, and members that are repeated, if they hold spans.
    unread: Vec<String>,
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
            ("errors", _, None) => {
                let (unread, errors) = walk.searched_value()?;
                self.unread.extend(unread);
                self.errors = Some(errors);
            }
            _ => {
                let (failed, unread) = walk.apart(0, |walk| {
                    walk.fail_repeated(key);
                    walk.search_unread()
                })?;
                self.traces.append(failed);
                self.unread.extend(unread);
            }
        }
        Ok(())
    }

    /// Returns true if `data` is present.
    pub(in crate::trace) fn is_present(&self) -> bool {
        self.is_list.is_some()
    }

    /// Returns the keys of the members that hold spans, which are not read in a document of another format.
    pub(in crate::trace) fn unread(self) -> impl Iterator<Item = String> {
        let Records { ranges, unusable, hide_spans, .. } = self.traces;
        let has_data = !ranges.is_empty() || unusable.have_spans() || hide_spans;
        has_data.then(|| "data".to_owned()).into_iter().chain(self.unread)
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
    let members = [&["processes", "spans"][..], &SPAN_KEYS].concat();
    walk.each_item((0, "data", Part::List), (Part::Trace, "the trace"), |walk| {
        trace(walk, &members)
    })?;
    Ok(true)
}

/// Scans a trace: its spans, and the processes that they name, which may come before them or after. `members` are these, and
/// the keys of a span, which a trace does not have.
fn trace(walk: &mut Walk<'_>, members: &[&str]) -> Result<(), Stop> {
    let first = walk.out.ranges.len();
    let (mut recorded, mut listed) = (None, None);
    let mut keys = SpanKeys::default();
    walk.each_member(members, |walk, member| {
        match member {
            Some(0) if recorded.is_some() => walk.skip_repeated("processes")?,
            Some(0) => recorded = Some(walk.located_value()?),
            Some(1) if listed.is_some() => walk.skip_repeated("spans")?,
            Some(1) => {
                listed = Some(walk.each_record((1, "spans", Part::Trace), Side::Spans, span)?);
            }
            other => {
                keys.add(other.map_or("", |member| members[member]));
                walk.skip_unread()?;
            }
        }
        Ok(())
    })?;
    match listed.unwrap_or(Listed::Absent) {
        Listed::Absent if keys.are_of_span() => {
            walk.skip(Part::Span, "a span instead of a trace");
        }
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
