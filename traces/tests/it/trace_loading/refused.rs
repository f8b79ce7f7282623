//! Files that are not traces, and their errors.

use super::*;

/// The reason a text is refused for, without the file's name.
fn refused(text: &str, format: Option<&str>) -> String {
    load_text(text, Path::new("t.json"), &formats(format)).expect_err(text).kind.to_string()
}

#[test]
fn a_file_that_fails_leaves_the_others() {
    let paths =
        ["c13_truncated.json", "missing.json", "c18_latin1.json", "a01_otlp_basic_parts.json"]
            .map(sample);
    let tracked = TrackedAttributes::default();
    let result = TraceIndex::new(paths.clone(), &formats(None), tracked, &|| false);
    assert_eq!(result.len(), 1);
    assert_eq!(result.read(0).expect("readable").file, paths[3]);
    assert_eq!(
        result.errors.iter().map(|error| &error.path).collect::<Vec<_>>(),
        [&paths[0], &paths[1], &paths[2]]
    );
    let text = result.errors[1].to_string();
    assert!(
        text.starts_with(&format!("Failed to load trace file '{}': ", paths[1].display())),
        "{text}"
    );
    let LoadErrorKind::NotUtf8 { offset, byte } = result.errors[2].kind else {
        panic!("{}", result.errors[2])
    };
    assert_eq!(std::fs::read(&paths[2]).expect("readable")[offset], byte);
}

#[test]
fn what_is_no_trace_file_is_refused() {
    let undetected = "Could not detect trace format for 't.json'. Expected Jaeger JSON ({\"data\": [...]}) or OTLP JSON \
                      ({\"resourceSpans\": [...]} / {\"batches\": [...]}). Use --format if the content is one of these.";
    let not_otlp = "not an OTLP JSON document: expected resourceSpans, resourceLogs or batches";
    let no_data = "Invalid Jaeger JSON format: expected top-level 'data' key";
    let (jaeger, otlp) = (Some("jaeger-json"), Some("otlp-json"));
    for (text, format, expected) in [
        ("", None, undetected),
        (" \n\t ", None, undetected),
        ("123", None, undetected),
        ("[]", None, undetected),
        ("[1, {\"spanId\": \"1\"}]", None, undetected),
        ("{\"foo\": 1}", None, undetected),
        ("\u{feff}{\"data\": []}", None, undetected),
        ("{\n\"resourceSpans\": [", None, undetected),
        ("{\"data\": null}", None, no_data),
        ("{\"data\": {}}", None, no_data),
        ("[]", jaeger, no_data),
        ("{}", jaeger, no_data),
        ("", jaeger, "Invalid Jaeger JSON in 't.json'"),
        ("{\"data\": []}\n{\"data\": []}", jaeger, "Invalid Jaeger JSON in 't.json'"),
        ("{\"data\": []}", otlp, not_otlp),
        ("7", otlp, not_otlp),
        ("{\"spanId\": \"1\"}\n\n{\"spanId\": }", None, "line 3: invalid JSON"),
        (
            "{\"spanId\": \"1\"}\n[]",
            None,
            "line 2: expected an OTLP export document, a span or an array of spans",
        ),
        ("{\"resourceSpans\": 5}", None, "resourceSpans: expected an array, found an integer"),
        (
            "{\"batches\": [{}, {\"scopeSpans\": true}]}",
            None,
            "batches[1].scopeSpans: expected an array, found a boolean",
        ),
        (
            "{\"resourceLogs\": [{\"scopeLogs\": [{\"logRecords\": 1.5}]}]}",
            None,
            "resourceLogs[0].scopeLogs[0].logRecords: expected an array, found a number",
        ),
        (
            "{\"data\": [{\"spans\": 1}]}",
            None,
            "data[0].spans: expected an array, found an integer",
        ),
        (
            "{\"resource_spans\": [], \"resource_spans\": []}",
            None,
            "the key `resourceSpans` is repeated; remove one of them",
        ),
        // The first problem in the order of the text counts, but only of a text that is JSON.
        (
            "{\"batches\": [{\"scopeSpans\": 5, \"resource\": {}, \"resource\": {}}]}",
            None,
            "batches[0].scopeSpans: expected an array, found an integer",
        ),
        ("{\"resourceSpans\": 5, }", None, undetected),
    ] {
        assert_eq!(refused(text, format), expected, "{text:?}");
    }
}

#[test]
fn errors_say_where_the_json_breaks() {
    for (text, format, expected) in [
        (
            "\u{feff}{\"data\": []}",
            None,
            "unexpected byte order mark (save the text as UTF-8 without BOM) at line 1 column 1 (byte 0)",
        ),
        ("{\n\"resourceSpans\": [,]}", None, "expected a value at line 2 column 19 (byte 20)"),
        ("{\"data\": [}", Some("jaeger-json"), "expected a value at line 1 column 11 (byte 10)"),
        (
            "{\"spanId\": \"1\"}\n\n \u{a0}{\"spanId\": }",
            None,
            "expected a value at line 3 column 14 (byte 31)",
        ),
        (
            "{\"spanId\": [",
            Some("otlp-json"),
            "unexpected end of text at line 1 column 13 (byte 12)",
        ),
    ] {
        let error = load_text(text, Path::new("t.json"), &formats(format)).expect_err(text);
        let position = error.kind.source().unwrap_or_else(|| panic!("{error} has no source"));
        assert_eq!(position.to_string(), expected, "{text:?}");
    }
}

#[test]
fn a_given_format_reads_what_detection_would_not() {
    let otlp = |text| {
        load_text(text, Path::new("t.json"), &formats(Some("otlp-json")))
            .map(|loaded| shape(&loaded.traces))
    };
    assert_eq!(otlp("").ok(), Some(vec![]));
    assert_eq!(
        otlp("[1, {\"spanId\": \"1\", \"traceId\": \"2\"}, {}]").ok(),
        Some(vec![[1, 1, 0, 0]])
    );
}
