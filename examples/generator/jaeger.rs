//! Jaeger JSON, as its user interface and its API export traces.

use serde::Serialize;
use serde_json::{Value, json};

use crate::span::Span;

/// One indented document with a trace for each trace id, in the order of the spans.
pub(crate) fn export(spans: &[Span]) -> serde_json::Result<String> {
    let data = spans.chunk_by(|a, b| a.trace_id == b.trace_id).map(Trace::of).collect();
    Ok(serde_json::to_string_pretty(&Export { data })?
        + "
")
}

#[derive(Serialize)]
struct Export {
    data: Vec<Trace>,
}

#[derive(Serialize)]
struct Trace {
    #[serde(rename = "traceID")]
    trace_id: String,
    spans: Vec<JaegerSpan>,
    processes: Processes,
}

#[derive(Serialize)]
struct Processes {
    p1: Process,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Process {
    service_name: &'static str,
    tags: [Tag; 0],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JaegerSpan {
    #[serde(rename = "traceID")]
    trace_id: String,
    #[serde(rename = "spanID")]
    span_id: String,
    operation_name: String,
    references: Vec<Reference>,
    /// Microseconds.
    start_time: u64,
    /// Microseconds.
    duration: u64,
    tags: Vec<Tag>,
    logs: [Tag; 0],
    #[serde(rename = "processID")]
    process_id: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    ref_type: &'static str,
    #[serde(rename = "traceID")]
    trace_id: String,
    #[serde(rename = "spanID")]
    span_id: String,
}

#[derive(Serialize)]
struct Tag {
    key: &'static str,
    r#type: &'static str,
    value: Value,
}

impl Trace {
    fn of(spans: &[Span]) -> Self {
        Self {
            trace_id: spans.first().map(trace_id).unwrap_or_default(),
            spans: spans.iter().map(jaeger_span).collect(),
            processes: Processes { p1: Process { service_name: "travel-desk", tags: [] } },
        }
    }
}

fn trace_id(span: &Span) -> String {
    format!("{:032x}", span.trace_id)
}

fn jaeger_span(span: &Span) -> JaegerSpan {
    let mut tags: Vec<Tag> = span.attributes.iter().map(|(key, value)| tag(key, value)).collect();
    tags.push(tag("span.kind", &json!("internal")));
    tags.push(tag("otel.scope.name", &json!(span.scope)));
    if let Some(error) = span.error {
        tags.push(tag("error", &json!(true)));
        tags.push(tag("otel.status_code", &json!("ERROR")));
        tags.push(tag("otel.status_description", &json!(error)));
    }
    JaegerSpan {
        trace_id: trace_id(span),
        span_id: format!("{:016x}", span.span_id),
        operation_name: span.name.clone(),
        references: span
            .parent_id
            .map(|parent| Reference {
                ref_type: "CHILD_OF",
                trace_id: trace_id(span),
                span_id: format!("{parent:016x}"),
            })
            .into_iter()
            .collect(),
        start_time: span.start_us,
        duration: span.end_us - span.start_us,
        tags,
        logs: [],
        process_id: "p1",
    }
}

fn tag(key: &'static str, value: &Value) -> Tag {
    let (r#type, value) = match value {
        Value::Bool(_) => ("bool", value.clone()),
        Value::Number(_) => ("int64", value.clone()),
        Value::String(_) => ("string", value.clone()),
        // Jaeger has no lists: exporters write them as JSON text.
        other => ("string", Value::String(other.to_string())),
    };
    Tag { key, r#type, value }
}
