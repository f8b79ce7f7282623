//! The lines of the trace file: what a request says about one trace in one scope.
//!
//! A request has spans of many traces. Those of a trace get lines of their own, OTLP documents, so that the spans of a
//! conversation are read later without those of others.

use std::{path::Path, sync::LazyLock};

use evaluator_host::{
    conversation::{SessionName, session_name_of},
    json::{self, ParseOptions},
    trace::{TraceFormats, load_text},
};
use indexmap::IndexMap;
use serde_json::value::RawValue;

use crate::otlp::{Members, OfResource};

/// Bytes of a trace id.
const TRACE_ID: usize = 16;
/// Hexadecimal digits of a span id.
const SPAN_ID: usize = 16;
/// Reason for rejecting a span.
const IDS: &str = "a trace id has 32 hexadecimal digits, a span id 16, and neither is zero";
/// Another one.
const CROWDED: &str = "the spans of a request are too large, with their resource for each trace; send fewer at a time";

static FORMATS: LazyLock<TraceFormats> = LazyLock::new(TraceFormats::default);

/// Id of a trace.
pub(crate) type TraceId = [u8; TRACE_ID];

/// A line of the trace file.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) trace: TraceId,
    /// Whether a span has no parent. Spans are sent when they have ended.
    pub(crate) has_root: bool,
    /// The document, without a line end.
    pub(crate) text: Vec<u8>,
    /// Name of the session that the spans give.
    pub(crate) session: Option<SessionName>,
}

/// The spans of a request.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) lines: Vec<Line>,
    /// Number of spans that cannot be accepted.
    pub(crate) rejected: usize,
    /// Why the first of them cannot.
    pub(crate) reason: Option<String>,
}

impl Lines {
    /// Sorts the spans of a request by trace. Those that a run could not read are rejected, and so are those for which `room`,
    /// a number of bytes, is not enough: each line repeats the resource.
    ///
    /// # Errors
    ///
    /// A document cannot be written.
    pub(crate) fn of(resources: &[OfResource], mut room: usize) -> Result<Self, String> {
        let mut all = Self::default();
        let none = Members::default();
        for resource in resources {
            for scope in &resource.scopes {
                let mut traces = IndexMap::<TraceId, (bool, Vec<&RawValue>)>::new();
                for span in &scope.spans {
                    let read = span
                        .as_deref()
                        .map_err(|error| format!("the span cannot be decoded: {error}"));
                    // Without its resource, which all spans share and which may be large.
                    let alone = |span| identify(&document(&none, &none, &[span])?);
                    match read.and_then(|span| Ok((span, alone(span)?))) {
                        Ok((span, (trace, is_root, _))) => {
                            let (has_root, spans) = traces.entry(trace).or_default();
                            *has_root |= is_root;
                            spans.push(span);
                        }
                        Err(reason) => all.reject(1, reason),
                    }
                }
                for (trace, (has_root, spans)) in traces {
                    let text = document(&resource.members, &scope.members, &spans)?;
                    match identify(&text) {
                        Ok(_) if text.len() > room => all.reject(spans.len(), CROWDED.to_owned()),
                        Ok((_, _, session)) => {
                            room -= text.len();
                            all.lines.push(Line { trace, has_root, text: text.into(), session });
                        }
                        Err(reason) => all.reject(spans.len(), reason),
                    }
                }
            }
        }
        Ok(all)
    }

    fn reject(&mut self, spans: usize, reason: String) {
        self.rejected += spans;
        self.reason.get_or_insert(reason);
    }
}

/// Returns the document with these spans on one line.
fn document(resource: &Members, scope: &Members, spans: &[&RawValue]) -> Result<String, String> {
    let scope = scope.with("spans", &spans)?;
    let resource = resource.with("scopeSpans", &[scope])?;
    let document = Members::default().with("resourceSpans", &[resource])?;
    let text = serde_json::to_string(&document).map_err(|error| error.to_string())?;
    // They are between values only: in a text, they are escaped.
    Ok(if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text })
}

/// Reads the document of a span as a run does. Returns its trace, whether it has no parent, and the name of its session.
///
/// # Errors
///
/// It cannot be read, e.g. because values are nested too deep, or one of its ids is not an id.
fn identify(text: &str) -> Result<(TraceId, bool, Option<SessionName>), String> {
    let loaded = load_text(text, Path::new("-"), &FORMATS).map_err(|error| {
        // What is not JSON to a run has no format.
        let json = json::parse(text, &ParseOptions::default());
        json.map_or_else(|error| error.to_string(), |_| error.kind.to_string())
    })?;
    let ids = loaded.traces.first().and_then(|trace| {
        let span = trace.spans.first()?;
        let is_id = |id: &str| id.len() == SPAN_ID && id.bytes().all(|it| it.is_ascii_hexdigit());
        let parent = span.parent_span_id.as_deref();
        let is_valid = is_id(&span.span_id) && parent.is_none_or(is_id);
        Some((parse(&trace.trace_id)?, parent.is_none(), session_name_of(trace)))
            .filter(|_| is_valid)
    });
    match ids {
        Some(ids) if loaded.unusable.is_empty() => Ok(ids),
        Some(_) => Err(loaded.unusable.to_string()),
        None => Err(IDS.to_owned()),
    }
}

/// Returns the trace with this hexadecimal id; `None` if the text is not such an id.
pub(crate) fn parse(id: &str) -> Option<TraceId> {
    let is_id = id.len() == 2 * TRACE_ID && id.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = u128::from_str_radix(id, 16).ok().filter(|_| is_id)?;
    Some(number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::otlp::{from_json, from_protobuf, hex};

    fn try_lines(request: &Value) -> Result<Lines, String> {
        Lines::of(&from_json(request.to_string().as_bytes())?, usize::MAX)
    }

    fn lines(request: &Value) -> (Vec<(String, bool, Value)>, usize) {
        let Lines { lines, rejected, .. } = try_lines(request).unwrap();
        let shown = lines.iter().map(|line| {
            let value: Value = serde_json::from_slice(&line.text).unwrap();
            (hex(&line.trace), line.has_root, value)
        });
        (shown.collect(), rejected)
    }

    fn span(trace: u8, id: u8, parent: &str) -> Value {
        json!({
            "traceId": format!("{trace:032x}"), "spanId": format!("{id:016x}"), "parentSpanId": parent, "name": "",
            "startTimeUnixNano": "1", "endTimeUnixNano": "2",
        })
    }

    #[test]
    fn each_trace_has_a_line_for_each_scope_with_its_resource() {
        let resource =
            |name: &str| json!({"attributes": [{"key": name, "value": {"intValue": "1"}}]});
        let parent = "0000000000000009";
        let request = json!({"resourceSpans": [
            {"resource": resource("a"), "scopeSpans": [
                {"scope": {"name": "x"}, "spans": [span(1, 1, ""), span(2, 2, parent), span(1, 3, parent)]},
                {"scope": {"name": "y"}, "spans": [span(1, 4, parent)]},
            ]},
            {"resource": resource("b"), "scopeSpans": [{"spans": [span(2, 5, parent)]}]},
        ]});
        let (lines, rejected) = lines(&request);
        assert_eq!(rejected, 0);
        let line = |trace: u8, has_root, mut of_resource: Value, of_scope: Value| {
            of_resource["scopeSpans"] = json!([of_scope]);
            (format!("{trace:032x}"), has_root, json!({"resourceSpans": [of_resource]}))
        };
        let of_a = || json!({"resource": resource("a")});
        let first = json!({"scope": {"name": "x"}, "spans": [span(1, 1, ""), span(1, 3, parent)]});
        let expected = [
            line(1, true, of_a(), first),
            line(2, false, of_a(), json!({"scope": {"name": "x"}, "spans": [span(2, 2, parent)]})),
            line(1, false, of_a(), json!({"scope": {"name": "y"}, "spans": [span(1, 4, parent)]})),
            line(
                2,
                false,
                json!({"resource": resource("b")}),
                json!({"spans": [span(2, 5, parent)]}),
            ),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn spans_without_ids_are_rejected_and_others_are_not() {
        let bad = [
            ("traceId", "0"),
            ("traceId", ""),
            ("traceId", "00000000000000000000000000000000"),
            ("spanId", "0000000000000000"),
            ("spanId", "x"),
            ("parentSpanId", "abc"),
        ];
        let bad = bad.map(|(key, value)| {
            let mut span = span(1, 1, "");
            span[key] = json!(value);
            span
        });
        let mut spans = bad.to_vec();
        spans.push(span(1, 2, "0000000000000000"));
        let (lines, rejected) =
            lines(&json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}));
        assert_eq!((lines.len(), rejected), (1, bad.len()));
        assert!(lines[0].1, "a parent of zeros is none");
    }

    #[test]
    fn ids_are_read_as_they_are_written() {
        let id = "0af7651916cd43dd8448eb211c80319c";
        assert_eq!(parse(id).map(|id| hex(&id)).as_deref(), Some(id));
        for other in ["", "abc", "+af7651916cd43dd8448eb211c80319c"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    fn one_span(members: &Value) -> Value {
        let mut span = span(1, 1, "");
        span.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    }

    #[test]
    fn what_is_not_an_object_or_is_there_twice_is_not_otlp() {
        for request in [
            json!([]),
            json!([[]]),
            json!({"data": []}),
            json!({"resourceSpans": {}}),
            json!({"resourceSpans": [[]]}),
            json!({"resourceSpans": [{"scopeSpans": [[{"name": "s"}, []]]}]}),
            json!({"resourceSpans": [{"scopeSpans": [{"spans": {}}]}]}),
        ] {
            try_lines(&request).unwrap_err();
        }
        for span in [
            json!({"resourceSpans": [{"scopeSpans": [{"spans": [[1, 2]]}]}]}),
            one_span(&json!({"traceId": 5})),
        ] {
            assert_eq!(try_lines(&span).unwrap().rejected, 1, "{span}");
        }
        for twice in [
            r#"{"resourceSpans": [], "resourceSpans": []}"#,
            r#"{"resourceSpans": [{"scopeSpans": [{"spans": [], "spans": []}]}]}"#,
        ] {
            assert!(from_json(twice.as_bytes()).unwrap_err().contains("duplicate field"));
        }
        for empty in ["{}", r#"{"resourceSpans": null, "unknown": 1}"#, r#"{"resourceSpans": []}"#]
        {
            assert!(from_json(empty.as_bytes()).unwrap().is_empty(), "{empty}");
        }
    }

    #[test]
    fn spans_stay_as_they_were_sent_but_on_one_line() {
        let members = json!({"unknown": [18446744073709551616_u128.to_string(), "a\nb"], "status": null, "attributes": null});
        let request = one_span(&members);
        let pretty = serde_json::to_string_pretty(&request).unwrap();
        let Lines { lines, .. } =
            Lines::of(&from_json(pretty.as_bytes()).unwrap(), usize::MAX).unwrap();
        assert!(!lines[0].text.contains(&b'\n'));
        assert_eq!(serde_json::from_slice::<Value>(&lines[0].text).unwrap(), request);
        assert_eq!(lines[0].session, None);
    }

    /// The text of a value that consists of so many lists.
    fn nested(depth: usize) -> String {
        let (open, close) = (r#"{"arrayValue":{"values":["#, "]}}");
        format!("{}{{}}{}", open.repeat(depth), close.repeat(depth))
    }

    #[test]
    fn a_span_that_is_nested_too_deep_leaves_the_others() {
        let deep = |id: u8, depth: usize| {
            let span = span(1, id, "").to_string();
            let value = nested(depth);
            format!(
                r#"{},"attributes":[{{"key":"a","value":{value}}}]}}"#,
                span.trim_end_matches('}')
            )
        };
        let request = |spans: &[String]| {
            let text = format!(
                r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#,
                spans.join(",")
            );
            Lines::of(&from_json(text.as_bytes()).unwrap(), usize::MAX).unwrap()
        };
        let found = request(&[deep(1, 20), deep(2, 10_000), deep(3, 0)]);
        assert_eq!((found.lines.len(), found.rejected), (1, 1));
        let text = String::from_utf8(found.lines[0].text.clone()).unwrap();
        assert_eq!(text.matches("\"spanId\"").count(), 2);
        let reason = found.reason.unwrap();
        assert!(reason.contains("levels"), "{reason}");
        let found = request(&[deep(1, 10_000)]);
        assert_eq!((found.lines.len(), found.rejected), (0, 1));
    }

    /// A field of protobuf with a message or text.
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let mut length = content.len();
        let mut bytes = vec![number << 3 | 2];
        loop {
            let low = u8::try_from(length & 127).unwrap();
            length >>= 7;
            bytes.push(low | if length > 0 { 128 } else { 0 });
            if length == 0 {
                break;
            }
        }
        [&bytes, content].concat()
    }

    #[test]
    fn a_span_of_protobuf_that_cannot_be_decoded_leaves_the_others() {
        let span = |id: u8, value: &[u8]| {
            let (trace, own) = ([1; 16], [id; 8]);
            let attribute = [field(1, b"a"), field(2, value)].concat();
            field(2, &[field(1, &trace), field(2, &own), field(9, &attribute)].concat())
        };
        let mut deep = Vec::new();
        for _ in 0..200 {
            // `AnyValue.array_value.values`.
            deep = field(5, &field(1, &deep));
        }
        let spans =
            [span(1, &field(1, b"text")), span(2, &deep), span(3, &field(1, b"\xff"))].concat();
        let request = field(1, &field(2, &spans));
        let found = Lines::of(&from_protobuf(&request).unwrap(), usize::MAX).unwrap();
        assert_eq!((found.lines.len(), found.rejected), (1, 2));
        let text = String::from_utf8(found.lines[0].text.clone()).unwrap();
        assert!(
            text.contains("{\"stringValue\":\"text\"}") && text.contains("0101010101010101"),
            "{text}"
        );
        assert!(found.reason.unwrap().contains("recursion limit"), "{text}");
    }

    #[test]
    fn traces_for_whose_resource_there_is_no_room_are_rejected() {
        let resource =
            json!({"attributes": [{"key": "large", "value": {"stringValue": "x".repeat(1000)}}]});
        let spans: Vec<Value> = (1..=5).map(|trace| span(trace, trace, "")).collect();
        let request =
            json!({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]});
        let resources = from_json(request.to_string().as_bytes()).unwrap();
        let found = Lines::of(&resources, 3000).unwrap();
        assert_eq!((found.lines.len(), found.rejected), (2, 3));
        assert!(found.reason.unwrap().contains("send fewer at a time"));
        assert_eq!(Lines::of(&resources, usize::MAX).unwrap().lines.len(), 5);
    }

    #[test]
    fn protobuf_is_written_as_json_and_loses_nothing() {
        let expected = json!({"resourceSpans": [{
            "resource": {"attributes": [{"key": "r", "value": {"boolValue": true}}], "droppedAttributesCount": 0}, "schemaUrl": "v",
            "scopeSpans": [{
                "scope": {"name": "n", "version": "1", "attributes": [], "droppedAttributesCount": 0}, "schemaUrl": "u",
                "spans": [{
                    "traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331", "traceState": "",
                    "parentSpanId": "00f067aa0ba902b7", "name": "chat", "kind": 0, "startTimeUnixNano": "0", "endTimeUnixNano": "0",
                    "attributes": [{"key": "k", "value": {"kvlistValue": {"values": [{"key": "b", "value": {"bytesValue": "aGk="}}]}}}],
                    "droppedAttributesCount": 0,
                    "events": [{"timeUnixNano": "0", "name": "e", "attributes": [], "droppedAttributesCount": 0}],
                    "droppedEventsCount": 0,
                    "links": [{
                        "traceId": "0af7651916cd43dd8448eb211c80319d", "spanId": "b7ad6b7169203332", "traceState": "",
                        "attributes": [], "droppedAttributesCount": 0, "flags": 0,
                    }],
                    "droppedLinksCount": 0, "status": {"message": "m", "code": 0}, "flags": 0,
                }],
            }],
        }]});
        let bytes = |hex: &str| u128::from_str_radix(hex, 16).unwrap().to_be_bytes();
        let id = |hex: &str| bytes(hex)[8..].to_vec();
        let attribute = |key: &[u8], value: &[u8]| [field(1, key), field(2, value)].concat();
        let text = |number, text: &str| field(number, text.as_bytes());
        let list = field(6, &field(1, &attribute(b"b", &field(7, b"hi"))));
        let link = [
            field(1, &bytes("0af7651916cd43dd8448eb211c80319d")),
            field(2, &id("b7ad6b7169203332")),
        ];
        let span = [
            field(1, &bytes("0af7651916cd43dd8448eb211c80319c")),
            field(2, &id("b7ad6b7169203331")),
            field(4, &id("00f067aa0ba902b7")),
            text(5, "chat"),
            field(9, &attribute(b"k", &list)),
            field(11, &text(2, "e")),
            field(13, &link.concat()),
            field(15, &text(2, "m")),
        ];
        let scope = [text(1, "n"), text(2, "1")].concat();
        let scope = [field(1, &scope), field(2, &span.concat()), text(3, "u")].concat();
        let resource = field(1, &attribute(b"r", &[2 << 3, 1]));
        let request = field(1, &[field(1, &resource), field(2, &scope), text(3, "v")].concat());
        let found = Lines::of(&from_protobuf(&request).unwrap(), usize::MAX).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&found.lines[0].text).unwrap(), expected);
        assert!(!found.lines[0].has_root);
    }
}
