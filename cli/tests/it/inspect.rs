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
