//! Graders that ask a model or call Python.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{fs, io::Write};

use evaluator_test_support::{
    exchanges::{assert_sent, cases, play},
    has, run,
    server::{Request, Server, response},
};
use serde_json::{Value, json};

use crate::support::{Directory, Ran};

/// A key that must not occur in any output.
const DECOY: &str = "sk-decoy-0123456789";

const PARIS: &str = "The capital of France is Paris.";

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
fn conversation(answers: &[Value]) -> String {
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
fn golden(answers: &[Value]) -> String {
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

/// Prompt of the grader of a recorded request.
fn grader_of(body: &Value) -> Value {
    let schema = &body["response_format"]["json_schema"]["schema"]["properties"]["result"];
    let input: Vec<Value> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            let text = message["content"].as_str().unwrap();
            let text = text.replace(PARIS, "{{ item.actual_response }}");
            let text = text.replace("It is Paris.", "{{ item.actual_response }}");
            json!({"role": message["role"], "content": text})
        })
        .collect();
    if let Some(labels) = schema["enum"].as_array() {
        return json!({"type": "label_model", "model": body["model"], "input": input, "labels": labels, "passing_labels": ["good"]});
    }
    let mut params = json!({});
    for (key, sent) in [
        ("seed", "seed"),
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("max_completions_tokens", "max_completion_tokens"),
    ] {
        if !body[sent].is_null() {
            params[key] = body[sent].clone();
        }
    }
    json!({"type": "score_model", "model": body["model"], "input": input, "sampling_params": params})
}

/// Runs one grader over a conversation with these answers, with a server.
fn grade(grader: &Value, answers: &[&str], expected: &[&str], server: &str) -> Ran {
    grade_with(&json!({"grader": grader}), answers, expected, server, &[])
}

fn grade_with(
    entry: &Value,
    answers: &[&str],
    expected: &[&str],
    server: &str,
    more: &[&str],
) -> Ran {
    let directory = Directory::new();
    grade_in(&directory, entry, (answers, expected), server, more)
}

fn grade_in(
    directory: &Directory,
    entry: &Value,
    (answers, expected): (&[&str], &[&str]),
    server: &str,
    more: &[&str],
) -> Ran {
    let texts = |texts: &[&str]| texts.iter().map(|text| json!(text)).collect::<Vec<Value>>();
    directory.file("t.json", conversation(&texts(answers)));
    let mut evaluator = entry.clone();
    evaluator["name"] = json!("g");
    evaluator["type"] = json!("openai_eval");
    directory.file("c.yaml", json!({"evaluators": [evaluator]}).to_string());
    let mut args =
        vec!["run", "t.json", "-c", "c.yaml", "-o", "json", "--group-by", "conversation"];
    if !expected.is_empty() {
        directory.file("golden.json", golden(&texts(expected)));
        args.extend(["-e", "golden.json"]);
    }
    args.extend(more);
    let mut command = directory.command(&args);
    let ran = run(command.env("OPENAI_API_KEY", DECOY).env("OPENAI_BASE_URL", server));
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(DECOY), "{}", ran.stderr);
    ran
}

fn base(server: &Server) -> String {
    format!("{}/v1", server.url())
}

fn result(ran: &Ran) -> Value {
    ran.json()["traces"][0]["metrics"][0].clone()
}

#[test]
fn vectors_local_graders_ask_as_recorded() {
    let mut seen = 0;
    for (name, case) in cases("openai") {
        if !name.starts_with("local-") {
            continue;
        }
        seen += 1;
        let exchanges = case["exchanges"].as_array().unwrap();
        let (server, body) = (play(exchanges), &exchanges[0]["request"]["body"]);
        let ran = match body["input"].as_array() {
            Some(texts) => {
                let texts: Vec<&str> = texts.iter().map(|text| text.as_str().unwrap()).collect();
                let grader = json!({"type": "text_similarity", "evaluation_metric": "cosine"});
                grade(&grader, &texts[..1], &texts[1..], &base(&server))
            }
            None => {
                let text = body["messages"].to_string();
                let answer = if text.contains(PARIS) { PARIS } else { "It is Paris." };
                grade(&grader_of(body), &[answer], &[], &base(&server))
            }
        };
        let (result, ours) = (result(&ran), &case["ours"]);
        assert_eq!(result["outcome"], ours["status"], "{name}: {}{}", ran.stdout, ran.stderr);
        match (ours["score"].as_f64(), result["score"].as_f64()) {
            (Some(wanted), Some(score)) => assert!((wanted - score).abs() < 1e-9, "{name}"),
            (wanted, score) => assert_eq!(wanted, score, "{name}"),
        }
        assert_sent(&server.requests(), exchanges);
    }
    assert!(seen >= 9, "{seen}");
}

/// A server whose replies to chat completions `reply` decides: status, and text or error.
fn model(reply: impl Fn(&Value) -> (u16, String) + Send + Sync + 'static) -> Server {
    Server::start(move |request: &Request, stream| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let (status, text) = reply(&body);
        let body = match status {
            200 => json!({
                "model": body["model"],
                "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
            }),
            _ => json!({"error": {"message": text, "type": "invalid_request_error", "code": null}}),
        };
        stream.write_all(&response(&format!("{status} X"), &[], body.to_string()))
    })
}

fn result_of(text: &str) -> String {
    format!(r#"{{"steps": [{{"description": "d", "conclusion": "because"}}], "result": {text}}}"#)
}

/// The text of the last message.
fn prompt(body: &Value) -> String {
    body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

fn score_model(more: &Value) -> Value {
    let input = json!([{"role": "user", "content": "Rate {{ item.actual_response }}"}]);
    let mut grader = json!({"type": "score_model", "model": "gpt-4o-mini", "input": input});
    for (key, value) in more.as_object().unwrap() {
        grader[key] = value.clone();
    }
    grader
}

#[test]
fn numbers_are_scaled_to_the_range_and_decide() {
    for (more, threshold, reply, score, outcome) in [
        (json!({}), None, "0.5", 0.5, "passed"),
        (json!({}), Some(0.6), "0.5", 0.5, "failed"),
        (json!({"range": [1, 5]}), None, "4", 0.75, "passed"),
        (json!({"range": [1, 5], "pass_threshold": 4.5}), None, "4", 0.75, "failed"),
        (json!({"range": [1, 5], "pass_threshold": 4}), None, "4", 0.75, "passed"),
        (json!({"range": [-1, 1]}), None, "-3", 0.0, "failed"),
        (json!({"range": [0, 10]}), Some(1.0), "11", 1.0, "passed"),
    ] {
        let server = model(move |_| (200, result_of(reply)));
        let mut entry = json!({"grader": score_model(&more)});
        if let Some(threshold) = threshold {
            entry["threshold"] = json!(threshold);
        }
        let ran = grade_with(&entry, &["a"], &[], &base(&server), &[]);
        let result = result(&ran);
        assert_eq!(
            (&result["score"], &result["outcome"]),
            (&json!(score), &json!(outcome)),
            "{more} {reply}: {}",
            ran.stdout
        );
        let grade = &result["details"]["grades"][0];
        assert_eq!(grade["value"], json!(reply.parse::<f64>().unwrap()), "{more}");
        assert_eq!(grade["conclusion"], "because");
        assert_eq!(result["details"]["judge"]["tokens"]["input"], 10);
    }
}

#[test]
fn every_turn_is_asked_once_and_all_have_to_pass() {
    let server = model(|body| {
        (200, result_of(if prompt(body).contains("good") { "\"yes\"" } else { "\"no\"" }))
    });
    let grader = json!({
        "type": "label_model", "model": "gpt-4o-mini", "labels": ["yes", "no"], "passing_labels": ["yes"],
        "input": [{"role": "developer", "content": "Judge."}, {"role": "user", "content": "Is '{{ item.actual_response }}' good?"}],
    });
    let grader_2 = json!({
        "type": "label_model", "model": "gpt-4o-mini", "labels": ["yes", "no"], "passing_labels": ["yes"],
        "input": [{"role": "user", "content": "{{ item.actual_response }}"}],
    });
    let ran = grade(&grader_2, &["good", "bad", "very good"], &[], &base(&server)).exits(1);
    let result = result(&ran);
    assert_eq!(result["per_invocation_scores"], json!([1.0, 0.0, 1.0]));
    assert_eq!(result["outcome"], "failed");
    let labels = result["details"]["grades"].as_array().unwrap().iter();
    assert_eq!(
        labels.map(|it| it["label"].as_str().unwrap()).collect::<Vec<_>>(),
        ["yes", "no", "yes"]
    );
    assert_eq!(server.requests().len(), 3);
    grade(&grader, &["x"], &[], &base(&server)).exits(0);
    let body: Value = serde_json::from_slice(&server.requests()[3].body).unwrap();
    assert_eq!(body["messages"][0], json!({"role": "developer", "content": "Judge."}));
}

#[test]
fn one_unreadable_reply_is_an_error_of_the_evaluation() {
    let server = model(|body| {
        (200, if prompt(body).contains("two") { "good".to_owned() } else { result_of("0.25") })
    });
    let ran = grade(&score_model(&json!({})), &["one", "two"], &[], &base(&server)).exits(3);
    let result = result(&ran);
    assert_eq!((&result["score"], &result["outcome"]), (&Value::Null, &json!("error")));
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains(
            "turn 2: the reply is not one JSON object and nothing else: \"good\"; without an error: turn 1 0.250"
        ),
        "{error}"
    );
}

#[test]
fn a_server_without_schemas_is_asked_for_an_object() {
    let server = model(|body| match body["response_format"]["type"].as_str() {
        Some("json_schema") => (400, "response_format json_schema is not supported".to_owned()),
        _ => (200, result_of("1")),
    });
    let ran = grade(&score_model(&json!({})), &["a", "b"], &[], &base(&server)).exits(0);
    assert_eq!(server.requests().len(), 4);
    let bodies: Vec<Value> =
        server.requests().iter().map(|it| serde_json::from_slice(&it.body).unwrap()).collect();
    let again = bodies.iter().find(|it| it["response_format"]["type"] == "json_object").unwrap();
    assert_eq!(again["messages"][0]["role"], "system");
    assert!(
        again["messages"][0]["content"]
            .as_str()
            .unwrap()
            .contains("\"additionalProperties\":false")
    );
    assert!(ran.stderr.contains("does not take schemas"), "{}", ran.stderr);
}

#[test]
fn parts_of_messages_are_sent_in_the_form_of_chat_completions() {
    let server = model(|_| (200, result_of("1")));
    let grader = score_model(&json!({"input": [{"role": "user", "content": [
        "Look:",
        {"type": "input_text", "text": "{{ item.actual_response }}"},
        {"type": "input_image", "image_url": "https://example.com/{{ item.actual_response }}.png", "detail": "low"},
        {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
    ]}]}));
    grade(&grader, &["a"], &[], &base(&server)).exits(0);
    let body: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
    assert_eq!(
        body["messages"],
        json!([{"role": "user", "content": [
            {"type": "text", "text": "Look:"},
            {"type": "text", "text": "a"},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
        ]}])
    );
}

#[test]
fn samples_are_votes() {
    let directory = Directory::new();
    let reply = |label: &str| Value::String(result_of(&format!("\"{label}\""))).to_string();
    let replies = ["yes", "no", "yes", "no", "no", "yes"].map(reply).join("\n");
    let path = directory.file("replies.jsonl", replies);
    let grader = json!({
        "type": "label_model", "model": format!("fake:{}", path.display()), "labels": ["yes", "no"], "passing_labels": ["yes"],
        "input": [{"role": "user", "content": "{{ item.actual_response }}"}],
    });
    let entry = json!({"grader": grader, "judge": {"samples": 3}});
    let ran =
        grade_in(&directory, &entry, (&["a", "b"], &[]), "http://127.0.0.1:9/v1", &[]).exits(1);
    let result = result(&ran);
    assert_eq!(result["per_invocation_scores"], json!([1.0, 0.0]));
    assert_eq!(result["details"]["grades"][0]["labels"], json!(["yes", "no", "yes"]));
}

#[test]
fn a_recorded_run_is_replayed_without_key_and_network() {
    let directory = Directory::new();
    let server = model(|_| (200, result_of("0.75")));
    let grader = json!({
        "type": "multi", "calculate_output": "0.5 * m + 0.5 * s",
        "graders": {
            "m": score_model(&json!({})),
            "s": {"type": "string_check", "operation": "like", "reference": "a"},
        },
    });
    let entry = json!({"grader": grader, "judge": {"cassette": "g.cassette.jsonl"}});
    let first = grade_in(&directory, &entry, (&["a", "a"], &[]), &base(&server), &[]).exits(0);
    assert_eq!(result(&first)["score"], json!(0.875));
    // Equal requests of a conversation are samples of their own.
    assert_eq!(server.requests().len(), 2);
    let cassette = fs::read_to_string(directory.path().join("g.cassette.jsonl")).unwrap();
    assert!(!cassette.contains(DECOY) && cassette.lines().count() == 2, "{cassette}");
    let mut command = directory.command(&[
        "run",
        "t.json",
        "-c",
        "c.yaml",
        "-o",
        "json",
        "--group-by",
        "conversation",
        "--judge-mode",
        "replay",
    ]);
    let again = run(command.env_remove("OPENAI_API_KEY").env_remove("OPENAI_BASE_URL")).exits(0);
    assert_eq!(result(&again)["score"], json!(0.875));
    assert_eq!(result(&again)["details"]["judge"]["replayed"], 2);
    // Another prompt is not recorded.
    let mut other = entry.clone();
    other["grader"]["graders"]["m"]["input"][0]["content"] =
        json!("Rate: {{ item.actual_response }}");
    let ran = grade_in(
        &directory,
        &other,
        (&["a", "a"], &[]),
        "http://127.0.0.1:9/v1",
        &["--judge-mode", "replay"],
    )
    .exits(3);
    assert!(ran.stdout.contains("not_in_cassette"), "{}", ran.stdout);
}

#[test]
fn an_error_of_a_needed_part_is_the_error_of_the_formula() {
    let server = model(|_| (200, "nothing".to_owned()));
    let multi = |formula: &str| {
        json!({"grader": {
            "type": "multi", "calculate_output": formula,
            "graders": {
                "m": score_model(&json!({})),
                "s": {"type": "string_check", "operation": "like", "reference": "a"},
            },
        }})
    };
    let ran = grade_with(&multi("m + s"), &["a"], &[], &base(&server), &[]).exits(3);
    assert!(
        result(&ran)["error"]
            .as_str()
            .unwrap()
            .contains("turn 1: m: the reply is not one JSON object")
    );
    let ran = grade_with(&multi("s"), &["a"], &[], &base(&server), &[]).exits(0);
    assert!(
        result(&ran)["details"]["notes"][0].as_str().unwrap().contains("m: the reply is not"),
        "{}",
        ran.stdout
    );
    assert_eq!(server.requests().len(), 2, "all parts are asked");
}

#[test]
fn a_changed_prompt_is_asked_again_in_a_resumed_run() {
    let directory = Directory::new();
    let server = model(|_| (200, result_of("1")));
    let entry = |text: &str| {
        let text = format!("{text} {{{{ item.actual_response }}}}");
        json!({"grader": score_model(&json!({"input": [{"role": "user", "content": text}]}))})
    };
    let run = |text: &str| {
        let more = ["--save-run", "r.evalrun", "--resume"];
        grade_in(&directory, &entry(text), (&["a"], &[]), &base(&server), &more).exits(0);
        server.requests().len()
    };
    assert_eq!([run("Rate"), run("Rate"), run("Judge")], [1, 1, 2]);
}

#[test]
fn python_functions_grade() {
    if !has("python3") {
        return;
    }
    for (source, expected) in [
        ("def grade(sample, item):\n    return len(item['actual_response']) / 10", Ok(0.5)),
        (
            "def grade(sample, item):\n    return 1 if sample['output_text'] == item['actual_response'] else 0",
            Ok(1.0),
        ),
        (
            "def grade(sample, item):\n    print('x')\n    return sample['output_json'] is None and 0.25",
            Ok(0.25),
        ),
        (
            "import os\ndef grade(sample, item):\n    return 'OPENAI_API_KEY' in os.environ and 1.0 or 0.75",
            Ok(0.75),
        ),
        (
            "from fractions import Fraction\ndef grade(sample, item):\n    return Fraction(1, 2)",
            Ok(0.5),
        ),
        ("def grade(sample, item):\n    return 5", Ok(1.0)),
        (
            "def grade(sample, item):\n    return True",
            Err("`grade` returned True, which is not a number"),
        ),
        ("def grade(sample, item):\n    return '1'", Err("returned '1', which is not a number")),
        ("def grade(sample, item):\n    return None", Err("returned None")),
        ("def grade(sample, item):\n    return float('nan')", Err("not a finite number")),
        ("def grade(sample, item):\n    return 10 ** 400", Err("OverflowError")),
        (
            "def grade(sample, item):\n    return item['x']",
            Err("`grade` raised KeyError: 'x' (line 2 of the source)"),
        ),
        ("def grade(sample, item)\n    return 1", Err("the source cannot be loaded: SyntaxError")),
        ("grade = 3", Err("does not define a function `grade`")),
        ("import nothing_of_this_name\ndef grade(s, i): return 1", Err("ModuleNotFoundError")),
        ("import sys\ndef grade(s, i): sys.exit(0)", Err("exited without an answer")),
        ("import os\ndef grade(s, i): os._exit(7)", Err("exited with code 7")),
        (
            "def grade(sample, item):\n    return item['expected_response'] == 'x' and 1 or 0.5",
            Ok(0.5),
        ),
    ] {
        let grader = json!({"type": "python", "source": source});
        let ran = grade(&grader, &["abcde"], &["y"], "http://127.0.0.1:9/v1");
        let result = result(&ran);
        match expected {
            Ok(score) => assert_eq!(result["score"], json!(score), "{source}: {}", ran.stdout),
            Err(part) => {
                assert_eq!(result["outcome"], "error", "{source}");
                assert!(
                    result["error"].as_str().unwrap().contains(part),
                    "{source}: {}",
                    ran.stdout
                );
            }
        }
    }
    let slow = json!({"timeout": 1, "grader": {"type": "python", "source": "import time\ndef grade(s, i): time.sleep(60)"}});
    let ran = grade_with(&slow, &["a"], &[], "http://127.0.0.1:9/v1", &[]).exits(3);
    assert!(ran.stdout.contains("timed out after 1s"), "{}", ran.stdout);
}

#[test]
fn cosine_is_that_of_the_vectors_or_an_error() {
    let grader =
        json!({"type": "text_similarity", "evaluation_metric": "cosine", "embedding_model": "e"});
    for (vectors, expected) in [
        (json!([[1.0, 0.0], [1.0, 1.0]]), Ok(std::f64::consts::FRAC_1_SQRT_2)),
        (json!([[1.0, 0.0], [-1.0, 0.0]]), Ok(0.0)),
        (json!([[1e300, 1e300], [1e300, 1e300]]), Ok(1.0)),
        (json!([[1.0, 0.0], [0.0, 0.0]]), Err("no element but zeros")),
        (json!([[1.0, 0.0], [1.0]]), Err("have 2 and 1 elements")),
        (json!([[1.0, 0.0]]), Err("no vector of numbers")),
    ] {
        let data: Vec<Value> = vectors
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
            .map(|(index, vector)| json!({"index": index, "embedding": vector}))
            .collect();
        let body =
            json!({"model": "e", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}});
        let server = Server::always(response("200 OK", &[], body.to_string()));
        let ran = grade(&grader, &["one"], &["two"], &base(&server));
        let result = result(&ran);
        match expected {
            Ok(score) => {
                let found = result["score"].as_f64().unwrap();
                assert!((found - score).abs() < 1e-9, "{vectors}: {found}");
            }
            Err(part) => assert!(
                result["error"].as_str().unwrap().contains(part),
                "{vectors}: {}",
                ran.stdout
            ),
        }
    }
    // Texts of all turns are sent at once, equal ones once.
    let server = Server::always(response("200 OK", &[], json!({"data": []}).to_string()));
    grade(&grader, &["one", "two", "one"], &["two", "x", "one"], &base(&server));
    let body: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
    assert_eq!(body["input"], json!(["one", "two", "x"]));
}

#[test]
fn vectors_of_cosine_are_recorded_and_replayed() {
    // The vector of a text is its number of letters and a constant.
    let server = Server::start(|request: &Request, stream| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let texts = body["input"].as_array().unwrap().iter().zip(0..);
        let data = texts.map(
            |(text, index)| json!({"index": index, "embedding": [text.as_str().unwrap().len(), 1]}),
        );
        let data: Vec<Value> = data.collect();
        let usage = json!({"prompt_tokens": 4, "total_tokens": 4});
        let body = json!({"model": "e", "data": data, "usage": usage});
        stream.write_all(&response("200 OK", &[], body.to_string()))
    });
    let directory = Directory::new();
    let grader =
        json!({"type": "text_similarity", "evaluation_metric": "cosine", "embedding_model": "e"});
    let entry = json!({"grader": grader, "judge": {"cassette": "e.cassette.jsonl"}});
    let texts: (&[&str], &[&str]) = (&["one", "three"], &["one", "a"]);
    let first = grade_in(&directory, &entry, texts, &base(&server), &[]).exits(0);
    // (3, 1) and (3, 1), then (5, 1) and (1, 1).
    let scores = result(&first)["per_invocation_scores"].clone();
    let second = 6.0 / 52_f64.sqrt();
    assert!((scores[0].as_f64().unwrap() - 1.0).abs() < 1e-9, "{scores}");
    assert!((scores[1].as_f64().unwrap() - second).abs() < 1e-9, "{scores}");
    assert_eq!((server.count("/v1/embeddings"), server.requests().len()), (1, 1));
    let cassette = directory.read("e.cassette.jsonl");
    let record: Value = serde_json::from_str(&cassette).unwrap();
    assert_eq!(record["params"], json!({"encoding_format": "float"}));
    let sent: Vec<&Value> =
        record["messages"].as_array().unwrap().iter().map(|message| &message["content"]).collect();
    assert_eq!(sent, ["one", "three", "a"]);
    assert_eq!(record["reply"]["text"], "[[3,1],[5,1],[1,1]]");
    assert!(!cassette.contains(DECOY), "{cassette}");

    let nowhere = "http://127.0.0.1:9/v1";
    let replay = ["--judge-mode", "replay"];
    let again = grade_in(&directory, &entry, texts, nowhere, &replay).exits(0);
    assert_eq!(result(&again)["per_invocation_scores"], scores);
    assert_eq!(result(&again)["details"]["judge"]["replayed"], 1);
    assert_eq!(directory.read("e.cassette.jsonl"), cassette);
    let other: (&[&str], &[&str]) = (&["one", "thrice"], &["one", "a"]);
    let error = grade_in(&directory, &entry, other, nowhere, &replay).exits(3);
    let error = result(&error)["error"].to_string();
    assert!(error.contains("not_in_cassette") && error.contains("messages[1] differs"), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_server_without_a_key_is_asked_without_one() {
    let server = model(|_| (200, result_of("1")));
    let entry = json!({"grader": score_model(&json!({"model": "meta-llama/Llama-3"})), "api_key_env": "", "base_url": base(&server)});
    grade_with(&entry, &["a"], &[], "http://127.0.0.1:9/v1", &[]).exits(0);
    let request = &server.requests()[0];
    assert_eq!(request.headers.get("authorization"), None);
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["model"], "meta-llama/Llama-3");
}
