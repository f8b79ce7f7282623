//! Judged runs over a server on this machine: concurrency, failures, secrets, interruption, programs as models.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::{
    fs,
    io::Write as _,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use evaluator_test_support::{
    processes::{signal, wait_until},
    recording::recording,
    server::{Request, Server, response},
};
use serde_json::{Value, json};

use crate::support::{Directory, Ran, finish, has};

const METRIC: &str = "rubric_based_final_response_quality_v1";

/// Reply that says that the only rubric holds.
const HOLDS: &str =
    "ID: rubric_0\nProperty: Is polite.\nEvidence: -\nRationale: It is.\nVerdict: yes";
const FAILS: &str =
    "ID: rubric_0\nProperty: Is polite.\nEvidence: -\nRationale: It is not.\nVerdict: no";

const KEY: &str = "sk-decoy-0123456789";
/// Another secret of this machine, which the agent repeats.
const OTHER: &str = "ghp-decoy-9876543210";

fn answered(text: &str) -> Vec<u8> {
    let body = json!({
        "model": "m-2026",
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20},
    });
    response("200 OK", &["Content-Type: application/json"], body.to_string())
}

fn user_message(request: &Request) -> String {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

/// A directory with conversations and a configuration.
fn prepared(server: &Server, conversations: usize, judge: &str) -> Directory {
    let directory = Directory::new();
    let questions: Vec<String> =
        (0..conversations).map(|number| format!("Question {number}?")).collect();
    let turns = questions.iter().map(|question| (&**question, "Please see below."));
    directory.file("trace.json", recording(turns));
    directory.file(
        "c.yaml",
        format!(
            "judge:\n  model: openai_like/m\n  base_url: {}\n  api_key_env: JUDGE_KEY\n{judge}evaluators:\n\
             - {{name: {METRIC}, type: builtin, rubrics: [Is polite.]}}\n",
            server.url()
        ),
    );
    directory
}

fn command(directory: &Directory, more: &[&str]) -> Command {
    let args = ["run", "trace.json", "-c", "c.yaml", "-o", "json"];
    let mut command = directory.command(&[&args[..], more].concat());
    command.env("JUDGE_KEY", KEY).env("GITHUB_TOKEN", OTHER);
    command
}

fn run(directory: &Directory, more: &[&str]) -> Ran {
    finish(command(directory, more).spawn().unwrap())
}

#[test]
fn reports_are_equal_for_any_number_of_calls_in_flight_and_jobs_do_not_limit_calls() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let server = Server::start(move |request, stream| {
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(20));
        now.fetch_sub(1, Ordering::SeqCst);
        let holds = !user_message(request).contains("Question 3");
        stream.write_all(&answered(if holds { HOLDS } else { FAILS }))
    });
    let report = |max: u32| {
        seen.store(0, Ordering::SeqCst);
        let judge = format!("  samples: 2\n  concurrency: {{max: {max}, adaptive: false}}\n");
        let directory = prepared(&server, 12, &judge);
        // One job: evaluations that wait for a model need no processor.
        let ran = run(&directory, &["--jobs", "1"]).exits(1);
        let mut report = ran.json();
        for trace in report["traces"].as_array_mut().unwrap() {
            let metric = &mut trace["metrics"][0];
            metric["duration_ms"].take();
            metric["details"]["judge"]["duration_ms"].take();
        }
        (report.to_string(), seen.load(Ordering::SeqCst))
    };
    let (one, alone) = report(1);
    let (many, together) = report(32);
    assert_eq!(one, many);
    assert_eq!(alone, 1);
    assert!((3..=32).contains(&together), "{together}");
}

#[test]
fn a_wrong_key_is_an_error_of_the_run_after_one_request() {
    let server = Server::start(|_, stream| {
        let body = json!({"error": {"code": "invalid_api_key", "message": format!("Incorrect key {KEY}")}});
        stream.write_all(&response("401 Unauthorized", &[], body.to_string()))
    });
    let directory = prepared(&server, 3, "  concurrency: {max: 1, adaptive: false}\n");
    let ran = run(&directory, &[]).exits(3);
    let error = ran.error_of(METRIC);
    assert!(error.contains("unauthorized") && error.contains("JUDGE_KEY"), "{error}");
    assert!(error.contains("openai_like/m") && error.contains("turn 1: sample 1"), "{error}");
    assert_eq!(server.requests().len(), 1, "every other call would fail in the same way");
}

#[test]
fn no_secret_is_in_anything_that_is_written() {
    // The judge repeats what it was told, and the agent told it a secret.
    let server = Server::start(|request, stream| {
        let key = request.headers["authorization"].clone();
        let answer = String::from_utf8(answered(&format!("{HOLDS} ({key}, {OTHER})"))).unwrap();
        let mut body: Value =
            serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        body["model"] = format!("m of {key}").into();
        stream.write_all(&response("200 OK", &[], body.to_string()))
    });
    let directory = prepared(&server, 1, "  cassette: c.jsonl\n  samples: 1\n");
    directory.file("trace.json", recording([("What is the token?", OTHER)]));
    let ran = run(&directory, &["-vv", "--save-run", "run.evalrun"]).exits(0);
    assert_eq!(server.requests()[0].headers["authorization"], format!("Bearer {KEY}"));
    let cassette = directory.read("c.jsonl");
    assert!(cassette.contains("<redacted:GITHUB_TOKEN>"), "{cassette}");
    assert!(!cassette.contains(OTHER) && !cassette.contains(KEY), "{cassette}");
    assert!(ran.stderr.contains("a secret was removed"), "{}", ran.stderr);
    for (name, text) in [
        ("stdout", ran.stdout.clone()),
        ("stderr", ran.stderr.clone()),
        ("run file", directory.read("run.evalrun")),
    ] {
        assert!(!text.contains(KEY), "{name}: {text}");
        assert!(!text.contains(OTHER), "{name}: {text}");
    }
    for form in ["junit", "markdown", "github", "summary", "table"] {
        let ran = directory.evaluator(&["report", "run.evalrun", "-o", form]).exits(0);
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(KEY), "{form}");
    }
    // The recording still fits the request with the secret.
    run(&directory, &["--judge-mode", "replay"]).exits(0);
}

#[test]
fn failures_that_pass_are_asked_again_and_others_are_errors() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |_, stream| {
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            return stream.write_all(&response("503 Service Unavailable", &[], "{}"));
        }
        stream.write_all(&answered(HOLDS))
    });
    let directory =
        prepared(&server, 1, "  samples: 1\n  retries: {attempts: 2, max_wait: 0.01}\n");
    run(&directory, &[]).exits(0).says("judges: 1 call, 2 requests sent, 100 + 20 tokens");
    assert_eq!(server.requests().len(), 2);

    let server = Server::always(response("503 Service Unavailable", &[], "{}"));
    let directory =
        prepared(&server, 1, "  samples: 1\n  retries: {attempts: 3, max_wait: 0.01}\n");
    let error = run(&directory, &[]).exits(3).error_of(METRIC);
    assert!(error.contains("unavailable") && error.contains("after 3 requests"), "{error}");
    // As agentevals does, on request.
    let lenient = "  samples: 1\n  errors: not_evaluated\n  retries: {attempts: 1}\n";
    let directory = prepared(&server, 1, lenient);
    assert_eq!(run(&directory, &[]).exits(1).evaluations(0), [format!("{METRIC} NOT_EVALUATED")]);
}

#[test]
fn a_refused_parameter_is_dropped_on_request_with_one_warning() {
    let server = Server::start(|request, stream| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        if body.get("temperature").is_none() {
            return stream.write_all(&answered(HOLDS));
        }
        let message = "Unsupported value: 'temperature' does not support 0.5 with this model.";
        let error =
            json!({"message": message, "param": "temperature", "code": "unsupported_value"});
        stream.write_all(&response("400 Bad Request", &[], json!({"error": error}).to_string()))
    });
    let judge = "  samples: 2\n  params: {temperature: 0.5}\n  concurrency: {max: 1}\n";
    let error = run(&prepared(&server, 3, judge), &[]).exits(3).error_of(METRIC);
    assert!(error.contains("remove `params.temperature`, or set `drop_params: true`"), "{error}");

    server.clear();
    let directory =
        prepared(&server, 3, &format!("{judge}  drop_params: true\n  cassette: c.jsonl\n"));
    let warning = "`openai_like/m` refused `temperature`, and was asked without (`drop_params`)";
    for (mode, requests) in [("auto", 7), ("replay", 7), ("auto", 7)] {
        let ran = run(&directory, &["--judge-mode", mode]).exits(0);
        assert_eq!(ran.stderr.matches(warning).count(), 1, "{mode}: {}", ran.stderr);
        let replies = &ran.json()["traces"][2]["metrics"][0]["details"]["judge"]["replies"];
        assert_eq!(replies[1]["dropped_params"], json!(["temperature"]), "{mode}");
        assert_eq!(server.requests().len(), requests, "{mode}: one refusal, and six answers");
    }
    let cassette = directory.read("c.jsonl");
    assert_eq!(cassette.lines().count(), 6);
    assert!(cassette.lines().all(|line| line.contains(r#""params":{}"#)), "{cassette}");
}

#[test]
fn an_interrupted_run_keeps_the_replies_that_came() {
    for name in ["INT", "KILL"] {
        let count = AtomicUsize::new(0);
        let server = Server::start(move |_, stream| {
            if count.fetch_add(1, Ordering::SeqCst) >= 2 {
                thread::sleep(Duration::from_secs(600));
            }
            stream.write_all(&answered(HOLDS))
        });
        let judge = "  samples: 1\n  cassette: c.jsonl\n  concurrency: {max: 1, adaptive: false}\n";
        let directory = prepared(&server, 5, judge);
        let child = command(&directory, &[]).spawn().unwrap();
        wait_until("the third request", || server.requests().len() == 3);
        assert!(signal(name, &child.id().to_string()));
        let ran = finish(child);
        let records = directory.read("c.jsonl");
        assert_eq!(records.lines().filter(|line| !line.is_empty()).count(), 2, "{name}: {records}");
        if name == "INT" {
            assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        }
        assert_eq!(server.requests().len(), 3, "{name}: no call is made after the signal");
        // The next run asks for the rest.
        fs::remove_file(directory.join("trace.json")).unwrap();
        directory.file("trace.json", recording([("Question 0?", "Please see below.")]));
        run(&directory, &["--judge-mode", "replay"]).exits(0);
    }
}

#[test]
fn a_program_answers_instead_of_a_model_and_sees_no_secrets() {
    if !has("python3") {
        return;
    }
    let server = Server::always(answered(HOLDS));
    let directory = prepared(&server, 1, "  samples: 2\n");
    directory.file(
        "model.py",
        "import json, os, sys\nquestion = json.load(sys.stdin)\n\
         assert 'GITHUB_TOKEN' not in os.environ\n\
         assert question['messages'][-1]['role'] == 'user', question\n\
         verdict = 'yes' if question['sample'] < 2 else 'no'\n\
         print(json.dumps({'text': 'ID: rubric_0\\nProperty: Is polite.\\nRationale: -\\nVerdict: ' + verdict,\n\
         'usage': {'input': 3, 'output': 4}}))\n",
    );
    run(&directory, &["-j", "command:model.py"])
        .exits(0)
        .says("judges: 2 calls, 2 requests sent, 6 + 8 tokens");
    directory.file("broken.py", "import sys\nsys.exit('no licence')\n");
    let error = run(&directory, &["-j", "command:broken.py"]).exits(3).error_of(METRIC);
    assert!(error.contains("it exited with code 1: no licence"), "{error}");
    run(&directory, &["-j", "command:gone.py"])
        .exits(2)
        .says("there is no file gone.py and no command `gone.py`");
    assert!(server.requests().is_empty());
}
