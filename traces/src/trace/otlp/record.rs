//! Spans and log records.

use std::sync::Arc;

use super::{
    super::{
        decoded::Decoded,
        model::{Event, LogRecord, Scope, Span, SpanStatus},
        unusable::wrong_kind,
        values::{self, SPAN_ID, TRACE_ID, normalize},
    },
    attributes::{
        any_value, attributes, camel_keys, object_or_empty, part_items, take, take_all, take_text,
        text_or_empty,
    },
};
use crate::json::{Object, REPEATED_KEY, Value, take_repeated_key};

pub(in crate::trace) fn scope(value: Value) -> Scope {
    match value {
        Value::Object(mut scope) => {
            Scope { name: take_text(&mut scope, "name"), version: take_text(&mut scope, "version") }
        }
        _ => Scope::default(),
    }
}

/// Adds a span to `out`. A span without an id is skipped.
pub(in crate::trace) fn span(
    mut object: Object,
    scope: &Arc<Scope>,
    resource: &Arc<Object>,
    out: &mut Decoded,
) {
    camel_keys(&mut object);
    let repeated = take_repeated(&mut object, out);
    let [
        trace_id,
        span_id,
        parent_span_id,
        name,
        start,
        end,
        recorded_status,
        recorded_attributes,
        recorded_events,
    ] = take_all(
        object,
        [
            "traceId",
            "spanId",
            "parentSpanId",
            "name",
            "startTimeUnixNano",
            "endTimeUnixNano",
            "status",
            "attributes",
            "events",
        ],
    );
    let Some((trace_id, span_id)) = ids([&trace_id, &span_id], out) else { return };
    let mut problems = Vec::new();
    let mut recorded_status = object_or_empty(recorded_status);
    let span = Span {
        trace_id,
        span_id,
        parent_span_id: normalize(&parent_span_id, SPAN_ID),
        name: text_or_empty(name),
        start_ns: time(&start, "startTimeUnixNano", &mut problems),
        end_ns: time(&end, "endTimeUnixNano", &mut problems),
        status: status(&take(&mut recorded_status, "code")),
        status_message: take_text(&mut recorded_status, "message"),
        attributes: attributes(recorded_attributes, &mut problems),
        events: events(recorded_events, &mut problems),
        scope: Arc::clone(scope),
        resource: Arc::clone(resource),
    };
    add_span(span, problems, repeated, out);
}

/// Returns the ids of a span, of which the first is that of its trace; `None` if one is not usable.
pub(in crate::trace) fn ids(
    recorded: [&Value; 2],
    out: &mut Decoded,
) -> Option<(Arc<str>, String)> {
    let trace_id = normalize(recorded[0], TRACE_ID)?;
    Some((out.trace_id(&trace_id), normalize(recorded[1], SPAN_ID)?))
}

/// Adds a span with its problems and its repeated key.
pub(in crate::trace) fn add_span(
    span: Span,
    problems: Vec<String>,
    repeated: Option<String>,
    out: &mut Decoded,
) {
    if let Some(key) = repeated {
        let error = format!("span {}: the key `{key}` is repeated", span.span_id);
        out.add_error(&span.trace_id, error);
    }
    if !problems.is_empty() {
        out.warn(&span.trace_id, &format!("span {}", span.span_id), problems);
    }
    out.add_span(span);
}

/// Takes the first repeated key of a span or a log record.
pub(in crate::trace) fn take_repeated(object: &mut Object, out: &Decoded) -> Option<String> {
    // Fields in both spellings are marked even if the text has no repeated keys.
    let may_have = out.repeated_keys || object.contains_key(REPEATED_KEY);
    if may_have { take_repeated_key(object) } else { None }
}

/// Adds a log record to `out`, unless it belongs to no trace.
pub(in crate::trace) fn log_record(mut object: Object, out: &mut Decoded) {
    camel_keys(&mut object);
    let repeated = take_repeated(&mut object, out);
    let Some(trace_id) = normalize(&take(&mut object, "traceId"), TRACE_ID) else { return };
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
    let mut recorded =
        |key| Some(time(&take(&mut object, key), key, &mut problems)).filter(|&time| time != 0);
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
pub(in crate::trace) fn odd_trace_id(recorded: &Value) -> Option<String> {
    let is_absent = matches!(recorded, Value::Null | Value::String(_));
    (!is_absent).then(|| wrong_kind("the `traceId` of the log record", recorded.kind(), "a string"))
}

fn events(value: Value, problems: &mut Vec<String>) -> Vec<Event> {
    let mut events = Vec::new();
    for item in part_items(value, "events", problems) {
        if let Value::Object(mut event) = item {
            camel_keys(&mut event);
            let [name, recorded_time, recorded_attributes] =
                take_all(event, ["name", "timeUnixNano", "attributes"]);
            events.push(Event {
                name: text_or_empty(name),
                time_ns: time(&recorded_time, "timeUnixNano", problems),
                attributes: attributes(recorded_attributes, problems),
            });
        }
    }
    events
}

fn time(recorded: &Value, key: &str, problems: &mut Vec<String>) -> i128 {
    values::time(recorded, 1).unwrap_or_else(|problem| {
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
