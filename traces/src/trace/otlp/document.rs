//! Export documents, bare spans, and lines of either.

use std::sync::Arc;

use super::{
    super::{
        decoded::{Decoded, skip_unread},
        error::LoadErrorKind,
        format::TraceFormat,
        index::Indexer,
        model::Scope,
        unusable::{self, Part, Position, Side, wrong_kind},
    },
    attributes::{attributes, camel_keys, items_or_kind, take, take_either},
    record::{log_record, scope, span},
};
use crate::json::{
    self, MARKED, Object, ParseError, ParseErrorKind, Parsed, Value, strip, take_repeated_among,
    take_repeated_key, to_python,
};

/// Members of a document that hold resources with spans.
pub(in crate::trace) const SPAN_LISTS: [&str; 2] = ["resourceSpans", "batches"];
/// The member of a document that holds resources with log records.
pub(in crate::trace) const LOG_LIST: &str = "resourceLogs";

/// The format `otlp-json`: an export document, a bare span, a list of spans, or one of these per line.
#[derive(Debug)]
pub(in crate::trace) struct OtlpJson;

impl TraceFormat for OtlpJson {
    fn name(&self) -> &'static str {
        "otlp-json"
    }

    fn description(&self) -> &'static str {
        "OTLP JSON, one document or one per line"
    }

    fn detect(&self, text: &str, json: &Result<Parsed, ParseError>) -> bool {
        match json.as_ref().map(|parsed| &parsed.value) {
            Ok(Value::Object(object)) => is_otlp(object),
            Ok(Value::Array(items)) => {
                let is_span = |item: &Value| item.as_object().is_some_and(is_span);
                !items.is_empty() && items.iter().all(is_span)
            }
            Ok(_) => false,
            // Perhaps JSON lines: the first line decides.
            Err(_) => {
                let first = strip(text).split('\n').next().unwrap_or_default();
                json::parse_python(strip(first))
                    .is_some_and(|line| line.as_object().is_some_and(is_otlp))
            }
        }
    }

    fn decode(
        &self,
        text: &str,
        json: Result<Parsed, ParseError>,
        out: &mut Decoded,
    ) -> Result<(), LoadErrorKind> {
        match json {
            Ok(parsed) => decode(out.take(parsed), out),
            Err(whole) => decode_lines(text, &whole, out),
        }
    }

    fn indexer(&self) -> Option<Indexer> {
        Some(Indexer::OTLP)
    }
}

/// Returns true for an export document or a bare span.
fn is_otlp(object: &Object) -> bool {
    is_document(object) || is_span(object)
}

/// Returns true for an export document, which may be inside a `trace` member.
fn is_document(object: &Object) -> bool {
    const ROOTS: [&str; 5] =
        ["resourceSpans", "resourceLogs", "batches", "resource_spans", "resource_logs"];
    ROOTS.iter().any(|root| object.contains_key(*root)) || is_wrapper(object)
}

/// Returns true for the response of a trace API that has the document in a `trace` member.
fn is_wrapper(object: &Object) -> bool {
    const LISTS: [&str; 3] = ["resourceSpans", "batches", "resource_spans"];
    object
        .get("trace")
        .and_then(Value::as_object)
        .is_some_and(|trace| LISTS.iter().any(|list| trace.contains_key(*list)))
}

/// Returns true for an object with a key of a bare span.
fn is_span(object: &Object) -> bool {
    object.contains_key("spanId") || object.contains_key("traceId")
}

/// Decodes a text that is one JSON value.
fn decode(value: Value, out: &mut Decoded) -> Result<(), LoadErrorKind> {
    match value {
        Value::Object(object) if is_document(&object) => document(object, out),
        Value::Object(object) if is_otlp(&object) => {
            bare_span(object, out);
            Ok(())
        }
        Value::Array(items) => {
            for (index, item) in items.into_iter().enumerate() {
                out.position.move_to(0, "", index);
                leaf(item, Side::Spans, (&Arc::default(), &Arc::default()), out);
            }
            out.position.leave(0);
            Ok(())
        }
        _ => Err(LoadErrorKind::NotOtlp),
    }
}

/// Decodes a bare span, which has no resource and no scope.
fn bare_span(object: Object, out: &mut Decoded) {
    span(object, &Arc::default(), &Arc::default(), out);
}

/// Decodes an export document, which may be the member `trace` of another.
fn document(mut document: Object, out: &mut Decoded) -> Result<(), LoadErrorKind> {
    if is_wrapper(&document) {
        no_repeated(&mut document, &["trace", "status"], out)?;
        reported_partial(&document, out);
        if let Value::Object(wrapped) = take(&mut document, "trace") {
            lists(wrapped, out)?;
        }
        return lists(document, out).map(drop);
    }
    if !lists(document, out)? {
        out.skip(Side::Spans, Part::List, &no_list(SPAN_LISTS[0]));
    }
    Ok(())
}

/// Adds the status of a trace API that returned only a part of the trace.
fn reported_partial(document: &Object, out: &mut Decoded) {
    if document.get("status").and_then(Value::as_str) == Some("PARTIAL") {
        let message = document.get("message").map_or_else(|| "no message".to_owned(), to_python);
        out.skip(Side::Spans, Part::ReportedError, &format!("status PARTIAL: {message}"));
    }
}

/// Decodes the lists of a document. Returns whether it has one.
fn lists(mut document: Object, out: &mut Decoded) -> Result<bool, LoadErrorKind> {
    if unusable::is_span(&document) {
        out.skip(Side::Spans, Part::Span, "the object is an export document as well as a span");
    }
    camel_keys(&mut document);
    no_repeated(&mut document, &[SPAN_LISTS[0], SPAN_LISTS[1], LOG_LIST], out)?;
    let mut has_list = false;
    for (key, names) in [(SPAN_LISTS[0], &SPANS), (SPAN_LISTS[1], &SPANS), (LOG_LIST, &LOGS)] {
        let value = take(&mut document, key);
        has_list |= !value.is_null();
        resources((key, value), names, out)?;
    }
    skip_unread(&document, out);
    Ok(has_list)
}

/// Names of the members between a list of resources and its spans or log records.
#[derive(Debug)]
pub(in crate::trace) struct Names {
    /// Members of a resource; the second is the older name.
    pub(in crate::trace) scopes: [&'static str; 2],
    /// The member of a scope.
    pub(in crate::trace) leaves: &'static str,
    /// Both in `snake_case`.
    pub(in crate::trace) snake_scopes: [&'static str; 2],
    pub(in crate::trace) snake_leaves: &'static str,
    pub(in crate::trace) side: Side,
}

/// Names in a list of resources with spans.
pub(in crate::trace) const SPANS: Names = Names {
    scopes: ["scopeSpans", "instrumentationLibrarySpans"],
    leaves: "spans",
    snake_scopes: ["scope_spans", "instrumentation_library_spans"],
    snake_leaves: "spans",
    side: Side::Spans,
};
/// Names in a list of resources with log records.
pub(in crate::trace) const LOGS: Names = Names {
    scopes: ["scopeLogs", "instrumentationLibraryLogs"],
    leaves: "logRecords",
    snake_scopes: ["scope_logs", "instrumentation_library_logs"],
    snake_leaves: "log_records",
    side: Side::Logs,
};

fn resources(
    (key, value): (&'static str, Value),
    names: &Names,
    out: &mut Decoded,
) -> Result<(), LoadErrorKind> {
    if value.is_null() {
        return Ok(());
    }
    for (index, item) in list(value, key, (Part::List, names), out)?.into_iter().enumerate() {
        out.position.move_to(0, key, index);
        match item {
            Value::Object(item) => resource(item, names, out)?,
            other => {
                let reason = wrong_kind("the resource", other.kind(), "an object");
                out.skip(names.side, Part::Resource, &reason);
            }
        }
    }
    out.position.leave(0);
    Ok(())
}

fn resource(mut item: Object, names: &Names, out: &mut Decoded) -> Result<(), LoadErrorKind> {
    camel_keys(&mut item);
    no_repeated(&mut item, &["resource", names.scopes[0], names.scopes[1]], out)?;
    let mut problems = Vec::new();
    let resource = match take(&mut item, "resource") {
        Value::Object(mut resource) => {
            none_repeated(&mut resource, out)?;
            attributes(take(&mut resource, "attributes"), &mut problems)
        }
        _ => Object::default(),
    };
    out.warn_file("a resource", problems);
    let resource = Arc::new(resource);
    let mut has_list = false;
    for key in names.scopes {
        let value = take(&mut item, key);
        if value.is_null() {
            continue;
        }
        has_list = true;
        let groups = list(value, key, (Part::Resource, names), out)?;
        for (index, group) in groups.into_iter().enumerate() {
            out.position.move_to(1, key, index);
            match group {
                Value::Object(group) => scope_group(group, &resource, names, out)?,
                other => {
                    let reason = wrong_kind("the scope", other.kind(), "an object");
                    out.skip(names.side, Part::Scope, &reason);
                }
            }
        }
        out.position.leave(1);
    }
    if !has_list {
        out.skip(names.side, Part::Resource, &no_list(names.scopes[0]));
    }
    skip_unread(&item, out);
    Ok(())
}

fn scope_group(
    mut group: Object,
    resource: &Arc<Object>,
    names: &Names,
    out: &mut Decoded,
) -> Result<(), LoadErrorKind> {
    camel_keys(&mut group);
    no_repeated(&mut group, &["scope", "instrumentationLibrary", names.leaves], out)?;
    let mut recorded = take_either(&mut group, "scope", "instrumentationLibrary");
    if let Value::Object(scope) = &mut recorded {
        none_repeated(scope, out)?;
    }
    let scope = Arc::new(scope(recorded));
    let value = take(&mut group, names.leaves);
    skip_unread(&group, out);
    if value.is_null() {
        out.skip(names.side, Part::Scope, &no_list(names.leaves));
        return Ok(());
    }
    let items = list(value, names.leaves, (Part::Scope, names), out)?;
    for (index, item) in items.into_iter().enumerate() {
        out.position.move_to(2, names.leaves, index);
        leaf(item, names.side, (&scope, resource), out);
    }
    out.position.leave(2);
    Ok(())
}

/// Decodes a span or a log record, or notes that it is neither.
fn leaf(
    item: Value,
    side: Side,
    (scope, resource): (&Arc<Scope>, &Arc<Object>),
    out: &mut Decoded,
) {
    match (item, side) {
        (Value::Object(object), Side::Spans) => span(object, scope, resource, out),
        (Value::Object(object), Side::Logs) => log_record(object, out),
        (other, side) => {
            let (part, name) = side.part();
            out.skip(side, part, &wrong_kind(name, other.kind(), "an object"));
        }
    }
}

/// Returns the reason for skipping a resource or a scope without this list.
pub(in crate::trace) fn no_list(key: &str) -> String {
    format!("no `{key}`")
}

/// Returns the items of a list. If the value is a text or an object instead, the part that contains the list is skipped.
fn list(
    value: Value,
    key: &'static str,
    (part, names): (Part, &Names),
    out: &mut Decoded,
) -> Result<Vec<Value>, LoadErrorKind> {
    let kind = value.kind();
    match items_or_kind(value) {
        Ok(Some(items)) => Ok(items),
        Ok(None) => {
            let reason = wrong_kind(&format!("`{key}`"), kind, "an array");
            out.skip(names.side, part, &reason);
            Ok(Vec::new())
        }
        Err(found) => Err(LoadErrorKind::NotAnArray { path: out.position.member(key), found }),
    }
}

/// Refuses an object that has one of these keys more than once, of which only one would be read.
pub(in crate::trace) fn no_repeated(
    object: &mut Object,
    keys: &[&'static str],
    out: &Decoded,
) -> Result<(), LoadErrorKind> {
    match take_repeated_among(object, keys) {
        Some(key) => Err(out.repeated(key)),
        None => Ok(()),
    }
}

/// Refuses an object that has a repeated key, in it or in what it holds.
pub(in crate::trace) fn none_repeated(
    object: &mut Object,
    out: &Decoded,
) -> Result<(), LoadErrorKind> {
    match take_repeated_key(object) {
        Some(key) => Err(out.repeated(&key)),
        None => Ok(()),
    }
}

/// Decodes every line that is not blank. `whole` is the reason why the text is not one JSON value.
///
/// Lines end with `\n`; other separators of Unicode may stand inside JSON strings and do not end a line. Bare spans
/// come after the spans of all documents.
fn decode_lines(text: &str, whole: &ParseError, out: &mut Decoded) -> Result<(), LoadErrorKind> {
    let mut spans = Vec::new();
    let mut start = 0;
    for (index, line) in text.split('\n').enumerate() {
        let (line_start, number) = (start, index + 1);
        start += line.len() + 1;
        if strip(line).is_empty() {
            continue;
        }
        let parsed = read_line(line, line_start, number, whole)?;
        out.position = Position::in_line(number);
        match out.take(parsed) {
            Value::Object(object) if is_document(&object) => document(object, out)?,
            Value::Object(object) if is_otlp(&object) => spans.push((number, object)),
            _ => return Err(LoadErrorKind::NotOtlpLine { line: number }),
        }
    }
    for (number, span) in spans {
        out.position = Position::in_line(number);
        bare_span(span, out);
    }
    out.position = Position::default();
    Ok(())
}

/// Reads line `number`, which starts at byte `start` of the text.
pub(in crate::trace) fn read_line(
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

/// Returns the position in the file of an error in a line.
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
