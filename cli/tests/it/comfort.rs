//! Conveniences of the command line: completions, manual pages, quiet runs, messages as JSON, tables on terminals.
#![cfg(unix)]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use evaluator_test_support::run as run_program;
use serde_json::Value;

use crate::support::{Directory, Ran, finish, has, trace};

#[test]
fn every_shell_has_its_completions() {
    let directory = Directory::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = directory.evaluator(&["completions", shell]).exits(0);
        for word in ["evaluator", "run", "max-error-rate"] {
            assert!(ran.stdout.contains(word), "{shell}: no {word}");
        }
    }
    directory.evaluator(&["completions", "tcsh"]).exits(2).reports_nothing();
}

#[test]
fn every_command_has_a_manual_page() {
    let directory = Directory::new();
    let ran = directory.evaluator(&["man"]).exits(0);
    assert!(ran.stdout.contains(".TH evaluator 1"), "{}", ran.stdout);
    fs::create_dir(directory.path().join("man1")).unwrap();
    directory.evaluator(&["man", "man1"]).exits(0).reports_nothing();
    let page = fs::read_to_string(directory.path().join("man1/evaluator-run.1")).unwrap();
    assert!(page.contains("max\\-error\\-rate"), "{page}");
    assert!(directory.path().join("man1/evaluator.1").is_file());
    directory.evaluator(&["man", "absent"]).exits(2).reports_nothing();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "this is what is tested")]
fn the_subcommand_of_cargo_starts_the_command_next_to_it_or_on_path() {
    let installed = Path::new(env!("CARGO_BIN_EXE_cargo-evaluator"));
    let start = |program: &Path, path: &Path| {
        run_program(Command::new(program).args(["evaluator", "run", "--nope"]).env("PATH", path))
    };
    let directory = Directory::new();
    let (alone, empty) = (directory.join("cargo-evaluator"), directory.join("empty"));
    start(installed, &empty).exits(2).says("Usage: cargo evaluator run");
    run_program(Command::new(installed).args(["evaluator", "new"]).env("PATH", &empty))
        .exits(2)
        .says("Usage: cargo evaluator new [OPTIONS] <NAME>");

    // Another process writes the programs: a test that starts one at the same time would inherit the open file.
    directory.sh(&format!("cp '{}' .", installed.display())).exits(0);
    start(&alone, &empty).exits(3).says("`evaluator` is neither next to this program nor on PATH");
    start(&alone, installed.parent().unwrap()).exits(2).says("Usage: cargo evaluator run");
    let script = "#!/bin/sh\necho \"next to it: $*\" >&2\nexit 7\n";
    directory.sh(&format!("printf '%s' '{script}' >evaluator; chmod +x evaluator")).exits(0);
    start(&alone, installed.parent().unwrap()).exits(7).says("next to it: run --nope");
}

/// One evaluator that passes with a contradiction, and one that breaks.
fn directory() -> Directory {
    let directory = Directory::new();
    directory.script("odd", r#"cat >/dev/null; echo '{"score": 0, "status": "PASSED"}'"#);
    directory.script("crash", "cat >/dev/null; echo boom >&2; exit 3");
    directory.file("good.yaml", "evaluators:\n  - {name: odd, type: code, path: odd}\n");
    directory.file(
        "bad.yaml",
        "evaluators:\n  - {name: odd, type: code, path: odd}\n  - {name: crash, type: code, path: crash}\n",
    );
    directory
}

fn run(directory: &Directory, args: &[&str]) -> Ran {
    let trace = trace("k01_traj_exact");
    directory.run(&[&[trace.as_str()], args].concat())
}

#[test]
fn a_quiet_run_says_what_is_wrong_and_nothing_else() {
    let directory = directory();
    for quiet in ["-q", "--quiet"] {
        let ran = run(&directory, &["-c", "good.yaml", quiet]).exits(0);
        assert_eq!(ran.stderr, "");
        assert!(ran.stdout.contains("[PASS]"), "{}", ran.stdout);
        let ran = run(&directory, &["-c", "bad.yaml", quiet]).exits(3);
        assert!(ran.stderr.starts_with("ERROR: 1 passed, 0 failed, 1 errored"), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
    let ran = run(&directory, &["-c", "bad.yaml", "-q", "--jobs", "1", "-o", "json=/dev/full"]);
    ran.exits(3).says("cannot write the report to /dev/full");
    run(&directory, &["-q", "-v"]).exits(2).says("cannot be used with");
}

#[test]
fn messages_may_be_json_one_object_per_line() {
    let directory = directory();
    let objects = |ran: &Ran| -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        ran.stderr.lines().map(parse).collect()
    };
    let ran = run(&directory, &["-c", "bad.yaml", "-v", "--log-format", "json"]).exits(3);
    let lines = objects(&ran);
    for line in &lines {
        assert!(["info", "warning", "error"].contains(&line["level"].as_str().unwrap()), "{line}");
        assert!(line["message"].is_string(), "{line}");
    }
    let last = lines.last().unwrap();
    assert_eq!(last["level"], "error");
    assert!(last["message"].as_str().unwrap().starts_with("ERROR: 1 passed"), "{last}");
    let run_object = &last["run"];
    for (key, value) in [("exit_code", 3), ("passed", 1), ("errored", 1), ("total", 2)] {
        assert_eq!(run_object[key], value, "{last}");
    }
    assert_eq!(run_object["outcome"], "error");
    let ran = run(&directory, &["-c", "good.yaml", "--log-format=json"]).exits(0);
    let lines = objects(&ran);
    assert_eq!(lines[0]["level"], "warning");
    assert_eq!(lines.last().unwrap()["run"]["outcome"], "passed");
    // A configuration that cannot be used, too.
    directory.file("wrong.yaml", "evaluators:\n  - {name: a, type: biultin}\n");
    let ran = run(&directory, &["-c", "wrong.yaml", "--log-format=json"]).exits(2);
    assert_eq!(objects(&ran).len(), 2);
    let ran = run(&directory, &["--no-such", "--log-format=json"]).exits(2);
    assert_eq!(objects(&ran)[0]["level"], "error");
}

/// What is no error is neither shown in quiet runs nor called one in JSON.
#[test]
fn only_errors_have_the_level_error() {
    let directory = directory();
    directory.file("eval_config.yaml", "evaluators:\n  - {name: odd, type: code, path: odd}\n");
    directory.file("check.py", "import json\nprint(json.dumps({'score': 1}))\n");
    directory.file(
        "test_check.py",
        "import unittest\nimport check\n\nclass T(unittest.TestCase):\n    def test(self):\n        pass\n",
    );
    let trace = trace("k01_traj_exact");
    let cases: [(&[&str], &str); 4] = [
        (&["check"], "using the configuration eval_config.yaml"),
        (&["run", &trace, "-o", "summary"], "using the configuration eval_config.yaml"),
        (
            &["run", &trace, "-m", "token_usage_v1", "--allow-unevaluated"],
            "eval_config.yaml of this directory is not used",
        ),
        (&["test", "check.py"], "1 test passed"),
    ];
    for (args, said) in cases {
        let ran = directory.evaluator(&[args, &["--log-format", "json"]].concat()).exits(0);
        let line = ran.stderr.lines().find(|line| line.contains(said));
        let line = line.unwrap_or_else(|| panic!("{args:?}: {}", ran.stderr));
        let line: Value = serde_json::from_str(line).unwrap();
        assert_ne!(line["level"], "error", "{line}");
        let ran = directory.evaluator(&[args, &["-q"]].concat()).exits(0);
        assert!(!ran.stderr.contains(said), "{}", ran.stderr);
    }
}

/// Runs a command line in a terminal of so many columns.
fn in_terminal(directory: &Directory, columns: &str, line: &str) -> Ran {
    let line =
        format!("COLUMNS={columns} '{}' {line} 2>/dev/null", env!("CARGO_BIN_EXE_evaluator"));
    #[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "this makes a terminal")]
    let terminal = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    finish(terminal)
}

#[test]
fn lists_and_findings_fit_the_terminal_and_are_whole() {
    if !has("script") || !cfg!(target_os = "linux") {
        return;
    }
    let directory = directory();
    let words = |text: &str| text.split_whitespace().collect::<String>();
    for line in ["list -s builtin", "check good.yaml", "runtimes"] {
        let args: Vec<&str> = line.split(' ').collect();
        let piped = directory.evaluator(&args).exits(0).stdout;
        let ran = in_terminal(&directory, "80", line).exits(0);
        let widest = ran.stdout.lines().map(|line| line.trim_end().chars().count()).max();
        assert!(widest <= Some(80) && !ran.stdout.contains('…'), "{}", ran.stdout);
        // All words are there: those of the last row in their order.
        let last = piped.lines().last().unwrap();
        assert!(words(&ran.stdout).contains(&words(last)), "{last}: {}", ran.stdout);
    }
    let list = in_terminal(&directory, "80", "list -s builtin").stdout;
    assert!(list.contains("rubric_based_multi_turn_trajectory_quality_v1"), "{list}");
}

#[test]
fn a_table_fits_the_terminal() {
    if !has("script") || !cfg!(target_os = "linux") {
        return;
    }
    let directory = directory();
    directory.script("crash", "cat >/dev/null; echo 'a long tale of many words that no narrow terminal has room for' >&2; exit 3");
    for (columns, most) in [("60", 60), ("100", 100)] {
        let line = format!("run '{}' -c bad.yaml", trace("k01_traj_exact"));
        let ran = in_terminal(&directory, columns, &line).exits(3);
        let table: Vec<&str> = ran.stdout.lines().skip(2).take(4).collect();
        assert!(table.iter().all(|line| line.trim_end().chars().count() <= most), "{table:#?}");
        assert!(table[3].contains('…'), "{table:#?}");
        // Nothing is lost by that.
        assert!(
            ran.stdout.contains("    exited with code 3: a long tale of many words"),
            "{}",
            ran.stdout
        );
    }
    let ran = run(&directory, &["-c", "bad.yaml"]).exits(3);
    assert!(!ran.stdout.contains('…'), "{}", ran.stdout);
}
