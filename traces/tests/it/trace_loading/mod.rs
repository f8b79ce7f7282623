//! Loading trace files of every shape, sound and broken.

mod damaged;
mod jaeger;
mod refused;
mod unread;

use std::{
    error::Error as _,
    path::{Path, PathBuf},
};

use evaluator_traces::{
    json::{NonFinite, Value, to_string},
    trace::{
        LoadErrorKind, SpanStatus, Trace, TraceFormats, TraceIndex, TrackedAttributes, load_file,
        load_text,
    },
};
use proptest::prelude::*;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/traces").join(name)
}

/// The format of that name, or all formats.
fn formats(given: Option<&str>) -> TraceFormats {
    let all = TraceFormats::default();
    match given {
        Some(name) => TraceFormats::only(all.find(name).expect("a known format")),
        None => all,
    }
}

fn loaded(name: &str) -> Vec<Trace> {
    load_file(&sample(name), &formats(None)).unwrap_or_else(|error| panic!("{error}")).traces
}

fn only(name: &str) -> Trace {
    let mut traces = loaded(name);
    assert_eq!(traces.len(), 1, "{name}");
    traces.remove(0)
}

fn from_text(text: &str) -> Vec<Trace> {
    load_text(text, Path::new("t.json"), &formats(None))
        .unwrap_or_else(|error| panic!("{error}"))
        .traces
}

fn names(trace: &Trace) -> Vec<&str> {
    trace.walk().map(|span| trace.spans[span].name.as_str()).collect()
}

fn attribute(trace: &Trace, span: usize, key: &str) -> String {
    trace.spans[span]
        .attributes
        .get(key)
        .map_or("absent".to_owned(), |value| to_string(value, NonFinite::Literal))
}

/// Number of spans, roots, logs of spans, and logs of the trace alone, for each trace.
fn shape(traces: &[Trace]) -> Vec<[usize; 4]> {
    let count = |trace: &Trace| {
        let logs = trace.logs.iter().map(Vec::len).sum();
        [trace.spans.len(), trace.roots.len(), logs, trace.orphan_logs.len()]
    };
    traces.iter().map(count).collect()
}

#[test]
fn every_sound_sample_has_its_shape() {
    let one: &[[usize; 4]] = &[[4, 1, 0, 0]];
    for (name, expected) in [
        ("a01_otlp_basic_parts.json", one),
        ("a02_jaeger_basic.json", one),
        ("a03_jaeger_multi_trace.json", &[[4, 1, 0, 0], [4, 1, 0, 0]]),
        ("a04_jaeger_tag_types.json", &[[7, 1, 0, 0]]),
        ("a05_jaeger_references.json", &[[5, 3, 0, 0]]),
        ("a07_jaeger_bad_items.json", &[[2, 2, 0, 0]]),
        ("a10_jaeger_data_empty.json", &[]),
        ("c03_bare_list.json", one),
        ("c04_bare_single.json", &[[1, 1, 0, 0]]),
        ("c05_jsonl_mixed_blank_lines.jsonl", one),
        ("c01_jsonl_export_docs.jsonl", &[[4, 1, 1, 0], [4, 1, 0, 0]]),
        ("c09_jsonl_u2028.jsonl", &[[4, 1, 0, 0], [4, 1, 0, 0]]),
        ("c23_empty_resource_spans.json", &[]),
        ("c24_only_logs.json", &[]),
        ("d01_tempo_batches.json", one),
        ("d02_tempo_v2_wrapper.json", one),
        ("d03_tempo_v2_wrapper_batches.json", one),
        ("d04_tempo_batches_scopespans.json", one),
        ("d06_both_batches_and_rs.json", one),
        ("e01_proto_names.json", &[[4, 1, 1, 0]]),
        ("e05_odd_ids.json", &[[4, 2, 0, 0]]),
        ("e06_duplicates_and_cycles.json", &[[7, 3, 0, 0]]),
        ("e13_spans_null.json", &[]),
    ] {
        assert_eq!(shape(&loaded(name)), expected, "{name}");
    }
}

#[test]
fn the_same_recording_reads_the_same_in_both_formats() {
    let otlp = only("a01_otlp_basic_parts.json");
    let jaeger = only("a02_jaeger_basic.json");
    assert_eq!(names(&otlp), names(&jaeger));
    for (left, right) in otlp.walk().zip(jaeger.walk()) {
        for key in ["gen_ai.operation.name", "gen_ai.input.messages", "gen_ai.usage.input_tokens"] {
            assert_eq!(attribute(&otlp, left, key), attribute(&jaeger, right, key));
        }
        assert_eq!(otlp.spans[left].start_ns, jaeger.spans[right].start_ns);
        assert_eq!(otlp.spans[left].end_ns, jaeger.spans[right].end_ns);
    }
    assert_eq!(otlp.spans[0].resource.get("service.name").and_then(Value::as_str), Some("svc"));
    assert_eq!(otlp.spans[0].scope.name, "test.scope");
    assert_eq!(otlp.start_ns(), 1_700_000_000_000_000_000);
}

#[test]
fn lines_form_one_pool() {
    let text = [
        r#"{"traceId": "t", "spanId": "bare"}"#,
        r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "in-document"}]}]}]}"#,
        r#"{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"traceId": "t", "spanId": "bare", "eventName": "e"}]}]}]}"#,
    ]
    .join("\r\n");
    let traces = from_text(&text);
    assert_eq!(shape(&traces), [[2, 2, 1, 0]]);
    assert_eq!(traces[0].spans[0].span_id, "in-document", "documents come first");
    assert_eq!(traces[0].logs[1][0].event_name, "e");
}

#[test]
fn a_line_may_be_an_array_of_spans() {
    let array = |id: &str| {
        format!(
            r#"[{{"traceId": "t", "spanId": "{id}1"}}, {{"traceId": "{id}", "spanId": "{id}2"}}]"#
        )
    };
    let text =
        [array("a"), r#"{"traceId": "t", "spanId": "bare"}"#.to_owned(), array("b")].join("\n");
    assert_eq!(shape(&from_text(&text)), [[3, 3, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]]);
    let part = format!("{}\n{}", array("a"), r#"[{"traceId": "t", "spanId": "x"}, 5]"#);
    let file = load_text(&part, Path::new("t.json"), &formats(Some("otlp-json"))).unwrap();
    assert_eq!(
        file.unusable.to_string(),
        "1 span left out: line 2: [1]: the span is an integer instead of an object"
    );
}

#[test]
fn spans_of_both_names_of_a_list_are_in_the_order_of_the_text() {
    let list = |key: &str, id: &str| {
        format!(r#""{key}": [{{"spans": [{{"traceId": "t", "spanId": "{id}"}}]}}]"#)
    };
    let lists = [list("instrumentationLibrarySpans", "older"), list("scopeSpans", "newer")];
    let traces = from_text(&format!(r#"{{"resourceSpans": [{{{}}}]}}"#, lists.join(", ")));
    let ids: Vec<&str> = traces[0].spans.iter().map(|span| span.span_id.as_str()).collect();
    assert_eq!(ids, ["older", "newer"]);
}

#[test]
fn log_records_in_the_response_of_a_trace_api_count() {
    let text = r#"{"trace": {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"traceId": "t"}]}]}]},
        "resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "a"}]}]}]}"#;
    assert_eq!(shape(&from_text(text)), [[1, 1, 0, 1]]);
}

#[test]
fn logs_join_their_span_or_else_their_trace() {
    let text = r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "T1", "spanId": "A"}]}]}],
        "resourceLogs": [{"instrumentationLibraryLogs": [{"logRecords": [
            {"traceId": "t1", "spanId": "a", "timeUnixNano": "5", "observedTimeUnixNano": 0, "body": {"stringValue": "hi"},
             "attributes": [{"key": "event.name", "value": {"stringValue": "second"}},
                            {"key": "otel.event.name", "value": {"stringValue": "first"}}]},
            {"traceId": "t1", "spanId": "unknown"}, {"traceId": "t1"}, {"traceId": "t2"}, {"spanId": "a"}, 7]}]}]}"#;
    let traces = from_text(text);
    assert_eq!(
        shape(&traces),
        [[1, 1, 1, 1]],
        "a record of an unknown span is about none of these"
    );
    let log = &traces[0].logs[0][0];
    assert_eq!(
        (log.time_ns, log.observed_time_ns, log.event_name.as_str()),
        (Some(5), None, "first")
    );
    assert_eq!(log.body.as_str(), Some("hi"));
}

#[test]
fn ids_of_any_spelling_meet() {
    let trace = only("e05_odd_ids.json");
    assert_eq!(&*trace.trace_id, "abcdef0123456789abcdef0123456789");
    let ids: Vec<&str> = trace.walk().map(|span| trace.spans[span].span_id.as_str()).collect();
    assert_eq!(ids, ["abcdef0123456789", "short", "short2", "abcdef0123456799"]);
    let base64 = only("d01_tempo_batches.json");
    assert!(
        base64.trace_id.len() == 32 && base64.trace_id.bytes().all(|byte| byte.is_ascii_hexdigit())
    );
}

#[test]
fn odd_trees_are_mended_with_warnings() {
    let trace = only("e06_duplicates_and_cycles.json");
    // One of the two would not be evaluated.
    let error = "span a29249496bf8e388 is recorded more than once with different content";
    assert_eq!(trace.errors, [error]);
    let mut warnings = trace.warnings.clone();
    warnings.sort();
    assert_eq!(
        warnings,
        [
            "parent cycle through 3 spans broken at 06b15225f9f6ad53",
            "span be919e19837f2621 names itself as parent; treated as a root",
        ]
    );
    assert!(!names(&trace).contains(&"chat dup"), "the first of a repeated id counts");
    assert_eq!(trace.walk().count(), trace.spans.len());
}

#[test]
fn siblings_are_in_order_of_start_then_id() {
    let span = |id: &str, parent: &str, start: i64| {
        format!(
            r#"{{"traceId": "t", "spanId": "{id}", "parentSpanId": "{parent}", "name": "{id}", "startTimeUnixNano": {start}}}"#
        )
    };
    let spans = [
        span("late", "root", 9),
        span("b", "root", 5),
        span("a", "root", 5),
        span("deep", "b", 1),
        span("root", "gone", 7),
    ];
    let traces = from_text(&format!("[{}]", spans.join(",")));
    assert_eq!(names(&traces[0]), ["root", "a", "b", "deep", "late"]);
}

#[test]
fn numbers_that_cannot_be_times_become_zero_with_a_warning() {
    let infinite = only("e08_time_infinity.json");
    assert_eq!(infinite.spans[0].start_ns, 0);
    assert_eq!(
        infinite.warnings,
        ["span ef32a3600e6ddf3e: startTimeUnixNano is infinite; 0 is used"]
    );

    let odd = only("e07_times.json");
    let times: Vec<(i128, i128)> =
        odd.spans.iter().map(|span| (span.start_ns, span.end_ns)).collect();
    assert_eq!(times, [(0, 0), (0, 0), (1500, 1000), (5000, 100)]);
    assert_eq!(odd.warnings, Vec::<String>::new());

    let jaeger = only("a11_jaeger_bad_starttime.json");
    assert_eq!(jaeger.spans[0].start_ns, 12_000);
    assert_eq!(jaeger.warnings.len(), 1, "{:?}", jaeger.warnings);
    assert!(
        jaeger.warnings[0].ends_with("startTime is not an integer; its whole part or 0 is used")
    );
}

#[test]
fn parts_of_the_wrong_type_are_lost_with_a_warning() {
    let events = only("e10_events_not_list.json");
    assert_eq!(
        events.warnings,
        ["span b59e573a76994735: events is an integer instead of an array; ignored"]
    );
    let processes = only("a12_jaeger_processes_list.json");
    assert_eq!(
        processes.warnings,
        ["processes is an array instead of an object; services are unknown"]
    );
    assert!(processes.spans[0].resource.is_empty());
}

#[test]
fn replaced_surrogates_are_reported() {
    let trace = only("c26_surrogate.json");
    assert_eq!(trace.warnings.len(), 1, "{:?}", trace.warnings);
    assert!(
        trace.warnings[0].ends_with("lone surrogate escapes of the file were replaced by U+FFFD")
    );
}

#[test]
fn status_codes_have_names_and_numbers() {
    let trace = only("e03_enum_names.json");
    for span in &trace.spans {
        let tool =
            span.attributes.get("gen_ai.tool.name").and_then(Value::as_str).unwrap_or_default();
        let expected = match tool {
            "" if span.parent_span_id.is_none() => SpanStatus::Ok,
            _ if tool.starts_with("err_") => SpanStatus::Error,
            _ => SpanStatus::Unset,
        };
        assert_eq!(span.status, expected, "{tool}");
    }
}

#[test]
fn attributes_may_be_objects() {
    let trace = only("e02_dict_attributes.json");
    assert_eq!(attribute(&trace, 1, "gen_ai.usage.output_tokens"), "6.0");
    assert_eq!(attribute(&trace, 2, "gen_ai.tool.call.arguments.n.deep"), "1");
    assert_eq!(
        trace.spans[0].resource.get("service.name").and_then(Value::as_str),
        Some("dict-svc")
    );
    assert_eq!(trace.spans[2].start_ns, 1_700_000_000_003_000_064, "a float is no exact time");
}

#[test]
fn field_names_of_the_protobuf_definition_are_read() {
    let trace = only("e01_proto_names.json");
    assert_eq!(attribute(&trace, 0, "gen_ai.operation.name"), "\"invoke_agent\"");
    assert_eq!(trace.roots.len(), 1);
}

/// The deepest text that parses must not overflow the stack of a small thread, wherever the depth is.
#[test]
fn deep_documents_fit_a_small_stack() {
    let deep = |open: &str, close: &str| open.repeat(330) + "1" + &close.repeat(330);
    let values = deep("{\"arrayValue\": {\"values\": [", "]}}");
    let objects = deep("{\"a_b\": {\"c\": {\"d\": ", "}}}");
    let texts = [
        format!(
            r#"{{"resource_spans": [{{"scope_spans": [{objects}, {{"spans": [{{"trace_id": "t", "span_id": "s", "attributes": {objects}}}]}}]}}]}}"#
        ),
        format!(
            r#"{{"traceId": "t", "spanId": "s", "attributes": [{{"key": "k", "value": {values}}}]}}"#
        ),
        format!(
            r#"{{"data": [{{"spans": [{{"traceID": "t", "spanID": "s", "tags": [{{"key": "k", "value": {objects}}}]}}]}}]}}"#
        ),
    ];
    let work = move || {
        for text in &texts {
            assert_eq!(shape(&from_text(text)), [[1, 1, 0, 0]]);
        }
        let chain: Vec<String> = (0..50_000)
            .map(|span| {
                format!(r#"{{"traceId": "t", "spanId": "{span}", "parentSpanId": "{}"}}"#, span + 1)
            })
            .collect();
        let trace = &from_text(&format!("[{}]", chain.join(",")))[0];
        assert_eq!((trace.roots.len(), trace.walk().count()), (1, 50_000));
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work);
    thread.expect("a thread").join().expect("no panic");
}
