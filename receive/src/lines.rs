//! The lines of the trace file: what a request says about one trace.
//!
//! A request has spans of many traces. Each trace gets a line of its own, an OTLP document, so that the spans of a
//! conversation are read later without those of others.

use std::{mem, path::Path};

use evaluator_host::{
    conversation::{SessionName, session_name_of},
    json::{self, ParseOptions},
    trace::{Trace, TraceFormats, load_text},
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
    /// Name of the session that the spans give; only read if conversations are sessions.
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

/// A span of a trace.
struct Placed {
    /// Positions of its resource and of its scope in that.
    resource: usize,
    scope: usize,
    is_root: bool,
    text: Box<RawValue>,
}

impl Lines {
    /// Sorts the spans of a request by trace. `by_session` says whether the names of sessions are read.
    ///
    /// # Errors
    ///
    /// A span is not one of OTLP.
    pub(crate) fn of(mut resources: Vec<OfResource>, by_session: bool) -> Result<Self, String> {
        let mut all = Self::default();
        let mut traces = IndexMap::<TraceId, Vec<Placed>>::new();
        for (resource, of_resource) in resources.iter_mut().enumerate() {
            for (scope, of_scope) in of_resource.scopes.iter_mut().enumerate() {
                for text in mem::take(&mut of_scope.spans) {
                    let identified = match &text {
                        Ok(text) => identify(text)?.ok_or_else(|| IDS.to_owned()),
                        Err(error) => Err(format!("the span cannot be decoded: {error}")),
                    };
                    match (identified, text) {
                        (Ok((trace, is_root)), Ok(text)) => {
                            let spans = traces.entry(trace).or_default();
                            spans.push(Placed { resource, scope, is_root, text });
                        }
                        (Err(reason), _) | (_, Err(reason)) => all.reject(reason),
                    }
                }
            }
        }
        for (trace, spans) in traces {
            all.add(trace, spans, &resources, by_session)?;
        }
        Ok(all)
    }

    fn reject(&mut self, reason: String) {
        self.rejected += 1;
        self.reason.get_or_insert(reason);
    }

    /// Adds the line of a trace without the spans that cannot be read again, such as those with values that are nested too deep.
    fn add(
        &mut self,
        trace: TraceId,
        mut spans: Vec<Placed>,
        resources: &[OfResource],
        by_session: bool,
    ) -> Result<(), String> {
        let mut text = document(&spans, resources)?;
        let mut read = read_again(&text);
        if read.is_err() {
            let mut readable = Vec::new();
            for span in spans {
                match read_again(&document(std::slice::from_ref(&span), resources)?) {
                    Ok(_) => readable.push(span),
                    Err(reason) => self.reject(reason),
                }
            }
            if readable.is_empty() {
                return Ok(());
            }
            spans = readable;
            text = document(&spans, resources)?;
            read = read_again(&text);
        }
        let session = read?.first().filter(|_| by_session).and_then(session_name_of);
        let has_root = spans.iter().any(|span| span.is_root);
        self.lines.push(Line { trace, has_root, text: text.into_bytes(), session });
        Ok(())
    }
}

/// Returns the document with these spans of one trace, which are in the order of the request, on one line.
fn document(spans: &[Placed], resources: &[OfResource]) -> Result<String, String> {
    let mut all = Vec::new();
    for of_resource in spans.chunk_by(|one, other| one.resource == other.resource) {
        let Some(resource) = resources.get(of_resource[0].resource) else { continue };
        let mut scopes = Vec::new();
        for of_scope in of_resource.chunk_by(|one, other| one.scope == other.scope) {
            let Some(scope) = resource.scopes.get(of_scope[0].scope) else { continue };
            let mut members = scope.members.clone();
            let texts: Vec<&RawValue> = of_scope.iter().map(|span| &*span.text).collect();
            members.insert_list("spans", &texts)?;
            scopes.push(members);
        }
        let mut members = resource.members.clone();
        members.insert_list("scopeSpans", &scopes)?;
        all.push(members);
    }
    let mut document = Members::default();
    document.insert_list("resourceSpans", &all)?;
    let text = serde_json::to_string(&document).map_err(|error| error.to_string())?;
    // They are between values only: in a text, they are escaped.
    Ok(if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text })
}

/// Reads a document as a run does.
fn read_again(text: &str) -> Result<Vec<Trace>, String> {
    let loaded = load_text(text, Path::new("-"), &TraceFormats::default());
    let loaded = loaded.map_err(|error| {
        // What is not JSON to a run has no format.
        let json = json::parse(text, &ParseOptions::default());
        json.map_or_else(|error| error.to_string(), |_| error.kind.to_string())
    })?;
    match loaded.unusable.is_empty() {
        true => Ok(loaded.traces),
        false => Err(loaded.unusable.to_string()),
    }
}

/// Returns the trace of a span, and whether it has no parent; `None` if one of its ids is not an id.
///
/// # Errors
///
/// It is not a span of OTLP.
fn identify(text: &RawValue) -> Result<Option<(TraceId, bool)>, String> {
    let of_span = |error| format!("`spans`: {error}");
    let span: Members =
        serde_json::from_str(text.get()).map_err(|error| of_span(error.to_string()))?;
    for key in ["attributes", "events", "links"] {
        span.get::<Vec<Members>>(key).map_err(of_span)?;
    }
    span.check_object("status").map_err(of_span)?;
    let id = |key| span.get::<String>(key).map_err(of_span);
    let (trace, own, parent) = (id("traceId")?, id("spanId")?, id("parentSpanId")?);
    let is_zero = |id: &str| id.bytes().all(|digit| digit == b'0');
    let has_digits = |id: &str| id.len() == SPAN_ID && id.bytes().all(|it| it.is_ascii_hexdigit());
    let is_valid = has_digits(&own) && !is_zero(&own) && (parent.is_empty() || has_digits(&parent));
    let trace = parse(&trace).filter(|trace| is_valid && *trace != [0; TRACE_ID]);
    Ok(trace.map(|trace| (trace, is_zero(&parent))))
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
        Lines::of(from_json(request.to_string().as_bytes())?, true)
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
    fn each_trace_has_a_line_with_its_resources_and_scopes() {
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
        let first = json!({"resourceSpans": [{"resource": resource("a"), "scopeSpans": [
            {"scope": {"name": "x"}, "spans": [span(1, 1, ""), span(1, 3, parent)]},
            {"scope": {"name": "y"}, "spans": [span(1, 4, parent)]},
        ]}]});
        let second = json!({"resourceSpans": [
            {"resource": resource("a"), "scopeSpans": [{"scope": {"name": "x"}, "spans": [span(2, 2, parent)]}]},
            {"resource": resource("b"), "scopeSpans": [{"spans": [span(2, 5, parent)]}]},
        ]});
        assert_eq!(
            lines,
            [(format!("{:032x}", 1), true, first), (format!("{:032x}", 2), false, second)]
        );
    }

    #[test]
    fn spans_without_ids_are_rejected_and_others_are_not() {
        let bad = [
            ("traceId", "0"),
            ("traceId", ""),
            ("traceId", "CvdlGRbNQ92ESOshHIAxnA=="),
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
            json!({"resourceSpans": [{"resource": [[]]}]}),
            json!({"resourceSpans": [{"scopeSpans": [[{"name": "s"}, []]]}]}),
            json!({"resourceSpans": [{"scopeSpans": [{"scope": ["s"]}]}]}),
            json!({"resourceSpans": [{"scopeSpans": [{"spans": [[1, 2]]}]}]}),
            one_span(&json!({"attributes": [["key", {"stringValue": "v"}]]})),
            one_span(&json!({"attributes": {}})),
            one_span(&json!({"events": [["5", "e"]]})),
            one_span(&json!({"links": [[]]})),
            one_span(&json!({"status": [2]})),
            one_span(&json!({"traceId": 5})),
        ] {
            try_lines(&request).unwrap_err();
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
        let Lines { lines, .. } = Lines::of(from_json(pretty.as_bytes()).unwrap(), false).unwrap();
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
            Lines::of(from_json(text.as_bytes()).unwrap(), false).unwrap()
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
        let found = Lines::of(from_protobuf(&request).unwrap(), false).unwrap();
        assert_eq!((found.lines.len(), found.rejected), (1, 2));
        let text = String::from_utf8(found.lines[0].text.clone()).unwrap();
        assert!(
            text.contains("{\"stringValue\":\"text\"}") && text.contains("0101010101010101"),
            "{text}"
        );
        assert!(found.reason.unwrap().contains("recursion limit"), "{text}");
    }

    #[test]
    fn protobuf_is_written_as_json_and_loses_nothing() {
        let expected = json!({"resourceSpans": [{
            "resource": {"attributes": [{"key": "r", "value": {"boolValue": true}}]}, "schemaUrl": "v",
            "scopeSpans": [{"scope": {"name": "n", "version": "1"}, "schemaUrl": "u", "spans": [{
                "traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331", "parentSpanId": "00f067aa0ba902b7",
                "name": "chat", "startTimeUnixNano": "0", "endTimeUnixNano": "0",
                "attributes": [{"key": "k", "value": {"kvlistValue": {"values": [{"key": "b", "value": {"bytesValue": "aGk="}}]}}}],
                "events": [{"timeUnixNano": "0", "name": "e"}],
                "links": [{"traceId": "0af7651916cd43dd8448eb211c80319d", "spanId": "b7ad6b7169203332"}],
                "status": {"message": "m"},
            }]}],
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
        let found = Lines::of(from_protobuf(&request).unwrap(), false).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&found.lines[0].text).unwrap(), expected);
        assert!(!found.lines[0].has_root);
    }
}
