//! Jaeger JSON.

use std::{collections::HashMap, sync::Arc};

use super::{
    bytes, coerce,
    coerce::Unusable,
    error::LoadErrorKind,
    ids::{self, normalize},
    left_out::{Part, missing_id, wrong_kind},
    model::{Event, Scope, Span, SpanStatus},
    otlp::{
        items_or_kind, no_list, no_repeated, none_repeated, part_items, repeated_key, take,
        take_repeated, take_text,
    },
    pool::{Pool, Side},
    stray,
};
use crate::{
    json::{Object, Value},
    json::{parse_float, parse_int, scalar_text},
};

/// Nanoseconds in Jaeger's unit of time.
pub(super) const MICROSECOND: i128 = 1000;

/// Decodes a whole text.
pub(super) fn decode(value: Value, pool: &mut Pool) -> Result<(), LoadErrorKind> {
    let Value::Object(mut document) = value else { return Err(LoadErrorKind::NoJaegerData) };
    no_repeated(&mut document, &["data", "errors"], pool)?;
    let Value::Array(data) = take(&mut document, "data") else {
        return Err(LoadErrorKind::NoJaegerData);
    };
    for (number, item) in data.into_iter().enumerate() {
        pool.position.move_to(0, "data", number);
        match item {
            Value::Object(item) => trace(item, pool)?,
            other => {
                let reason = wrong_kind("the trace", other.kind(), "an object");
                pool.leave_out(Side::Spans, Part::Trace, &reason);
            }
        }
    }
    pool.position.leave(0);
    pool.note_reported(&take(&mut document, "errors"));
    stray::leave_out(&document, pool);
    Ok(())
}

/// Decodes the spans of a trace and the processes they name.
fn trace(mut item: Object, pool: &mut Pool) -> Result<(), LoadErrorKind> {
    no_repeated(&mut item, &["processes", "spans"], pool)?;
    let mut recorded = take(&mut item, "processes");
    if let Value::Object(processes) = &mut recorded {
        none_repeated(processes, pool)?;
    }
    let processes = processes(recorded, pool);
    let value = take(&mut item, "spans");
    stray::leave_out(&item, pool);
    let kind = value.kind();
    let is_null = value.is_null();
    let spans = match items_or_kind(value) {
        Ok(Some(spans)) => spans,
        Ok(None) => {
            let reason =
                if is_null { no_list("spans") } else { wrong_kind("`spans`", kind, "an array") };
            pool.leave_out(Side::Spans, Part::Trace, &reason);
            return Ok(());
        }
        Err(found) => {
            return Err(LoadErrorKind::NotAnArray { path: pool.position.member("spans"), found });
        }
    };
    if spans.is_empty() {
        pool.leave_out(Side::Spans, Part::Trace, NO_SPANS);
    }
    for (number, object) in spans.into_iter().enumerate() {
        pool.position.move_to(1, "spans", number);
        match object {
            Value::Object(object) => span(object, &processes, pool),
            other => {
                let reason = wrong_kind("the span", other.kind(), "an object");
                pool.leave_out(Side::Spans, Part::Span, &reason);
            }
        }
    }
    pool.position.leave(1);
    Ok(())
}

/// Why a trace is left out whose list of spans is empty.
pub(super) const NO_SPANS: &str = "the trace has no spans";

/// The resource attributes of each process.
pub(super) fn processes(value: Value, pool: &mut Pool) -> HashMap<String, Arc<Object>> {
    let mut resources = HashMap::new();
    match value {
        Value::Object(processes) => {
            for (id, process) in processes {
                let Value::Object(mut process) = process else { continue };
                let mut resource = Object::default();
                match take(&mut process, "serviceName") {
                    Value::Null => {}
                    name => {
                        resource.insert("service.name".to_owned(), name);
                    }
                }
                let mut odd = Vec::new();
                resource.extend(tags(take(&mut process, "tags"), "tags", &mut odd));
                pool.warn_file("a process", &mut odd);
                resources.insert(id, Arc::new(resource));
            }
        }
        other if other.is_truthy() => {
            pool.file_warnings.push(format!(
                "processes is {} instead of an object; services are unknown",
                other.kind()
            ));
        }
        _ => {}
    }
    resources
}

/// Adds a span to the pool; without an id, it is left out.
pub(super) fn span(mut object: Object, processes: &HashMap<String, Arc<Object>>, pool: &mut Pool) {
    let repeated = take_repeated(&mut object, pool);
    let trace_id = normalize(&take(&mut object, "traceID"), ids::TRACE);
    let span_id = normalize(&take(&mut object, "spanID"), ids::SPAN);
    let ids = ((trace_id.is_some(), "traceID"), (span_id.is_some(), "spanID"));
    if let Some(reason) = missing_id(ids.0, ids.1) {
        pool.leave_out(Side::Spans, Part::Span, &reason);
    }
    let (Some(trace_id), Some(span_id)) = (trace_id, span_id) else { return };
    let mut odd = Vec::new();
    let mut attributes = tags(take(&mut object, "tags"), "tags", &mut odd);
    let start_ns = time(&mut object, "startTime", &mut odd);
    let resource = processes.get(&take_text(&mut object, "processID"));
    attributes.shift_remove("span.kind");
    attributes.shift_remove("otel.status_description");
    let span = Span {
        trace_id: pool.trace_id(&trace_id),
        span_id,
        parent_span_id: parent(take(&mut object, "references"), &mut odd),
        name: take_text(&mut object, "operationName"),
        start_ns,
        end_ns: start_ns.saturating_add(time(&mut object, "duration", &mut odd)),
        status: status(&mut attributes),
        scope: Arc::new(Scope {
            name: first_text(&mut attributes, ["otel.scope.name", "otel.library.name"]),
            version: first_text(&mut attributes, ["otel.scope.version", "otel.library.version"]),
        }),
        attributes,
        events: events(take(&mut object, "logs"), &mut odd),
        resource: resource.cloned().unwrap_or_default(),
    };
    pool.warn_span(&span, &mut odd);
    if let Some(key) = repeated {
        pool.fail(&span.trace_id, repeated_key(&span.span_id, &key));
    }
    pool.spans.push(span);
}

/// The first reference to a parent with a usable id; the trace it names does not matter.
fn parent(value: Value, odd: &mut Vec<String>) -> Option<String> {
    part_items(value, "references", odd).iter().find_map(|reference| {
        let is_parent = reference.get("refType").and_then(Value::as_str) == Some("CHILD_OF");
        normalize(reference.get("spanID").filter(|_| is_parent)?, ids::SPAN)
    })
}

/// Takes the status out of the tags. The tag `error` stays, as it is the recording's own.
fn status(attributes: &mut Object) -> SpanStatus {
    let code = attributes.shift_remove("otel.status_code").unwrap_or_default();
    let code = code.as_str().unwrap_or_default();
    let error = attributes.get("error").and_then(Value::as_bool).unwrap_or_default();
    if code.eq_ignore_ascii_case("OK") {
        SpanStatus::Ok
    } else if error || code.eq_ignore_ascii_case("ERROR") {
        SpanStatus::Error
    } else {
        SpanStatus::Unset
    }
}

/// Takes both members and gives the first that is a text with content.
fn first_text(attributes: &mut Object, keys: [&str; 2]) -> String {
    let [first, second] = keys.map(|key| match attributes.shift_remove(key) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    });
    if first.is_empty() { second } else { first }
}

/// Jaeger's logs are what others call events.
fn events(value: Value, odd: &mut Vec<String>) -> Vec<Event> {
    let mut events = Vec::new();
    for log in part_items(value, "logs", odd) {
        let Value::Object(mut log) = log else { continue };
        let mut attributes = tags(take(&mut log, "fields"), "fields", odd);
        let name = attributes.shift_remove("event").as_ref().and_then(scalar_text);
        events.push(Event {
            name: name.unwrap_or_else(|| "log".to_owned()),
            time_ns: time(&mut log, "timestamp", odd),
            attributes,
        });
    }
    events
}

/// A list of tags as a map, the last of a key counting. Values written as text get the type that the tag names.
pub(super) fn tags(value: Value, name: &str, odd: &mut Vec<String>) -> Object {
    let mut out = Object::default();
    for tag in part_items(value, name, odd) {
        let Value::Object(mut tag) = tag else { continue };
        let Value::String(key) = take(&mut tag, "key") else { continue };
        let kind = take_text(&mut tag, "type");
        let value = match take(&mut tag, "value") {
            Value::String(text) => typed(&kind, text),
            other => other,
        };
        out.insert(key, value);
    }
    out
}

fn typed(kind: &str, text: String) -> Value {
    let number = match kind {
        "binary" => return Value::String(bytes::text(text)),
        "int64" => parse_int(&text),
        "float64" => parse_float(&text).map(Value::Float),
        _ => None,
    };
    number.unwrap_or(Value::String(text))
}

/// A time in nanoseconds. Only whole microseconds are right; anything else is used as well as possible, with a note.
fn time(object: &mut Object, key: &str, odd: &mut Vec<String>) -> i128 {
    let value = take(object, key);
    let whole = match &value {
        Value::String(text) => text.is_empty() || parse_int(text).is_some(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => true,
    };
    if !whole {
        odd.push(format!("{key} {}", Unusable::NotAnInteger));
    }
    coerce::time(&value, MICROSECOND).unwrap_or_else(|problem| {
        odd.push(format!("{key} {problem}"));
        0
    })
}
