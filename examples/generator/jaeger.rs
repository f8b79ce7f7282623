//! Jaeger JSON, as its user interface and its API export traces.
//!
//! Keys stand in alphabetical order, the order in which they are written.

use serde_json::{Value, json};

use super::span::Span;

/// One indented document with a trace for each trace id, in the order of the spans.
pub(crate) fn export(spans: &[Span]) -> String {
    let traces = spans.chunk_by(|a, b| a.trace_id == b.trace_id);
    let traces = traces.map(|spans| {
        json!({
            "processes": {"p1": {"serviceName": "travel-desk", "tags": []}},
            "spans": spans.iter().map(jaeger_span).collect::<Vec<_>>(),
            "traceID": trace_id(&spans[0]),
        })
    });
    format!("{:#}\n", json!({"data": traces.collect::<Vec<_>>()}))
}

fn trace_id(span: &Span) -> String {
    format!("{:032x}", span.trace_id)
}

fn jaeger_span(span: &Span) -> Value {
    let mut tags: Vec<Value> = span.attributes.iter().map(|(key, value)| tag(key, value)).collect();
    tags.push(tag("span.kind", &json!("internal")));
    tags.push(tag("otel.scope.name", &json!(span.scope)));
    if let Some(error) = span.error {
        tags.push(tag("error", &json!(true)));
        tags.push(tag("otel.status_code", &json!("ERROR")));
        tags.push(tag("otel.status_description", &json!(error)));
    }
    let parent = span.parent_id.map(|parent| {
        let parent = format!("{parent:016x}");
        json!({"refType": "CHILD_OF", "spanID": parent, "traceID": trace_id(span)})
    });
    json!({
        // Microseconds, as `startTime`.
        "duration": span.end_us - span.start_us,
        "logs": [],
        "operationName": span.name,
        "processID": "p1",
        "references": Vec::from_iter(parent),
        "spanID": format!("{:016x}", span.span_id),
        "startTime": span.start_us,
        "tags": tags,
        "traceID": trace_id(span),
    })
}

fn tag(key: &str, value: &Value) -> Value {
    let (kind, value) = match value {
        Value::Bool(_) => ("bool", value.clone()),
        Value::Number(_) => ("int64", value.clone()),
        Value::String(_) => ("string", value.clone()),
        // Jaeger has no lists: exporters write them as JSON text.
        other => ("string", Value::String(other.to_string())),
    };
    json!({"key": key, "type": kind, "value": value})
}
