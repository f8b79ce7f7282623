//! The export request of OTLP, as protobuf and as JSON.
//!
//! Declared here are the messages and fields that are used, with the numbers of `opentelemetry/proto`.

use prost::Message;
use serde_json::{Value, json};

use super::{AttributeValue, EventRecord};

/// The name of an event.
const EVENT_NAME: &str = "gen_ai.evaluation.result";
/// The instrumentation scope. agentevals knows its own results by it when they come back to it.
const SCOPE: &str = "agentevals";
/// `SEVERITY_NUMBER_INFO`.
const INFO: i32 = 9;
/// The judged span was sampled, or nobody would have recorded it.
const SAMPLED: u32 = 1;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Request {
    #[prost(message, repeated, tag = "1")]
    resource_logs: Vec<ResourceLogs>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceLogs {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_logs: Vec<ScopeLogs>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeLogs {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    log_records: Vec<LogRecord>,
}

#[derive(Clone, PartialEq, Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct LogRecord {
    #[prost(fixed64, tag = "1")]
    time_unix_nano: u64,
    #[prost(int32, tag = "2")]
    severity_number: i32,
    #[prost(string, tag = "3")]
    severity_text: String,
    #[prost(message, optional, tag = "5")]
    body: Option<AnyValue>,
    #[prost(message, repeated, tag = "6")]
    attributes: Vec<KeyValue>,
    #[prost(fixed32, tag = "8")]
    flags: u32,
    #[prost(bytes = "vec", tag = "9")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "10")]
    span_id: Vec<u8>,
    #[prost(fixed64, tag = "11")]
    observed_time_unix_nano: u64,
    #[prost(string, tag = "12")]
    event_name: String,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "AnyKind", tags = "1, 4")]
    value: Option<AnyKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum AnyKind {
    #[prost(string, tag = "1")]
    String(String),
    #[prost(double, tag = "4")]
    Double(f64),
}

/// What a collector answers.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Response {
    #[prost(message, optional, tag = "1")]
    pub(super) partial_success: Option<PartialSuccess>,
}

/// What a collector did not take.
#[derive(Clone, PartialEq, Message, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PartialSuccess {
    /// Of JSON, 64-bit integers are texts.
    #[prost(int64, tag = "1")]
    #[serde(deserialize_with = "number_or_text")]
    pub(super) rejected_log_records: i64,
    #[prost(string, tag = "2")]
    pub(super) error_message: String,
}

fn number_or_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let value = <Value as serde::Deserialize>::deserialize(deserializer)?;
    Ok(value.as_i64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_default())
}

impl Response {
    /// Reads an answer in JSON. What cannot be read says nothing.
    pub(super) fn from_json(json: &[u8]) -> Self {
        let answer: Value = serde_json::from_slice(json).unwrap_or_default();
        let partial = answer.get("partialSuccess").cloned();
        Self { partial_success: partial.and_then(|partial| serde_json::from_value(partial).ok()) }
    }
}

impl Request {
    /// The request that sends these records, made at this time (nanoseconds since the epoch).
    pub(super) fn new(
        records: &[EventRecord],
        resource: &[(String, String)],
        time_unix_nano: u64,
    ) -> Self {
        let attributes = resource
            .iter()
            .map(|(key, value)| key_value(key, AnyKind::String(value.clone())))
            .collect();
        let scope = Scope { name: SCOPE.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        let log_records =
            records.iter().map(|record| LogRecord::new(record, time_unix_nano)).collect();
        Self {
            resource_logs: vec![ResourceLogs {
                resource: Some(Resource { attributes }),
                scope_logs: vec![ScopeLogs { scope: Some(scope), log_records }],
            }],
        }
    }

    /// The request as OTLP has it in JSON: names in camel case, ids in hexadecimal digits, 64-bit integers as text.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let resource_logs: Vec<Value> = self.resource_logs.iter().map(ResourceLogs::json).collect();
        json!({"resourceLogs": resource_logs}).to_string().into_bytes()
    }
}

impl ResourceLogs {
    fn json(&self) -> Value {
        let attributes = self.resource.as_ref().map(|resource| json_of(&resource.attributes));
        let scope_logs: Vec<Value> = self
            .scope_logs
            .iter()
            .map(|logs| {
                let scope = logs.scope.as_ref();
                let scope =
                    scope.map(|scope| json!({"name": scope.name, "version": scope.version}));
                let records: Vec<Value> = logs.log_records.iter().map(LogRecord::json).collect();
                json!({"scope": scope, "logRecords": records})
            })
            .collect();
        json!({"resource": {"attributes": attributes}, "scopeLogs": scope_logs})
    }
}

impl LogRecord {
    fn new(record: &EventRecord, time_unix_nano: u64) -> Self {
        let ids = (bytes(&record.trace_id, 16), bytes(&record.span_id, 8));
        // A record about a span that cannot be named stands for itself.
        let (trace_id, span_id, flags) = match ids {
            (Some(trace_id), Some(span_id)) => (trace_id, span_id, SAMPLED),
            _ => Default::default(),
        };
        let attributes = record
            .attributes
            .iter()
            .map(|(name, value)| match value {
                AttributeValue::Text(text) => key_value(name, AnyKind::String(text.clone())),
                AttributeValue::Number(number) => key_value(name, AnyKind::Double(*number)),
            })
            .collect();
        Self {
            time_unix_nano,
            severity_number: INFO,
            severity_text: "INFO".to_owned(),
            body: Some(AnyValue { value: None }),
            attributes,
            flags,
            trace_id,
            span_id,
            observed_time_unix_nano: time_unix_nano,
            event_name: EVENT_NAME.to_owned(),
        }
    }

    fn json(&self) -> Value {
        json!({
            "timeUnixNano": self.time_unix_nano.to_string(),
            "observedTimeUnixNano": self.observed_time_unix_nano.to_string(),
            "severityNumber": self.severity_number,
            "severityText": self.severity_text,
            "eventName": self.event_name,
            "body": {},
            "attributes": json_of(&self.attributes),
            "flags": self.flags,
            "traceId": hex(&self.trace_id),
            "spanId": hex(&self.span_id),
        })
    }
}

fn key_value(key: &str, value: AnyKind) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

fn json_of(attributes: &[KeyValue]) -> Vec<Value> {
    let value = |value: &AnyValue| match &value.value {
        Some(AnyKind::String(text)) => json!({"stringValue": text}),
        Some(AnyKind::Double(number)) => json!({"doubleValue": number}),
        None => json!({}),
    };
    attributes
        .iter()
        .map(|entry| json!({"key": entry.key, "value": entry.value.as_ref().map(value)}))
        .collect()
}

/// The bytes of an id, `length` of them; shorter ids, as Jaeger writes them, are filled up with zeros. `None` when the text
/// is no such id.
fn bytes(id: &str, length: usize) -> Option<Vec<u8>> {
    let digits = format!("{id:0>width$}", width = length * 2);
    let is_id = digits.len() == length * 2
        && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        && digits.bytes().any(|digit| digit != b'0');
    if !is_id {
        return None;
    }
    (0..length)
        .map(|index| u8::from_str_radix(digits.get(index * 2..index * 2 + 2)?, 16).ok())
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(trace_id: &str, span_id: &str) -> EventRecord {
        EventRecord {
            trace_id: trace_id.to_owned(),
            span_id: span_id.to_owned(),
            attributes: vec![
                ("gen_ai.evaluation.name", AttributeValue::Text("é".to_owned())),
                ("gen_ai.evaluation.score.value", AttributeValue::Number(1.0)),
            ],
        }
    }

    #[test]
    fn json_says_what_protobuf_says() {
        let resource = [("service.name".to_owned(), "s".to_owned())];
        let request = Request::new(&[record("ab", "0c")], &resource, 5);
        assert_eq!(Request::decode(&*request.encode_to_vec()).unwrap(), request);
        let json: Value = serde_json::from_slice(&request.to_json()).unwrap();
        let text = |text: &str| json!({"stringValue": text});
        assert_eq!(
            json,
            json!({"resourceLogs": [{
                "resource": {"attributes": [{"key": "service.name", "value": text("s")}]},
                "scopeLogs": [{
                    "scope": {"name": "agentevals", "version": env!("CARGO_PKG_VERSION")},
                    "logRecords": [{
                        "timeUnixNano": "5", "observedTimeUnixNano": "5",
                        "severityNumber": 9, "severityText": "INFO",
                        "eventName": "gen_ai.evaluation.result", "body": {}, "flags": 1,
                        "traceId": "000000000000000000000000000000ab", "spanId": "000000000000000c",
                        "attributes": [
                            {"key": "gen_ai.evaluation.name", "value": text("é")},
                            {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 1.0}},
                        ],
                    }],
                }],
            }]})
        );
    }

    #[test]
    fn ids_that_are_none_are_left_out() {
        for (trace_id, span_id) in [
            ("", "1"),
            ("1", "0"),
            ("xyz", "1"),
            ("é", "1"),
            ("+1", "1"),
            ("1", "11111111111111111"),
        ] {
            let request = Request::new(&[record(trace_id, span_id)], &[], 5);
            let record = &request.resource_logs[0].scope_logs[0].log_records[0];
            assert_eq!(
                (record.trace_id.len(), record.span_id.len(), record.flags),
                (0, 0, 0),
                "{trace_id} {span_id}"
            );
        }
    }

    #[test]
    fn answers_in_json_are_read_and_bad_ones_say_nothing() {
        let rejected = |json: &str| {
            Response::from_json(json.as_bytes())
                .partial_success
                .map(|partial| (partial.rejected_log_records, partial.error_message))
        };
        let some = |count, message: &str| Some((count, message.to_owned()));
        assert_eq!(
            rejected(r#"{"partialSuccess": {"rejectedLogRecords": "3", "errorMessage": "no"}}"#),
            some(3, "no")
        );
        assert_eq!(rejected(r#"{"partialSuccess": {"rejectedLogRecords": 3}}"#), some(3, ""));
        for nothing in ["", "{}", "[", r#"{"partialSuccess": 3}"#] {
            assert_eq!(rejected(nothing), None, "{nothing}");
        }
    }
}
