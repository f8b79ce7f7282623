//! Programs that ask the models of their entry as the SDKs of OpenAI and Anthropic do.
#![cfg(unix)]

use std::io::Write as _;

use evaluator_test_support::server::{Server, response};
use serde_json::{Value, json};

use crate::{
    containment::is_available,
    proxy::{MANY, ONE, good, metric, run},
    support::{Directory, Ran, finish, has, trace},
};

/// Asks twice in each form, and passes on what it was told. `swallow` is what a library does that scores whatever happens.
const ASKS: &str = r#"
import json, os, sys, urllib.error, urllib.request

def post(path, key, headers, **body):
    request = urllib.request.Request(
        os.environ[key + "_BASE_URL"] + path, data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        return [error.code, json.load(error)["error"]]

def chat(**body):
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    return post("/chat/completions", "OPENAI", headers, **body)

document = json.load(sys.stdin)
settings = document["config"]
question = [{"role": "user", "content": "Is it good? " + str(len(document["invocations"]))}]
model = settings.get("model", "judge")
answers = [chat(model=model, messages=question, logprobs=True) for _ in range(2)]
key = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
answers.append(post("/v1/messages", "ANTHROPIC", key, model=model, messages=question, max_tokens=5))
print(json.dumps({"score": 1, "details": {"answers": answers}}))
"#;

/// A model whose answers differ, with log probabilities.
fn numbered() -> Server {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    Server::start(move |_, stream| {
        let number = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let message = json!({"role": "assistant", "content": format!("answer {number}")});
        let body = json!({
            "model": "judge-1",
            "choices": [{"message": message, "finish_reason": "stop", "logprobs": {"content": [{"logprob": -0.25}]}}],
            "usage": {"prompt_tokens": 40, "completion_tokens": 2},
        });
        stream.write_all(&response("200 OK", &[], body.to_string()))
    })
}

fn config(mode: &str, keys: &str) -> String {
    format!(
        "judge: {{model: openai/judge, cassette: judge.cassette.jsonl, mode: {mode}}}\nevaluators:\n\
         - {{name: asks, type: code, path: asks.py, {keys}}}\n"
    )
}

/// Runs `c.yaml` without a key, a server, and variables of a host, where all other hosts are asked by way of a proxy that is
/// not there.
fn run_alone(directory: &Directory, traces: &str) -> Ran {
    let mut command = directory.command(&["run", &trace(traces), "-c", "c.yaml", "-o", "json"]);
    for name in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"] {
        command.env_remove(name);
    }
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, "http://127.0.0.1:9");
    }
    for name in ["NO_PROXY", "no_proxy"] {
        command.env_remove(name);
    }
    finish(command.spawn().expect("the command starts"))
}

#[test]
fn what_a_program_asks_is_replayed_without_server_and_key() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let directory = Directory::new();
    directory.file("asks.py", ASKS);
    directory.file("c.yaml", config("record", "target: {}"));
    let recorded = run(&directory, &numbered(), &[MANY], &["--jobs", "1"]).exits(0);
    directory.file("c.yaml", config("replay", "models: {judge: openai/judge}, isolation: process"));
    let replayed = run_alone(&directory, MANY).exits(0);
    for conversation in 0..15 {
        let [one, other] = [&recorded, &replayed].map(|ran| metric(ran, conversation, 0));
        assert_eq!(one["details"], other["details"]);
        assert_eq!(one["target_proxy"]["tokens"], json!({"input": 120, "output": 6}));
        assert_eq!(one["target_proxy"]["tokens"], other["target_proxy"]["tokens"]);
    }
    let answers = &metric(&recorded, 0, 0)["details"]["answers"];
    let texts: Vec<&Value> =
        (0..2).map(|at| &answers[at]["choices"][0]["message"]["content"]).collect();
    assert_eq!(texts, ["answer 0", "answer 1"], "each equal request is a sample");
    assert_eq!(answers[0]["choices"][0]["logprobs"]["content"][0]["logprob"], -0.25);
    assert_eq!(answers[2]["content"], json!([{"type": "text", "text": "answer 2"}]));
    let cassette = directory.read("judge.cassette.jsonl");
    assert!(cassette.contains(r#""metric":"asks""#) && cassette.contains("/chat/completions"));
}

#[test]
fn a_call_without_a_recording_is_an_error_whatever_the_program_makes_of_it() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let directory = Directory::new();
    directory.file("asks.py", ASKS);
    directory.file("c.yaml", config("record", "target: {}"));
    run(&directory, &numbered(), &[ONE], &[]).exits(0);
    directory.file("asks.py", ASKS.replace("Is it good?", "Is it bad?"));
    for isolation in ["target: {}", "target: {}, isolation: process"] {
        directory.file("c.yaml", config("replay", isolation));
        let ran = run_alone(&directory, ONE).exits(3);
        assert_eq!(ran.evaluations(0), ["asks ERROR metric_failed"], "{isolation}");
        let metric = metric(&ran, 0, 0);
        let error = metric["error"].as_str().unwrap();
        assert!(error.contains("not_in_cassette") && error.contains("params.messages"), "{error}");
        assert_eq!(metric["score"], Value::Null);
    }
}

#[test]
fn an_entry_asks_its_own_models_and_no_others() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let directory = Directory::new();
    directory.file("asks.py", ASKS);
    let entry = |name: &str, asked: &str| {
        format!(
            "- {{name: {name}, type: code, path: asks.py, models: {{{name}: openai/{name}-1}}, config: {{model: {asked}}}}}\n"
        )
    };
    let entries = [entry("a", "a"), entry("b", "b-1"), entry("c", "a")].concat();
    directory.file("c.yaml", format!("evaluators:\n{entries}"));
    let server = good();
    let ran = run(&directory, &server, &[ONE], &[]).exits(0);
    let sent: Vec<Value> =
        server.requests().iter().map(|it| serde_json::from_slice(&it.body).unwrap()).collect();
    let mut models: Vec<&str> = sent.iter().map(|it| it["model"].as_str().unwrap()).collect();
    models.sort_unstable();
    assert_eq!(models, ["a-1", "a-1", "a-1", "b-1", "b-1", "b-1"]);
    let refused = &metric(&ran, 0, 2)["details"]["answers"];
    assert_eq!((&refused[0][0], &refused[0][1]["code"]), (&json!(404), &json!("model_not_found")));
    assert_eq!((&refused[2][0], &refused[2][1]["type"]), (&json!(404), &json!("not_found_error")));
}

/// Tells the first characters of the variables, and what it printed before it is asked.
const SEEN: &str = r#"
import json, os, sys
sys.stdin.read()
names = ["OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "OPENAI_API_BASE", "ANTHROPIC_API_URL"]
print(json.dumps({"score": 1, "details": {"seen": [os.environ.get(name, "")[:17] for name in names]}}))
"#;

#[test]
fn an_entry_that_sets_a_variable_of_an_sdk_keeps_it() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let directory = Directory::new();
    directory.file("asks.py", SEEN);
    let seen = |keys: &str| {
        directory.file("c.yaml", config("auto", keys));
        let ran = run(&directory, &good(), &[ONE], &[]).exits(0);
        let seen = metric(&ran, 0, 0)["details"]["seen"].clone();
        let seen: Vec<String> = serde_json::from_value(seen).unwrap();
        seen
    };
    let of_host = |text: &str| text.starts_with("http://127.0.0.1:");
    let all = seen("target: {}");
    assert!(
        of_host(&all[0]) && of_host(&all[2]) && all[1] == all[3] && all[1].len() == 17,
        "{all:?}"
    );
    // LangChain reads these names first.
    assert_eq!((&all[4], &all[5]), (&all[0], &all[2]));
    let own = seen("target: {}, env: {OPENAI_API_KEY: mine}");
    assert_eq!(own[1], "mine");
    assert!(of_host(&own[2]) && own[3].len() == 17, "{own:?}");
    let own = seen("target: {}, env: {ANTHROPIC_BASE_URL: 'http://other'}");
    assert_eq!((&*own[2], &*own[3]), ("http://other", ""));
    let own = seen("target: {}, env: {OPENAI_API_BASE: 'http://other'}");
    assert_eq!((&*own[1], &*own[4]), ("", "http://other"));
    assert_eq!(seen("threshold: 0.5")[3], "");
}

#[test]
fn programs_in_a_sandbox_without_network_ask_too() {
    if !has("python3") || !is_available() {
        return println!("skipped: no python3, or no sandbox");
    }
    let directory = Directory::new();
    directory.file("src/asks.py", ASKS);
    for isolation in ["", ", isolation: process"] {
        directory.file(
            "c.yaml",
            format!(
                "judge: {{model: openai/judge}}\nevaluators:\n\
                 - {{name: asks, type: code, path: src/asks.py, target: {{}}, executor: sandbox{isolation}}}\n"
            ),
        );
        let server = good();
        let ran = run(&directory, &server, &[MANY], &["--jobs", "3"]).exits(0);
        assert_eq!(server.requests().len(), 45);
        for conversation in 0..15 {
            let metric = metric(&ran, conversation, 0);
            let answers = &metric["details"]["answers"];
            let text = &answers[1]["choices"][0]["message"]["content"];
            assert_eq!(text, r#"{"score": 0.75}"#, "{metric}");
            assert_eq!(answers[2]["content"][0]["text"], *text);
            assert_eq!(metric["containment"]["network"], false);
        }
    }
}
