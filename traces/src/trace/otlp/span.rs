//! Spans, their events, and log records.

use std::sync::Arc;

use super::{
    super::{
        coerce,
        ids::{self, normalize},
        left_out::{Part, missing_id, wrong_kind},
        model::{Event, LogRecord, Scope, Span, SpanStatus},
        pool::{Pool, PooledLog, Side},
    },
    attributes::{any_value, attributes},
    part_items,
    proto_names::camel_keys,
    take, take_object, take_text,
};
use crate::json::{Object, REPEATED_KEY, Value, take_repeated_key};

/// Adds a span to the pool; without an id, it is left out.
pub(in super::super) fn span(
    mut object: Object,
    scope: &Arc<Scope>,
    resource: &Arc<Object>,
    pool: &mut Pool,
) {
    camel_keys(&mut object);
    let repeated = take_repeated(&mut object, pool);
    let trace_id = normalize(&take(&mut object, "traceId"), ids::TRACE);
    let span_id = normalize(&take(&mut object, "spanId"), ids::SPAN);
    let ids = ((trace_id.is_some(), "traceId"), (span_id.is_some(), "spanId"));
    if let Some(reason) = missing_id(ids.0, ids.1) {
        pool.leave_out(Side::Spans, Part::Span, &reason);
    }
    let (Some(trace_id), Some(span_id)) = (trace_id, span_id) else { return };
    let mut odd = Vec::new();
    let span = Span {
        trace_id: pool.trace_id(&trace_id),
        span_id,
        parent_span_id: normalize(&take(&mut object, "parentSpanId"), ids::SPAN),
        name: take_text(&mut object, "name"),
        start_ns: time(&mut object, "startTimeUnixNano", &mut odd),
        end_ns: time(&mut object, "endTimeUnixNano", &mut odd),
        status: status(&take(&mut take_object(&mut object, "status"), "code")),
        attributes: attributes(take(&mut object, "attributes"), &mut odd),
        events: events(take(&mut object, "events"), &mut odd),
        scope: Arc::clone(scope),
        resource: Arc::clone(resource),
    };
    pool.warn_span(&span, &mut odd);
    if let Some(key) = repeated {
        pool.fail(&span.trace_id, repeated_key(&span.span_id, &key));
    }
    pool.spans.push(span);
}

/// Takes the first repeated key out of a span or a log record, if there is one.
pub(in super::super) fn take_repeated(object: &mut Object, pool: &Pool) -> Option<String> {
    // Keys in two spellings are marked in any text.
    let may_have = pool.repeated_keys || object.contains_key(REPEATED_KEY);
    if may_have { take_repeated_key(object) } else { None }
}

/// The error of a trace with a span that has a key more than once.
pub(in super::super) fn repeated_key(span_id: &str, key: &str) -> String {
    format!("span {span_id}: the key `{key}` is repeated")
}

/// Adds a log record to the pool, unless it belongs to no trace.
pub(in super::super) fn log_record(mut object: Object, pool: &mut Pool) {
    camel_keys(&mut object);
    let repeated = take_repeated(&mut object, pool);
    let recorded = take(&mut object, "traceId");
    let Some(trace_id) = normalize(&recorded, ids::TRACE) else {
        if let Some(reason) = odd_trace_id(&recorded) {
            pool.leave_out(Side::Logs, Part::LogRecord, &reason);
        }
        return;
    };
    let mut odd = Vec::new();
    let attributes = attributes(take(&mut object, "attributes"), &mut odd);
    let body = match take(&mut object, "body") {
        Value::Object(body) => any_value(body, &mut odd).unwrap_or_default(),
        _ => Value::Null,
    };
    let mut event_name = take_text(&mut object, "eventName");
    for key in ["otel.event.name", "event.name"] {
        if event_name.is_empty() {
            event_name = attributes.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        }
    }
    let mut recorded = |key| Some(time(&mut object, key, &mut odd)).filter(|&time| time != 0);
    let record = LogRecord {
        time_ns: recorded("timeUnixNano"),
        observed_time_ns: recorded("observedTimeUnixNano"),
        event_name,
        body,
        attributes,
    };
    let log = PooledLog {
        trace_id: pool.trace_id(&trace_id),
        span_id: normalize(&take(&mut object, "spanId"), ids::SPAN),
        record,
    };
    pool.warn(&log.trace_id, "a log record", &mut odd);
    if let Some(key) = repeated {
        pool.fail(&log.trace_id, format!("a log record: the key `{key}` is repeated"));
    }
    pool.logs.push(log);
}

/// Why a log record is left out whose trace id is not one; `None` if it has none.
pub(in super::super) fn odd_trace_id(recorded: &Value) -> Option<String> {
    let is_absent = matches!(recorded, Value::Null | Value::String(_));
    (!is_absent).then(|| wrong_kind("the `traceId` of the log record", recorded.kind(), "a string"))
}

fn events(value: Value, odd: &mut Vec<String>) -> Vec<Event> {
    let mut events = Vec::new();
    for item in part_items(value, "events", odd) {
        if let Value::Object(mut event) = item {
            camel_keys(&mut event);
            events.push(Event {
                name: take_text(&mut event, "name"),
                time_ns: time(&mut event, "timeUnixNano", odd),
                attributes: attributes(take(&mut event, "attributes"), odd),
            });
        }
    }
    events
}

fn time(object: &mut Object, key: &str, odd: &mut Vec<String>) -> i128 {
    coerce::time(&take(object, key), 1).unwrap_or_else(|problem| {
        odd.push(format!("{key} {problem}"));
        0
    })
}

/// The status behind a code: the name of the enum or its number.
fn status(code: &Value) -> SpanStatus {
    let number = match code.as_str() {
        Some("STATUS_CODE_OK") => Some(1),
        Some("STATUS_CODE_ERROR") => Some(2),
        _ => coerce::integer(code).ok().and_then(|number| number.as_i128()),
    };
    match number {
        Some(1) => SpanStatus::Ok,
        Some(2) => SpanStatus::Error,
        _ => SpanStatus::Unset,
    }
}
