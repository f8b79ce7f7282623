//! The request that exports traces by OTLP: read from protobuf and from JSON, written as JSON.
//!
//! The messages have the names and numbers of `opentelemetry/proto`. Unknown fields are ignored, as the specification asks for.

mod json;

use prost::{Message, Oneof};
use serde::{Deserialize, Deserializer, Serialize};

pub(crate) use self::json::hex;

/// `ExportTraceServiceRequest`.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "json::or_default")]
    pub(crate) resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "json::or_default")]
    pub(crate) scope_spans: Vec<ScopeSpans>,
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    pub(crate) schema_url: String,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Resource {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "2")]
    #[serde(deserialize_with = "json::integer", skip_serializing_if = "json::is_default")]
    dropped_attributes_count: u32,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "json::or_default")]
    pub(crate) spans: Vec<Span>,
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    pub(crate) schema_url: String,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Scope {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    name: String,
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    version: String,
    #[prost(message, repeated, tag = "3")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "4")]
    #[serde(deserialize_with = "json::integer", skip_serializing_if = "json::is_default")]
    dropped_attributes_count: u32,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Span {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(with = "json::id", skip_serializing_if = "json::is_default")]
    pub(crate) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(with = "json::id", skip_serializing_if = "json::is_default")]
    pub(crate) span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    #[serde(with = "json::id", skip_serializing_if = "json::is_default")]
    pub(crate) parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    #[serde(deserialize_with = "json::or_default")]
    name: String,
    #[prost(int32, tag = "6")]
    #[serde(deserialize_with = "json::integer", skip_serializing_if = "json::is_default")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    #[serde(with = "json::number")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    #[serde(with = "json::number")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "10")]
    #[serde(deserialize_with = "json::integer", skip_serializing_if = "json::is_default")]
    dropped_attributes_count: u32,
    #[prost(message, repeated, tag = "11")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    events: Vec<Event>,
    #[prost(uint32, tag = "12")]
    #[serde(deserialize_with = "json::integer", skip_serializing_if = "json::is_default")]
    dropped_events_count: u32,
    #[prost(message, repeated, tag = "13")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    links: Vec<Link>,
    #[prost(uint32, tag = "14")]
    #[serde(deserialize_with = "json::integer", skip_serializing_if = "json::is_default")]
    dropped_links_count: u32,
    #[prost(message, optional, tag = "15")]
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    #[serde(deserialize_with = "json::integer", skip_serializing_if = "json::is_default")]
    flags: u32,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Event {
    #[prost(fixed64, tag = "1")]
    #[serde(with = "json::number")]
    time_unix_nano: u64,
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "json::or_default")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "4")]
    #[serde(deserialize_with = "json::integer", skip_serializing_if = "json::is_default")]
    dropped_attributes_count: u32,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Link {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(with = "json::id", skip_serializing_if = "json::is_default")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(with = "json::id", skip_serializing_if = "json::is_default")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    trace_state: String,
    #[prost(message, repeated, tag = "4")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "5")]
    #[serde(deserialize_with = "json::integer", skip_serializing_if = "json::is_default")]
    dropped_attributes_count: u32,
    #[prost(fixed32, tag = "6")]
    #[serde(deserialize_with = "json::integer", skip_serializing_if = "json::is_default")]
    flags: u32,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "json::or_default", skip_serializing_if = "json::is_default")]
    message: String,
    #[prost(int32, tag = "3")]
    #[serde(deserialize_with = "json::integer", skip_serializing_if = "json::is_default")]
    code: i32,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
struct KeyValue {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "json::or_default")]
    key: String,
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
struct AnyValue {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6, 7")]
    #[serde(flatten)]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Oneof, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::enum_variant_names, reason = "the names are those of the fields in JSON")]
enum Kind {
    #[prost(string, tag = "1")]
    StringValue(String),
    #[prost(bool, tag = "2")]
    BoolValue(bool),
    #[prost(int64, tag = "3")]
    IntValue(#[serde(with = "json::number")] i64),
    #[prost(double, tag = "4")]
    DoubleValue(#[serde(with = "json::double")] f64),
    #[prost(message, tag = "5")]
    ArrayValue(ArrayValue),
    #[prost(message, tag = "6")]
    KvlistValue(KeyValueList),
    #[prost(bytes, tag = "7")]
    BytesValue(#[serde(with = "json::base64")] Vec<u8>),
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
struct ArrayValue {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "json::or_default")]
    values: Vec<AnyValue>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
struct KeyValueList {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "json::or_default")]
    values: Vec<KeyValue>,
}

/// `ExportTraceServiceResponse`.
#[derive(Clone, PartialEq, Eq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Response {
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partial_success: Option<PartialSuccess>,
}

/// The number of spans that were refused, and the reason.
#[derive(Clone, PartialEq, Eq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    #[serde(with = "json::number")]
    pub(crate) rejected_spans: i64,
    #[prost(string, tag = "2")]
    pub(crate) error_message: String,
}

/// `google.rpc.Status`, the body of an error.
#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub(crate) struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}

/// The fields of `AnyValue` in JSON, of which one is set.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Fields {
    string_value: Option<String>,
    bool_value: Option<bool>,
    #[serde(deserialize_with = "some_integer")]
    int_value: Option<i64>,
    double_value: Option<Double>,
    array_value: Option<ArrayValue>,
    kvlist_value: Option<KeyValueList>,
    bytes_value: Option<Bytes>,
}

#[derive(Deserialize)]
struct Double(#[serde(deserialize_with = "json::double::deserialize")] f64);

#[derive(Deserialize)]
struct Bytes(#[serde(deserialize_with = "json::base64::deserialize")] Vec<u8>);

fn some_integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    json::integer(deserializer).map(Some)
}

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Fields::deserialize(deserializer)?;
        let kinds = [
            fields.string_value.map(Kind::StringValue),
            fields.bool_value.map(Kind::BoolValue),
            fields.int_value.map(Kind::IntValue),
            fields.double_value.map(|Double(number)| Kind::DoubleValue(number)),
            fields.array_value.map(Kind::ArrayValue),
            fields.kvlist_value.map(Kind::KvlistValue),
            fields.bytes_value.map(|Bytes(bytes)| Kind::BytesValue(bytes)),
        ];
        Ok(Self { kind: kinds.into_iter().flatten().next() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field of a span, in the spellings that exporters use.
    const ALL: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}],"droppedAttributesCount":1},"scopeSpans":[{"scope":{"name":"n","version":"1","attributes":[{"key":"a","value":{"boolValue":true}}],"droppedAttributesCount":2},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","traceState":"x=y","parentSpanId":"00f067aa0ba902b7","name":"chat \u2028","kind":3,"startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000001000000000","attributes":[{"key":"i","value":{"intValue":"-9007199254740993"}},{"key":"d","value":{"doubleValue":0.5}},{"key":"n","value":{"doubleValue":"NaN"}},{"key":"l","value":{"arrayValue":{"values":[{"stringValue":""},{}]}}},{"key":"k","value":{"kvlistValue":{"values":[{"key":"b","value":{"bytesValue":"aGk="}}]}}},{"key":"e","value":{}}],"droppedAttributesCount":3,"events":[{"timeUnixNano":"5","name":"e","attributes":[],"droppedAttributesCount":4}],"droppedEventsCount":5,"links":[{"traceId":"0af7651916cd43dd8448eb211c80319d","spanId":"b7ad6b7169203332","traceState":"z","attributes":[],"droppedAttributesCount":6,"flags":1}],"droppedLinksCount":7,"status":{"message":"m","code":2},"flags":257}],"schemaUrl":"u"}],"schemaUrl":"v"}]}"#;

    #[test]
    fn json_and_protobuf_say_the_same_and_lose_nothing() {
        let request: Request = serde_json::from_str(ALL).unwrap();
        let decoded = Request::decode(&*request.encode_to_vec()).unwrap();
        let written = serde_json::to_string(&decoded).unwrap();
        let without_empty = ALL.replace(r#""attributes":[],"#, "").replace("\\u2028", "\u{2028}");
        assert_eq!(written, without_empty);
    }

    #[test]
    fn numbers_are_text_or_numbers_and_null_is_absent() {
        let span = |text: &str| serde_json::from_str::<Span>(text);
        let expected = span(r#"{"startTimeUnixNano": "7", "kind": 1}"#).unwrap();
        for text in [
            r#"{"startTimeUnixNano": 7, "kind": "1", "name": null, "status": null}"#,
            r#"{"startTimeUnixNano": 7.0, "kind": 1, "attributes": null, "unknown": [{}]}"#,
        ] {
            assert_eq!(span(text).unwrap(), expected, "{text}");
        }
        for text in [
            r#"{"startTimeUnixNano": "x"}"#,
            r#"{"startTimeUnixNano": -1}"#,
            r#"{"startTimeUnixNano": 7.5}"#,
            r#"{"attributes": {}}"#,
            r#"{"attributes": [{"key": "a", "value": {"intValue": "9223372036854775808"}}]}"#,
            r#"{"attributes": [{"key": "a", "value": {"stringValue": 5}}]}"#,
            r#"{"name": "a", "name": "b"}"#,
        ] {
            assert!(span(text).is_err(), "{text}");
        }
    }
}
