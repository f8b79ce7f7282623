//! The export request of OTLP, as protobuf and as JSON.
//!
//! The messages are declared here, with the names and numbers of `opentelemetry/proto`, and only the fields that are used.
//! The JSON of the crate `opentelemetry-proto` has fields of unfinished versions that strict receivers refuse
//! (`keyStrindex`), and its answers cannot have 64-bit integers as text, as the specification asks for.

use prost::Message;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{AttributeValue, EventRecord};

/// The instrumentation scope, by which agentevals recognizes results.
const SCOPE: &str = "agentevals";
/// `SEVERITY_NUMBER_INFO`.
const INFO: i32 = 9;
/// The judged span was recorded, so it was sampled.
const SAMPLED: u32 = 1;

/// `ExportLogsServiceRequest`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    #[prost(message, repeated, tag = "1")]
    resource_logs: Vec<ResourceLogs>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceLogs {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_logs: Vec<ScopeLogs>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeLogs {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    log_records: Vec<LogRecord>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct LogRecord {
    #[prost(fixed64, tag = "1")]
    #[serde(serialize_with = "as_text")]
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
    #[serde(serialize_with = "as_hex")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "10")]
    #[serde(serialize_with = "as_hex")]
    span_id: Vec<u8>,
    #[prost(fixed64, tag = "11")]
    #[serde(serialize_with = "as_text")]
    observed_time_unix_nano: u64,
    #[prost(string, tag = "12")]
    event_name: String,
}

#[derive(Clone, PartialEq, Message, Serialize)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
struct AnyValue {
    #[prost(oneof = "AttributeValue", tags = "1, 4")]
    #[serde(flatten)]
    kind: Option<AttributeValue>,
}

/// `ExportLogsServiceResponse`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Response {
    #[prost(message, optional, tag = "1")]
    pub(super) partial_success: Option<PartialSuccess>,
}

/// The number of records that a collector refused, and its reason.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    pub(super) rejected_log_records: i64,
    #[prost(string, tag = "2")]
    pub(super) error_message: String,
}

/// 64-bit integers are text in JSON.
fn as_text<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

fn as_hex<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    serializer.serialize_str(&digits)
}

impl PartialSuccess {
    /// Reads the answer to a request in protobuf; `None` if it is not an answer of OTLP. Some collectors answer in JSON.
    pub(super) fn from_protobuf(answer: &[u8]) -> Option<Self> {
        match Response::decode(answer) {
            Ok(response) => Some(response.partial_success.unwrap_or_default()),
            Err(_) => Self::from_json(answer),
        }
    }

    /// Reads the answer to a request in JSON; `None` if it is not an answer of OTLP. Some collectors answer with nothing.
    pub(super) fn from_json(answer: &[u8]) -> Option<Self> {
        if answer.trim_ascii().is_empty() {
            return Some(Self::default());
        }
        let answer: Map<String, Value> = serde_json::from_slice(answer).ok()?;
        let partial = match answer.get("partialSuccess") {
            None | Some(Value::Null) => return Some(Self::default()),
            Some(partial) => partial.as_object()?,
        };
        let count = match partial.get("rejectedLogRecords") {
            None | Some(Value::Null) => 0,
            Some(count) => count.as_i64().or_else(|| count.as_str()?.parse().ok())?,
        };
        let message = partial.get("errorMessage").and_then(Value::as_str).unwrap_or_default();
        Some(Self { rejected_log_records: count, error_message: message.to_owned() })
    }
}

impl Request {
    /// Returns the request that exports these records, with one time for all of them, in nanoseconds since the epoch.
    pub(super) fn new(
        records: &[EventRecord],
        resource: &[(String, String)],
        time_unix_nano: u64,
    ) -> Self {
        let attributes = resource
            .iter()
            .map(|(key, value)| key_value(key, AttributeValue::Text(value.clone())))
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
}

impl LogRecord {
    fn new(record: &EventRecord, time_unix_nano: u64) -> Self {
        let ids = (id_bytes(&record.trace_id, 16), id_bytes(&record.span_id, 8));
        // Without the ids of its span, a record belongs to no span.
        let (trace_id, span_id, flags) = match ids {
            (Some(trace_id), Some(span_id)) => (trace_id, span_id, SAMPLED),
            _ => Default::default(),
        };
        let attributes = record.attributes.iter();
        let attributes = attributes.map(|(name, value)| key_value(name, value.clone()));
        Self {
            time_unix_nano,
            severity_number: INFO,
            severity_text: "INFO".to_owned(),
            body: Some(AnyValue { kind: None }),
            attributes: attributes.collect(),
            flags,
            trace_id,
            span_id,
            observed_time_unix_nano: time_unix_nano,
            event_name: record.name.to_owned(),
        }
    }
}

fn key_value(key: &str, kind: AttributeValue) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { kind: Some(kind) }) }
}

/// Returns the bytes of a hexadecimal id; `None` if the text is not an id. Short ids, as Jaeger writes them, are padded with
/// zeros.
fn id_bytes(id: &str, length: usize) -> Option<Vec<u8>> {
    let is_id = id.len() <= 2 * length && id.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = u128::from_str_radix(id, 16).ok().filter(|number| is_id && *number != 0)?;
    number.to_be_bytes().get(16 - length..).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(trace_id: &str, span_id: &str) -> EventRecord {
        EventRecord {
            name: "gen_ai.evaluation.result",
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
        let json = serde_json::to_value(&request).unwrap();
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
    fn invalid_ids_are_left_out() {
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
    fn answers_in_json_are_read_and_others_are_none() {
        let check = |json: &str, rejected_log_records, message: &str| {
            let expected =
                PartialSuccess { rejected_log_records, error_message: message.to_owned() };
            assert_eq!(PartialSuccess::from_json(json.as_bytes()), Some(expected), "{json}");
        };
        check(r#"{"partialSuccess": {"rejectedLogRecords": "3", "errorMessage": "no"}}"#, 3, "no");
        check(r#"{"partialSuccess": {"rejectedLogRecords": 3}}"#, 3, "");
        for nothing in ["", " ", "{}", r#"{"partialSuccess": null}"#, r#"{"partialSuccess": {}}"#] {
            check(nothing, 0, "");
            assert!(PartialSuccess::from_protobuf(nothing.as_bytes()).is_some(), "{nothing}");
        }
        let answers = ["[", "[[]]", "<html>", "ok", r#"{"partialSuccess": 3}"#];
        for other in
            answers.into_iter().chain([r#"{"partialSuccess": {"rejectedLogRecords": "x"}}"#])
        {
            assert_eq!(PartialSuccess::from_json(other.as_bytes()), None, "{other}");
            assert_eq!(PartialSuccess::from_protobuf(other.as_bytes()), None, "{other}");
        }
    }
}
