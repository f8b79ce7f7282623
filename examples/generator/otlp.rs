//! OTLP JSON: one document for a whole export, or one per line as collectors' file exporters write them.

use serde::Serialize;
use serde_json::Value;

use crate::span::Span;

const KIND_INTERNAL: u8 = 1;
const STATUS_ERROR: u8 = 2;

/// One indented document with all spans. All of them come from one instrumentation.
pub(crate) fn document(spans: &[Span]) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(&Document::of(spans))?
        + "
")
}

/// A document per span, each on its line: what is left behind when every span is exported as it ends.
pub(crate) fn lines(spans: &[Span]) -> serde_json::Result<String> {
    let mut ended: Vec<&Span> = spans.iter().collect();
    ended.sort_by_key(|span| span.end_us);
    ended
        .into_iter()
        .map(|span| {
            Ok(serde_json::to_string(&Document::of(std::slice::from_ref(span)))?
                + "
")
        })
        .collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    resource_spans: [ResourceSpans; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans {
    resource: Resource,
    scope_spans: [ScopeSpans; 1],
}

#[derive(Serialize)]
struct Resource {
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
struct ScopeSpans {
    scope: Scope,
    spans: Vec<OtlpSpan>,
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OtlpSpan {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute>,
    status: Status,
}

#[derive(Default, Serialize)]
struct Status {
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

#[derive(Serialize)]
struct Attribute {
    key: &'static str,
    value: AnyValue,
}

#[derive(Serialize)]
enum AnyValue {
    #[serde(rename = "stringValue")]
    String(String),
    /// Text, since JSON's own integers may lose digits.
    #[serde(rename = "intValue")]
    Int(String),
    #[serde(rename = "arrayValue")]
    Array { values: Vec<AnyValue> },
}

impl Document {
    fn of(spans: &[Span]) -> Self {
        Self {
            resource_spans: [ResourceSpans {
                resource: Resource {
                    attributes: vec![attribute("service.name", &Value::from("travel-desk"))],
                },
                scope_spans: [ScopeSpans {
                    scope: Scope { name: spans.first().map_or("", |span| span.scope) },
                    spans: spans.iter().map(otlp_span).collect(),
                }],
            }],
        }
    }
}

fn otlp_span(span: &Span) -> OtlpSpan {
    OtlpSpan {
        trace_id: format!("{:032x}", span.trace_id),
        span_id: format!("{:016x}", span.span_id),
        parent_span_id: span.parent_id.map(|id| format!("{id:016x}")),
        name: span.name.clone(),
        kind: KIND_INTERNAL,
        start_time_unix_nano: format!("{}000", span.start_us),
        end_time_unix_nano: format!("{}000", span.end_us),
        attributes: span.attributes.iter().map(|(key, value)| attribute(key, value)).collect(),
        status: span
            .error
            .map(|message| Status { code: Some(STATUS_ERROR), message: Some(message) })
            .unwrap_or_default(),
    }
}

fn attribute(key: &'static str, value: &Value) -> Attribute {
    Attribute { key, value: any_value(value) }
}

fn any_value(value: &Value) -> AnyValue {
    match value {
        Value::String(text) => AnyValue::String(text.clone()),
        Value::Array(values) => AnyValue::Array { values: values.iter().map(any_value).collect() },
        other => AnyValue::Int(other.to_string()),
    }
}
