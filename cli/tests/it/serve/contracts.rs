//! Documents of every contract, answered in its terms.

use std::{fs, io::Write, thread, time::Duration};

use serde_json::json;

use super::{AGENTEVALS, SAME, SHOW, WEBHOOK};
use crate::support::{
    Directory,
    serving::{Serving, response},
};

/// A document of Agenta as it was captured, sent to another path.
fn captured(name: &str, path: &str) -> String {
    let file = format!("{}/../protocol/tests/data/agenta/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(file).unwrap();
    let rest = text.split_once(" HTTP/1.1").unwrap().1;
    format!("POST {path} HTTP/1.1{rest}")
}

/// A document as a host sends it, of those that the protocol's tests read.
fn sent(path: &str) -> String {
    fs::read_to_string(format!("{}/../protocol/tests/data/{path}", env!("CARGO_MANIFEST_DIR")))
        .unwrap()
}

#[test]
fn what_agentv_and_adk_send_is_answered_in_their_terms() {
    let directory = Directory::new();
    directory.script("same", SAME);
    let server = Serving::start(&directory, &["same"]);
    let answer = server.post("/evaluators/same", &sent("agentv/v4.42.4-stdin.json")).is(200).json();
    assert!(answer["score"].is_number() && answer["pass"].is_boolean(), "{answer}");
    let answer = server.post("/evaluators/same", &sent("adk/envelope_static.json")).is(200).json();
    assert_eq!(answer["per_invocation_results"].as_array().unwrap().len(), 2, "{answer}");
    assert!([1, 2, 4].contains(&answer["overall_eval_status"].as_i64().unwrap()), "{answer}");
}

#[test]
fn what_agenta_sends_is_answered_in_its_terms() {
    let directory = Directory::new();
    directory.script("same", SAME);
    let server = Serving::start(&directory, &["same"]);
    for (name, path) in [
        ("webhook-request", "/evaluators/same?x=1"),
        ("webhook-request", "/"),
        ("remote-request", "/evaluators/same/invoke"),
        ("remote-request", "/invoke"),
    ] {
        let request = captured(name, path);
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        // Head and body come one after the other, and may come byte by byte.
        let mut stream = server.connect();
        stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(20));
        stream.write_all(body.as_bytes()).unwrap();
        let answer = response(&mut stream).is(200);
        assert_eq!(answer.body, r#"{"score":1.0,"success":true}"#);
        // The connection is still good.
        for byte in request.as_bytes() {
            stream.write_all(&[*byte]).unwrap();
        }
        assert_eq!(response(&mut stream).is(200).json(), json!({"score": 1.0, "success": true}));
    }
    let dict = captured("webhook-request.dict-output", "/evaluators/same");
    let mut stream = server.connect();
    stream.write_all(dict.as_bytes()).unwrap();
    assert_eq!(response(&mut stream).is(200).json(), json!({"score": 0.25, "success": false}));
}

#[test]
fn errors_for_agenta_are_plain_text() {
    let directory = Directory::new();
    directory.script("same", SAME);
    directory.script("crash", "cat >/dev/null; echo 'out of luck' >&2; exit 9");
    directory.script("json", r#"cat >/dev/null; echo '{"error": {"kind": "k", "message": "{}"}}'"#);
    directory.script("nonsense", "cat >/dev/null; echo 'score: 1'");
    directory.script("slow", "sleep 60");
    directory.file("c.yaml", "evaluators:\n  - {name: slow, type: code, path: slow, timeout: 1}\n");
    let server = Serving::start(&directory, &["same", "crash", "json", "nonsense", "-c", "c.yaml"]);
    for (name, status, text) in [
        ("crash", 500, "Custom evaluator 'crash' exited with code 9: out of luck"),
        ("json", 500, "Custom evaluator 'json' reported an error (k): {}"),
        ("nonsense", 500, "Custom evaluator 'nonsense' produced invalid JSON"),
        ("slow", 504, "Custom evaluator 'slow' timed out after 1s"),
        (
            "missing",
            404,
            "there is no evaluator `missing`; the server offers slow, same, crash, json",
        ),
    ] {
        for path in [format!("/evaluators/{name}"), format!("/evaluators/{name}/invoke")] {
            let answer = server.post(&path, WEBHOOK).is(status);
            assert!(answer.text().starts_with(text), "{}", answer.body);
        }
        let answer = server.post(&format!("/evaluators/{name}"), AGENTEVALS).is(status);
        assert!(answer.json()["error"]["message"].as_str().unwrap().starts_with(text));
    }
    // The contract cannot express it, and a score must not be invented.
    let unjudged = r#"{"inputs":{"country":"France"},"output":"Paris"}"#;
    let answer = server.post("/evaluators/same", unjudged).is(422);
    assert_eq!(answer.text(), "not evaluated: nothing to compare with");
    // The document has no output of the app, so the evaluator is not called.
    let answer = server.post("/evaluators/crash", r#"{"inputs":{},"parameters":{}}"#).is(422);
    assert_eq!(answer.text(), "not evaluated: the document has no `outputs`");
    // Several evaluators are offered, and the path names none of them.
    server.post("/invoke", WEBHOOK).is(404).text();
    // Agenta reads plain text, also where a document does not reach an evaluator.
    server.post("/evaluators/same/invoke", "nonsense").is(400).text();
    server.post("/evaluators/same", r#"{"inputs":{},"output":NaN}"#).is(400).text();
    for path in ["/evaluators/same/", "/evaluators/%ff", "/elsewhere"] {
        server.post(path, WEBHOOK).is(404).text();
        server.post(path, AGENTEVALS).is(404).kind();
    }
    server.post("/evaluators", WEBHOOK).is(405).text();
    server.request("PUT", "/evaluators/same/invoke", &[], "").is(405).kind();
}

#[test]
fn documents_of_agentevals_are_answered_with_everything_that_was_said() {
    let directory = Directory::new();
    directory.script("same", SAME);
    directory.script(
        "much",
        r#"cat >/dev/null; echo '{"score": "0.5", "status": "FAILED", "per_invocation_scores": [null], "details": {"big": 123456789012345678901234567890, "nan": NaN}}'"#,
    );
    let server = Serving::start(&directory, &["same", "much"]);
    let answer = server.post("/evaluators/much", AGENTEVALS).is(200);
    assert_eq!(
        answer.body,
        r#"{"score":0.5,"status":"FAILED","per_invocation_scores":[null],"details":{"big":123456789012345678901234567890,"nan":null}}"#
    );
    // It has a word for what was not judged.
    let unjudged = r#"{"metric_name":"m","invocations":[],"expected_invocations":null}"#;
    let answer = server.post("/evaluators/same", unjudged).is(200).json();
    assert_eq!(answer["status"], "NOT_EVALUATED");

    for (document, status, kind) in [
        ("", 400, "bad_document"),
        ("{", 400, "bad_document"),
        (r#"{"metric_name": "m", "more": NaN}"#, 400, "bad_document"),
        (r#"{"metric_name": "m"}{"metric_name": "m"}"#, 400, "bad_document"),
        ("[1]", 422, "bad_document"),
        (r#"{"metric_name": 5}"#, 422, "bad_document"),
        (r#"{"something": "else"}"#, 422, "unknown_contract"),
        (
            r#"{"metric_name": "m", "inputs": {}, "outputs": "x", "invocations": []}"#,
            422,
            "unknown_contract",
        ),
    ] {
        let answer = server.request("POST", "/evaluators/same", &[], document).is(status);
        assert_eq!(answer.kind(), kind, "{document}");
    }
}

#[test]
fn an_entry_says_what_a_document_does_not() {
    let directory = Directory::new();
    directory.script("show", SHOW);
    directory.script("same", SAME);
    directory.file(
        "c.yaml",
        "evaluators:\n  \
         - {name: show, type: code, path: show, threshold: 0.75, config: {a: 1, b: 123456789012345678901234567890}}\n  \
         - {name: lenient, type: code, path: same, threshold: 0.2}\n  \
         - {name: zero, type: code, path: same, threshold: 0}\n  \
         - {name: capital, type: code, path: same, config: {correct_answer_key: capital}}\n  \
         - {name: tool_trajectory_avg_score, type: builtin}\n",
    );
    let server = Serving::start(&directory, &["-c", "c.yaml"]);
    server.says("tool_trajectory_avg_score is a built-in metric");
    let seen = |document: &str| {
        server.post("/evaluators/show", document).is(200).json()["details"]["document"].clone()
    };
    let document = seen(r#"{"metric_name": "m", "more": [1]}"#);
    assert_eq!(document["threshold"], 0.75);
    assert_eq!(document["more"], json!([1]));
    assert_eq!(document["config"]["a"], 1);
    assert!(
        server.post("/evaluators/show", AGENTEVALS).body.contains("123456789012345678901234567890")
    );
    let document = seen(r#"{"metric_name": "m", "threshold": 0.9, "config": {"a": 2}}"#);
    assert_eq!((document["threshold"].as_f64(), &document["config"]["a"]), (Some(0.9), &json!(2)));

    let success = |name: &str, document: &str| {
        server.post(&format!("/evaluators/{name}"), document).is(200).json()["success"].clone()
    };
    let wrong = WEBHOOK.replace(r#""output":"Paris""#, r#""output":"Rome""#);
    assert_eq!(success("lenient", &wrong), json!(true));
    assert_eq!(success("zero", &wrong), json!(true));
    let strict = wrong.replace(r#""output""#, r#""parameters":{"threshold":0.5},"outputs""#);
    assert_eq!(success("lenient", &strict), json!(false));
    // The key of the correct answer is a setting of the webhook.
    let elsewhere = WEBHOOK.replace("correct_answer", "capital");
    assert_eq!(success("capital", &elsewhere), json!(true));
}

#[test]
fn no_request_has_a_file_of_this_machine_judged() {
    let directory = Directory::new();
    directory.script("show", SHOW);
    let file = directory.file("secret.json", "\"a secret\"");
    let server = Serving::start(&directory, &["show"]);
    let file = json!(file.to_str().unwrap()).to_string();
    for (key, named) in [
        ("\"output_path\"", "output_path"),
        ("\"outputPath\"", "outputPath"),
        // However it is spelled, and however often.
        ("\"output\\u005fpath\"", "output_path"),
        ("\"output_path\": null, \"output_path\"", "output_path"),
    ] {
        let document = format!("{{\"criteria\": \"c\", \"output\": null, {key}: {file}}}");
        let refused = server.post("/evaluators/show", &document).is(422);
        let expected = format!("{named}: files are not read for requests");
        assert!(refused.body.contains(&expected), "{}", refused.body);
    }
    let document = r#"{"criteria": "c", "output": "a", "output_path": null}"#;
    server.post("/evaluators/show", document).is(200);
}

#[test]
fn what_is_no_text_is_not_given_to_an_evaluator() {
    let directory = Directory::new();
    directory.script("same", SAME);
    let server = Serving::start(&directory, &["same"]);
    // The evaluator does not read this key.
    let document = b"{\"metric_name\": \"m\", \"more\": \"caf\xe9\"}";
    let mut stream = server.connect();
    let head = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", document.len());
    stream.write_all(&[head.as_bytes(), document].concat()).unwrap();
    let refused = response(&mut stream).is(400);
    assert!(refused.body.contains("the document is not UTF-8 (byte 33)"), "{}", refused.body);
}

#[test]
fn functions_of_agenta_are_offered_to_it() {
    if !crate::support::has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file(
        "check.py",
        "def evaluate(app_params, inputs, output, correct_answer):\n    return float(output == correct_answer)\n",
    );
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: check, type: code, path: check.py, contract: agenta}\n",
    );
    let server = Serving::start(&directory, &["-c", "c.yaml"]);
    assert_eq!(server.post("/", WEBHOOK).is(200).json(), json!(1.0));
    assert_eq!(server.get("/evaluators/check").is(200).json()["contract"], "agenta");
    server.post("/", r#"{"inputs":{},"output":"Paris"}"#).is(500);
    // Documents of other contracts are not converted for it.
    server.says("check takes only documents of its contract, agenta");
    let refused = server.post("/", AGENTEVALS).is(422);
    assert_eq!(refused.kind(), "other_contract");
    assert!(refused.body.contains("check takes documents of Agenta only, and this is one of age"));
}
