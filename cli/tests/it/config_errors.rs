//! Evaluators that refuse the settings of their entry: that is the same for every conversation, so they are asked once.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::fs;

use crate::support::{Directory, Ran, kept_source, trace};

const CONVERSATIONS: usize = 15;

/// Notes each document that it is started for, or kept running for.
const RUST: &str = r#"
use std::{fs::File, io::Write};

use evaluator_sdk::{Config, EvalInput, evaluator};

#[derive(serde::Deserialize)]
struct Settings {
    max_calls: u32,
}

#[evaluator]
fn check(_: &EvalInput, Config(settings): Config<Settings>) -> bool {
    settings.max_calls > 0
}

fn main() -> std::process::ExitCode {
    if !std::env::args().any(|argument| argument == "--describe") {
        let mut starts = File::options().create(true).append(true).open("starts").unwrap();
        writeln!(starts, "started").unwrap();
    }
    check::run()
}
"#;

/// Runs one entry on many conversations, one at a time.
fn run(directory: &Directory, entry: &str) -> Ran {
    directory.file("c.yaml", format!("evaluators:\n- {{name: check, type: code, {entry}}}\n"));
    let many = trace("i14_fifteen_traces");
    directory.run(&[&many, "-c", "c.yaml", "-o", "json", "--jobs", "1"])
}

fn starts(directory: &Directory) -> usize {
    fs::read_to_string(directory.path().join("starts")).unwrap_or_default().lines().count()
}

/// Checks that all conversations have the same error.
#[track_caller]
fn all_have_the_same(ran: Ran, kind: &str) {
    let ran = ran.exits(3);
    let traces = ran.json()["traces"].as_array().unwrap().clone();
    assert_eq!(traces.len(), CONVERSATIONS);
    for conversation in &traces {
        let metric = &conversation["metrics"][0];
        assert_eq!(metric["error_type"], kind, "{metric}");
        assert_eq!(metric["error"], traces[0]["metrics"][0]["error"]);
        assert!(metric["error"].as_str().unwrap().contains("config.max_calls"), "{metric}");
    }
}

#[test]
fn a_wrong_setting_costs_one_start() {
    for entry in ["isolation: process, ", ""] {
        let directory = Directory::new();
        let source = kept_source("check", RUST);
        let wrong = format!("path: {source:?}, {entry}config: {{max_calls: many}}");
        all_have_the_same(run(&directory, &wrong), "exited");
        assert_eq!(starts(&directory), 1, "{entry}");
    }
}

#[test]
fn it_does_so_in_any_language() {
    let reported =
        r#"{\"error\": {\"kind\": \"config\", \"message\": \"config.max_calls: too many\"}}"#;
    let python = "import sys\nopen('starts', 'a').write('started\\n')\nsys.stdin.read()\n";
    for (file, text, kind) in [
        (
            "check",
            format!("#!/bin/sh\necho >>starts; cat >/dev/null; echo \"{reported}\"\n"),
            "reported",
        ),
        (
            "check",
            "#!/bin/sh\necho >>starts; cat >/dev/null; echo 'error: check: config.max_calls: too many' >&2; exit 3\n"
                .to_owned(),
            "exited",
        ),
        // Forked.
        (
            "check.py",
            format!("{python}print('error: check: config.max_calls: too many', file=sys.stderr)\nsys.exit(3)\n"),
            "exited",
        ),
    ] {
        let directory = Directory::new();
        let path = directory.file(file, text);
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        all_have_the_same(run(&directory, &format!("path: ./{file}")), kind);
        assert_eq!(starts(&directory), 1, "{file}");
    }
}

#[test]
fn other_errors_are_those_of_their_conversation() {
    for end in [
        "echo 'error: check: invocations[0]: not mine' >&2; exit 3",
        "echo 'error: check: config.max_calls: too many' >&2; exit 1",
        "echo 'error: configuration is hard' >&2; exit 3",
        r#"echo '{"error": {"kind": "input", "message": "config.max_calls"}}'"#,
    ] {
        let directory = Directory::new();
        directory.script("check", &format!("echo >>starts; cat >/dev/null; {end}"));
        run(&directory, "path: ./check").exits(3);
        assert_eq!(starts(&directory), CONVERSATIONS, "{end}");
    }
}

#[test]
fn settings_that_were_good_for_one_conversation_are_good_for_all() {
    let directory = Directory::new();
    let reported = r#"{\"error\": {\"kind\": \"config\", \"message\": \"no such model\"}}"#;
    let judges_the_first = format!(
        "echo >>starts; cat >/dev/null; [ $(wc -l <starts) = 1 ] && echo '{{\"score\": 1}}' || echo \"{reported}\""
    );
    directory.script("check", &judges_the_first);
    let ran = run(&directory, "path: ./check").exits(3);
    assert_eq!(starts(&directory), CONVERSATIONS);
    assert_eq!(ran.json()["summary"]["passed"], 1);
}
