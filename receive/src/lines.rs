//! The lines of the trace file: what a request says about one trace.
//!
//! A request has spans of many traces. Each trace gets a line of its own, an OTLP document, so that the spans of a
//! conversation are read later without those of others.

use std::mem;

use indexmap::IndexMap;

use crate::otlp::{Request, ResourceSpans, ScopeSpans, Span};

/// Bytes of a trace id.
const TRACE_ID: usize = 16;
/// Bytes of a span id.
const SPAN_ID: usize = 8;

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
    /// Name of the session that the spans name; only read if conversations are sessions.
    pub(crate) session: Option<String>,
}

/// The spans of a request.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) lines: Vec<Line>,
    /// Number of spans with ids that are not ids.
    pub(crate) rejected: usize,
}

/// The part of a request that is about one trace.
#[derive(Default)]
struct Part {
    request: Request,
    /// Positions of the resource and scope of the last span.
    last: Option<(usize, usize)>,
    has_root: bool,
}

impl Lines {
    /// Sorts the spans of a request by trace.
    ///
    /// # Errors
    ///
    /// The spans cannot be written as JSON, or cannot be read from it.
    pub(crate) fn of(mut request: Request) -> Result<Self, serde_json::Error> {
        let (mut parts, mut rejected) = (IndexMap::<TraceId, Part>::new(), 0);
        for (of_resource, resource) in request.resource_spans.iter_mut().enumerate() {
            for (of_scope, scope) in mem::take(&mut resource.scope_spans).into_iter().enumerate() {
                let mut scope = scope;
                for span in mem::take(&mut scope.spans) {
                    match trace_id(&span) {
                        Some(trace) => {
                            let part = parts.entry(trace).or_default();
                            part.add(span, (of_resource, resource), (of_scope, &scope));
                        }
                        None => rejected += 1,
                    }
                }
            }
        }
        let line = |(trace, Part { request, has_root, .. })| {
            let text = serde_json::to_vec(&request)?;
            // Values may be nested deeper than they can be read again.
            serde_json::from_slice::<Request>(&text)?;
            Ok(Line { trace, has_root, text, session: None })
        };
        let lines = parts.into_iter().map(line).collect::<Result<_, _>>()?;
        Ok(Self { lines, rejected })
    }
}

impl Part {
    /// Adds a span; its resource and scope are those without their spans.
    fn add(
        &mut self,
        span: Span,
        (of_resource, resource): (usize, &ResourceSpans),
        (of_scope, scope): (usize, &ScopeSpans),
    ) {
        self.has_root |= span.parent_span_id.iter().all(|byte| *byte == 0);
        let resources = &mut self.request.resource_spans;
        if self.last.is_none_or(|(last, _)| last != of_resource) {
            resources.push(resource.clone());
        }
        let Some(resource) = resources.last_mut() else { return };
        if self.last != Some((of_resource, of_scope)) {
            resource.scope_spans.push(scope.clone());
        }
        self.last = Some((of_resource, of_scope));
        if let Some(scope) = resource.scope_spans.last_mut() {
            scope.spans.push(span);
        }
    }
}

/// Returns the trace of a span; `None` if one of its ids is not an id.
fn trace_id(span: &Span) -> Option<TraceId> {
    let is_id = |id: &[u8], length| id.len() == length && id.iter().any(|byte| *byte != 0);
    let parent = &span.parent_span_id;
    let is_valid = is_id(&span.span_id, SPAN_ID) && matches!(parent.len(), 0 | SPAN_ID);
    let trace = TraceId::try_from(&*span.trace_id).ok()?;
    (is_valid && is_id(&trace, TRACE_ID)).then_some(trace)
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
    use crate::otlp::hex;

    fn lines(request: &Value) -> (Vec<(String, bool, Value)>, usize) {
        let Lines { lines, rejected } =
            Lines::of(serde_json::from_value(request.clone()).unwrap()).unwrap();
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
        let without_parent = |mut span: Value| {
            span.as_object_mut().unwrap().retain(|key, value| key != "parentSpanId" || value != "");
            span
        };
        let first = json!({"resourceSpans": [{"resource": resource("a"), "scopeSpans": [
            {"scope": {"name": "x"}, "spans": [without_parent(span(1, 1, "")), span(1, 3, parent)]},
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
}
