//! The request that exports traces by OTLP.
//!
//! One in JSON stays as it is, down to its spans, so that nothing is lost that this program does not know. One in protobuf is
//! written as JSON; its messages have the names and numbers of `opentelemetry/proto`, and unknown fields are ignored, as the
//! specification asks for. (The crate `opentelemetry-proto` writes fields of unfinished versions that strict readers refuse.)

mod json;

use prost::{Message, Oneof};
use serde::Serialize;
use serde_json::value::RawValue;

pub(crate) use self::json::{Members, hex};

/// The spans of a request that have one resource, whichever form the request had. Objects and spans are JSON.
#[derive(Debug)]
pub(crate) struct OfResource {
    /// The members of the object but its scopes.
    pub(crate) members: Members,
    pub(crate) scopes: Vec<OfScope>,
}

/// The spans of a resource that have one scope.
#[derive(Debug)]
pub(crate) struct OfScope {
    /// The members of the object but its spans.
    pub(crate) members: Members,
    /// The spans; those of protobuf that cannot be decoded are errors.
    pub(crate) spans: Vec<Result<Box<RawValue>, String>>,
}

/// Reads a request in JSON. An empty one has no spans.
///
/// # Errors
///
/// It is not such a request. Unknown members are permitted, but a document that has nothing else is another one.
pub(crate) fn from_json(body: &[u8]) -> Result<Vec<OfResource>, String> {
    let mut request: Members = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if !request.is_empty() && !request.has("resourceSpans") {
        return Err("missing field `resourceSpans`".to_owned());
    }
    let resource = |mut members: Members| {
        let scope = |mut members: Members| {
            let spans = members.take_list("spans")?.into_iter().map(Ok).collect();
            members.check_object("scope")?;
            Ok(OfScope { members, spans })
        };
        let scopes = members.take_list("scopeSpans")?.into_iter().map(scope);
        let scopes = scopes.collect::<Result<_, String>>()?;
        members.check_object("resource")?;
        Ok(OfResource { members, scopes })
    };
    request.take_list("resourceSpans")?.into_iter().map(resource).collect()
}

/// Reads a request in protobuf.
///
/// # Errors
///
/// It is not such a request.
pub(crate) fn from_protobuf(body: &[u8]) -> Result<Vec<OfResource>, String> {
    let request = Request::decode(body).map_err(|error| error.to_string())?;
    let span = |bytes: Vec<u8>| {
        // Values may be nested too deep for the decoder.
        let span = Span::decode(&*bytes).map_err(|error| error.to_string())?;
        json::raw(&span)
    };
    let scope = |scope: ScopeSpans| {
        let mut members = Members::default();
        members.insert("scope", &scope.scope)?;
        members.insert("schemaUrl", &scope.schema_url)?;
        Ok(OfScope { members, spans: scope.spans.into_iter().map(span).collect() })
    };
    let resource = |resource: ResourceSpans| {
        let mut members = Members::default();
        members.insert("resource", &resource.resource)?;
        members.insert("schemaUrl", &resource.schema_url)?;
        let scopes = resource.scope_spans.into_iter().map(scope);
        Ok(OfResource { members, scopes: scopes.collect::<Result<_, String>>()? })
    };
    request.resource_spans.into_iter().map(resource).collect()
}

/// `ExportTraceServiceRequest`.
#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
    #[prost(string, tag = "3")]
    schema_url: String,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    #[serde(skip_serializing_if = "json::is_default")]
    attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "2")]
    #[serde(skip_serializing_if = "json::is_default")]
    dropped_attributes_count: u32,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    /// Each is a message, which is decoded by itself, so that one that cannot be decoded leaves the others.
    #[prost(bytes = "vec", repeated, tag = "2")]
    spans: Vec<Vec<u8>>,
    #[prost(string, tag = "3")]
    schema_url: String,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct Scope {
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "json::is_default")]
    name: String,
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "json::is_default")]
    version: String,
    #[prost(message, repeated, tag = "3")]
    #[serde(skip_serializing_if = "json::is_default")]
    attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "4")]
    #[serde(skip_serializing_if = "json::is_default")]
    dropped_attributes_count: u32,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(serialize_with = "json::id", skip_serializing_if = "json::is_default")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(serialize_with = "json::id", skip_serializing_if = "json::is_default")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "json::is_default")]
    trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    #[serde(serialize_with = "json::id", skip_serializing_if = "json::is_default")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    #[serde(skip_serializing_if = "json::is_default")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    #[serde(serialize_with = "json::number")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    #[serde(serialize_with = "json::number")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    #[serde(skip_serializing_if = "json::is_default")]
    attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "10")]
    #[serde(skip_serializing_if = "json::is_default")]
    dropped_attributes_count: u32,
    #[prost(message, repeated, tag = "11")]
    #[serde(skip_serializing_if = "json::is_default")]
    events: Vec<Event>,
    #[prost(uint32, tag = "12")]
    #[serde(skip_serializing_if = "json::is_default")]
    dropped_events_count: u32,
    #[prost(message, repeated, tag = "13")]
    #[serde(skip_serializing_if = "json::is_default")]
    links: Vec<Link>,
    #[prost(uint32, tag = "14")]
    #[serde(skip_serializing_if = "json::is_default")]
    dropped_links_count: u32,
    #[prost(message, optional, tag = "15")]
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    #[serde(skip_serializing_if = "json::is_default")]
    flags: u32,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[prost(fixed64, tag = "1")]
    #[serde(serialize_with = "json::number")]
    time_unix_nano: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    #[serde(skip_serializing_if = "json::is_default")]
    attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "4")]
    #[serde(skip_serializing_if = "json::is_default")]
    dropped_attributes_count: u32,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(serialize_with = "json::id", skip_serializing_if = "json::is_default")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(serialize_with = "json::id", skip_serializing_if = "json::is_default")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "json::is_default")]
    trace_state: String,
    #[prost(message, repeated, tag = "4")]
    #[serde(skip_serializing_if = "json::is_default")]
    attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "5")]
    #[serde(skip_serializing_if = "json::is_default")]
    dropped_attributes_count: u32,
    #[prost(fixed32, tag = "6")]
    #[serde(skip_serializing_if = "json::is_default")]
    flags: u32,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "json::is_default")]
    message: String,
    #[prost(int32, tag = "3")]
    #[serde(skip_serializing_if = "json::is_default")]
    code: i32,
}

#[derive(Clone, PartialEq, Message, Serialize)]
struct KeyValue {
    #[prost(string, tag = "1")]
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
    IntValue(#[serde(serialize_with = "json::number")] i64),
    #[prost(double, tag = "4")]
    DoubleValue(#[serde(serialize_with = "json::double")] f64),
    #[prost(message, tag = "5")]
    ArrayValue(ArrayValue),
    #[prost(message, tag = "6")]
    KvlistValue(KeyValueList),
    #[prost(bytes, tag = "7")]
    BytesValue(#[serde(serialize_with = "json::base64")] Vec<u8>),
}

#[derive(Clone, PartialEq, Message, Serialize)]
struct ArrayValue {
    #[prost(message, repeated, tag = "1")]
    values: Vec<AnyValue>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
struct KeyValueList {
    #[prost(message, repeated, tag = "1")]
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
    #[serde(serialize_with = "json::number")]
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
