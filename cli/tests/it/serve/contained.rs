//! Evaluators in sandboxes: one for each document, for a worker, and for an interpreter that is forked.
#![cfg(target_os = "linux")]

use std::{io::Write, net::TcpStream};

use super::AGENTEVALS;
use crate::{
    containment::{is_available, place},
    sandboxed::running,
    support::{
        Directory, has,
        processes::{signal, wait_until},
        serving::{Serving, request},
    },
};

/// Defines `answer DOCUMENT`: says whether the secret and what an earlier document left are visible, and leaves a daemon. It
/// does not return for a document with the word "hang".
const ANSWER: &str = r#"#!/bin/sh
count=0
answer() {
  case $1 in *hang*) sh -c 'sleep 600; : @NAME@-hangs @DIRECTORY@' ;; esac
  setsid sh -c 'sleep 600; : @DIRECTORY@' </dev/null >/dev/null 2>&1 &
  seen=false; [ -e /tmp/left ] && seen=true; : >/tmp/left
  secret=false; cat @DIRECTORY@/secret >/dev/null 2>&1 && secret=true
  count=$((count + 1))
  echo "{\"score\": 1, \"details\": {\"seen\": $seen, \"secret\": $secret, \"count\": $count}}"
}
"#;

/// Starts the script next to it. Only compiled programs are asked whether they keep running.
const START: &str = r#"use std::{env, os::unix::process::CommandExt, process::Command};
fn main() {
    let script = format!("{}.sh", env::current_exe().unwrap().display());
    panic!("{}", Command::new("/bin/sh").arg(script).args(env::args_os().skip(1)).exec());
}
"#;

/// Keeps running.
const STREAM: &str = r#"
case $1 in
--describe) echo '{"sdk": "none", "sdk_version": "0", "protocol_version": "1.1", "capabilities": ["stream", "numbered"], "evaluators": []}' ;;
--stream) while IFS= read -r line; do printf '%s ' "${line%% *}"; answer "$line"; done ;;
*) answer "$(cat)" ;;
esac
"#;

const PYTHON: &str = r#"import sys
was_forked = "statistics" in sys.modules
import json, os, statistics, subprocess
document = sys.stdin.read()
def shell(script, **keys):
    return subprocess.Popen(["sh", "-c", script], stdin=subprocess.DEVNULL, **keys)
if "hang" in document:
    shell("sleep 600; : @NAME@-hangs @DIRECTORY@").wait()
closed = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
shell("sleep 600; : @DIRECTORY@", start_new_session=True, **closed)
seen = os.path.exists("/tmp/left")
open("/tmp/left", "w").close()
details = {"seen": seen, "secret": os.path.exists("@DIRECTORY@/secret"), "count": 1, "forked": was_forked}
print(json.dumps({"score": 1.0, "details": details}))
"#;

/// Evaluators that are served, and a directory with a secret.
struct Contained {
    directory: Directory,
    names: Vec<&'static str>,
}

impl Contained {
    /// `None`, with a message, if this machine cannot contain programs.
    fn new() -> Option<Self> {
        if !is_available() {
            return None;
        }
        let directory = Directory::new();
        directory.file("secret", "key");
        let place = directory.path().display().to_string();
        let write = |name: &str, file: &str, rest: &str| {
            let text = format!("{ANSWER}{rest}").replace("@NAME@", name);
            directory.executable(&format!("{name}/{file}"), text.replace("@DIRECTORY@", &place));
        };
        write("once", "check", "answer \"$(cat)\"");
        write("warm", "check.sh", STREAM);
        directory.file("warm/check.rs", START);
        directory.sh("rustc --edition 2024 -o warm/check warm/check.rs").exits(0);
        let mut names = vec!["once", "warm"];
        let mut entries = "- {name: once, type: code, path: once/check}\n\
                           - {name: warm, type: code, path: warm/check}\n"
            .to_owned();
        if has("python3") {
            for (name, keys) in [("forked", ""), ("apart", ", isolation: process")] {
                let text = PYTHON.replace("@NAME@", name).replace("@DIRECTORY@", &place);
                directory.file(&format!("{name}/check.py"), text);
                entries +=
                    &format!("- {{name: {name}, type: code, path: {name}/check.py{keys}}}\n");
                names.push(name);
            }
        }
        directory
            .file("c.yaml", format!("defaults: {{executor: sandbox}}\nevaluators:\n{entries}"));
        Some(Self { directory, names })
    }

    fn serve(&self, args: &[&str]) -> Serving {
        Serving::start(&self.directory, &[&["-c", "c.yaml", "--jobs", "8"], args].concat())
    }

    /// Sends each evaluator a document that it does not answer, and waits until all of them have it.
    fn hang(&self, server: &Serving) -> Vec<TcpStream> {
        let document = AGENTEVALS.replace("Paris", "hang");
        let send = |name: &&str| {
            let mut stream = server.connect();
            let path = format!("/evaluators/{name}");
            stream.write_all(request("POST", &path, &[], &document).as_bytes()).unwrap();
            wait_until(name, || !running(&format!("{name}-hangs {}", self.place())).is_empty());
            stream
        };
        self.names.iter().map(send).collect()
    }

    fn place(&self) -> String {
        self.directory.path().display().to_string()
    }

    #[track_caller]
    fn assert_nothing_left(&self) {
        wait_until("the end of all sandboxes", || running(&self.place()).is_empty());
    }
}

#[test]
fn with_contain_only_contained_evaluators_are_served() {
    let directory = Directory::new();
    directory.script("plain", "echo >>ran; cat >/dev/null; echo '{\"score\": 1}'");
    directory.script("model.sh", "echo >>ran; cat >/dev/null; echo '{\"text\": \"yes\"}'");
    let entry = |keys: &str| format!("evaluators: [{{name: a, type: code, path: plain{keys}}}]\n");
    let model = entry(", executor: sandbox, models: {m: {model: 'command:model.sh'}}");
    let judge = "- {name: hallucinations_v1, type: builtin, judge_model: 'command:model.sh'}";
    for (config, paths, names) in [
        (entry(""), &[][..], "a"),
        (entry(""), &["plain"], "a"),
        (model, &[], "a (its model is the program `command:model.sh`)"),
        (
            format!("evaluators:\n{judge}\n"),
            &[],
            "hallucinations_v1 (its model is the program `command:model.sh`)",
        ),
    ] {
        directory.file("c.yaml", &config);
        let args = ["serve", "--addr", "127.0.0.1:0", "--contain", "-c", "c.yaml"];
        let ran = directory.evaluator(&[&args, paths].concat()).exits(2).reports_nothing();
        let refused = format!("not contained: {names} (--contain requires `executor: sandbox`");
        assert!(ran.stderr.contains(&refused), "{config}: {}", ran.stderr);
        assert!(!ran.stderr.contains("listening"), "{}", ran.stderr);
    }
    assert!(!directory.join("ran").exists(), "nothing is run");
}

#[test]
fn a_program_that_is_named_by_its_path_is_contained_if_that_is_demanded() {
    if !is_available() {
        return;
    }
    let config =
        "contain: true\nevaluators: [{name: a, type: code, path: checks/probe, executor: sandbox}]";
    let directory = place(config);
    for (demand, score) in [(&[][..], 0.0), (&["--contain"], 1.0), (&["-c", "c.yaml"], 1.0)] {
        let server = Serving::start(&directory, &[demand, &["checks/probe"]].concat());
        let answer = server.post("/evaluators/probe", AGENTEVALS).is(200).json();
        assert_eq!(answer["score"], score, "{demand:?}: {}", server.said());
    }
}

#[test]
fn requests_share_what_their_sandbox_shares_and_term_ends_all() {
    let Some(contained) = Contained::new() else { return };
    let mut server = contained.serve(&["--contain"]);
    for number in 1..=3 {
        for name in &contained.names {
            let path = format!("/evaluators/{name}");
            let answer = server.post(&path, AGENTEVALS).is(200).json();
            assert_eq!(answer["score"], 1.0, "{name}: {answer}");
            let details = &answer["details"];
            assert_eq!(details["secret"], false, "{name}");
            // The processes of a document of its own have a sandbox of their own.
            let shares = ["warm", "forked"].contains(name);
            assert_eq!(details["seen"], shares && number > 1, "{name}, {number}: {details}");
            let count = if *name == "warm" { number } else { 1 };
            assert_eq!(details["count"], count, "{name}: {}", server.said());
            if *name == "forked" {
                assert_eq!(details["forked"], true, "{}", server.said());
            }
        }
    }
    assert!(!running(&contained.place()).is_empty());
    assert!(signal("TERM", &server.pid()));
    assert_eq!(server.ended(), Some(0), "{}", server.said());
    contained.assert_nothing_left();
}

#[test]
fn documents_that_exceed_the_grace_period_end_with_their_sandboxes() {
    let Some(contained) = Contained::new() else { return };
    let mut server = contained.serve(&["--grace", "0"]);
    let _streams = contained.hang(&server);
    assert!(signal("TERM", &server.pid()));
    assert_eq!(server.ended(), Some(3), "{}", server.said());
    contained.assert_nothing_left();
}

#[test]
fn nothing_is_left_of_a_server_that_is_killed() {
    let Some(contained) = Contained::new() else { return };
    let mut server = contained.serve(&[]);
    for name in &contained.names {
        server.post(&format!("/evaluators/{name}"), AGENTEVALS).is(200);
    }
    let _streams = contained.hang(&server);
    assert!(signal("KILL", &server.pid()));
    assert_eq!(server.ended(), None);
    contained.assert_nothing_left();
}
