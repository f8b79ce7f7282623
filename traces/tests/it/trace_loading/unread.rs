//! Spans that are in no place from which they are read.

use super::*;

const LOST: &str =
    r#"{"traceId": "u", "spanId": "b", "name": "lost", "startTimeUnixNano": "2", "events": []}"#;
const OTLP: &str =
    r#""resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "a"}]}]}]"#;
const JAEGER: &str = r#""data": [{"spans": [{"traceID": "t", "spanID": "a"}]}]"#;

/// The parts that are left out of a document of these members, in which one span is sound.
fn left_out(members: &[&str]) -> String {
    let text = format!("{{{}}}", members.join(", "));
    let loaded = load_text(&text, Path::new("t.json"), &formats(None))
        .unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(shape(&loaded.traces), [[1, 1, 0, 0]], "{text}");
    if loaded.unusable.is_empty() { String::new() } else { loaded.unusable.to_string() }
}

/// An export document, a list of spans, and a list of resources.
fn values() -> [String; 3] {
    let resources = format!(r#"[{{"scopeSpans": [{{"spans": [{LOST}]}}]}}]"#);
    [format!(r#"{{"resourceSpans": {resources}}}"#), format!("[{LOST}]"), resources]
}

#[test]
fn spans_in_members_that_have_another_meaning_are_reported() {
    for (sound, keys) in [
        (
            OTLP,
            &[
                "errors",
                "message",
                "traceId",
                "spanId",
                "trace_id",
                "span_id",
                "startTimeUnixNano",
                "start_time_unix_nano",
            ][..],
        ),
        (JAEGER, &["message", "trace_id", "span_id", "startTimeUnixNano", "start_time_unix_nano"]),
    ] {
        for key in keys {
            let expected = format!("1 list left out: `{key}` holds spans and is not read");
            for value in values() {
                let member = format!("\"{key}\": {value}");
                assert_eq!(left_out(&[sound, &member]), expected, "{member}");
                assert_eq!(left_out(&[&member, sound]), expected, "{member}");
            }
        }
    }
}

#[test]
fn spans_in_the_data_of_an_export_document_are_reported() {
    let lost = LOST;
    let of_jaeger = r#"{"traceID": "u", "spanID": "b", "operationName": "lost"}"#;
    let expected = "1 list left out: `data` holds spans and is not read";
    for data in [
        format!("[{lost}]"),
        format!("[{of_jaeger}]"),
        format!("[[{lost}]]"),
        format!(r#"[{{"spans": {lost}}}]"#),
        format!(r#"[{{"spans": [[{lost}]]}}]"#),
        format!(r#"[{{"spans": [{of_jaeger}]}}]"#),
        format!(r#"{{"a": {lost}}}"#),
        format!(r#"[{{"processes": {{"p": {lost}}}}}]"#),
    ] {
        let member = format!("\"data\": {data}");
        assert_eq!(left_out(&[OTLP, &member]), expected, "{member}");
        assert_eq!(left_out(&[&member, OTLP]), expected, "{member}");
    }
    let member = format!(r#""errors": null, "errors": [{lost}]"#);
    assert_eq!(
        left_out(&[OTLP, &member]),
        "1 list left out: `errors` holds spans and is not read",
        "a second one is searched, too"
    );
}

#[test]
fn spans_in_a_process_a_resource_and_a_scope_are_reported() {
    let lost = LOST;
    let sound = r#""spans": [{"traceId": "t", "spanId": "a"}]"#;
    for (document, key, place) in [
        (
            format!(
                r#""data": [{{"spans": [{{"traceID": "t", "spanID": "a"}}], "processes": {{"p": {lost}}}}}]"#
            ),
            "processes",
            "data[0]",
        ),
        (
            format!(
                r#""resourceSpans": [{{"resource": {{"x": [{lost}]}}, "scopeSpans": [{{{sound}}}]}}]"#
            ),
            "resource",
            "resourceSpans[0]",
        ),
        (
            format!(r#""resourceSpans": [{{"scopeSpans": [{{"scope": {lost}, {sound}}}]}}]"#),
            "scope",
            "resourceSpans[0].scopeSpans[0]",
        ),
    ] {
        let expected = format!("1 list left out: {place}: `{key}` holds spans and is not read");
        assert_eq!(left_out(&[&document]), expected, "{document}");
    }
}

#[test]
fn spans_beside_ids_of_a_document_are_reported() {
    let (ids, other) = (r#""traceId": "t", "spanId": "s""#, format!(r#""x": [{LOST}]"#));
    let expected = "1 list left out: `x` holds spans and is not read";
    assert_eq!(left_out(&[ids, &other, OTLP]), expected);
    assert_eq!(left_out(&[ids, OTLP, &other]), expected);
}

#[test]
fn a_span_in_the_place_of_a_trace_is_reported() {
    let data = format!(r#""data": [{{"spans": [{{"traceID": "t", "spanID": "a"}}]}}, {LOST}]"#);
    assert_eq!(left_out(&[&data]), "1 span left out: data[1]: a span instead of a trace");
}

#[test]
fn such_members_without_spans_may_be_anything() {
    for member in [
        r#""errors": ["boom", {"code": 1}]"#,
        r#""traceId": {"name": "x"}"#,
        r#""spanId": [{"spanId": "x", "traceId": "y"}]"#,
        r#""startTimeUnixNano": [1]"#,
        r#""data": [1, [2], {"name": "x"}, {"spanId": "x"}, {"spans": "x"}]"#,
    ] {
        assert_eq!(left_out(&[OTLP, member]), "", "{member}");
        assert_eq!(left_out(&[member, OTLP]), "", "{member}");
    }
    // A bare span is one span, whatever it holds.
    let members = format!(r#""traceId": "t", "spanId": "a", "name": "x", "links": [{LOST}]"#);
    assert_eq!(left_out(&[&members, &format!(r#""errors": [{LOST}]"#)]), "");
}
