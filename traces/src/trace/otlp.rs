//! OTLP JSON: export documents, bare spans, and either per line.

use std::{mem, sync::Arc};

use super::{
    decoded::{Decoded, Side},
    error::LoadErrorKind,
    format::TraceFormat,
    index::Indexer,
    model::{Event, LogRecord, Scope, Span, SpanStatus},
    unusable::{self, Part, Position, missing_id, wrong_kind},
    values::{self, SPAN_ID, TRACE_ID, normalize},
};
use crate::json::{
    self, MARKED, Object, ParseError, ParseErrorKind, Parsed, REPEATED_KEY, Value, camel_case,
    mark_repeated, scalar_text, strip, take_repeated_among, take_repeated_key, to_python,
};

/// Takes a member out of an object; `null` if it is absent.
pub(super) fn take(object: &mut Object, key: &str) -> Value {
    object.swap_remove(key).unwrap_or_default()
}

/// Takes the first of two members that is truthy.
pub(super) fn take_either(object: &mut Object, key: &str, other: &str) -> Value {
    let value = take(object, key);
    if value.is_truthy() { value } else { take(object, other) }
}

/// Takes a string, empty when it is not one.
pub(super) fn take_text(object: &mut Object, key: &str) -> String {
    match take(object, key) {
        Value::String(text) => text,
        _ => String::new(),
    }
}

/// Takes an object, empty when it is not one.
pub(super) fn take_object(object: &mut Object, key: &str) -> Object {
    match take(object, key) {
        Value::Object(object) => object,
        _ => Object::default(),
    }
}

/// Returns the items of an array; `None` for strings, objects and falsy values.
///
/// # Errors
///
/// The value is a number or `true`, so the document has another format. The error is the type of the value.
pub(super) fn items_or_kind(value: Value) -> Result<Option<Vec<Value>>, &'static str> {
    match value {
        Value::Array(items) => Ok(Some(items)),
        Value::String(_) | Value::Object(_) => Ok(None),
        other if other.is_truthy() => Err(other.kind()),
        _ => Ok(None),
    }
}

/// Returns the items of an array inside a span. A value of the wrong type is ignored with a warning.
pub(super) fn part_items(value: Value, name: &str, problems: &mut Vec<String>) -> Vec<Value> {
    items_or_kind(value).map(Option::unwrap_or_default).unwrap_or_else(|found| {
        problems.push(format!("{name} is {found} instead of an array; ignored"));
        Vec::new()
    })
}

/// Members of a document that hold resources with spans.
pub(super) const SPAN_LISTS: [&str; 2] = ["resourceSpans", "batches"];
/// The member of a document that holds resources with log records.
pub(super) const LOG_LIST: &str = "resourceLogs";

/// The format `otlp-json`: an export document, a bare span, a list of spans, or one of these per line.
#[derive(Debug)]
pub(super) struct OtlpJson;

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
pub(super) fn bare_span(object: Object, out: &mut Decoded) {
    span(object, &Arc::default(), &Arc::default(), out);
}

/// Decodes an export document, which may be the member `trace` of another.
pub(super) fn document(mut document: Object, out: &mut Decoded) -> Result<(), LoadErrorKind> {
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
    unusable::skip_unread(&document, out);
    Ok(has_list)
}

/// Names of the members between a list of resources and its spans or log records.
#[derive(Debug)]
pub(super) struct Names {
    /// Members of a resource; the second is the older name.
    pub(super) scopes: [&'static str; 2],
    /// The member of a scope.
    pub(super) leaves: &'static str,
    /// Both in `snake_case`.
    pub(super) snake_scopes: [&'static str; 2],
    pub(super) snake_leaves: &'static str,
    pub(super) side: Side,
}

/// Names in a list of resources with spans.
pub(super) const SPANS: Names = Names {
    scopes: ["scopeSpans", "instrumentationLibrarySpans"],
    leaves: "spans",
    snake_scopes: ["scope_spans", "instrumentation_library_spans"],
    snake_leaves: "spans",
    side: Side::Spans,
};
/// Names in a list of resources with log records.
pub(super) const LOGS: Names = Names {
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
    unusable::skip_unread(&item, out);
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
    unusable::skip_unread(&group, out);
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
pub(super) fn no_list(key: &str) -> String {
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
pub(super) fn no_repeated(
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
pub(super) fn none_repeated(object: &mut Object, out: &Decoded) -> Result<(), LoadErrorKind> {
    match take_repeated_key(object) {
        Some(key) => Err(out.repeated(&key)),
        None => Ok(()),
    }
}

pub(super) fn scope(value: Value) -> Scope {
    match value {
        Value::Object(mut scope) => {
            Scope { name: take_text(&mut scope, "name"), version: take_text(&mut scope, "version") }
        }
        _ => Scope::default(),
    }
}

/// Maximum depth of values; deeper ones are `null`.
const MAX_DEPTH: usize = 64;

/// Decodes attributes: a list of keys and values, or an object, which some exporters write instead.
///
/// A later value of a key replaces an earlier one. In the object form, nested objects become dotted keys.
pub(super) fn attributes(value: Value, problems: &mut Vec<String>) -> Object {
    let mut out = Object::default();
    match value {
        Value::Array(items) => {
            out.reserve(items.len());
            for item in items {
                let Value::Object(mut item) = item else { continue };
                let (Value::String(key), Value::Object(value)) =
                    (take(&mut item, "key"), take(&mut item, "value"))
                else {
                    continue;
                };
                if let Some(value) = any_value(value, problems) {
                    out.insert(key, value);
                }
            }
        }
        Value::Object(object) => flatten(&mut String::new(), object, &mut out),
        _ => {}
    }
    out
}

/// Returns the value of an `AnyValue`; `None` if it has none of its fields.
pub(super) fn any_value(object: Object, problems: &mut Vec<String>) -> Option<Value> {
    any_value_at(object, 0, problems)
}

fn any_value_at(mut object: Object, depth: usize, problems: &mut Vec<String>) -> Option<Value> {
    if depth > MAX_DEPTH {
        return Some(Value::Null);
    }
    camel_keys(&mut object);
    if let Some(value) = object.swap_remove("stringValue") {
        return Some(Value::String(match value {
            Value::String(text) => text,
            other => scalar_text(&other).unwrap_or_else(|| to_python(&other)),
        }));
    }
    if let Some(value) = object.swap_remove("boolValue") {
        return Some(Value::Bool(match value.as_str() {
            // The only non-empty text that means false.
            Some(text) if text.eq_ignore_ascii_case("false") => false,
            _ => value.is_truthy(),
        }));
    }
    if let Some(value) = object.swap_remove("intValue") {
        return Some(values::integer(&value).unwrap_or_else(|problem| {
            problems.push(format!("an intValue {problem}"));
            Value::Int(0)
        }));
    }
    if let Some(value) = object.swap_remove("doubleValue") {
        return Some(values::float(&value).map_or(Value::Null, Value::Float));
    }
    if let Some(value) = object.swap_remove("bytesValue") {
        return Some(match value {
            Value::String(recorded) => Value::String(values::base64_text(recorded)),
            _ => Value::Null,
        });
    }
    if object.contains_key("arrayValue") {
        let values = take(&mut take_object(&mut object, "arrayValue"), "values");
        let mut out = Vec::new();
        for item in part_items(values, "arrayValue.values", problems) {
            if let Value::Object(item) = item {
                out.push(any_value_at(item, depth + 1, problems).unwrap_or_default());
            }
        }
        return Some(Value::Array(out));
    }
    if object.contains_key("kvlistValue") {
        let values = take(&mut take_object(&mut object, "kvlistValue"), "values");
        let mut out = Object::default();
        for item in part_items(values, "kvlistValue.values", problems) {
            let Value::Object(mut item) = item else { continue };
            let Value::String(key) = take(&mut item, "key") else { continue };
            let value = match take(&mut item, "value") {
                Value::Object(value) => {
                    any_value_at(value, depth + 1, problems).unwrap_or_default()
                }
                _ => Value::Null,
            };
            out.insert(key, value);
        }
        return Some(Value::Object(out));
    }
    None
}

/// Puts the leaves of `object` into `out` under dotted keys that start with `prefix`.
fn flatten(prefix: &mut String, object: Object, out: &mut Object) {
    let length = prefix.len();
    for (key, value) in object {
        prefix.truncate(length);
        prefix.push_str(&key);
        match value {
            Value::Object(inner) => {
                prefix.push('.');
                flatten(prefix, inner, out);
            }
            leaf => {
                out.insert(prefix.clone(), leaf);
            }
        }
    }
    prefix.truncate(length);
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
pub(super) fn read_line(
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

/// Renames the `snake_case` keys of an object to camel case. Objects inside it keep their keys.
///
/// A field in both spellings is marked as a repeated key, and the value of the camel case one counts, as in the index.
pub(super) fn camel_keys(object: &mut Object) {
    if !object.keys().any(|key| is_snake_case(key)) {
        return;
    }
    let recorded = mem::take(object);
    object.reserve(recorded.len());
    for (key, value) in recorded {
        let is_snake = is_snake_case(&key);
        let key = if is_snake { camel_case(&key).into_owned() } else { key };
        let is_repeated = object.contains_key(&key);
        if !(is_snake && is_repeated) {
            object.insert(key.clone(), value);
        }
        if is_repeated {
            mark_repeated(object, key);
        }
    }
}

/// Returns true for a key of several words in lower case.
fn is_snake_case(key: &str) -> bool {
    key.contains('_')
        && key.split('_').all(|word| !word.is_empty())
        && !key.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Adds a span to the out; without an id, it is left out.
pub(super) fn span(
    mut object: Object,
    scope: &Arc<Scope>,
    resource: &Arc<Object>,
    out: &mut Decoded,
) {
    camel_keys(&mut object);
    let repeated = take_repeated(&mut object, out);
    let Some((trace_id, span_id)) = take_ids(&mut object, ["traceId", "spanId"], out) else {
        return;
    };
    let mut problems = Vec::new();
    let span = Span {
        trace_id,
        span_id,
        parent_span_id: normalize(&take(&mut object, "parentSpanId"), SPAN_ID),
        name: take_text(&mut object, "name"),
        start_ns: time(&mut object, "startTimeUnixNano", &mut problems),
        end_ns: time(&mut object, "endTimeUnixNano", &mut problems),
        status: status(&take(&mut take_object(&mut object, "status"), "code")),
        attributes: attributes(take(&mut object, "attributes"), &mut problems),
        events: events(take(&mut object, "events"), &mut problems),
        scope: Arc::clone(scope),
        resource: Arc::clone(resource),
    };
    add_span(span, problems, repeated, out);
}

/// Takes the ids of a span, of which the first is that of its trace. Without them, the span is skipped.
pub(super) fn take_ids(
    object: &mut Object,
    keys: [&str; 2],
    out: &mut Decoded,
) -> Option<(Arc<str>, String)> {
    let trace_id = normalize(&take(object, keys[0]), TRACE_ID);
    let span_id = normalize(&take(object, keys[1]), SPAN_ID);
    if let Some(reason) = missing_id(keys, [trace_id.is_some(), span_id.is_some()]) {
        out.skip(Side::Spans, Part::Span, &reason);
    }
    Some((out.trace_id(&trace_id?), span_id?))
}

/// Adds a span with its problems and its repeated key.
pub(super) fn add_span(
    span: Span,
    problems: Vec<String>,
    repeated: Option<String>,
    out: &mut Decoded,
) {
    let name = format!("span {}", span.span_id);
    if let Some(key) = repeated {
        out.add_error(&span.trace_id, format!("{name}: the key `{key}` is repeated"));
    }
    out.warn(&span.trace_id, &name, problems);
    out.add_span(span);
}

/// Takes the first repeated key of a span or a log record.
pub(super) fn take_repeated(object: &mut Object, out: &Decoded) -> Option<String> {
    // Fields in both spellings are marked even if the text has no repeated keys.
    let may_have = out.repeated_keys || object.contains_key(REPEATED_KEY);
    if may_have { take_repeated_key(object) } else { None }
}

/// Adds a log record to the out, unless it belongs to no trace.
pub(super) fn log_record(mut object: Object, out: &mut Decoded) {
    camel_keys(&mut object);
    let repeated = take_repeated(&mut object, out);
    let recorded = take(&mut object, "traceId");
    let Some(trace_id) = normalize(&recorded, TRACE_ID) else {
        if let Some(reason) = odd_trace_id(&recorded) {
            out.skip(Side::Logs, Part::LogRecord, &reason);
        }
        return;
    };
    let mut problems = Vec::new();
    let attributes = attributes(take(&mut object, "attributes"), &mut problems);
    let body = match take(&mut object, "body") {
        Value::Object(body) => any_value(body, &mut problems).unwrap_or_default(),
        _ => Value::Null,
    };
    let mut event_name = take_text(&mut object, "eventName");
    for key in ["otel.event.name", "event.name"] {
        if event_name.is_empty() {
            event_name = attributes.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        }
    }
    let mut recorded = |key| Some(time(&mut object, key, &mut problems)).filter(|&time| time != 0);
    let record = LogRecord {
        time_ns: recorded("timeUnixNano"),
        observed_time_ns: recorded("observedTimeUnixNano"),
        event_name,
        body,
        attributes,
    };
    let trace_id = out.trace_id(&trace_id);
    out.warn(&trace_id, "a log record", problems);
    if let Some(key) = repeated {
        out.add_error(&trace_id, format!("a log record: the key `{key}` is repeated"));
    }
    out.add_log(trace_id, normalize(&take(&mut object, "spanId"), SPAN_ID), record);
}

/// Returns the reason for skipping a log record whose trace id has the wrong type; `None` if it has no trace id.
pub(super) fn odd_trace_id(recorded: &Value) -> Option<String> {
    let is_absent = matches!(recorded, Value::Null | Value::String(_));
    (!is_absent).then(|| wrong_kind("the `traceId` of the log record", recorded.kind(), "a string"))
}

fn events(value: Value, problems: &mut Vec<String>) -> Vec<Event> {
    let mut events = Vec::new();
    for item in part_items(value, "events", problems) {
        if let Value::Object(mut event) = item {
            camel_keys(&mut event);
            events.push(Event {
                name: take_text(&mut event, "name"),
                time_ns: time(&mut event, "timeUnixNano", problems),
                attributes: attributes(take(&mut event, "attributes"), problems),
            });
        }
    }
    events
}

fn time(object: &mut Object, key: &str, problems: &mut Vec<String>) -> i128 {
    values::time(&take(object, key), 1).unwrap_or_else(|problem| {
        problems.push(format!("{key} {problem}"));
        0
    })
}

/// Returns the status of a code: the name of the enum or its number.
fn status(code: &Value) -> SpanStatus {
    let number = match code.as_str() {
        Some("STATUS_CODE_OK") => Some(1),
        Some("STATUS_CODE_ERROR") => Some(2),
        _ => values::integer(code).ok().and_then(|number| number.as_i128()),
    };
    match number {
        Some(1) => SpanStatus::Ok,
        Some(2) => SpanStatus::Error,
        _ => SpanStatus::Unset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{NonFinite, ParseOptions, parse, take_repeated_key, to_string};

    fn decoded(text: &str) -> (String, Vec<String>) {
        let value = parse(text, &ParseOptions::default()).expect("valid").value;
        let mut problems = Vec::new();
        let attributes = attributes(value, &mut problems);
        (to_string(&Value::Object(attributes), NonFinite::Literal), problems)
    }

    fn value(text: &str) -> String {
        let (attributes, problems) = decoded(&format!(r#"[{{"key": "k", "value": {text}}}]"#));
        assert_eq!(problems, Vec::<String>::new());
        attributes
            .strip_prefix("{\"k\":")
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or("absent")
            .to_owned()
    }

    #[test]
    fn kinds_of_values() {
        for (text, expected) in [
            (r#"{"stringValue": "x"}"#, r#""x""#),
            (r#"{"stringValue": true}"#, r#""True""#),
            (r#"{"stringValue": null}"#, r#""None""#),
            (r#"{"stringValue": 12.5}"#, r#""12.5""#),
            (r#"{"stringValue": [1, "a"]}"#, r#""[1, \"a\"]""#),
            (r#"{"boolValue": "false"}"#, "false"),
            (r#"{"boolValue": 1}"#, "true"),
            (r#"{"intValue": "12.7"}"#, "12"),
            (r#"{"intValue": null}"#, "0"),
            (r#"{"intValue": 100000000000000000000}"#, "100000000000000000000"),
            (r#"{"doubleValue": "9"}"#, "9.0"),
            (r#"{"doubleValue": "Infinity"}"#, "Infinity"),
            (r#"{"doubleValue": "oops"}"#, "null"),
            (r#"{"bytesValue": "aGk="}"#, r#""hi""#),
            (r#"{"bytesValue": "/w=="}"#, r#""/w==""#),
            (
                r#"{"arrayValue": {"values": [{"intValue": 1}, "junk", {}, {"arrayValue": null}]}}"#,
                "[1,null,[]]",
            ),
            (
                r#"{"kvlistValue": {"values": [{"key": "a", "value": {"doubleValue": 1.5}}, {"key": 5}, {"key": "n"}, 7]}}"#,
                r#"{"a":1.5,"n":null}"#,
            ),
            (r#"{"intValue": 1, "stringValue": "first in order"}"#, r#""first in order""#),
            (r#"{"unknownValue": 1}"#, "absent"),
            ("null", "absent"),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn deep_values_end_in_null() {
        let nested = |levels: usize| {
            let text = "{\"arrayValue\": {\"values\": [".repeat(levels)
                + "{\"intValue\": 1}"
                + &"]}}".repeat(levels);
            value(&text)
        };
        assert_eq!(nested(64), format!("{}1{}", "[".repeat(64), "]".repeat(64)));
        assert_eq!(nested(65), format!("{}null{}", "[".repeat(65), "]".repeat(65)));
    }

    #[test]
    fn odd_values_are_noted() {
        let (attributes, problems) = decoded(
            r#"[{"key": "a", "value": {"intValue": "inf"}}, {"key": "b", "value": {"arrayValue": {"values": 5}}}]"#,
        );
        assert_eq!(attributes, r#"{"a":0,"b":[]}"#);
        assert_eq!(
            problems,
            [
                "an intValue is infinite; 0 is used",
                "arrayValue.values is an integer instead of an array; ignored"
            ]
        );
    }

    #[test]
    fn objects_are_flattened() {
        let (attributes, _) =
            decoded(r#"{"a": {"b": {"c": [1, {"d": 2}]}, "e": null}, "a.e": 3, "f": {}}"#);
        assert_eq!(attributes, r#"{"a.b.c":[1,{"d":2}],"a.e":3}"#);
        assert_eq!(decoded("5").0, "{}");
    }

    #[test]
    fn keys_of_the_object_itself_are_renamed() {
        let text = r#"{"start_time_unix_nano": 1, "traceId": "a_b", "attributes": {"a_b": 1}}"#;
        let Ok(Value::Object(mut object)) =
            parse(text, &ParseOptions::default()).map(|parsed| parsed.value)
        else {
            panic!("an object");
        };
        camel_keys(&mut object);
        assert_eq!(
            to_string(&Value::Object(object.clone()), NonFinite::Null),
            r#"{"startTimeUnixNano":1,"traceId":"a_b","attributes":{"a_b":1}}"#
        );
        for text in [r#"{"traceId": "a", "trace_id": "b"}"#, r#"{"trace_id": "b", "traceId": "a"}"#]
        {
            let Ok(Value::Object(mut object)) =
                parse(text, &ParseOptions::default()).map(|parsed| parsed.value)
            else {
                panic!("an object");
            };
            camel_keys(&mut object);
            assert_eq!(object["traceId"].as_str(), Some("a"), "{text}");
            assert_eq!(take_repeated_key(&mut object).as_deref(), Some("traceId"));
        }
    }
}
