//! Pipes and devices where a configuration, or what it names, should be: an error at once.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "there is no other way to make a pipe with a name")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{fs, os::unix::fs::symlink, process::Command, thread};

use crate::support::{Directory, has, trace};

const METRIC: &str = "evaluators: [{name: hallucinations_v1, type: builtin}]";

/// A directory with a pipe and a link to an endless device.
fn place() -> Directory {
    let directory = Directory::new();
    for name in ["pipe", "pipe.yaml"] {
        assert!(Command::new("mkfifo").arg(directory.join(name)).status().unwrap().success());
    }
    for name in ["endless", "endless.yaml"] {
        symlink("/dev/zero", directory.join(name)).unwrap();
    }
    directory
}

#[test]
fn pipes_and_devices_are_refused_at_once() {
    let directory = place();
    let trace = trace("a01_otlp_basic_parts");
    for name in ["pipe", "endless"] {
        let refused = |config: &str, args: &[&str]| {
            directory.file("c.yaml", config);
            let ran = directory.evaluator(args);
            assert!(
                ran.code == Some(2) || ran.code == Some(3),
                "{config} {args:?}: {}",
                ran.stderr
            );
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(said.contains("regular file"), "{config} {args:?}: {said}");
        };
        refused("", &["run", &trace, "-c", name]);
        refused("", &["check", name]);
        let run = ["run", &*trace, "-c", "c.yaml"];
        let judged = |more: &str| format!("judge: {{model: 'fake:replies', {more}}}\n{METRIC}");
        directory.file("replies", "\"yes\"\n");
        for mode in ["replay", "auto", "record"] {
            refused(&judged(&format!("cassette: {name}, mode: {mode}")), &run);
        }
        refused(&judged(&format!("prices: {name}")), &run);
        refused(&judged(&format!("prompts: {{hallucinations_v1.segment: {name}}}")), &run);
        let eval_set = format!(
            "eval_set: {name}\nevaluators: [{{name: response_match_score, type: builtin}}]"
        );
        refused(&eval_set, &run);
        refused(&eval_set, &["check", "c.yaml"]);
        refused("", &["judge", "tidy", name]);
        refused("", &["report", name]);
        let tests = format!("tests: {name}.yaml\n");
        directory.file("suite.eval.yaml", tests);
        refused("", &["check", "suite.eval.yaml"]);
        refused("", &["run", "suite.eval.yaml"]);
    }
}

#[test]
fn a_grader_in_a_pipe_is_read_by_its_interpreter_alone() {
    if !has("python3") {
        return;
    }
    let directory = place();
    fs::rename(directory.join("pipe"), directory.join("grader.py")).unwrap();
    let grader = "{name: g, type: code-grader, command: [python3, grader.py]}";
    let test = format!("tests: [{{id: one, criteria: c, input: q, assertions: [{grader}]}}]\n");
    directory.file("suite.eval.yaml", test);
    directory.file("outputs.jsonl", "{\"test_id\": \"one\", \"output\": \"a\"}\n");
    let pipe = directory.join("grader.py");
    let writer = thread::spawn(move || fs::write(pipe, "print('{\"score\": 1}')\n"));
    let ran = directory.evaluator(&["run", "suite.eval.yaml", "--outputs", "outputs.jsonl"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    writer.join().unwrap().unwrap();
}
