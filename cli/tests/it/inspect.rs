//! `evaluator inspect`.
#![cfg(unix)]

use serde_json::json;

use crate::support::{Directory, trace};

#[test]
fn conversations_are_printed_as_evaluators_see_them() {
    let directory = Directory::new();
    let file = trace("k01_traj_exact");
    let ran = directory.evaluator(&["inspect", &file]).exits(0);
    for expected in [
        "Conversation 1: trace ",
        "  Turn 1 (span ",
        "    user: ",
        "    tool: ",
        "    answer: ",
        "1 conversation, 1 turn",
    ] {
        assert!(ran.stdout.contains(expected), "{expected}: {}", ran.stdout);
    }
    // The invocations are those of the document that an evaluator reads.
    directory.script("keep", "cat >document.json; echo '{\"score\": 1}'");
    directory.file("c.yaml", "evaluators: [{name: keep, type: code, path: keep}]");
    directory.run(&[&file, "-c", "c.yaml"]).exits(0);
    let document = std::fs::read_to_string(directory.path().join("document.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let ran = directory.evaluator(&["inspect", &file, "-o", "json"]).exits(0);
    let inspected = ran.json();
    assert_eq!(inspected["conversations"][0]["invocations"], document["invocations"]);
    assert_eq!(inspected["errors"], json!([]));
    assert_eq!(inspected["left_out"], json!({}));
    assert_eq!(inspected["grouping"]["by"], "trace");
}

#[test]
fn texts_and_values_of_tools_are_in_the_same_characters() {
    let directory = Directory::new();
    let (asked, args) =
        (json!([{"role": "user", "content": "Zürich?"}]), json!({"city": "Zürich"}));
    let span = |span: &str, parent: &str, attributes: serde_json::Value| {
        json!({"traceId": "a", "spanId": span, "parentSpanId": parent, "attributes": attributes})
            .to_string()
    };
    let agent = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": asked.to_string()});
    let tool = json!({
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find",
        "gen_ai.tool.call.arguments": args.to_string(),
    });
    directory.file("t.jsonl", [span("s", "", agent), span("t", "s", tool)].join("\n"));
    let ran = directory.evaluator(&["inspect", "t.jsonl"]).exits(0);
    assert!(ran.stdout.contains("    user: Zürich?\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("    tool: find {\"city\": \"Zürich\"} -> "), "{}", ran.stdout);
    // That each trace is a conversation is said only where that could be otherwise.
    assert!(!ran.stdout.contains("Grouping"), "{}", ran.stdout);
    let ran = directory.evaluator(&["inspect", "t.jsonl", "--group-by", "conversation"]).exits(0);
    assert!(ran.stdout.contains("Grouping: "), "{}", ran.stdout);
}

#[test]
fn what_cannot_be_used_is_named_and_an_error() {
    let directory = Directory::new();
    let span = |id: &str, answer: &str| {
        let asked = json!([{"role": "user", "content": "a\nConversation 9"}]).to_string();
        json!({"traceId": id, "spanId": "s", "attributes": {
            "gen_ai.operation.name": "invoke_agent", "session.id": "x",
            "gen_ai.input.messages": asked, "gen_ai.output.messages": answer,
        }})
        .to_string()
    };
    let lines = [
        span("a", "[]"),
        span("b", "[{"),
        json!({"traceId": "c"}).to_string(),
        json!({"traceId": "d", "spanId": "s"}).to_string(),
    ];
    directory.file("t.jsonl", lines.join("\n"));
    let ran = directory.evaluator(&["inspect", "t.jsonl"]).exits(3);
    for expected in [
        "    user: a\n      Conversation 9\n",
        "  error: span s: gen_ai.output.messages is JSON that was cut off after 2 bytes",
        "  error: no turns were found",
        "3 conversations, 2 turns, 2 cannot be evaluated; left out: 1 span",
    ] {
        assert!(ran.stdout.contains(expected), "{expected}: {}", ran.stdout);
    }
    ran.says("line 3: the span has no usable `spanId`");
    let args = ["inspect", "t.jsonl", "--group-by", "conversation", "-o", "json"];
    let ran = directory.evaluator(&args).exits(3);
    assert_eq!(ran.json()["conversations"].as_array().unwrap().len(), 2);
    assert_eq!(ran.json()["left_out"], json!({"spans": 1}));
    assert_eq!(ran.json()["grouping"]["by"], "conversation");
    directory.file("x.json", "{}");
    directory
        .evaluator(&["inspect", "x.json", "--format", "otlp-json"])
        .exits(3)
        .says("Failed to load trace file 'x.json': not an OTLP JSON document");
}

/// A span of one trace as a line of a file. A number of 0 is the agent, which has no parent.
fn span(
    number: u64,
    name: &str,
    status: &serde_json::Value,
    attributes: &serde_json::Value,
) -> String {
    json!({
        "traceId": "a", "spanId": number.to_string(), "parentSpanId": if number > 0 { "0" } else { "" },
        "name": name, "startTimeUnixNano": (number * 10).to_string(),
        "endTimeUnixNano": (if number > 0 { number * 10 + 5 } else { 99 }).to_string(),
        "status": status, "attributes": attributes,
    })
    .to_string()
}

#[test]
fn a_turn_that_failed_is_named_by_inspect_and_run() {
    let directory = Directory::new();
    let says = |text: &str| json!([{"role": "assistant", "content": text}]).to_string();
    let agent = |answer: Option<&str>| {
        let mut attributes = json!({"gen_ai.operation.name": "invoke_agent"});
        if let Some(answer) = answer {
            attributes["gen_ai.output.messages"] = json!(says(answer));
        }
        attributes
    };
    let chat = json!({"gen_ai.operation.name": "chat"});
    let (fine, quiet) = (json!({}), json!({"code": "STATUS_CODE_ERROR"}));
    let failed = |message: &str| json!({"code": "STATUS_CODE_ERROR", "message": message});
    let credentials =
        failed("Missing credentials: set a key\nTraceback (most recent call last):\n x");
    let no_key = "no key (span chat)";
    for (name, lines, expected) in [
        (
            "both failed",
            vec![
                span(0, "agent", &credentials, &agent(None)),
                span(1, "chat", &failed("no key"), &chat),
            ],
            Some("Missing credentials: set a key (span agent)"),
        ),
        (
            "the agent names no reason",
            vec![span(0, "agent", &quiet, &agent(None)), span(1, "chat", &failed("no key"), &chat)],
            Some(no_key),
        ),
        (
            "only the model call failed",
            vec![span(0, "agent", &fine, &agent(None)), span(1, "chat", &failed("no key"), &chat)],
            Some(no_key),
        ),
        (
            "nothing names a reason",
            vec![span(0, "agent", &quiet, &agent(None))],
            Some("no message was recorded (span agent)"),
        ),
        (
            "an answer before the agent failed",
            vec![span(0, "agent", &failed("no key"), &agent(Some("hi")))],
            Some("no key (span agent)"),
        ),
        (
            "a retried call, and an answer",
            vec![
                span(0, "agent", &fine, &agent(Some("hi"))),
                span(1, "chat", &failed("no key"), &chat),
            ],
            None,
        ),
        (
            "a retried call, and no recorded content",
            vec![
                span(0, "agent", &fine, &agent(None)),
                span(1, "chat", &failed("no key"), &chat),
                span(2, "chat", &fine, &chat),
            ],
            None,
        ),
    ] {
        directory.file("t.jsonl", lines.join("\n"));
        let ran = directory.evaluator(&["inspect", "t.jsonl"]).exits(0);
        let inspected = directory.evaluator(&["inspect", "t.jsonl", "-o", "json"]).exits(0).json();
        let report = directory.run(&["t.jsonl", "-m", "tool_call_count_v1", "-o", "json"]);
        let trace = report.json()["traces"][0].clone();
        assert_eq!(trace["conversion_warnings"], json!([]), "{name}");
        let failure = &inspected["conversations"][0]["sources"][0]["failure"];
        match expected {
            Some(expected) => {
                let line = format!("    failed: {expected}\n");
                assert!(ran.stdout.contains(&line), "{name}: {}", ran.stdout);
                let failed = json!([expected]);
                assert_eq!(trace["failed_turns"], failed, "{name}");
                assert!(!ran.stdout.contains("to record content"), "{name}: {}", ran.stdout);
                assert!(failure["message"].is_string(), "{name}: {failure}");
            }
            None => {
                assert!(!ran.stdout.contains("failed"), "{name}: {}", ran.stdout);
                assert_eq!(
                    (&trace["failed_turns"], failure),
                    (&json!(null), &json!(null)),
                    "{name}"
                );
            }
        }
    }
    // Turns that failed in the same way are one warning.
    let again = |number: u64| {
        span(number, "chat", &failed("no key"), &chat).replace("\"parentSpanId\":\"0\",", "")
    };
    directory.file("t.jsonl", [again(1), again(2)].join("\n"));
    let ran = directory.evaluator(&["inspect", "t.jsonl"]).exits(0);
    assert_eq!(ran.stdout.matches("    failed: no key (span chat)").count(), 2, "{}", ran.stdout);
    for form in ["table", "summary"] {
        let ran = directory.run(&["t.jsonl", "-m", "tool_call_count_v1", "-o", form]);
        let warning = "  Warning: a turn failed: no key (span chat)\n";
        assert_eq!(ran.stdout.matches(warning).count(), 1, "{}", ran.stdout);
    }
    let ran = directory.run(&["t.jsonl", "-m", "tool_call_count_v1", "-o", "junit"]);
    let property = "<property name=\"failed_turn\" value=\"no key (span chat)\"/>";
    assert_eq!(ran.stdout.matches(property).count(), 1, "{}", ran.stdout);
}

#[test]
fn what_cannot_be_read_is_not_said_to_be_missing() {
    let directory = Directory::new();
    let attributes =
        json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": "not JSON"});
    directory.file("t.jsonl", span(0, "agent", &json!({}), &attributes));
    let ran = directory.evaluator(&["inspect", "t.jsonl"]).exits(3);
    assert!(ran.stdout.contains("gen_ai.output.messages is not valid JSON"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("unknown:"), "{}", ran.stdout);
}

#[test]
fn operations_are_named_where_there_is_no_turn() {
    let directory = Directory::new();
    let needs = "and a turn needs `invoke_agent`, `invoke_workflow` or a model call such as `chat`";
    for (operations, found) in [
        (
            &["invoke-agent", "execute_tool"][..],
            "`invoke-agent` (did you mean `invoke_agent`?), `execute_tool`",
        ),
        (&["execute_tool", "execute_tool"], "`execute_tool`"),
        (&["embeddings", "Chat"], "`embeddings`, `Chat` (did you mean `chat`?)"),
    ] {
        let lines = operations.iter().zip(0..).map(|(operation, number)| {
            span(number, "s", &json!({}), &json!({"gen_ai.operation.name": operation}))
        });
        directory.file("t.jsonl", lines.collect::<Vec<_>>().join("\n"));
        let found = format!("gen_ai.operation.name is {found} in its spans, {needs}");
        let ran = directory.evaluator(&["inspect", "t.jsonl"]).exits(3);
        let expected = format!("  error: no turns were found: {found}; see https://");
        assert!(ran.stdout.contains(&expected), "{}", ran.stdout);
    }
}
