//! Parts of recordings that cannot be used are never silent.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use serde_json::{Value, json};

use crate::support::{Directory, Ran, output_formats};

fn text(value: &str) -> Value {
    json!({"stringValue": value})
}

/// A span of an agent that was asked something and answered.
fn span(number: u64, answer: &str) -> Value {
    let messages = |role: &str, content: &str| {
        text(&json!([{"role": role, "parts": [{"type": "text", "content": content}]}]).to_string())
    };
    json!({
        "traceId": format!("{number:032x}"), "spanId": format!("{number:016x}"), "name": "agent",
        "startTimeUnixNano": "1", "endTimeUnixNano": "2",
        "attributes": [
            {"key": "gen_ai.operation.name", "value": text("invoke_agent")},
            {"key": "gen_ai.input.messages", "value": messages("user", "hi")},
            {"key": "gen_ai.output.messages", "value": messages("assistant", answer)},
        ],
    })
}

fn scope(spans: Value) -> Value {
    json!({"scope": {"name": "s"}, "spans": spans})
}

fn resource(spans: Value) -> Value {
    json!({"resource": {}, "scopeSpans": [scope(spans)]})
}

/// A document with a good span and this resource.
fn next_to_good(other: Value) -> Value {
    json!({"resourceSpans": [resource(json!([span(1, "yes")])), other]})
}

fn jaeger_span(number: u64) -> Value {
    let span = span(number, "yes");
    let tags: Vec<Value> = span["attributes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| json!({"key": it["key"], "type": "string", "value": it["value"]["stringValue"]}))
        .collect();
    json!({
        "traceID": span["traceId"], "spanID": span["spanId"], "operationName": "agent", "startTime": 1, "duration": 1,
        "tags": tags,
    })
}

fn jaeger(other: Value) -> Value {
    json!({"data": [{"traceID": "1", "spans": [jaeger_span(1)]}, other]})
}

fn without(mut object: Value, key: &str) -> Value {
    object.as_object_mut().unwrap().remove(key);
    object
}

fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}

/// A directory with an evaluator that passes everything, and its configuration.
fn directory() -> Directory {
    let directory = Directory::new();
    directory.script("good", r#"cat >/dev/null; echo '{"score": 1}'"#);
    directory.file("c.yaml", "evaluators: [{name: good, type: code, path: good}]");
    directory
}

fn run(directory: &Directory, files: &[&str], form: &str) -> Ran {
    directory.run(&[files, &["-c", "c.yaml", "-o", form]].concat())
}

#[test]
fn parts_that_cannot_be_used_are_errors_of_the_run_with_their_place() {
    let directory = directory();
    let good = || json!([span(2, "yes")]);
    let of_spans = |spans: Value| next_to_good(resource(spans));
    let at = "resourceSpans[1].scopeSpans[0]";
    let cases = [
        (
            of_spans(json!([without(span(2, "no"), "traceId")])),
            format!("{at}.spans[0]: the span has no usable `traceId`"),
        ),
        (
            of_spans(json!([with(span(2, "no"), "traceId", json!(7))])),
            format!("{at}.spans[0]: the span has no usable `traceId`"),
        ),
        (
            of_spans(json!([without(span(2, "no"), "spanId")])),
            format!("{at}.spans[0]: the span has no usable `spanId`"),
        ),
        (
            of_spans(json!([with(span(2, "no"), "spanId", json!("0000000000000000"))])),
            format!("{at}.spans[0]: the span has no usable `spanId`"),
        ),
        (
            of_spans(json!([{}])),
            format!("{at}.spans[0]: the span has no usable `traceId` and `spanId`"),
        ),
        (of_spans(json!(null)), format!("{at}: no `spans`")),
        (of_spans(json!({})), format!("{at}: `spans` is an object instead of an array")),
        (of_spans(json!("x")), format!("{at}: `spans` is a string instead of an array")),
        (of_spans(json!([null])), format!("{at}.spans[0]: the span is null instead of an object")),
        (
            of_spans(json!(["x"])),
            format!("{at}.spans[0]: the span is a string instead of an object"),
        ),
        (
            next_to_good(json!(null)),
            "resourceSpans[1]: the resource is null instead of an object".to_owned(),
        ),
        (next_to_good(json!({})), "resourceSpans[1]: no `scopeSpans`".to_owned()),
        (
            next_to_good(json!({"scopeSpan": [scope(good())]})),
            "resourceSpans[1]: no `scopeSpans`".to_owned(),
        ),
        (
            next_to_good(json!({"scopeSpans": [null]})),
            format!("{at}: the scope is null instead of an object"),
        ),
        (
            next_to_good(json!({"scopeSpans": {"spans": good()}})),
            "resourceSpans[1]: `scopeSpans` is an object instead of an array".to_owned(),
        ),
        (
            with(next_to_good(resource(good())), "batches", json!({})),
            "`batches` is an object instead of an array".to_owned(),
        ),
        (
            with(next_to_good(resource(good())), "resourceLogs", json!([{}])),
            "resourceLogs[0]: no `scopeLogs`".to_owned(),
        ),
        // Spans in members that are not read.
        (
            with(next_to_good(resource(good())), "ResourceSpans", json!([resource(good())])),
            "`ResourceSpans` holds spans and is not read".to_owned(),
        ),
        (
            with(next_to_good(resource(good())), "data", json!([{"spans": [jaeger_span(2)]}])),
            "`data` holds spans and is not read".to_owned(),
        ),
        (
            with(next_to_good(resource(good())), "traces", json!([next_to_good(resource(good()))])),
            "`traces` holds spans and is not read".to_owned(),
        ),
        (
            with(next_to_good(resource(good())), "trace", json!({"spans": good()})),
            "`trace` holds spans and is not read".to_owned(),
        ),
        (
            next_to_good(with(resource(good()), "scopeSpan", json!([scope(good())]))),
            "resourceSpans[1]: `scopeSpan` holds spans and is not read".to_owned(),
        ),
        (
            next_to_good(json!({"scopeSpans": [with(scope(good()), "Spans", good())]})),
            format!("{at}: `Spans` holds spans and is not read"),
        ),
        (
            with(
                with(next_to_good(resource(good())), "spanId", json!("2")),
                "name",
                json!("agent"),
            ),
            "the object is an export document as well as a span".to_owned(),
        ),
        (
            with(
                json!({"data": [{"spans": [jaeger_span(1)]}]}),
                "Data",
                json!([{"spans": [jaeger_span(2)]}]),
            ),
            "`Data` holds spans and is not read".to_owned(),
        ),
        (
            json!({"data": [{"spans": [jaeger_span(1)], "Spans": [jaeger_span(2)]}]}),
            "data[0]: `Spans` holds spans and is not read".to_owned(),
        ),
        (
            json!({"trace": {"resourceSpans": [resource(json!([span(1, "yes")]))]}, "status": "PARTIAL",
                "message": "too large"}),
            "status PARTIAL: \"too large\"".to_owned(),
        ),
        (
            json!([span(1, "yes"), {"spanId": "2"}]),
            "[1]: the span has no usable `traceId`".to_owned(),
        ),
        (
            jaeger(json!({"traceID": "2", "spans": [without(jaeger_span(2), "traceID")]})),
            "data[1].spans[0]: the span has no usable `traceID`".to_owned(),
        ),
        (
            jaeger(json!({"traceID": "2", "spans": [without(jaeger_span(2), "spanID")]})),
            "data[1].spans[0]: the span has no usable `spanID`".to_owned(),
        ),
        (
            jaeger(json!({"traceID": "2", "spans": [5]})),
            "data[1].spans[0]: the span is an integer instead of an object".to_owned(),
        ),
        (jaeger(json!({"traceID": "2", "spans": null})), "data[1]: no `spans`".to_owned()),
        (
            jaeger(json!({"traceID": "2", "spans": []})),
            "data[1]: the trace has no spans".to_owned(),
        ),
        (
            jaeger(json!({"traceID": "2", "spans": {}})),
            "data[1]: `spans` is an object instead of an array".to_owned(),
        ),
        (jaeger(json!(null)), "data[1]: the trace is null instead of an object".to_owned()),
        (
            with(
                json!({"data": [{"spans": [jaeger_span(1)]}]}),
                "errors",
                json!([{"code": 500, "msg": "shard"}]),
            ),
            r#"errors: {"code": 500, "msg": "shard"}"#.to_owned(),
        ),
    ];
    for (document, expected) in cases {
        directory.file("t.json", document.to_string());
        let outputs: Vec<String> = output_formats()
            .flat_map(|form| ["-o".to_owned(), format!("{form}=r.{form}")])
            .collect();
        let mut args = vec!["t.json", "-c", "c.yaml"];
        args.extend(outputs.iter().map(String::as_str));
        let ran = directory.run(&args).exits(3);
        // Each form says so itself, as well as stderr.
        for form in output_formats() {
            let start = expected.split(['`', '"', ':']).next().unwrap();
            let report = directory.read(&format!("r.{form}"));
            let shown = report.replace("&apos;", "'").replace("\\[", "[").replace("\\]", "]");
            assert!(shown.contains(start), "{form} {expected}: {report}");
        }
        assert!(ran.stderr.contains(&expected), "{expected}: {}", ran.stderr);
        let last = ran.stderr.lines().last().unwrap();
        assert!(
            last.starts_with("ERROR: 1 passed") || last.starts_with("ERROR: 2 passed"),
            "{last}"
        );
        assert!(last.contains("; 1 ") && last.ends_with(" of trace files left out"), "{last}");
    }
}

#[test]
fn members_without_spans_may_be_anything() {
    let directory = directory();
    let exemplar = json!({"traceId": "1", "spanId": "2", "timeUnixNano": "1", "asInt": "1"});
    let link = json!({"traceId": "1", "spanId": "2", "attributes": []});
    let mut linked = span(2, "yes");
    linked["links"] = json!([link]);
    linked["other"] = json!([{"spanId": "1", "name": "x"}]);
    for document in [
        with(
            next_to_good(resource(json!([linked]))),
            "resourceMetrics",
            json!([{"exemplars": [exemplar]}]),
        ),
        with(
            next_to_good(resource(json!([linked]))),
            "meta",
            json!({"name": "x", "links": [link]}),
        ),
        json!({"trace": {"resourceSpans": [resource(json!([linked]))]}, "status": "COMPLETE", "message": ""}),
        json!([linked]),
        linked.clone(),
        json!({"data": [{"traceID": "1", "spans": [jaeger_span(1)], "warnings": ["x"], "processes": {}}],
            "total": 0, "limit": 0, "offset": 0, "errors": null}),
    ] {
        directory.file("t.json", document.to_string());
        run(&directory, &["t.json"], "json").exits(0);
    }
}

#[test]
fn a_line_without_a_list_is_left_out() {
    let directory = directory();
    let good = json!({"resourceSpans": [resource(json!([span(1, "yes")]))]});
    for line in [json!({"resourceSpans": null}), json!({"batches": null, "resourceLogs": null})] {
        directory.file("t.jsonl", format!("{good}\n{line}"));
        run(&directory, &["t.jsonl"], "json")
            .exits(3)
            .says("1 list left out: line 2: no `resourceSpans`");
    }
}

#[test]
fn a_file_without_spans_is_an_error_of_the_run() {
    let directory = directory();
    directory.file("good.json", next_to_good(resource(json!([span(2, "yes")]))).to_string());
    let log = json!({"traceId": format!("{:032x}", 1), "body": text("x")});
    let empty = [
        json!({"resourceSpans": []}),
        json!({"resourceSpans": [resource(json!([]))]}),
        json!({"data": []}),
        json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [log]}]}]}),
    ];
    for document in empty {
        directory.file("empty.json", document.to_string());
        let error = "Failed to load trace file 'empty.json': it holds no spans";
        for form in output_formats() {
            let ran = run(&directory, &["good.json", "empty.json"], form).exits(3).says(error);
            let shown = ran.stdout.replace("&apos;", "'");
            assert!(shown.contains("it holds no spans"), "{form}: {}", ran.stdout);
        }
        // The rate is for chance.
        let args = ["good.json", "empty.json", "-c", "c.yaml", "--max-error-rate", "1"];
        directory.run(&args).exits(3);
        directory.evaluator(&["inspect", "good.json", "empty.json"]).exits(3).says(error);
    }
}

#[test]
fn lines_and_counts_are_named() {
    let directory = directory();
    let export = |spans: Value| json!({"resourceSpans": [resource(spans)]}).to_string();
    let lines = [
        export(json!([span(1, "yes")])),
        export(json!([null, span(2, "yes"), {"traceId": "3"}])),
        json!({"traceId": "4"}).to_string(),
    ];
    directory.file("t.jsonl", lines.join("\n"));
    let ran = run(&directory, &["t.jsonl"], "json").exits(3);
    assert_eq!(ran.json()["left_out"], json!({"spans": 3}));
    ran.says(
        "Trace file 't.jsonl' is used only in part: 3 spans left out: line 2: \
         resourceSpans[0].scopeSpans[0].spans[0]: the span is null instead of an object; line 2: \
         resourceSpans[0].scopeSpans[0].spans[2]: the span has no usable `spanId`; line 3: the span has no usable `spanId`",
    )
    .says("ERROR: 2 passed");
}

#[test]
fn other_spellings_and_second_lists_are_read() {
    let directory = directory();
    let mut snake = without(without(without(span(2, "yes"), "traceId"), "spanId"), "attributes");
    snake["trace_id"] = json!(format!("{:032x}", 2));
    snake["span_id"] = json!(format!("{:016x}", 2));
    snake["attributes"] = json!([{"key": "gen_ai.operation.name", "value": {"string_value": "invoke_agent"}},
        {"key": "gen_ai.input.messages", "value": {"string_value": "[{\"role\": \"user\", \"content\": \"hi\"}]"}}]);
    for document in [
        next_to_good(json!({"scope_spans": [scope(json!([span(2, "yes")]))]})),
        next_to_good(json!({"scope_spans": [scope(json!([snake]))]})),
        next_to_good(json!({"instrumentation_library_spans": [scope(json!([span(2, "yes")]))]})),
        next_to_good(
            json!({"scopeSpans": [], "instrumentationLibrarySpans": [scope(json!([span(2, "yes")]))]}),
        ),
        json!({"resourceSpans": [resource(json!([span(1, "yes")]))], "batches": [resource(json!([span(2, "yes")]))]}),
        json!({"resource_spans": [resource(json!([span(1, "yes")]))], "batches": [resource(json!([snake]))]}),
        json!({"trace": {"batches": [resource(json!([span(1, "yes")]))]}, "resourceSpans": [resource(json!([span(2, "yes")]))]}),
    ] {
        directory.file("t.json", document.to_string());
        let ran = run(&directory, &["t.json"], "json").exits(0);
        assert_eq!(ran.json()["traces"].as_array().unwrap().len(), 2, "{document}");
        assert_eq!(ran.json()["traces"][1]["num_invocations"], 1, "{document}");
    }
}

#[test]
fn keys_that_are_given_twice_are_errors() {
    let directory = directory();
    let list = json!([resource(json!([span(1, "yes")]))]).to_string();
    let item = resource(json!([span(1, "yes")])).to_string();
    let jaeger = json!([{"spans": [jaeger_span(1)]}]).to_string();
    for (document, expected) in [
        (
            format!(r#"{{"resourceSpans": {list}, "resourceSpans": {list}}}"#),
            "the key `resourceSpans` is repeated",
        ),
        (
            format!(r#"{{"resourceSpans": {list}, "resource_spans": {list}}}"#),
            "the key `resourceSpans` is repeated",
        ),
        (
            format!(r#"{{"resourceSpans": [{}, "scopeSpans": []}}]}}"#, &item[..item.len() - 1]),
            "resourceSpans[0]: the key `scopeSpans` is repeated",
        ),
        (format!(r#"{{"data": [], "data": {jaeger}}}"#), "the key `data` is repeated"),
    ] {
        directory.file("t.json", document);
        run(&directory, &["t.json"], "json")
            .exits(3)
            .says(&format!("Failed to load trace file 't.json': {expected}"));
    }
    // In a span, it is an error of its conversation alone.
    let twice = span(2, "yes").to_string();
    let twice = format!(r#"{}, "attributes": []}}"#, &twice[..twice.len() - 1]);
    directory.file("t.jsonl", format!("{}\n{twice}", span(1, "yes")));
    let ran = run(&directory, &["t.jsonl"], "json").exits(3);
    assert_eq!(ran.evaluations(0), ["good PASSED"]);
    assert_eq!(ran.evaluations(1), ["(all) ERROR unusable_recording"]);
    assert!(ran.stdout.contains("span 0000000000000002: the key `attributes` is repeated"));
}

#[test]
fn spans_with_one_id_and_different_content_are_errors_and_copies_are_dropped() {
    let directory = directory();
    let line = |number, answer: &str| {
        json!({"resourceSpans": [resource(json!([span(number, answer)]))]}).to_string()
    };
    // The order of attributes is not content.
    let mut turned = span(1, "yes");
    turned["attributes"].as_array_mut().unwrap().reverse();
    let turned = json!({"resourceSpans": [resource(json!([turned]))]}).to_string();
    directory.file("a.json", line(1, "yes"));
    directory.file("b.json", line(1, "no"));
    directory.file("copy.json", &turned);
    directory.file("both.jsonl", [line(1, "yes"), line(1, "no"), line(2, "yes")].join("\n"));
    directory
        .file("copies.jsonl", [line(1, "yes"), line(1, "yes"), turned, line(2, "yes")].join("\n"));
    let error = "span 0000000000000001 is recorded more than once with different content";
    for files in [&["both.jsonl"][..], &["a.json", "b.json"]] {
        for form in output_formats() {
            let ran = run(&directory, files, form).exits(3);
            assert!(ran.stdout.contains(error), "{form}: {}", ran.stdout);
            assert!(!ran.stderr.contains("exact copies"), "{}", ran.stderr);
        }
        let ran = run(&directory, files, "json");
        assert_eq!(ran.evaluations(0), ["(all) ERROR unusable_recording"]);
    }
    for (files, count) in [(&["copies.jsonl"][..], "2 spans"), (&["a.json", "copy.json"], "1 span")]
    {
        let warning = format!("{count} dropped as exact copies of others in 1 conversation");
        for form in output_formats() {
            let ran = run(&directory, files, form).exits(0).says(&format!("warning: {warning}"));
            assert!(ran.stdout.contains(&warning), "{form}: {}", ran.stdout);
        }
        assert_eq!(run(&directory, files, "json").json()["traces"][0]["num_invocations"], 1);
    }
}

#[test]
fn the_parts_of_a_trace_in_several_files_are_one_tree() {
    let directory = directory();
    let mut child = span(1, "yes");
    child["spanId"] = json!("00000000000000aa");
    child["parentSpanId"] = json!(format!("{:016x}", 1));
    child["attributes"][0]["value"] = text("chat");
    let mut named = child.clone();
    named["attributes"]
        .as_array_mut()
        .unwrap()
        .push(json!({"key": "session.id", "value": text("s")}));
    directory.file("a.json", json!([span(1, "yes")]).to_string());
    for (child, group_by) in [(child, "auto"), (named.clone(), "conversation"), (named, "trace")] {
        directory.file("b.json", json!([child]).to_string());
        for files in [["a.json", "b.json"], ["b.json", "a.json"]] {
            let args = ["-c", "c.yaml", "-o", "json", "--group-by", group_by];
            let ran = directory.run(&[&files[..], &args].concat()).exits(0);
            let traces = ran.json()["traces"].clone();
            assert_eq!(traces.as_array().unwrap().len(), 1, "{group_by}");
            assert_eq!(traces[0]["num_invocations"], 1, "{group_by}");
        }
    }
}

#[test]
fn messages_that_were_cut_off_are_errors_of_their_conversation() {
    let directory = directory();
    let cut = |attribute: usize, keep: usize| {
        let mut span = span(2, "a long answer");
        let value = span["attributes"][attribute]["value"]["stringValue"].as_str().unwrap();
        span["attributes"][attribute]["value"] = text(&value[..keep]);
        span
    };
    let add = |key: &str, value: &str| {
        let mut span = span(2, "yes");
        span["attributes"].as_array_mut().unwrap().push(json!({"key": key, "value": text(value)}));
        span
    };
    let tool = |arguments: &str| {
        let mut span = add("gen_ai.tool.call.arguments", arguments);
        span["attributes"][0]["value"] = text("execute_tool");
        span["parentSpanId"] = json!(format!("{:016x}", 2));
        span["spanId"] = json!("00000000000000aa");
        json!([span, self::span(2, "yes")])
    };
    let asked = json!([{"role": "assistant", "parts": [
        {"type": "tool_call", "id": "1", "name": "weather", "arguments": "{\"city\": \"Par"}]}]);
    let mut asks = span(2, "yes");
    asks["attributes"][2]["value"] = text(&asked.to_string());
    let adk = |key: &str, value: &str| without(add(key, value), "x");
    for (spans, expected) in [
        (json!([cut(1, 30)]), "gen_ai.input.messages is JSON that was cut off after 30 bytes"),
        (json!([cut(2, 40)]), "gen_ai.output.messages is JSON that was cut off after 40 bytes"),
        (json!([cut(2, 1)]), "gen_ai.output.messages is JSON that was cut off after 1 bytes"),
        (json!([asks]), "the arguments of the tool call weather are JSON that was cut off"),
        (tool("{\"city\": \"Par"), "the arguments of the tool are JSON that was cut off"),
        (
            json!([adk("gcp.vertex.agent.llm_response", "{\"content\": {")]),
            "gcp.vertex.agent.llm_response is JSON that was cut off after 13 bytes",
        ),
    ] {
        directory.file(
            "t.json",
            json!({"resourceSpans": [resource(json!([span(1, "yes")])), resource(spans)]})
                .to_string(),
        );
        let ran = run(&directory, &["t.json"], "json").exits(3);
        assert_eq!(ran.evaluations(0), ["good PASSED"], "{expected}");
        assert_eq!(ran.evaluations(1), ["(all) ERROR unusable_recording"], "{expected}");
        assert!(ran.stdout.contains(expected), "{expected}: {}", ran.stdout);
    }
    // What conventions leave to the producer stays text.
    for span in [
        tool("Paris"),
        tool("{'city': 'Paris'}"),
        json!([add("gen_ai.tool.call.result", "{\"cut")]),
        json!([add("gen_ai.prompt.0.content", "[not json")]),
        json!([add("input.value", "{\"cut")]),
    ] {
        directory.file("t.json", json!({"resourceSpans": [resource(span)]}).to_string());
        run(&directory, &["t.json"], "json").exits(0);
    }
}

#[test]
fn an_eval_set_with_a_key_given_twice_is_an_error_with_its_position() {
    let directory = directory();
    directory.file("t.json", json!([span(1, "yes")]).to_string());
    let turn = r#"{"user_content": {"parts": [{"text": "hi"}]}, "final_response": {"parts": [{"text": "yes"}]}"#;
    let set = |turn: &str, rest: &str| {
        format!(
            r#"{{"eval_set_id": "s", "eval_cases": [{{"eval_id": "a", "conversation": [{turn}]}}]{rest}}}"#
        )
    };
    let final_twice = format!("{turn},\n \"final_response\": {{}}}}");
    for (text, position) in [
        (set(&format!("{turn}}}"), ",\n \"eval_cases\": []"), "line 2 column 2"),
        (set(&final_twice, ""), "line 2 column 2"),
    ] {
        directory.file("set.json", text);
        run(&directory, &["t.json", "-e", "set.json"], "json").exits(3).says(&format!(
            "Failed to load eval set 'set.json': invalid JSON: the key is repeated in the same object at {position}"
        ));
    }
}
