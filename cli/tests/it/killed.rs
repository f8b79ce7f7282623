//! What is left of evaluators when the command is killed by `KILL`, which no program can react to.
#![cfg(target_os = "linux")]

use std::{io::Write as _, process::Stdio};

use serde_json::json;

use crate::support::{
    Directory, has,
    processes::{MARK_VARIABLE, Mark, assert_gone, children_of, signal, wait_until},
    serving::Serving,
};

/// Reads its document, starts a child, and ends neither by itself nor at `TERM`. Without a document, it exits.
const WAITS: &str = "document=$(cat); [ -n \"$document\" ] || exit 0
trap '' HUP INT TERM; sleep 600 & echo >waits.there; while :; do sleep 600; done";

/// The same in Python, computing instead of waiting.
fn computes(name: &str) -> String {
    format!(
        "import signal, subprocess, sys\n\
         if not sys.stdin.read(): sys.exit(0)\n\
         for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)\n\
         subprocess.Popen(['sleep', '600'])\n\
         open('{name}.there', 'w').close()\n\
         while True: pass\n"
    )
}

/// Names of evaluators that do not end, and what is in their entries.
const EVALUATORS: [(&str, &str); 3] = [
    ("waits", "path: ./waits"),
    ("forked", "path: forked.py"),
    ("started", "path: started.py, isolation: process"),
];

/// Conversations, of which each is a line.
fn lines() -> String {
    let attribute = json!({"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}});
    let line = |trace: u32| {
        let span = json!({
            "traceId": format!("{trace:032x}"), "spanId": "0000000000000001", "name": "chat",
            "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000001000000000",
            "attributes": [attribute],
        });
        let document = json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]});
        format!("{document}\n")
    };
    // Enough for forks.
    (1..=4).map(line).collect()
}

fn directory() -> Directory {
    let directory = Directory::new();
    let entry = |(name, more)| format!("- {{name: {name}, type: code, timeout: 600, {more}}}\n");
    directory.file("c.yaml", format!("evaluators:\n{}", EVALUATORS.map(entry).concat()));
    directory.script("waits", WAITS);
    for name in ["forked", "started"] {
        directory.file(&format!("{name}.py"), computes(name));
    }
    directory.file("t.jsonl", lines());
    directory
}

/// Waits until an evaluation of each evaluator runs, kills the command, and waits for the end of all that it has started.
#[track_caller]
fn kill(directory: &Directory, mark: &Mark, command: &str) {
    for (name, _) in EVALUATORS {
        let file = directory.join(format!("{name}.there"));
        wait_until(name, || file.exists());
    }
    let children = children_of(command);
    assert!(children.len() > EVALUATORS.len(), "evaluators and what ends them: {children:?}");
    assert!(signal("KILL", command));
    mark.assert_nothing_left();
    // Some have no environment, and so no mark.
    children.iter().for_each(|child| assert_gone(child));
}

#[test]
fn no_process_is_left_when_a_command_is_killed() {
    if !has("python3") {
        return;
    }
    for (name, args) in [
        ("run", &["-o", "json", "--jobs", "16", "t.jsonl"][..]),
        ("pipe", &["--group-by", "trace", "--jobs", "16"]),
    ] {
        let (directory, mark) = (directory(), Mark::new());
        let mut command = directory.command(&[&[name, "-c", "c.yaml"], args].concat());
        command.env(MARK_VARIABLE, mark.as_str()).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It stays open: nothing but the signal ends the command.
        let mut stdin = child.stdin.take().unwrap();
        if name == "pipe" {
            stdin.write_all(lines().as_bytes()).unwrap();
        }
        kill(&directory, &mark, &child.id().to_string());
        child.wait().unwrap();
    }
}

#[test]
fn no_process_is_left_when_a_receiver_is_killed() {
    if !has("python3") {
        return;
    }
    let (directory, mark) = (directory(), Mark::new());
    let options =
        "--traces r.jsonl --save-run r.evalrun --addr 127.0.0.1:0 --group-by trace --quiet-for 0s";
    let options = options.split(' ').collect::<Vec<_>>();
    let mut command =
        directory.command(&[&["receive", "-c", "c.yaml", "--jobs", "16"], &options[..]].concat());
    command.env(MARK_VARIABLE, mark.as_str()).env_remove("EVALUATOR_RECEIVE_TOKEN");
    let server = Serving::start_command(command);
    for line in lines().lines() {
        server.send("/v1/traces", &["Content-Type: application/json"], line.as_bytes()).is(200);
    }
    kill(&directory, &mark, &server.pid());
}
