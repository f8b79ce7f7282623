//! Messages in protobuf as JSON: a table of the fields that `opentelemetry/proto` has, and one reader for all of them.
//!
//! The crate `opentelemetry-proto` brings the SDK, its JSON is not that of the specification, and a span that it cannot decode fails
//! the whole request.

use std::str;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use super::hex;

/// Fields of a message: number, name in JSON, kind.
struct Message(&'static [(u64, &'static str, Kind)]);

#[derive(Clone, Copy)]
enum Kind {
    Text,
    /// Bytes that are hexadecimal in JSON.
    Id,
    /// Other bytes.
    Bytes,
    Bool,
    /// At most 32 bits.
    Number,
    /// 64 bits with a sign, which are text in JSON.
    Integer,
    /// Nanoseconds, which are text in JSON; always written.
    Time,
    Double,
    One(&'static Message),
    Many(&'static Message),
    /// Spans. One that cannot be decoded leaves the others.
    Spans,
}

use Kind::{Bool, Bytes, Double, Id, Integer, Many, Number, One, Spans, Text, Time};

static REQUEST: Message = Message(&[(1, "resourceSpans", Many(&RESOURCE_SPANS))]);
static RESOURCE_SPANS: Message = Message(&[
    (1, "resource", One(&RESOURCE)),
    (2, "scopeSpans", Many(&SCOPE_SPANS)),
    (3, "schemaUrl", Text),
]);
static RESOURCE: Message =
    Message(&[(1, "attributes", Many(&KEY_VALUE)), (2, "droppedAttributesCount", Number)]);
static SCOPE_SPANS: Message =
    Message(&[(1, "scope", One(&SCOPE)), (2, "spans", Spans), (3, "schemaUrl", Text)]);
static SCOPE: Message = Message(&[
    (1, "name", Text),
    (2, "version", Text),
    (3, "attributes", Many(&KEY_VALUE)),
    (4, "droppedAttributesCount", Number),
]);
static SPAN: Message = Message(&[
    (1, "traceId", Id),
    (2, "spanId", Id),
    (3, "traceState", Text),
    (4, "parentSpanId", Id),
    (5, "name", Text),
    (6, "kind", Number),
    (7, "startTimeUnixNano", Time),
    (8, "endTimeUnixNano", Time),
    (9, "attributes", Many(&KEY_VALUE)),
    (10, "droppedAttributesCount", Number),
    (11, "events", Many(&EVENT)),
    (12, "droppedEventsCount", Number),
    (13, "links", Many(&LINK)),
    (14, "droppedLinksCount", Number),
    (15, "status", One(&STATUS)),
    (16, "flags", Number),
]);
static EVENT: Message = Message(&[
    (1, "timeUnixNano", Time),
    (2, "name", Text),
    (3, "attributes", Many(&KEY_VALUE)),
    (4, "droppedAttributesCount", Number),
]);
static LINK: Message = Message(&[
    (1, "traceId", Id),
    (2, "spanId", Id),
    (3, "traceState", Text),
    (4, "attributes", Many(&KEY_VALUE)),
    (5, "droppedAttributesCount", Number),
    (6, "flags", Number),
]);
static STATUS: Message = Message(&[(2, "message", Text), (3, "code", Number)]);
static KEY_VALUE: Message = Message(&[(1, "key", Text), (2, "value", One(&ANY_VALUE))]);
static ANY_VALUE: Message = Message(&[
    (1, "stringValue", Text),
    (2, "boolValue", Bool),
    (3, "intValue", Integer),
    (4, "doubleValue", Double),
    (5, "arrayValue", One(&ARRAY_VALUE)),
    (6, "kvlistValue", One(&KEY_VALUE_LIST)),
    (7, "bytesValue", Bytes),
]);
static ARRAY_VALUE: Message = Message(&[(1, "values", Many(&ANY_VALUE))]);
static KEY_VALUE_LIST: Message = Message(&[(1, "values", Many(&KEY_VALUE))]);

/// Maximum number of messages in each other, as in other readers of protobuf.
const DEPTH: usize = 100;

/// Returns a request as JSON, without the spans that cannot be decoded, and the reasons for these. Unknown fields are ignored, as the
/// specification asks for.
///
/// # Errors
///
/// It is not such a request.
pub(super) fn to_json(body: &[u8]) -> Result<(String, Vec<String>), String> {
    let (mut request, mut undecoded) = (Map::new(), Vec::new());
    read(&REQUEST, body, &mut request, &mut undecoded, DEPTH)?;
    Ok((Value::Object(request).to_string(), undecoded))
}

/// Reads a message into an object.
fn read(
    message: &Message,
    bytes: &[u8],
    object: &mut Map<String, Value>,
    undecoded: &mut Vec<String>,
    depth: usize,
) -> Result<(), String> {
    let depth = depth.checked_sub(1).ok_or("its values are nested too deep")?;
    for (_, name, kind) in message.0 {
        if matches!(kind, Time) && !object.contains_key(*name) {
            object.insert((*name).to_owned(), "0".into());
        }
    }
    let mut fields = Fields(bytes);
    while !fields.0.is_empty() {
        let (number, wire) = fields.next()?;
        let Some((_, name, kind)) = message.0.iter().find(|it| it.0 == number) else { continue };
        let mut inner = |message, bytes, mut object| {
            read(message, bytes, &mut object, undecoded, depth).map(|()| Value::Object(object))
        };
        let value = match (*kind, wire) {
            (Text, Wire::Bytes(bytes)) => {
                str::from_utf8(bytes).map_err(|error| format!("`{name}`: {error}"))?.into()
            }
            (Id, Wire::Bytes(bytes)) => hex(bytes).into(),
            (Bytes, Wire::Bytes(bytes)) => STANDARD.encode(bytes).into(),
            (Bool, Wire::Varint(number)) => (number != 0).into(),
            (Number, Wire::Varint(number)) => number.into(),
            (Number, Wire::Fixed32(number)) => number.into(),
            (Integer, Wire::Varint(number)) => number.cast_signed().to_string().into(),
            (Time, Wire::Fixed64(number)) => number.to_string().into(),
            (Double, Wire::Fixed64(bits)) => double(f64::from_bits(bits)),
            (One(message), Wire::Bytes(bytes)) => {
                // Parts of a message are one.
                let Some(Value::Object(known)) = object.remove(*name).or(Some(json!({}))) else {
                    continue;
                };
                inner(message, bytes, known)?
            }
            (Many(message), Wire::Bytes(bytes)) => inner(message, bytes, Map::new())?,
            (Spans, Wire::Bytes(bytes)) => match inner(&SPAN, bytes, Map::new()) {
                Ok(span) => span,
                Err(reason) => {
                    undecoded.push(format!("the span cannot be decoded: {reason}"));
                    continue;
                }
            },
            _ => return Err(format!("`{name}` has another type")),
        };
        if !matches!(kind, Many(_) | Spans) {
            object.insert((*name).to_owned(), value);
            continue;
        }
        if let Value::Array(list) = object.entry(*name).or_insert(json!([])) {
            list.push(value);
        }
    }
    Ok(())
}

/// Returns a float in JSON; those that JSON does not have are text.
fn double(number: f64) -> Value {
    match number {
        number if number.is_finite() => number.into(),
        number if number.is_nan() => "NaN".into(),
        number if number > 0.0 => "Infinity".into(),
        _ => "-Infinity".into(),
    }
}

/// The fields of a message.
struct Fields<'a>(&'a [u8]);

/// Value of a field, as it is written.
enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

impl<'a> Fields<'a> {
    /// Returns the number and the value of the next field.
    fn next(&mut self) -> Result<(u64, Wire<'a>), String> {
        let key = self.varint()?;
        let wire = match key & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                let (bytes, rest) = self.0.split_at_checked(length).ok_or("it is cut off")?;
                self.0 = rest;
                Wire::Bytes(bytes)
            }
            5 => Wire::Fixed32(u32::from_le_bytes(self.array()?)),
            other => return Err(format!("it is not protobuf: a field has the type {other}")),
        };
        Ok((key >> 3, wire))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or("it is cut off")?;
        self.0 = rest;
        Ok(*bytes)
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 127).wrapping_shl(shift);
            if byte < 128 {
                return Ok(number);
            }
        }
        Err("it is not protobuf: a number has more than 64 bits".to_owned())
    }
}

/// Returns a message with a number and a text, the form of `ExportTracePartialSuccess` and of `google.rpc.Status`.
pub(crate) fn numbered(number: u64, text: &str) -> Vec<u8> {
    let mut bytes = vec![1 << 3];
    push_varint(&mut bytes, number);
    push_bytes(&mut bytes, 2, text.as_bytes());
    bytes
}

/// Adds a field with bytes to a message.
pub(crate) fn push_bytes(message: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    message.push(number << 3 | 2);
    push_varint(message, bytes.len() as u64);
    message.extend(bytes);
}

fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 128);
    }
}
