//! The same run has the same bytes on another machine: in another place, with other variables, permissions and processors.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "helpers of tests may panic, and start a shell"
)]

use std::{fs, path::Path, process::Command};

use serde_json::json;

use crate::support::{Directory, Ran, finish, has};

/// Variables of the other machine.
const VARIABLES: [(&str, &str); 8] = [
    ("TZ", "Pacific/Chatham"),
    ("LANG", "tr_TR.UTF-8"),
    ("LC_ALL", "tr_TR.UTF-8"),
    ("LANGUAGE", "tr"),
    ("COLUMNS", "40"),
    ("RAYON_NUM_THREADS", "1"),
    ("TOKIO_WORKER_THREADS", "1"),
    ("USER", "other"),
];

/// Starts a program with other permissions of new files, and on one processor where that can be asked for.
const ELSEWHERE: &str = r#"umask 077
command -v taskset >/dev/null 2>&1 && exec taskset -c 0 "$0" "$@"
exec "$0" "$@""#;

/// Conversations of several users, some with numbers that are no short decimals, and evaluators that score them. Most names and
/// values meet rules of some language about letters.
fn directory() -> Directory {
    let directory = Directory::new();
    let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let line = |number: usize| {
        let said = format!("<{number}> Iı, İi and ß: please");
        let said = json!([{"role": "user", "parts": [{"type": "text", "content": said}]}]);
        let start = 1_700_000_000_000_000_000 + number * 12_345_679;
        let user = ["zoë", "Zoe", "ılgaz", "Izmir"][number % 4];
        let span = json!({
            "traceId": format!("t{number}"), "spanId": "s",
            "startTimeUnixNano": start.to_string(), "endTimeUnixNano": (start + number).to_string(),
            "attributes": [
                attribute("gen_ai.operation.name", "chat"), attribute("user.id", user),
                attribute("gen_ai.input.messages", &said.to_string()),
            ],
        });
        format!("{span}\n")
    };
    directory.file("t.json", (0..60).map(line).collect::<String>());
    directory.script("third", r#"grep -q '<[0-9]*[147]> ' && echo '{"score": 0.3333333333333333}' || echo '{"score": 0.7}'"#);
    directory.script("frail", r#"grep -q '<7> ' && exit 9; echo '{"score": 1}'"#);
    directory.file(
        "check.py",
        "import json, sys\ndocument = json.load(sys.stdin)\n\
         print(json.dumps({'score': 0.9, 'details': {'said': sorted({'Iı', 'zoë', 'İi'})}}))\n",
    );
    directory.file(
        "c.yaml",
        "by: [user.id]\ncluster: user.id\nmax_error_rate: 0.1\ntranscripts: all\nevaluators:\n\
         - {name: third, type: code, path: ./third, threshold: 0.5, gate: {mean: 0.4, pass_rate: 0.3}}\n\
         - {name: frail, type: code, path: ./frail}\n\
         - {name: check, type: code, path: check.py}\n",
    );
    directory
}

/// Runs a command on one machine or the other.
fn evaluator(directory: &Directory, is_elsewhere: bool, args: &[&str]) -> Ran {
    let own = directory.command(args);
    if !is_elsewhere {
        return finish({ own }.spawn().unwrap());
    }
    let mut command = Command::new("sh");
    command.args(["-c", ELSEWHERE]).arg(own.get_program()).args(own.get_args());
    command.current_dir(own.get_current_dir().unwrap());
    for (name, value) in own.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .envs(VARIABLES)
        .env("HOME", directory.join("home"))
        .env_remove("EVALUATOR_CACHE_DIR")
        .env("EVALUATOR_PYTHON", directory.join("venv/bin/python"))
        .env("TMPDIR", directory.join("tmp"));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    finish(command.spawn().unwrap())
}

/// A report without its lines of durations.
fn without_durations(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("\"duration_ms\""));
    lines.map(|line| format!("{line}\n")).collect()
}

/// What a run says, without how far it is, which only slow machines say.
fn said(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter(|line| !line.starts_with("evaluated ")).collect()
}

fn copy(from: &Directory, to: &Directory, files: &[&str]) {
    for file in files {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

/// Returns an interpreter of another version than that of the tests.
fn other_python() -> Option<String> {
    let version = |python: &str| {
        let mut asked = Command::new(python);
        asked.args(["-c", "import sys; print(sys.version_info[:3])"]);
        asked.output().ok().filter(|it| it.status.success()).map(|it| it.stdout)
    };
    let own = version("python3");
    let names = (9..16).map(|minor| format!("python3.{minor}"));
    let mut names = names.chain(["/usr/bin/python3".to_owned()]);
    names.find(|it| version(it).is_some_and(|other| Some(other) != own))
}

#[test]
fn another_version_of_python_changes_nothing_but_a_remark() {
    let Some(other) = other_python().filter(|_| has("python3")) else { return };
    let directory = directory();
    let run = |python: &str, file: &str| {
        let args = ["run", "t.json", "-c", "c.yaml", "-o", "json", "--save-run", file];
        let mut command = directory.command(&args);
        finish(command.env("EVALUATOR_PYTHON", python).spawn().unwrap()).exits(4)
    };
    let (one, other) = (run("python3", "a.evalrun"), run(&other, "b.evalrun"));
    assert_eq!(without_durations(&one.stdout), without_durations(&other.stdout));
    assert_eq!(said(&one), said(&other));
    let compared = directory.evaluator(&["compare", "a.evalrun", "b.evalrun"]);
    let compared = compared.says("check: environment `interpreter`: ");
    assert!(compared.stdout.contains("no change of an evaluator is known"), "{}", compared.stdout);
}

#[test]
fn a_run_and_its_reports_have_the_same_bytes_on_another_machine() {
    if !has("python3") {
        return;
    }
    let (here, there) = (directory(), directory());
    for name in ["home", "tmp"] {
        fs::create_dir(there.join(name)).unwrap();
    }
    // The interpreter is in another place, too.
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--without-pip"]).arg(there.join("venv"));
    assert!(venv.status().unwrap().success());
    assert_ne!(here.path(), there.path() as &Path);
    let run = |directory: &Directory, is_elsewhere, jobs: &str| {
        let args = [
            "run",
            "t.json",
            "-c",
            "c.yaml",
            "-o",
            "json",
            "--save-run",
            "r.evalrun",
            "--jobs",
            jobs,
        ];
        evaluator(directory, is_elsewhere, &args).exits(4)
    };
    let (one, other) = (run(&here, false, "7"), run(&there, true, "1"));
    assert_eq!(without_durations(&one.stdout), without_durations(&other.stdout));
    assert_eq!(said(&one), said(&other));
    // Neither refuses the run of the other as something else.
    fs::copy(there.join("r.evalrun"), here.join("b.evalrun")).unwrap();
    copy(&here, &there, &["r.evalrun", "b.evalrun"]);
    let forms = [
        "table",
        "json",
        "overview",
        "summary",
        "markdown",
        "junit",
        "github",
        "openmetrics",
        "csv",
        "html",
    ];
    let gate = ["--gate", "frail: pass_rate >= 0.85"];
    let mut commands: Vec<Vec<&str>> =
        forms.map(|form| [&["report", "r.evalrun", "-o", form][..], &gate].concat()).to_vec();
    let claims = ["--no-regressions", "--no-worse-than", "0.9"];
    for form in ["table", "json", "markdown", "html"] {
        commands.push([&["compare", "r.evalrun", "b.evalrun", "-o", form][..], &claims].concat());
    }
    for args in commands {
        let [here, there] = [(&here, false), (&there, true)]
            .map(|(it, is_elsewhere)| evaluator(it, is_elsewhere, &args));
        assert!(!here.stdout.is_empty(), "{args:?}: {}", here.stderr);
        assert_ne!(here.code, Some(2), "{args:?}: {}", here.stderr);
        let (one, other) =
            ((here.code, here.stdout, here.stderr), (there.code, there.stdout, there.stderr));
        assert_eq!(one, other, "{args:?}");
    }
}
