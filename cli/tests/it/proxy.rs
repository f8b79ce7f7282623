//! Programs that ask models through the target proxy: `models:` and `target:`.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::io::Write as _;

use evaluator_test_support::server::{Server, response};
use serde_json::{Value, json};

use crate::support::{
    Directory, Ran, finish, has, has_typescript, kept_source,
    processes::{signal, wait_until},
    serving::Serving,
    trace,
};

/// A key that must not be in any output, nor be seen by a program.
const DECOY: &str = "sk-decoy-0123456789";

pub(crate) const ONE: &str = "a01_otlp_basic_parts";
pub(crate) const MANY: &str = "i14_fifteen_traces";

/// Asks as AgentV's guide shows it, and scores what the model says. Names of variables with keys would be in `details`.
pub(crate) const PYTHON: &str = r#"
import json, os, sys, urllib.request

def ask(question, system_prompt=None, path="/invoke", **more):
    body = json.dumps({"question": question, "systemPrompt": system_prompt, **more})
    request = urllib.request.Request(
        os.environ["AGENTV_TARGET_PROXY_URL"] + path,
        data=body.encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": "Bearer " + os.environ["AGENTV_TARGET_PROXY_TOKEN"],
        },
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)

document = json.load(sys.stdin)
reply = ask("Is it good? " + str(document["invocations"][0]["invocation_id"]))
seen = sorted(name for name in os.environ if "KEY" in name or "PROXY" in name)
details = {"usage": reply["tokenUsage"], "seen": seen, "parent": os.getppid()}
print(json.dumps({"score": json.loads(reply["rawText"])["score"], "details": details}))
"#;

/// Asks, and scores 1 whatever comes of it.
const CARELESS: &str = r#"
import json, os, sys, urllib.error, urllib.request

def ask(body):
    request = urllib.request.Request(
        os.environ["AGENTV_PROVIDER_PROXY_URL"] + "/invoke", data=body.encode(),
        headers={"Authorization": "Bearer " + os.environ["AGENTV_PROVIDER_PROXY_TOKEN"]})
    try:
        return urllib.request.urlopen(request, timeout=60).status
    except urllib.error.HTTPError as error:
        return error.code

json.load(sys.stdin)
statuses = [ask(body) for body in ['{"question": "a"}', '{"question": "b"}', "{", '{"question": "c"}']]
print(json.dumps({"score": 1, "details": {"statuses": statuses}}))
"#;

/// A server of a model that answers by a function.
fn model(answer: impl Fn(&Value) -> (&'static str, String) + Send + Sync + 'static) -> Server {
    Server::start(move |request, stream| {
        let request = serde_json::from_slice(&request.body).unwrap_or_default();
        let (status, text) = answer(&request);
        let body = match status {
            "200 OK" => json!({
                "model": "judge-1",
                "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 40, "completion_tokens": 2},
            }),
            _ => json!({"error": {"message": text}}),
        };
        stream.write_all(&response(status, &[], body.to_string()))
    })
}

/// A model that finds everything good.
pub(crate) fn good() -> Server {
    model(|_| ("200 OK", r#"{"score": 0.75}"#.to_owned()))
}

/// Runs `c.yaml` with a model, and reports as JSON. No output may contain the key.
pub(crate) fn run(directory: &Directory, server: &Server, traces: &[&str], more: &[&str]) -> Ran {
    let traces: Vec<String> = traces.iter().map(|name| trace(name)).collect();
    let traces: Vec<&str> = traces.iter().map(String::as_str).collect();
    let args = [&["run"], &traces[..], &["-c", "c.yaml", "-o", "json"], more].concat();
    let mut command = directory.command(&args);
    command
        .env("OPENAI_API_KEY", DECOY)
        .env("OPENAI_BASE_URL", server.url())
        // Of a host that started this one.
        .env("AGENTV_TARGET_PROXY_URL", "http://127.0.0.1:9")
        .env("AGENTV_TARGET_PROXY_TOKEN", "outer");
    let ran = finish(command.spawn().unwrap());
    assert!(!ran.stdout.contains(DECOY) && !ran.stderr.contains(DECOY));
    ran
}

pub(crate) fn metric(ran: &Ran, conversation: usize, evaluator: usize) -> Value {
    ran.json()["traces"][conversation]["metrics"][evaluator].clone()
}

/// The example of the page about models for programs, as it stands there.
#[test]
fn the_typescript_of_the_page_asks_the_model() {
    if !has_typescript() {
        return;
    }
    let page = include_str!("../../../docs/reference/models-for-programs.md");
    let (_, rest) = page.split_once("```typescript\n").unwrap();
    let directory = Directory::new();
    directory.file("polite.mts", rest.split_once("```\n").unwrap().0);
    directory.file("c.yaml", entry("polite.mts", "target: {max_calls: 20}"));
    let server = model(|_| ("200 OK", "Yes".to_owned()));
    let ran = run(&directory, &server, &[ONE], &[]).exits(0);
    assert_eq!(metric(&ran, 0, 0)["score"], 1.0);
    assert_eq!(metric(&ran, 0, 0)["target_proxy"]["call_count"], 1);
}

#[test]
fn a_program_whose_entry_offers_no_model_is_told_which_key_to_add() {
    if !has("python3") || !has("node") {
        return;
    }
    let directory = Directory::new();
    directory.file("ask.py", PYTHON);
    directory.file("ask.mjs", "await fetch(process.env.AGENTV_TARGET_PROXY_URL + '/invoke');\n");
    directory.file("other.py", "raise KeyError('other')\n");
    let said = |path: &str, keys: &str| {
        directory.file("c.yaml", entry(path, keys));
        let mut command = directory.command(&["run", &trace(ONE), "-c", "c.yaml", "-o", "json"]);
        command.env_remove("AGENTV_TARGET_PROXY_URL").env_remove("AGENTV_PROVIDER_PROXY_URL");
        let ran = finish(command.spawn().unwrap()).exits(3);
        metric(&ran, 0, 0)["error"].as_str().unwrap().to_owned()
    };
    let hint = "its entry offers none: add `target: {}`, which offers the model of `judge:`, or `models: {NAME: MODEL}`";
    assert!(said("ask.py", "").contains(hint), "{}", said("ask.py", ""));
    assert!(said("ask.py", "target: false").contains(hint));
    assert!(said("ask.mjs", "").contains(hint), "{}", said("ask.mjs", ""));
    assert!(!said("other.py", "").contains("offers none"));
}

/// The configuration of one evaluator.
fn entry(path: &str, keys: &str) -> String {
    format!(
        "judge: {{model: openai/judge}}\nevaluators:\n- {{name: asks, type: code, path: {path}, {keys}}}\n"
    )
}

#[test]
fn a_python_program_asks_in_a_process_of_its_own_and_in_a_fork() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let directory = Directory::new();
    directory.file("asks.py", PYTHON);
    for (keys, traces, conversations) in [
        ("target: {max_calls: 2}", ONE, 1),
        ("target: true, isolation: process", ONE, 1),
        ("models: {max_calls: 2}", MANY, 15),
        ("models: {judge: openai/judge, max_calls: 2}", MANY, 15),
    ] {
        let server = good();
        directory.file("c.yaml", entry("asks.py", keys));
        let ran = run(&directory, &server, &[traces], &["-vv"]).exits(0);
        assert_eq!(ran.json()["traces"].as_array().unwrap().len(), conversations);
        assert_eq!(server.requests().len(), conversations);
        let max_calls = if keys.contains("max_calls") { 2 } else { 50 };
        for conversation in 0..conversations {
            let metric = metric(&ran, conversation, 0);
            assert_eq!(metric["score"], 0.75, "{metric}");
            let asked = json!({
                "call_count": 1, "max_calls": max_calls,
                "tokens": {"input": 40, "output": 2}, "models": ["openai/judge"],
            });
            assert_eq!(metric["target_proxy"], asked);
            assert_eq!(metric["warnings"], Value::Null);
            assert_eq!(metric["details"]["usage"], json!({"input": 40, "output": 2}));
            let both = ["PROVIDER", "TARGET"]
                .map(|it| [format!("AGENTV_{it}_PROXY_TOKEN"), format!("AGENTV_{it}_PROXY_URL")]);
            let others = ["ANTHROPIC_API_KEY", "NO_PROXY", "OPENAI_API_KEY"].map(str::to_owned);
            let seen: Vec<_> = metric["details"]["seen"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it.as_str().unwrap().to_owned())
                .collect();
            assert_eq!(seen, [both.concat(), others.to_vec()].concat());
        }
        if conversations > 1 {
            let parents = |at: usize| metric(&ran, at, 0)["details"]["parent"].clone();
            assert!((1..conversations).all(|at| parents(at) == parents(0)), "they are forks");
        }
    }
}

#[test]
fn entries_that_do_not_ask_see_no_proxy() {
    let directory = Directory::new();
    directory.script(
        "seen",
        r#"cat >/dev/null; printf '{"score": 1, "details": {"seen": "%s"}}' "$(env | grep -c PROXY)""#,
    );
    for (keys, seen) in [
        ("threshold: 0.5", "0"),
        ("target: false", "0"),
        ("inherit_env: false", "0"),
        ("target: {}", "5"),
        ("target: {}, inherit_env: false", "5"),
        // An entry may still pass on what another host offers.
        ("env: [AGENTV_TARGET_PROXY_URL, AGENTV_TARGET_PROXY_TOKEN]", "2"),
    ] {
        directory.file("c.yaml", entry("./seen", keys));
        let ran = run(&directory, &good(), &[ONE], &[]).exits(0);
        let metric = metric(&ran, 0, 0);
        assert_eq!(metric["details"]["seen"], seen, "{keys}");
        let is_offered = keys.contains("target: {}");
        assert_eq!(metric["target_proxy"]["call_count"], json!(is_offered.then_some(0)), "{keys}");
    }
}

#[test]
fn failed_calls_are_shown_where_the_program_ignores_them() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let directory = Directory::new();
    directory.file("asks.py", CARELESS);
    directory.file("c.yaml", entry("asks.py", "target: {max_calls: 2}"));
    let server = model(|request| match request["messages"][0]["content"].as_str() {
        Some("a") => ("200 OK", "yes".to_owned()),
        _ => ("400 Bad Request", "no such thing".to_owned()),
    });
    let ran = run(&directory, &server, &[ONE], &[]).exits(0);
    let metric = metric(&ran, 0, 0);
    assert_eq!(metric["score"], 1.0);
    assert_eq!(metric["details"]["statuses"], json!([200, 500, 429, 429]));
    let asked = &metric["target_proxy"];
    assert_eq!(
        (&asked["call_count"], &asked["failed_calls"], &asked["refused_requests"]),
        (&json!(2), &json!(1), &json!(2))
    );
    let warning = metric["warnings"][0].as_str().unwrap();
    let expected = "it answered, although 1 of 2 model calls failed, 2 requests to its models were refused (first: invalid_request: model `openai/judge`:";
    assert!(warning.starts_with(expected), "{warning}");
    // The same in the other formats.
    for format in ["table", "markdown", "junit"] {
        let trace = trace(ONE);
        let mut command = directory.command(&["run", &trace, "-c", "c.yaml", "-o", format]);
        command.env("OPENAI_API_KEY", DECOY).env("OPENAI_BASE_URL", server.url());
        let ran = finish(command.spawn().unwrap());
        let text = format!("{}{}", ran.stdout, ran.stderr);
        assert!(text.contains("1 of 2 model calls failed"), "{format}: {text}");
    }
}

#[test]
fn a_failed_model_is_an_error_of_a_program_that_does_not_ignore_it() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let directory = Directory::new();
    directory.file("asks.py", PYTHON);
    directory.file("c.yaml", entry("asks.py", "target: {}"));
    let server = model(|_| ("401 Unauthorized", "wrong key".to_owned()));
    let ran = run(&directory, &server, &[ONE], &[]).exits(3);
    assert_eq!(ran.evaluations(0), ["asks ERROR exited"]);
    let metric = metric(&ran, 0, 0);
    assert!(metric["error"].as_str().unwrap().contains("HTTP Error 500"), "{metric}");
    let warning = metric["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("1 of 1 model call failed (first: unauthorized:"), "{warning}");
}

#[test]
fn budgets_of_the_run_and_of_the_entry_end_the_calls_of_programs() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let directory = Directory::new();
    directory.file("asks.py", PYTHON);
    for config in [
        entry("asks.py", "target: {budget: {calls: 4}}"),
        entry("asks.py", "target: {}").replace("openai/judge", "openai/judge, budget: {calls: 4}"),
    ] {
        let server = good();
        directory.file("c.yaml", config);
        let ran = run(&directory, &server, &[MANY], &["--jobs", "1"]).exits(3);
        assert_eq!(server.requests().len(), 4);
        let statuses: Vec<_> = (0..15).flat_map(|it| ran.evaluations(it)).collect();
        let scored = statuses.iter().filter(|it| *it == "asks PASSED").count();
        let broken = statuses.iter().filter(|it| *it == "asks ERROR exited").count();
        assert_eq!((scored, broken), (4, 11), "{statuses:?}");
        assert!(ran.stdout.contains("budget_exceeded"), "{}", ran.stdout);
    }
}

#[test]
fn replies_are_recorded_and_replayed() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let directory = Directory::new();
    directory.file("asks.py", PYTHON);
    let config = |mode: &str| {
        entry("asks.py", "target: {}").replace(
            "openai/judge}",
            &format!("openai/judge, cassette: judge.cassette.jsonl, mode: {mode}}}"),
        )
    };
    directory.file("c.yaml", config("record"));
    let recorded = run(&directory, &good(), &[MANY], &[]).exits(0);
    let cassette = directory.read("judge.cassette.jsonl");
    assert!(cassette.contains(r#""metric":"asks""#) && !cassette.contains(DECOY), "{cassette}");
    directory.file("c.yaml", config("replay"));
    let gone = model(|_| ("500 Gone", String::new()));
    let replayed = run(&directory, &gone, &[MANY], &[]).exits(0);
    assert_eq!(gone.requests().len(), 0);
    for conversation in 0..15 {
        for key in ["score", "target_proxy", "warnings"] {
            let [one, other] =
                [&recorded, &replayed].map(|ran| metric(ran, conversation, 0)[key].clone());
            assert_eq!(one, other, "{key}");
        }
    }
    // A tidy recording keeps what programs used.
    run(&directory, &gone, &[MANY], &["--save-run", "run.evalrun"]).exits(0);
    let tidy = ["judge", "tidy", "judge.cassette.jsonl", "--unused-since-run", "run.evalrun"];
    directory.evaluator(&tidy).exits(0);
    assert_eq!(directory.read("judge.cassette.jsonl"), cassette);
    // What was not recorded is an error, and nothing is sent.
    directory.file("asks.py", PYTHON.replace("Is it good?", "Is it bad?"));
    let ran = run(&directory, &gone, &[ONE], &[]).exits(3);
    assert!(ran.stdout.contains("not_in_cassette"), "{}", ran.stdout);
    assert_eq!(gone.requests().len(), 0);
}

#[test]
fn a_resumed_run_asks_again_where_calls_failed_or_models_changed() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let directory = Directory::new();
    directory.file("asks.py", PYTHON);
    directory.file("careless.py", CARELESS);
    let config = |model: &str, calls: u32| {
        format!(
            "judge: {{model: openai/{model}}}\nevaluators:\n\
             - {{name: asks, type: code, path: asks.py, target: {{max_calls: {calls}}}}}\n\
             - {{name: careless, type: code, path: careless.py, target: {{max_calls: {calls}}}}}\n"
        )
    };
    let more = ["--save-run", "run.evalrun", "--resume"];
    let server = good();
    // The careless one asks at least 3 times, one request is not JSON, and so its results are not reused.
    for (model, calls, expected) in
        [("a", 9, 4), ("a", 9, 3), ("b", 9, 4), ("b", 8, 4), ("b", 8, 3)]
    {
        directory.file("c.yaml", config(model, calls));
        server.clear();
        let ran = run(&directory, &server, &[ONE], &more).exits(0);
        assert_eq!(server.requests().len(), expected, "{model} {calls}");
        // A result that is reused has what it asked then.
        assert_eq!(metric(&ran, 0, 0)["target_proxy"]["call_count"], 1);
        assert_eq!(metric(&ran, 0, 1)["target_proxy"]["refused_requests"], 1);
    }
    // Another server is another model.
    let other = good();
    run(&directory, &other, &[ONE], &more).exits(0);
    assert_eq!(other.requests().len(), 4);
}

#[test]
fn what_is_missing_is_said_before_anything_runs() {
    let directory = Directory::new();
    directory.script("asks", "touch began; echo '{\"score\": 1}'");
    for (config, message) in [
        (
            entry("./asks", "target: {}").replace("openai/judge", "gemini-2.5-flash"),
            "GEMINI_API_KEY",
        ),
        (entry("./asks", "models: {a: anthropic/claude}"), "ANTHROPIC_API_KEY"),
        (entry("./asks", "models: {a: nonsense/m}"), "nonsense/m"),
        (entry("./asks", "models: {a: {model: m, base_url: x}}"), "asks"),
        (entry("./asks", "target: {max_calls: -1}"), "max_calls"),
        (entry("./asks", "target: {max_calls: lots}"), "max_calls"),
        (entry("./asks", "target: {}, models: {}"), "exclude each other"),
        (entry("./asks", "models: {a: {model: m, modle: n}}"), "did you mean `model`"),
        (entry("./asks", "target: {budget: {money: 1}}"), "have no price"),
    ] {
        directory.file("c.yaml", config);
        let trace = trace(ONE);
        let mut command = directory.command(&["run", &trace, "-c", "c.yaml"]);
        for name in ["GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY"] {
            command.env_remove(name);
        }
        let ran = finish(command.env("OPENAI_API_KEY", DECOY).spawn().unwrap()).exits(2);
        assert!(ran.stderr.contains(message), "{message}: {}", ran.stderr);
        assert!(ran.stderr.contains("c.yaml:"), "{message}: {}", ran.stderr);
        assert!(!directory.join("began").exists());
    }
}

/// Opens connections that it never reads, sends what is not HTTP, and asks without an end.
pub(crate) const FLOOD: &str = r#"
import json, os, socket, sys, threading, urllib.parse
address = urllib.parse.urlparse(os.environ["AGENTV_TARGET_PROXY_URL"])
token = os.environ["AGENTV_TARGET_PROXY_TOKEN"]
kept = []
def connect():
    connection = socket.create_connection((address.hostname, address.port), timeout=1)
    kept.append(connection)
    return connection
def send(text):
    try:
        connect().sendall(text)
    except OSError:
        pass
sys.stdin.read()
head = ("POST /invoke HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 17\r\n\r\n" % token).encode()
for _ in range(100):
    send(head + b'{"question": "q"}')
for text in (b"", b"\0" * 1000, b"GET / HTTP/1.1\r\n", head, head + b"{", b"x" * 100000):
    for _ in range(20):
        send(text)
print(json.dumps({"score": 1}))
sys.stdout.flush()
"#;

#[test]
fn a_program_that_floods_its_proxy_hangs_neither_the_run_nor_other_programs() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let directory = Directory::new();
    directory.file("flood.py", FLOOD);
    // It goes on until it is killed.
    directory.file(
        "endless.py",
        FLOOD.replace("print(json", "while True: send(head + b'{}')\nprint(json"),
    );
    directory.file("asks.py", PYTHON);
    directory.file(
        "c.yaml",
        "judge: {model: openai/judge}\nevaluators:\n\
         - {name: flood, type: code, path: flood.py, target: {max_calls: 5}, timeout: 60}\n\
         - {name: endless, type: code, path: endless.py, target: {max_calls: 5}, timeout: 3}\n\
         - {name: asks, type: code, path: asks.py, target: {}}\n",
    );
    let ran = run(&directory, &good(), &[ONE], &[]).exits(3);
    assert_eq!(ran.evaluations(0), ["flood PASSED", "endless ERROR timed_out", "asks PASSED"]);
    for evaluator in [0, 1] {
        let asked = metric(&ran, 0, evaluator)["target_proxy"].clone();
        assert!(asked["call_count"].as_u64().unwrap() <= 5, "{asked}");
    }
    assert_eq!(metric(&ran, 0, 2)["target_proxy"]["call_count"], 1);
}

#[test]
fn a_process_that_is_left_behind_is_not_answered() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let directory = Directory::new();
    directory.file(
        "late.py",
        r#"
import json, os, subprocess, sys
sys.stdin.read()
code = '''
import os, time, urllib.request
while not os.path.exists("over"):
    time.sleep(0.02)
request = urllib.request.Request(os.environ["AGENTV_TARGET_PROXY_URL"] + "/info",
    headers={"Authorization": "Bearer " + os.environ["AGENTV_TARGET_PROXY_TOKEN"]})
try:
    said = urllib.request.urlopen(request, timeout=10).read().decode()
except Exception as error:
    said = "refused " + repr(error)
open("said.new", "w").write(said)
os.rename("said.new", "said")
'''
null = subprocess.DEVNULL
subprocess.Popen([sys.executable, "-c", code], stdin=null, stdout=null, stderr=null, start_new_session=True)
print(json.dumps({"score": 1}))
"#,
    );
    // The second evaluator runs after the first, and lets the process continue.
    directory.script("next", "cat >/dev/null; touch over; i=0; until [ -e said ] || [ $i = 500 ]; do sleep 0.02; i=$((i+1)); done; echo '{\"score\": 1}'");
    directory.file(
        "c.yaml",
        "judge: {model: openai/judge}\nevaluators:\n\
         - {name: late, type: code, path: late.py, target: {}}\n\
         - {name: next, type: code, path: ./next}\n",
    );
    run(&directory, &good(), &[ONE], &["--jobs", "1"]).exits(0);
    wait_until("the process has asked", || directory.join("said").exists());
    let said = directory.read("said");
    assert!(said.starts_with("refused "), "{said}");
}

#[test]
fn the_calls_of_all_attempts_count() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let directory = Directory::new();
    let dies = "\nif not os.path.exists('again'):\n    open('again', 'w')\n    os.kill(os.getpid(), 9)\nprint(";
    directory.file("asks.py", PYTHON.replace("\nprint(", dies));
    directory.file("c.yaml", entry("asks.py", "target: {max_calls: 1}, retries: 2"));
    let ran = run(&directory, &good(), &[ONE], &[]).exits(0);
    let metric = metric(&ran, 0, 0);
    assert_eq!((&metric["attempts"], &metric["score"]), (&json!(2), &json!(0.75)));
    let asked = &metric["target_proxy"];
    assert_eq!(
        (&asked["call_count"], &asked["max_calls"], &asked["tokens"]["input"]),
        (&json!(2), &json!(1), &json!(80))
    );
}

pub(crate) const WITH_CLIENT: &str = r#"
//! ```cargo
//! [dependencies]
//! evaluator-sdk = { features = ["target"] }
//! ```
use evaluator_sdk::{EvalInput, EvalResult, Failure, Score, evaluator, target::TargetClient};

#[evaluator]
fn asks(input: &EvalInput, target: Option<TargetClient>) -> Result<EvalResult, Failure> {
    let Some(target) = target else { return Ok(EvalResult::not_evaluated("no model")) };
    let id = &input.invocations[0].invocation_id;
    let failed = |error: evaluator_sdk::target::TargetError| Failure::new("target", error.to_string());
    let replies = target.invoke_batch([format!("first {id}"), format!("second {id}")]).map_err(failed)?;
    for reply in replies {
        reply.map_err(failed)?;
    }
    let info = target.info().map_err(failed)?;
    Ok(EvalResult::new(Score::ratio(info.call_count as usize, 2))
        .detail("process", std::process::id())
        .detail("target", info.target_name))
}

fn main() -> std::process::ExitCode {
    asks::run()
}
"#;

/// Does not take a proxy with a document, as programs of earlier versions: it reads the environment.
const WITHOUT_CLIENT: &str = r#"
use evaluator_sdk::{EvalInput, EvalResult, Score, evaluator};

#[evaluator]
fn asks(_: &EvalInput) -> EvalResult {
    let url = std::env::var("AGENTV_TARGET_PROXY_URL").unwrap_or_default();
    let process = std::process::id();
    let score = Score::from(url.starts_with("http://127.0.0.1:"));
    EvalResult::new(score).detail("url", url).detail("process", process)
}

fn main() -> std::process::ExitCode {
    asks::run()
}
"#;

#[test]
fn warm_rust_programs_have_a_proxy_for_each_document() {
    let directory = Directory::new();
    let with = kept_source("with", WITH_CLIENT);
    let without = kept_source("without", WITHOUT_CLIENT);
    directory.file(
        "c.yaml",
        format!(
            "judge: {{model: openai/judge}}\nevaluators:\n\
             - {{name: with, type: code, path: {with:?}, models: {{judge: openai/judge, max_calls: 2}}, threshold: 1}}\n\
             - {{name: without, type: code, path: {without:?}, target: {{}}, threshold: 1}}\n\
             - {{name: none, type: code, path: {with:?}}}\n"
        ),
    );
    let server = good();
    let ran = run(&directory, &server, &[MANY], &["--jobs", "2"]).exits(0);
    assert_eq!(server.requests().len(), 30);
    let mut processes = Vec::new();
    let mut addresses = Vec::new();
    for conversation in 0..15 {
        let expected = ["with PASSED", "without PASSED", "none NOT_EVALUATED"];
        assert_eq!(ran.evaluations(conversation), expected);
        let asked = metric(&ran, conversation, 0);
        assert_eq!(asked["target_proxy"]["call_count"], 2);
        assert_eq!(asked["details"]["target"], "judge");
        processes.push(asked["details"]["process"].as_u64().unwrap());
        // The port of a proxy that ended may be that of a later one.
        let details = metric(&ran, conversation, 1)["details"].clone();
        addresses.push((details["url"].to_string(), details["process"].as_u64()));
        assert_eq!(metric(&ran, conversation, 2)["target_proxy"], Value::Null);
    }
    processes.sort_unstable();
    processes.dedup();
    assert!(processes.len() <= 2, "{processes:?}");
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 15, "a process and a proxy each");
}

#[test]
fn served_and_fetched_programs_ask_too() {
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let (directory, server) = (Directory::new(), good());
    let source = PYTHON.replace("document[\"invocations\"][0][\"invocation_id\"]", "len(document)");
    directory.file("there/asks/asks.py", source);
    let with = kept_source("with", WITH_CLIENT);
    directory.file(
        "c.yaml",
        format!(
            "judge: {{model: openai/judge, cassette: judge.cassette.jsonl}}\nsources: {{local: there}}\nevaluators:\n\
             - {{name: asks, type: remote, source: local, ref: asks/asks.py, target: {{}}}}\n\
             - {{name: with, type: code, path: {with:?}, models: {{judge: openai/judge}}}}\n"
        ),
    );
    let run = run(&directory, &server, &[ONE], &[]).exits(0);
    assert_eq!(run.evaluations(0), ["asks PASSED", "with PASSED"]);
    let variables = [("OPENAI_API_KEY", DECOY), ("OPENAI_BASE_URL", &server.url())];
    let mut serving = Serving::start_with(&directory, &["-c", "c.yaml"], &variables);
    let document = json!({"metric_name": "m", "invocations": [{"invocation_id": "i", "user_content": "q", "final_response": "a"}]});
    for (name, score) in [("asks", 0.75), ("with", 1.0), ("asks", 0.75), ("with", 1.0)] {
        let answer = serving.post(&format!("/evaluators/{name}"), &document.to_string());
        assert_eq!(answer.json()["score"], score, "{name}: {answer:?}");
    }
    signal("TERM", &serving.pid());
    assert_eq!(serving.ended(), Some(0));
    let cassette = directory.read("judge.cassette.jsonl");
    assert!(cassette.contains(r#""metric":"asks""#) && cassette.contains("first i"), "{cassette}");
}
