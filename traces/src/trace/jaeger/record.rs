//! Spans and processes.

use std::{collections::HashMap, sync::Arc};

use crate::{
    json::{Object, Value, parse_float, parse_int, scalar_text},
    trace::{
        decoded::Decoded,
        model::{Event, Scope, Span, SpanStatus},
        otlp::{add_span, ids, part_items, take, take_repeated, take_text},
        values::{self, SPAN_ID, Unusable, normalize},
    },
};

/// Nanoseconds per microsecond, the unit of Jaeger's times.
pub(in crate::trace) const MICROSECOND: i128 = 1000;

/// Returns the resource attributes of each process, and warnings of all traces of the file.
pub(in crate::trace) fn processes(value: Value) -> (HashMap<String, Arc<Object>>, Vec<String>) {
    let (mut resources, mut warnings) = (HashMap::new(), Vec::new());
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
                let mut problems = Vec::new();
                resource.extend(tags(take(&mut process, "tags"), "tags", &mut problems));
                warnings.extend(problems.iter().map(|problem| format!("a process: {problem}")));
                resources.insert(id, Arc::new(resource));
            }
        }
        other if other.is_truthy() => {
            warnings.push(format!(
                "processes is {} instead of an object; services are unknown",
                other.kind()
            ));
        }
        _ => {}
    }
    (resources, warnings)
}

/// Adds a span to `out`. A span without an id is skipped.
pub(in crate::trace) fn span(
    mut object: Object,
    processes: &HashMap<String, Arc<Object>>,
    out: &mut Decoded,
) {
    let repeated = take_repeated(&mut object, out);
    let recorded = [take(&mut object, "traceID"), take(&mut object, "spanID")];
    let Some((trace_id, span_id)) = ids(recorded.each_ref(), out) else { return };
    let mut problems = Vec::new();
    let mut attributes = tags(take(&mut object, "tags"), "tags", &mut problems);
    let start_ns = time(&mut object, "startTime", &mut problems);
    let resource = processes.get(&take_text(&mut object, "processID"));
    attributes.shift_remove("span.kind");
    let status_message = match attributes.shift_remove("otel.status_description") {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let span = Span {
        trace_id,
        span_id,
        parent_span_id: parent(take(&mut object, "references"), &mut problems),
        name: take_text(&mut object, "operationName"),
        start_ns,
        end_ns: start_ns.saturating_add(time(&mut object, "duration", &mut problems)),
        status: status(&mut attributes),
        status_message,
        scope: Arc::new(Scope {
            name: first_text(&mut attributes, ["otel.scope.name", "otel.library.name"]),
            version: first_text(&mut attributes, ["otel.scope.version", "otel.library.version"]),
        }),
        attributes,
        events: events(take(&mut object, "logs"), &mut problems),
        resource: resource.cloned().unwrap_or_default(),
    };
    add_span(span, problems, repeated, out);
}

/// Returns the first reference to a parent with a usable id; the trace of the reference does not matter.
fn parent(value: Value, problems: &mut Vec<String>) -> Option<String> {
    part_items(value, "references", problems).iter().find_map(|reference| {
        let is_parent = reference.get("refType").and_then(Value::as_str) == Some("CHILD_OF");
        normalize(reference.get("spanID").filter(|_| is_parent)?, SPAN_ID)
    })
}

/// Takes the status out of the tags. The tag `error` stays, because the recorded program set it.
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

/// Takes both members and returns the first non-empty text.
fn first_text(attributes: &mut Object, keys: [&str; 2]) -> String {
    let [first, second] = keys.map(|key| match attributes.shift_remove(key) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    });
    if first.is_empty() { second } else { first }
}

/// Decodes logs, which other formats call events.
fn events(value: Value, problems: &mut Vec<String>) -> Vec<Event> {
    let mut events = Vec::new();
    for log in part_items(value, "logs", problems) {
        let Value::Object(mut log) = log else { continue };
        let mut attributes = tags(take(&mut log, "fields"), "fields", problems);
        let name = attributes.shift_remove("event").as_ref().and_then(scalar_text);
        events.push(Event {
            name: name.unwrap_or_else(|| "log".to_owned()),
            time_ns: time(&mut log, "timestamp", problems),
            attributes,
        });
    }
    events
}

/// Returns a list of tags as a map, with the last value of each key. Values written as text get the type of the tag.
pub(in crate::trace) fn tags(value: Value, name: &str, problems: &mut Vec<String>) -> Object {
    let mut out = Object::default();
    for tag in part_items(value, name, problems) {
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
        "binary" => return Value::String(values::base64_text(text)),
        "int64" => parse_int(&text),
        "float64" => parse_float(&text).map(Value::Float),
        _ => None,
    };
    number.unwrap_or(Value::String(text))
}

/// Returns a time in nanoseconds. Only whole microseconds are correct; other values are used as far as possible, with a
/// warning.
fn time(object: &mut Object, key: &str, problems: &mut Vec<String>) -> i128 {
    let value = take(object, key);
    let whole = match &value {
        Value::String(text) => text.is_empty() || parse_int(text).is_some(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => true,
    };
    if !whole {
        problems.push(format!("{key} {}", Unusable::NotAnInteger));
    }
    values::time(&value, MICROSECOND).unwrap_or_else(|problem| {
        problems.push(format!("{key} {problem}"));
        0
    })
}
