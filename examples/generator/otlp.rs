//! OTLP JSON: one document for a whole export, or one per line as collectors' file exporters write them.
//!
//! Keys stand in alphabetical order, the order in which they are written.

use serde_json::{Value, json};

use super::span::Span;

const KIND_INTERNAL: u8 = 1;
const STATUS_ERROR: u8 = 2;

/// One indented document with all spans. All of them come from one instrumentation.
pub(crate) fn document(spans: &[Span]) -> String {
    format!("{:#}\n", export(spans))
}

/// A document per span, each on its line: what is left behind when every span is exported as it ends.
pub(crate) fn lines(spans: &[Span]) -> String {
    let mut ended: Vec<&Span> = spans.iter().collect();
    ended.sort_by_key(|span| span.end_us);
    ended.into_iter().map(|span| format!("{}\n", export(std::slice::from_ref(span)))).collect()
}

fn export(spans: &[Span]) -> Value {
    let scope = spans.first().map_or("", |span| span.scope);
    json!({"resourceSpans": [{
        "resource": {"attributes": [attribute("service.name", &json!("travel-desk"))]},
        "scopeSpans": [{
            "scope": {"name": scope},
            "spans": spans.iter().map(otlp_span).collect::<Vec<_>>(),
        }],
    }]})
}

fn otlp_span(span: &Span) -> Value {
    let attributes = span.attributes.iter().map(|(key, value)| attribute(key, value));
    let status = span.error.map(|message| json!({"code": STATUS_ERROR, "message": message}));
    json!({
        "attributes": attributes.collect::<Vec<_>>(),
        "endTimeUnixNano": format!("{}000", span.end_us),
        "kind": KIND_INTERNAL,
        "name": span.name,
        "parentSpanId": span.parent_id.map(|id| format!("{id:016x}")).unwrap_or_default(),
        "spanId": format!("{:016x}", span.span_id),
        "startTimeUnixNano": format!("{}000", span.start_us),
        "status": status.unwrap_or_else(|| json!({})),
        "traceId": format!("{:032x}", span.trace_id),
    })
}

fn attribute(key: &str, value: &Value) -> Value {
    json!({"key": key, "value": any_value(value)})
}

fn any_value(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({"stringValue": text}),
        Value::Array(values) => {
            json!({"arrayValue": {"values": values.iter().map(any_value).collect::<Vec<_>>()}})
        }
        // Text, since JSON's own integers may lose digits.
        other => json!({"intValue": other.to_string()}),
    }
}
