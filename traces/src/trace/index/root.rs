//! The object at the top of a text or of a line, whose members tell the format.

use std::mem;

use super::{
    grammar::{Grammar, Stop},
    records::{FileRecords, Records, SpanDraft, Walk},
};
use crate::{
    json::{Value, to_python},
    trace::{
        jaeger,
        otlp::{self, Lists, SPAN_LISTS, SPAN_MEMBERS, no_list},
        unusable::Part,
    },
};

/// Members of an object at the top of a text: two of Jaeger, then those of OTLP.
const MEMBERS: [&str; 23] = [
    "data",
    "errors",
    "trace",
    "status",
    "message",
    "resourceSpans",
    "resource_spans",
    "batches",
    "resourceLogs",
    "resource_logs",
    "traceId",
    "spanId",
    "startTimeUnixNano",
    "attributes",
    "trace_id",
    "span_id",
    "start_time_unix_nano",
    "spanID",
    "SpanId",
    "SpanID",
    "name",
    "operationName",
    "startTime",
];
/// Index in [`MEMBERS`] of the first one of OTLP.
const OTLP: usize = 2;
/// Index in [`MEMBERS`] of the first one that a document inside of another may have.
const WRAPPED: usize = 5;

/// Notes on an object at the top of a text.
pub(super) struct Root {
    pub(super) grammar: Grammar,
    pub(super) is_bare_span: bool,
    pub(super) records: FileRecords,
}

/// Scans the object that starts here, at the top of a text. Returns `None` if it is of none of the expected formats.
pub(super) fn root(walk: &mut Walk<'_>) -> Result<Option<Root>, Stop> {
    let start = walk.scanner.offset();
    let first = if walk.expected.jaeger { 0 } else { OTLP };
    let end = if walk.expected.otlp { MEMBERS.len() } else { OTLP };
    let (spans, root) = walk.apart(0, |walk| {
        let mut object = RootObject::default();
        walk.each_member(&MEMBERS[first..end], |walk, member| {
            object.member(walk, member.map(|member| MEMBERS[first + member]))
        })?;
        object.finish(walk, start)
    })?;
    Ok(root.map(|(grammar, is_bare_span, logs)| {
        let records = FileRecords { spans, logs };
        Root { grammar, is_bare_span, records }
    }))
}

/// The members of an object at the top of a text, so far.
#[derive(Default)]
struct RootObject {
    jaeger: jaeger::Document,
    document: Lists,
    /// The document in the member `trace` of the response of a trace API.
    wrapped: Option<Lists>,
    has_trace: bool,
    status: Option<Value>,
    message: Option<Value>,
    /// The first member of such a response that is repeated.
    repeated: Option<&'static str>,
    span: SpanDraft,
    /// Whether the id of a trace and that of a span are present.
    ids: [bool; 2],
}

impl RootObject {
    fn member(&mut self, walk: &mut Walk<'_>, key: Option<&'static str>) -> Result<(), Stop> {
        match key {
            Some(key @ ("data" | "errors")) => return self.jaeger.member(walk, key),
            Some("trace") => return self.wrapper(walk),
            Some("status") if walk.scanner.peek()? == Some(b'"') => {
                if self.status.replace(walk.scanner.value()?).is_some() {
                    self.repeated.get_or_insert("status");
                }
                return Ok(());
            }
            Some("message") => {
                let (unread, message) = walk.searched_value()?;
                self.document.unread.extend(unread);
                self.message = Some(message);
                return Ok(());
            }
            Some(key) => {
                if let Some(member) = SPAN_MEMBERS.iter().position(|known| *known == key) {
                    if let Some(is_present) = self.ids.get_mut(member) {
                        *is_present = true;
                    }
                    self.document.keys.add(key);
                    let unread = otlp::span_member(walk, &mut self.span, member)?;
                    self.document.unread.extend(unread);
                    return Ok(());
                }
            }
            None => {}
        }
        self.document.member(walk, key)
    }

    /// Scans the value of the member `trace`, which may be a document.
    fn wrapper(&mut self, walk: &mut Walk<'_>) -> Result<(), Stop> {
        if mem::replace(&mut self.has_trace, true) {
            self.repeated.get_or_insert("trace");
        }
        if walk.scanner.peek()? != Some(b'{') {
            self.document.unread.extend(walk.search_unread()?);
            return Ok(());
        }
        let mut inner = Lists::default();
        walk.each_member(&MEMBERS[WRAPPED..], |walk, member| {
            inner.member(walk, member.map(|member| MEMBERS[WRAPPED + member]))
        })?;
        if inner.are_present() {
            self.wrapped = Some(inner);
        } else if inner.keys.are_of_span() || !inner.unread.is_empty() {
            self.document.unread.push("trace".to_owned());
        }
        Ok(())
    }

    /// Returns the format of the object, whether it is a bare span, and its log records. Its spans and its unusable parts are
    /// added to `walk`.
    fn finish(
        mut self,
        walk: &mut Walk<'_>,
        start: usize,
    ) -> Result<Option<(Grammar, bool, Records)>, Stop> {
        let mut logs = Records::default();
        if self.wrapped.is_none() && !self.document.are_present() {
            if self.ids != [false; 2] {
                walk.add_span(Grammar::Otlp, self.span, start)?;
                return Ok(Some((Grammar::Otlp, true, logs)));
            }
            if !self.jaeger.is_present() {
                return Ok(None);
            }
            self.jaeger.finish(walk);
            self.document.unread.iter().for_each(|key| walk.add_unread(key));
            return Ok(Some((Grammar::Jaeger, false, logs)));
        }
        self.document.unread.extend(self.jaeger.unread());
        let has_list = self.document.has_list || self.wrapped.is_some();
        if let Some(wrapped) = self.wrapped {
            if let Some(key) = self.repeated {
                walk.fail_repeated(key);
            }
            if self.status.as_ref().and_then(Value::as_str) == Some("PARTIAL") {
                let message = self.message.as_ref().map_or("no message".to_owned(), to_python);
                walk.skip(Part::ReportedError, &format!("status PARTIAL: {message}"));
            }
            wrapped.finish(walk, &mut logs);
        }
        self.document.finish(walk, &mut logs);
        if !has_list {
            walk.skip(Part::List, &no_list(SPAN_LISTS[0]));
        }
        Ok(Some((Grammar::Otlp, false, logs)))
    }
}
