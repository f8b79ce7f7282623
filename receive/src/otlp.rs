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
    if !request.0.is_empty() && !request.0.contains_key("resourceSpans") {
        return Err("missing field `resourceSpans`".to_owned());
    }
    let scope = |mut members: Members| {
        let spans = members.take("spans")?.into_iter().map(Ok).collect();
        Ok(OfScope { members, spans })
    };
    let resource = |mut members: Members| {
        let scopes = members.take("scopeSpans")?.into_iter().map(scope);
        Ok(OfResource { scopes: scopes.collect::<Result<_, String>>()?, members })
    };
    request.take("resourceSpans")?.into_iter().map(resource).collect()
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
        json::raw(&Span::decode(&*bytes).map_err(|error| error.to_string())?)
    };
    let members = |key: &str, value: Box<RawValue>, schema_url: String| {
        Members::default().with(key, &value)?.with("schemaUrl", &schema_url)
    };
    let scope = |scope: ScopeSpans| {
        let members = members("scope", json::raw(&scope.scope)?, scope.schema_url)?;
        Ok(OfScope { members, spans: scope.spans.into_iter().map(span).collect() })
    };
    let resource = |resource: ResourceSpans| {
        let members = members("resource", json::raw(&resource.resource)?, resource.schema_url)?;
        let scopes = resource.scope_spans.into_iter().map(scope);
        Ok(OfResource { members, scopes: scopes.collect::<Result<_, String>>()? })
    };
    request.resource_spans.into_iter().map(resource).collect()
}

/// Declares messages. A row is a field: its name, its type, how protobuf encodes it, and how JSON does if that is not as serde does.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident {
        $($field:ident: $type:ty = ($($protobuf:tt)*) $($json:literal)?,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Message, Serialize)]
        #[serde(rename_all = "camelCase")]
        pub(crate) struct $name {$(
            #[prost($($protobuf)*)]
            $(#[serde(serialize_with = $json)])?
            pub(crate) $field: $type,
        )*}
    )*};
}

messages! {
    /// `ExportTraceServiceRequest`.
    Request {
        resource_spans: Vec<ResourceSpans> = (message, repeated, tag = "1"),
    }
    ResourceSpans {
        resource: Option<Resource> = (message, optional, tag = "1"),
        scope_spans: Vec<ScopeSpans> = (message, repeated, tag = "2"),
        schema_url: String = (string, tag = "3"),
    }
    Resource {
        attributes: Vec<KeyValue> = (message, repeated, tag = "1"),
        dropped_attributes_count: u32 = (uint32, tag = "2"),
    }
    /// Each span is a message, which is decoded by itself, so that one that cannot be decoded leaves the others.
    ScopeSpans {
        scope: Option<Scope> = (message, optional, tag = "1"),
        spans: Vec<Vec<u8>> = (bytes = "vec", repeated, tag = "2"),
        schema_url: String = (string, tag = "3"),
    }
    Scope {
        name: String = (string, tag = "1"),
        version: String = (string, tag = "2"),
        attributes: Vec<KeyValue> = (message, repeated, tag = "3"),
        dropped_attributes_count: u32 = (uint32, tag = "4"),
    }
    Span {
        trace_id: Vec<u8> = (bytes = "vec", tag = "1") "json::id",
        span_id: Vec<u8> = (bytes = "vec", tag = "2") "json::id",
        trace_state: String = (string, tag = "3"),
        parent_span_id: Vec<u8> = (bytes = "vec", tag = "4") "json::id",
        name: String = (string, tag = "5"),
        kind: i32 = (int32, tag = "6"),
        start_time_unix_nano: u64 = (fixed64, tag = "7") "json::number",
        end_time_unix_nano: u64 = (fixed64, tag = "8") "json::number",
        attributes: Vec<KeyValue> = (message, repeated, tag = "9"),
        dropped_attributes_count: u32 = (uint32, tag = "10"),
        events: Vec<Event> = (message, repeated, tag = "11"),
        dropped_events_count: u32 = (uint32, tag = "12"),
        links: Vec<Link> = (message, repeated, tag = "13"),
        dropped_links_count: u32 = (uint32, tag = "14"),
        status: Option<Status> = (message, optional, tag = "15"),
        flags: u32 = (fixed32, tag = "16"),
    }
    Event {
        time_unix_nano: u64 = (fixed64, tag = "1") "json::number",
        name: String = (string, tag = "2"),
        attributes: Vec<KeyValue> = (message, repeated, tag = "3"),
        dropped_attributes_count: u32 = (uint32, tag = "4"),
    }
    Link {
        trace_id: Vec<u8> = (bytes = "vec", tag = "1") "json::id",
        span_id: Vec<u8> = (bytes = "vec", tag = "2") "json::id",
        trace_state: String = (string, tag = "3"),
        attributes: Vec<KeyValue> = (message, repeated, tag = "4"),
        dropped_attributes_count: u32 = (uint32, tag = "5"),
        flags: u32 = (fixed32, tag = "6"),
    }
    Status {
        message: String = (string, tag = "2"),
        code: i32 = (int32, tag = "3"),
    }
    KeyValue {
        key: String = (string, tag = "1"),
        value: Option<AnyValue> = (message, optional, tag = "2"),
    }
    ArrayValue {
        values: Vec<AnyValue> = (message, repeated, tag = "1"),
    }
    KeyValueList {
        values: Vec<KeyValue> = (message, repeated, tag = "1"),
    }
    /// `ExportTraceServiceResponse` to a request of which everything was accepted.
    Accepted {}
    /// `ExportTraceServiceResponse` to any other.
    Response {
        partial_success: Option<PartialSuccess> = (message, optional, tag = "1"),
    }
    /// The number of spans that were refused, and the reason.
    PartialSuccess {
        rejected_spans: i64 = (int64, tag = "1") "json::number",
        error_message: String = (string, tag = "2"),
    }
    /// `google.rpc.Status`, the body of an error.
    RpcStatus {
        code: i32 = (int32, tag = "1"),
        message: String = (string, tag = "2"),
    }
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct AnyValue {
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
