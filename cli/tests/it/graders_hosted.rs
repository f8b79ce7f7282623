//! Graders with `execution: api`, against servers that play recorded exchanges.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    io::Write,
    net::TcpStream,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use evaluator_test_support::{
    exchanges::{assert_sent, cases, exchanges, play},
    finish,
    processes::{signal, wait_until},
    run,
    server::{Request, Server},
};
use serde_json::{Value, json};

use crate::support::{Directory, Ran};

/// A key that must not occur in any output.
const DECOY: &str = "sk-decoy-0123456789";

/// Texts of a turn: `null`, one text, or several parts.
fn parts(value: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    match value {
        Value::Null => Vec::new(),
        Value::Array(parts) => parts.iter().map(text).collect(),
        value => vec![text(value)],
    }
}

/// Texts of a recorded answer. Recordings concatenate the parts of a message, so that an answer has one at most.
fn answered(value: &Value) -> Vec<String> {
    let parts = parts(value);
    if parts.is_empty() { parts } else { vec![parts.join(" ")] }
}

/// A conversation with these answers: one trace per turn.
pub(crate) fn conversation(answers: &[Value]) -> String {
    let spans = answers.iter().zip(1_u64..).map(|(answer, number)| {
        let message = |role: &str, parts: Vec<String>| {
            let parts: Vec<Value> =
                parts.iter().map(|text| json!({"type": "text", "content": text})).collect();
            json!([{"role": role, "parts": parts}]).to_string()
        };
        let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        json!({
            "traceId": format!("{number:032x}"),
            "spanId": format!("{number:016x}"),
            "name": "invoke_agent a",
            "startTimeUnixNano": (number * 1000).to_string(),
            "endTimeUnixNano": (number * 1000 + 500).to_string(),
            "attributes": [
                attribute("gen_ai.operation.name", "invoke_agent"),
                attribute("gen_ai.conversation.id", "c1"),
                attribute("gen_ai.input.messages", &message("user", vec![format!("question {number}")])),
                attribute("gen_ai.output.messages", &message("assistant", answered(answer))),
            ],
        })
    });
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans.collect::<Vec<_>>()}]}]}).to_string()
}

/// The eval set of a conversation with these expected answers.
pub(crate) fn golden(answers: &[Value]) -> String {
    let content = |parts: Vec<String>| {
        let parts: Vec<Value> = parts.iter().map(|text| json!({"text": text})).collect();
        json!({"parts": parts})
    };
    let turns = answers.iter().zip(1..).map(|(answer, number)| {
        let mut turn = json!({
            "invocation_id": format!("g{number}"),
            "user_content": content(vec![format!("question {number}")]),
        });
        if !answer.is_null() {
            turn["final_response"] = content(parts(answer));
        }
        turn
    });
    let turns: Vec<Value> = turns.collect();
    json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": turns}]}).to_string()
}

/// Writes the files of a case, and returns the arguments of a run.
fn write(directory: &Directory, case: &Value, entry: &str) -> Vec<&'static str> {
    let mut evaluator = case["evaluator"].clone();
    evaluator["type"] = json!("openai_eval");
    for (key, value) in serde_json::from_str::<Value>(entry).unwrap().as_object().unwrap() {
        evaluator[key] = value.clone();
    }
    directory.file("t.json", conversation(case["actual"].as_array().unwrap()));
    directory.file("c.yaml", json!({"evaluators": [evaluator]}).to_string());
    let mut args =
        vec!["run", "t.json", "-c", "c.yaml", "-o", "json", "--group-by", "conversation"];
    if let Some(expected) = case["expected"].as_array() {
        directory.file("golden.json", golden(expected));
        args.extend(["-e", "golden.json"]);
    }
    args
}

fn run_case(case: &Value, server: &Server) -> Ran {
    let directory = Directory::new();
    let args = write(&directory, case, r#"{"execution": "api", "missing_turns": "ignore"}"#);
    let mut command = directory.command(&args);
    command.env("OPENAI_API_KEY", DECOY).env("OPENAI_BASE_URL", format!("{}/v1", server.url()));
    let ran = run(&mut command);
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(DECOY), "{}", ran.stderr);
    ran
}

fn result(ran: &Ran) -> Value {
    ran.json()["traces"][0]["metrics"][0].clone()
}

/// Requests that agentevals does not send.
fn is_ours(request: &Request) -> bool {
    request.path.starts_with("/v1/evals?") || request.path.ends_with("/cancel")
}

/// Checks a recorded case.
fn check(name: &str, case: &Value) {
    let exchanges = exchanges(name, case);
    let server = play(&exchanges);
    let ran = run_case(case, &server);
    let (result, ours) = (result(&ran), &case["ours"]);
    let outcome = ours["status"].as_str().unwrap();
    assert_eq!(result["outcome"], outcome, "{name}: {}{}", ran.stdout, ran.stderr);
    match (ours["score"].as_f64(), result["score"].as_f64()) {
        (None, None) => assert!(ran.stdout.contains("\"error\""), "{name}"),
        (Some(wanted), Some(score)) => assert!((score - wanted).abs() < 1e-9, "{name}: {score}"),
        (wanted, score) => panic!("{name}: {wanted:?} {score:?}"),
    }
    let requests = server.requests();
    // These cases send other items, more requests, or fewer.
    if !["missing-answer-and-short-golden-set", "twenty-five-items", "unknown-status", "timed-out"]
        .contains(&name)
    {
        assert_sent(&requests, &exchanges, is_ours);
    }
    let created = exchanges.iter().any(|it| it["response"]["status"] == 201);
    let deleted = requests.iter().filter(|request| request.method == "DELETE").count();
    assert_eq!(deleted, usize::from(created), "{name}: no eval is left behind");
    let recorded = &case["recorded_result"]["details"];
    if outcome != "error" && recorded["per_testing_criteria"].is_array() {
        for key in [
            "openai_eval_id",
            "openai_run_id",
            "per_testing_criteria",
            "evaluation_metric",
            "passing_labels",
        ] {
            assert_eq!(result["details"][key], recorded[key], "{name}: {key}");
        }
    }
}

#[test]
fn vectors_recorded_exchanges_give_the_wanted_verdicts() {
    let cases: Vec<(String, Value)> =
        cases("openai").into_iter().filter(|(_, case)| case["evaluator"].is_object()).collect();
    assert!(cases.len() >= 25, "{}", cases.len());
    for group in cases.chunks(6) {
        thread::scope(|scope| {
            for (name, case) in group {
                scope.spawn(move || check(name, case));
            }
        });
    }
}

fn case(name: &str) -> Value {
    cases("openai").into_iter().find(|(other, _)| other == name).unwrap().1
}

#[test]
fn only_turns_with_an_expected_answer_are_sent() {
    let case = case("missing-answer-and-short-golden-set");
    let server = play(case["exchanges"].as_array().unwrap());
    run_case(&case, &server);
    let run = server.requests().into_iter().find(|it| it.path.ends_with("/runs")).unwrap();
    let body: Value = serde_json::from_slice(&run.body).unwrap();
    let sent = &body["data_source"]["source"]["content"];
    assert_eq!(sent.as_array().unwrap().len(), 1, "{sent}");
}

#[test]
fn a_missing_key_is_found_before_anything_is_read() {
    let case = case("similarity-success");
    let directory = Directory::new();
    for (entry, part) in [
        (r#"{"execution": "api"}"#, "OpenAI's API needs a key: set OPENAI_API_KEY"),
        (
            r#"{"execution": "api", "api_key_env": "OTHER_KEY"}"#,
            "the variable OTHER_KEY, which has the key of the server, is not set",
        ),
        (
            r#"{"execution": "api", "api_key_env": "", "base_url": "ftp://x"}"#,
            "must begin with https://",
        ),
    ] {
        let args = write(&directory, &case, entry);
        let mut command = directory.command(&args);
        let ran = run(command.env_remove("OPENAI_API_KEY"));
        ran.exits(2).says(part).reports_nothing();
    }
    let args = write(
        &directory,
        &case,
        r#"{"execution": "api", "base_url": "http://api.example.com/v1"}"#,
    );
    let ran = run(directory.command(&args).env("OPENAI_API_KEY", DECOY));
    ran.exits(2).says("http:// is for this machine only").reports_nothing();
}

/// Starts a run whose server never finishes, and waits until the run on the server is polled.
fn start_polling(server: &Server, directory: &Directory) -> Child {
    let args = write(directory, &case("timed-out"), r#"{"execution": "api", "timeout": 600}"#);
    let mut command = directory.command(&args);
    command.env("OPENAI_API_KEY", DECOY).env("OPENAI_BASE_URL", format!("{}/v1", server.url()));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the run is polled", || server.requests().iter().any(|it| it.method == "GET"));
    child
}

#[test]
fn an_interrupted_run_deletes_its_eval() {
    let server = play(case("timed-out")["exchanges"].as_array().unwrap());
    let directory = Directory::new();
    let child = start_polling(&server, &directory);
    assert!(signal("INT", &child.id().to_string()));
    let ran = finish(child);
    assert_eq!(result(&ran)["outcome"], "error", "{}", ran.stdout);
    let requests = server.requests();
    assert!(requests.iter().any(|it| it.path.ends_with("/cancel")));
    assert_eq!(requests.last().unwrap().method, "DELETE");
}

#[test]
fn a_second_interrupt_names_the_eval_that_stays() {
    let case = case("timed-out");
    let exchanges = case["exchanges"].as_array().unwrap().clone();
    let played = play(&exchanges);
    let target = played.url();
    // It passes everything on but the cancellation, which it never answers.
    let server = Server::start(move |request, stream| {
        if request.path.ends_with("/cancel") {
            thread::sleep(Duration::from_secs(60));
            return Ok(());
        }
        let mut upstream = TcpStream::connect(target.trim_start_matches("http://"))?;
        let length = request.body.len();
        let head = format!(
            "{} {} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n",
            request.method, request.path
        );
        upstream.write_all(head.as_bytes())?;
        upstream.write_all(&request.body)?;
        std::io::copy(&mut upstream, stream).map(drop)
    });
    let directory = Directory::new();
    let child = start_polling(&server, &directory);
    let pid = child.id().to_string();
    assert!(signal("INT", &pid));
    wait_until("the run is cancelled", || {
        server.requests().iter().any(|it| it.path.ends_with("/cancel"))
    });
    assert!(signal("INT", &pid));
    let ran = finish(child);
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let text = "the eval eval_68d2f000000000000000000000000001 was not deleted";
    assert!(ran.stderr.contains(text), "{}", ran.stderr);
}

#[test]
fn an_eval_that_stays_is_a_warning_with_its_id() {
    let case = case("similarity-success");
    let exchanges: Vec<Value> = case["exchanges"]
        .as_array()
        .unwrap()
        .iter()
        .cloned()
        .map(|mut it| {
            if it["request"]["method"] == "DELETE" {
                it["response"]["status"] = json!(400);
            }
            it
        })
        .collect();
    let ran = run_case(&case, &play(&exchanges));
    assert_eq!(result(&ran)["outcome"], "failed");
    assert!(
        ran.stderr.contains("the eval eval_68d2f000000000000000000000000001 could not be deleted"),
        "{}",
        ran.stderr
    );
}
