//! From before the first request to after the last one.

use std::{fs, io::Write, thread, time::Duration};

use serde_json::json;

use super::{AGENTEVALS, SAME, WAIT, WEBHOOK};
use crate::support::{
    self, Directory,
    processes::{assert_gone, signal, wait_for_line},
    serving::{Serving, request, response},
};

#[test]
fn what_cannot_be_made_ready_is_not_served() {
    let directory = Directory::new();
    directory.script("same", SAME);
    directory.file("unknown.xyz", "");
    directory.file("broken.yaml", "evaluators:\n  - {name: a, type: code, path: gone}\n");
    directory
        .file("metric.yaml", "evaluators:\n  - {name: tool_trajectory_avg_score, type: builtin}\n");
    directory
        .file("typo.yaml", "evaluators:\n  - {name: a, type: code, path: same, treshold: 1}\n");
    directory.file("unavailable.yaml", "evaluators:\n  - {name: safety_v1, type: builtin}\n");
    directory.file(
        "keyless.yaml",
        "evaluators:\n  - {name: a, type: code, path: same, models: {m: {model: openai/gpt-5, api_key_env: NOT_SET}}}\n",
    );
    let script = directory.script("no-interpreter", "");
    fs::write(script, "#!/no/interpreter\n").unwrap();
    for (args, text) in [
        (&["same", "unknown.xyz"][..], "unknown: "),
        (&["-c", "unavailable.yaml", "same"], "evaluator: safety_v1: needs a judge model"),
        (&["-c", "keyless.yaml"], "the variable NOT_SET, which has the key"),
        (&["same", "no-interpreter"], "names the interpreter /no/interpreter, which does not"),
        (&["-c", "broken.yaml", "same"], "gone"),
        (&["-c", "metric.yaml"], "there is no evaluator to serve"),
        (&["-c", "typo.yaml"], "treshold"),
        (&["same", "same"], "two evaluators have this name"),
        (&["gone"], "no such file"),
        (&[], "name evaluators, or a configuration with -c"),
    ] {
        let mut all = vec!["serve", "--addr", "127.0.0.1:0"];
        all.extend(args);
        let ran = directory.evaluator(&all).exits(2).reports_nothing();
        assert!(ran.stderr.contains(text), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("listening"), "{}", ran.stderr);
    }
}

#[test]
fn a_script_that_cannot_be_read_is_not_served() {
    if !support::has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.script("same", SAME);
    directory.file("typo.py", "def (\n");
    let ran = directory.evaluator(&["serve", "--addr", "127.0.0.1:0", "same", "typo.py"]);
    let ran = ran.exits(2).reports_nothing();
    assert!(ran.stderr.contains("evaluator: typo: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("SyntaxError"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("listening"), "{}", ran.stderr);
}

#[test]
fn python_is_forked_and_sees_no_secrets() {
    if !support::has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file(
        "spy.py",
        "import json, os, sys\nturns = json.load(sys.stdin)['invocations']\n\
         seen = [name for name in ('EVALUATOR_SERVE_TOKEN', 'MY_API_KEY', 'HARMLESS') if name in os.environ]\n\
         print(json.dumps({'score': 1.0, 'details': {'seen': seen, 'turns': len(turns)}}))\n",
    );
    let variables = [("EVALUATOR_SERVE_TOKEN", "t"), ("MY_API_KEY", "k"), ("HARMLESS", "x")];
    let server = Serving::start_with(&directory, &["spy.py"], &variables);
    for _ in 0..3 {
        let bearer = ["Authorization: Bearer t"];
        let answer = server.request("POST", "/", &bearer, AGENTEVALS).is(200).json();
        assert_eq!(answer["details"], json!({"seen": ["HARMLESS"], "turns": 1}));
    }
}

#[test]
fn evaluations_of_closed_connections_are_stopped() {
    let directory = Directory::new();
    directory.script("wait", WAIT);
    let server = Serving::start(&directory, &["wait", "--jobs", "1"]);
    let mut stream = server.connect();
    stream.write_all(request("POST", "/", &[], AGENTEVALS).as_bytes()).unwrap();
    let pid = wait_for_line(&directory.path().join("began"));
    drop(stream);
    assert_gone(&pid);
    server.says("the client disconnected");
    directory.file("go", "");
    server.post("/", AGENTEVALS).is(200);
}

#[test]
fn started_evaluations_are_finished() {
    let directory = Directory::new();
    directory.script("wait", WAIT);
    let mut server = Serving::start(&directory, &["wait"]);
    let mut idle = server.connect();
    let mut stream = server.connect();
    stream.write_all(request("POST", "/", &[], AGENTEVALS).as_bytes()).unwrap();
    wait_for_line(&directory.path().join("began"));
    assert!(signal("TERM", &server.pid()));
    server.says("accepted documents are finished first");
    // Nothing new begins.
    let refused = (0..1000).any(|_| {
        thread::sleep(Duration::from_millis(10));
        std::net::TcpStream::connect(server.address).is_err()
    });
    assert!(refused, "it still accepts connections");
    let mut rest = Vec::new();
    let _ = std::io::Read::read_to_end(&mut idle, &mut rest);
    assert_eq!(rest, b"");
    directory.file("go", "");
    assert_eq!(response(&mut stream).is(200).json()["score"], 1.0);
    assert_eq!(server.ended(), Some(0));
}

#[test]
fn documents_that_exceed_the_grace_period_are_killed_and_reported() {
    let directory = Directory::new();
    directory.script("wait", WAIT);
    let mut server = Serving::start(&directory, &["wait", "--grace", "0"]);
    let mut stream = server.connect();
    stream.write_all(request("POST", "/invoke", &[], WEBHOOK).as_bytes()).unwrap();
    let pid = wait_for_line(&directory.path().join("began"));
    assert!(signal("INT", &server.pid()));
    let answer = response(&mut stream).is(503);
    assert!(answer.text().contains("shutting down"), "{}", answer.body);
    assert_eq!(server.ended(), Some(3));
    assert_gone(&pid);
    server.says("some documents were not answered");
}
