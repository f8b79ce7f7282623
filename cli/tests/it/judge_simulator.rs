//! The metric of simulated users: a trace, an eval set with scenarios, and the questions about each message of the user.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::{fs, io::Write as _};

use evaluator_test_support::server::{Server, response};
use serde_json::{Value, json};

use crate::{
    judge_vectors::{is_stricter, lines, recorded, text},
    support::{Directory, Ran, finish},
};

const METRIC: &str = "per_turn_user_simulator_quality_v1";

/// Runs the metric over `trace.json` with the scenarios of `set.json`.
fn run(directory: &Directory, more: &[&str]) -> Ran {
    let args = ["run", "trace.json", "-e", "set.json", "-c", "c.yaml", "-o", "json"];
    let mut command = directory.command(&[&args[..], more].concat());
    finish(command.env("JUDGE_KEY", "decoy").spawn().unwrap())
}

fn check(line: &Value) -> Result<(), String> {
    let directory = Directory::new();
    let turns = line["actual_invocations"].as_array().unwrap();
    directory.file("trace.json", recorded("c", turns).to_string());
    let mut case = json!({"eval_id": "c", "conversation": turns});
    if !line["conversation_scenario"].is_null() {
        case = json!({"eval_id": "c", "conversation_scenario": line["conversation_scenario"]});
    }
    directory.file("set.json", json!({"eval_set_id": "s", "eval_cases": [case]}).to_string());
    let replies = line["replies"].as_array().unwrap().iter().map(Value::to_string);
    directory.file("replies.jsonl", replies.collect::<Vec<_>>().join("\n"));
    let criterion = &line["criterion"];
    let mut entry = json!({"name": METRIC, "type": "builtin", "threshold": criterion["threshold"]});
    if let Some(signal) = criterion.get("stop_signal") {
        entry["stop_signal"] = signal.clone();
    }
    let samples = &criterion["judge_model_options"]["num_samples"];
    let judge = json!({"model": "fake:replies.jsonl", "samples": samples, "errors": "not_evaluated", "min_readable": 1});
    let config = json!({"judge": judge, "group_by": "conversation", "evaluators": [entry]});
    directory.file("c.yaml", config.to_string());
    let ran = run(&directory, &[]);
    let result = &line["result"];
    if result.get("exception").is_some() {
        let error = ran.json()["traces"][0]["metrics"][0]["error"].clone();
        let is_error = ran.code == Some(3) && error.is_string();
        return if is_error { Ok(()) } else { Err(format!("{error} {}", ran.stderr)) };
    }
    let metric = &ran.json()["traces"][0]["metrics"][0];
    let number = |value: &Value| value.as_f64();
    let same_score = match (number(&metric["score"]), number(&result["overall_score"])) {
        (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
        (found, expected) => found.is_none() && expected.is_none(),
    };
    let same_status = metric["eval_status"] == result["overall_status"];
    if same_score && same_status && metric["details"]["judge"]["calls"] == result["calls"] {
        return Ok(());
    }
    Err(format!("{metric} instead of {result}"))
}

#[test]
fn vectors_of_the_metric_through_the_command() {
    let lines = lines("judges/per_turn_user_simulator_quality_v1.jsonl");
    // A turn without text is one that the producer did not record.
    let is_recorded = |line: &&Value| {
        let turns = line["actual_invocations"].as_array().unwrap();
        let texts = turns.iter().flat_map(|turn| [&turn["userContent"], &turn["finalResponse"]]);
        !turns.is_empty() && texts.into_iter().all(|content| !text(content).is_empty())
    };
    let checked = lines.iter().filter(is_recorded).filter(|line| !is_stricter(line));
    let checked: Vec<&Value> = checked.collect();
    assert!(checked.len() >= 40, "{}", checked.len());
    let wrong = checked.iter().filter_map(|line| {
        let problem = check(line).err()?;
        Some(format!("{} ({}): {problem}", line["id"], line["note"]))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Turns of a conversation: what the user says, and what the agent answers.
fn turns(texts: &[(&str, &str)]) -> Vec<Value> {
    let content = |text: &str| json!({"parts": [{"text": text}]});
    let turn = |(user, agent): &(&str, &str)| json!({"userContent": content(user), "finalResponse": content(agent)});
    texts.iter().map(turn).collect()
}

/// A directory with two conversations of simulated users, their scenarios, and a configuration with these judge settings.
fn prepared(server: &Server, judge: &str) -> Directory {
    let directory = Directory::new();
    let ferry = turns(&[("I want a ferry.", "Where to?"), ("To Lund.", "At 22:40.")]);
    let hotel =
        turns(&[("A hotel, please.", "When?"), ("Tomorrow.", "Booked."), ("I AM A BOT", "?")]);
    let spans = [("ferry", ferry), ("hotel", hotel)]
        .map(|(id, turns)| recorded(id, &turns)["resourceSpans"][0].clone());
    directory.file("trace.json", json!({"resourceSpans": spans}).to_string());
    let case = |id: &str, start: &str, plan: &str, persona: &str| {
        json!({"eval_id": id, "conversation_scenario": {
            "starting_prompt": start, "conversation_plan": plan, "user_persona": {
                "description": persona, "behaviors": [{"name": "b", "violation_rubrics": [format!("{persona} breaks it")]}],
            },
        }})
    };
    let cases = [
        case("f", "I want a ferry.", "Ask for the last ferry.", "a sailor"),
        case("h", "A hotel, please.", "Book a hotel.", "a guest"),
    ];
    directory.file("set.json", json!({"eval_set_id": "s", "eval_cases": cases}).to_string());
    directory.file(
        "c.yaml",
        format!(
            "group_by: conversation\njudge: {{model: openai_like/m, base_url: '{}', api_key_env: JUDGE_KEY, {judge}}}\n\
             evaluators:\n- {{name: {METRIC}, type: builtin, threshold: 0.9}}\n",
            server.url()
        ),
    );
    directory
}

/// A server that says whether a message of the user is valid.
fn model(reply: impl Fn(&str) -> &'static str + Send + Sync + 'static) -> Server {
    Server::start(move |request, stream| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let messages = body["messages"].as_array().unwrap();
        let text = messages.last().unwrap()["content"].as_str().unwrap();
        let answer =
            json!({"choices": [{"message": {"content": reply(text)}, "finish_reason": "stop"}]});
        stream.write_all(&response("200 OK", &[], answer.to_string()))
    })
}

const VALID: &str = r#"{"criteria": [], "is_valid": true}"#;
const INVALID: &str = r#"{"criteria": [], "is_valid": false}"#;

/// Returns the part of a prompt below its last heading: the message that is judged.
fn judged(prompt: &str) -> &str {
    prompt.rsplit("Message to judge:").next().unwrap()
}

#[test]
fn each_message_is_judged_with_the_scenario_of_its_conversation() {
    let server = model(|prompt| if judged(prompt).contains("BOT") { INVALID } else { VALID });
    let directory = prepared(&server, "samples: 2, cassette: c.jsonl");
    let ran = run(&directory, &[]).exits(1);
    let report = ran.json();
    let metric = |at: usize| &report["traces"][at]["metrics"][0];
    assert_eq!((&metric(0)["score"], &metric(0)["eval_status"]), (&json!(1.0), &json!("PASSED")));
    // Two of the three messages are valid.
    assert!((metric(1)["score"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-12, "{}", metric(1));
    assert_eq!(metric(1)["eval_status"], "FAILED");
    // Every message but the first, and the stop signal: two samples each.
    let prompts: Vec<String> = server
        .requests()
        .iter()
        .map(|request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let last = body["messages"].as_array().unwrap().last().unwrap();
            last["content"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(prompts.len(), 2 * (2 + 3));
    let count = |is_it: &dyn Fn(&str) -> bool| prompts.iter().filter(|it| is_it(it)).count();
    assert_eq!(count(&|it| judged(it).contains("</finished>")), 4);
    assert_eq!(count(&|it| judged(it).contains("To Lund.")), 2);
    assert_eq!(count(&|it| judged(it).contains("I want a ferry.")), 0);
    for prompt in &prompts {
        let is_ferry = prompt.contains("user: I want a ferry.");
        assert_eq!(is_ferry, prompt.contains("Ask for the last ferry."), "{prompt}");
        assert_eq!(is_ferry, prompt.contains("a sailor breaks it"), "{prompt}");
        assert_eq!(!is_ferry, prompt.contains("Book a hotel."), "{prompt}");
    }

    let bytes = directory.read("c.jsonl");
    assert_eq!(bytes.lines().count(), prompts.len());
    server.clear();
    let replayed = run(&directory, &["--judge-mode", "replay"]).exits(1);
    assert!(server.requests().is_empty());
    let comparable = |ran: &Ran| {
        let mut report = ran.json();
        for trace in report["traces"].as_array_mut().unwrap() {
            let metric = &mut trace["metrics"][0];
            metric["duration_ms"].take();
            metric["details"]["judge"]["duration_ms"].take();
            metric["details"]["judge"]["replayed"].take();
        }
        report
    };
    assert_eq!(comparable(&replayed), comparable(&ran));
    assert_eq!(directory.read("c.jsonl"), bytes);
}

#[test]
fn what_cannot_be_judged_is_an_error_and_never_a_pass() {
    let server = model(|_| VALID);
    let directory = prepared(&server, "samples: 1");
    // The scenario of one conversation is missing.
    let text = fs::read_to_string(directory.join("set.json")).unwrap();
    directory.file("set.json", text.replace("A hotel, please.", "Another start"));
    let ran = run(&directory, &[]).exits(3);
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["eval_status"], "PASSED");
    let error = ran.json()["traces"][1]["metrics"][0]["error"].clone();
    assert!(error.as_str().unwrap().contains("needs its scenario"), "{error}");
    // A reply that cannot be read.
    let server =
        model(|prompt| if judged(prompt).contains("Tomorrow.") { "Perhaps." } else { VALID });
    let ran = run(&prepared(&server, "samples: 1"), &[]).exits(3);
    let error = ran.json()["traces"][1]["metrics"][0]["error"].clone();
    assert!(error.as_str().unwrap().contains("turn 2"), "{error}");
    // Without an eval set there is no scenario at all.
    let directory = prepared(&server, "samples: 1");
    let mut command = directory.command(&["run", "trace.json", "-c", "c.yaml"]);
    let ran = finish(command.env("JUDGE_KEY", "decoy").spawn().unwrap());
    ran.exits(2).says("name the eval set with its `conversation_scenario`");
}
