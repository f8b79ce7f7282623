//! `evaluator validate`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use crate::support::{self, Directory, Ran, has};
use serde_json::Value;

const GUARD: &str = "if __name__ == \"__main__\":\n    main()\n";

/// An evaluator in Python that answers with the value of an expression over the document `d`.
fn python(directory: &Directory, name: &str, answer: &str) {
    let source = format!(
        "import json, sys\n\ndef main():\n    d = json.load(sys.stdin.buffer)\n    print(json.dumps({answer}))\n\n{GUARD}"
    );
    written(directory, name, "python", "py", &source);
}

fn written(directory: &Directory, name: &str, language: &str, extension: &str, source: &str) {
    directory.file(&format!("{name}/{name}.{extension}"), source);
    let manifest = format!(
        "name: {name}\ndescription: Tests.\nlanguage: {language}\nentrypoint: {name}.{extension}\n"
    );
    directory.file(&format!("{name}/evaluator.yaml"), manifest);
}

/// The outcomes of an evaluator's checks, e.g. `manifest ok`.
fn outcomes(ran: &Ran, name: &str) -> Vec<String> {
    let json = ran.json();
    let found = json["evaluators"].as_array().unwrap().iter().find(|one| one["name"] == name);
    let checks = found.unwrap()["checks"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    checks.iter().map(|check| text(&check["check"]) + " " + &text(&check["outcome"])).collect()
}

/// The last line of a report.
fn last(ran: &Ran) -> &str {
    ran.stdout.lines().last().unwrap()
}

const GOOD: &str = "{'score': 1.0, 'per_invocation_scores': [1.0 for _ in d['invocations']]}";

#[test]
fn a_good_evaluator_is_valid_and_nothing_is_left_behind() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    python(&directory, "good", GOOD);
    directory.file("good/helper.py", "x = 1\n");
    let ran = directory.evaluator(&["validate", "good"]).exits(0);
    for line in [
        "good (good)",
        "  ok       manifest       python, good.py",
        "  ok       files          3 files",
        "  ok       structure      can be imported and started",
        "  ok       syntax         Python, 2 files",
        "  ok       smoke run      5 documents",
        "  ok       result schema  5 answers",
    ] {
        assert!(ran.stdout.lines().any(|other| other == line), "{line}: {}", ran.stdout);
    }
    assert_eq!(last(&ran), "1 valid, 0 not valid, 0 not wholly checked, 1 in all");
    let mut left: Vec<_> = fs::read_dir(directory.path().join("good"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["evaluator.yaml", "good.py", "helper.py"]);
}

/// Hosts fetch the file and its requirements; what works here only would break everywhere else.
#[test]
fn an_evaluator_that_needs_what_hosts_do_not_fetch_is_not_valid() {
    if !has("python3") || !has("node") {
        return;
    }
    let directory = Directory::new();
    python(&directory, "helped", "{'score': helper.score()}");
    let source = fs::read_to_string(directory.path().join("helped/helped.py")).unwrap();
    directory.file("helped/helped.py", format!("import helper\n{source}"));
    directory.file("helped/helper.py", "def score():\n    return 1.0\n");
    written(
        &directory,
        "required",
        "javascript",
        "js",
        "console.log(JSON.stringify({score: require('./one.js')}))",
    );
    directory.file("required/one.js", "module.exports = 1\n");
    let ran = directory.evaluator(&["validate", ".", "-o", "json"]).exits(1);
    for name in ["helped", "required"] {
        let found = outcomes(&ran, name);
        assert_eq!(found[found.len() - 2..], ["smoke_run failed", "result_schema ok"], "{name}");
    }
    let why = "without the other files of its directory, which hosts do not fetch";
    assert!(
        ran.stdout.contains(why) && ran.stdout.contains("No module named 'helper'"),
        "{}",
        ran.stdout
    );
}

#[test]
fn an_evaluator_that_evaluates_nothing_has_a_note() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    python(&directory, "never", "{'score': 0.0, 'status': 'NOT_EVALUATED'}");
    python(
        &directory,
        "rarely",
        "{'score': 0.0, 'status': None if d['invocations'] else 'NOT_EVALUATED'}",
    );
    let said = "answers NOT_EVALUATED to every document";
    for (name, count) in [("never", 1), ("rarely", 0)] {
        let ran = directory.evaluator(&["validate", name]).exits(0);
        assert_eq!(ran.stdout.matches(said).count(), count, "{}", ran.stdout);
        let source = format!("{name}/{name}.py");
        let ran = directory.evaluator(&["conform", "--host", "agentevals", &source]);
        assert_eq!(ran.stdout.matches(said).count(), count, "{}", ran.stdout);
    }
}

#[test]
fn the_note_about_hosts_names_those_that_export_takes() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    python(&directory, "good", GOOD);
    let ran = directory.evaluator(&["validate", "good"]).exits(0);
    assert!(
        ran.stdout.contains("`evaluator export` takes it for agentevals only"),
        "{}",
        ran.stdout
    );
    for (host, code) in
        [("agentevals", 0), ("agentv", 2), ("adk", 2), ("agenta", 2), ("promptfoo", 2)]
    {
        directory.evaluator(&["export", "--for", host, "good/good.py"]).exits(code);
    }
}

#[test]
fn a_package_that_leads_out_of_its_directory_is_not_valid() {
    let directory = Directory::new();
    directory.file("shared/Cargo.toml", "[package]\nname = \"shared\"\nversion = \"0.1.0\"\n");
    directory.file("shared/src/lib.rs", "");
    directory.file(
        "tied/Cargo.toml",
        "[package]\nname = \"tied\"\nversion = \"0.1.0\"\n[workspace]\n[dependencies]\nshared = { path = \"../shared\" }\n",
    );
    directory.file("tied/src/main.rs", r#"fn main() { println!("{{\"score\": 1.0}}"); }"#);
    directory.file(
        "tied/evaluator.yaml",
        "name: tied\ndescription: Tests.\nlanguage: rust\nentrypoint: src/main.rs\n",
    );
    let ran = directory.evaluator(&["validate", "tied"]).exits(1);
    let why = "tied/Cargo.toml:6:19: `path` leads to `../shared`, outside of the directory";
    assert!(ran.stdout.contains(why), "{}", ran.stdout);
}

#[test]
fn a_directory_stands_for_all_its_evaluators_and_none_stops_the_others() {
    if !has("python3") || !has("node") {
        return;
    }
    let all = Directory::new();
    python(&all, "good", GOOD);
    python(&all, "broken", "d['nothing']");
    python(&all, "typo", "{'scores': 1.0}");
    python(&all, "range", "{'score': 1.5}");
    python(&all, "garbled", "(");
    python(&all, "silent", "{'score': 1}, file=sys.stderr");
    let spaced = "console.log(JSON.stringify({score: 1}))";
    written(&all, "script", "javascript", "js", spaced);
    written(&all, "script_garbled", "javascript", "js", "console.log(");
    all.file("misnamed/Evaluator.yml", "name: misnamed\n");
    all.file("notes/readme.md", "");

    let ran = all.evaluator(&["validate", ".", "-o", "json"]).exits(1).says("ignored ./notes");

    let ok = ["manifest ok", "files ok", "structure ok", "syntax ok"];
    let ran_well = |rest: [&'static str; 2]| [ok.as_slice(), &rest].concat();
    assert_eq!(outcomes(&ran, "good"), ran_well(["smoke_run ok", "result_schema ok"]));
    assert_eq!(outcomes(&ran, "broken"), ran_well(["smoke_run failed", "result_schema skipped"]));
    assert_eq!(outcomes(&ran, "typo"), ran_well(["smoke_run ok", "result_schema failed"]));
    assert_eq!(outcomes(&ran, "range"), ran_well(["smoke_run ok", "result_schema failed"]));
    assert_eq!(outcomes(&ran, "silent"), ran_well(["smoke_run failed", "result_schema skipped"]));
    let garbled = [
        "manifest ok",
        "files ok",
        "structure ok",
        "syntax failed",
        "smoke_run skipped",
        "result_schema skipped",
    ];
    assert_eq!(outcomes(&ran, "garbled"), garbled);
    let script = ["manifest ok", "files ok", "syntax ok", "smoke_run ok", "result_schema ok"];
    assert_eq!(outcomes(&ran, "script"), script);
    let script =
        ["manifest ok", "files ok", "syntax failed", "smoke_run skipped", "result_schema skipped"];
    assert_eq!(outcomes(&ran, "script_garbled"), script);
    assert_eq!(outcomes(&ran, "misnamed")[0], "manifest failed");
    let json = ran.json();
    assert_eq!(json["summary"]["total"], 9);
    assert_eq!(json["summary"]["valid"], 2);
    assert_eq!(json["summary"]["invalid"], 7);
}

#[test]
fn each_kind_of_document_is_tried() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    let mean = "{'score': sum(1.0 for t in d['invocations']) / len(d['invocations'])}";
    python(&directory, "divides", mean);
    python(
        &directory,
        "nulls",
        "{'score': min([1.0] + [len(t['final_response']) and 1.0 for t in d['invocations']])}",
    );
    python(&directory, "golden", "{'score': 1.0 if d['expected_invocations'] is None else None}");
    python(
        &directory,
        "known",
        "{'score': 1.0 if all('not_known_yet' not in t for t in d['invocations']) else 7}",
    );
    let ran = directory.evaluator(&["validate", "."]).exits(1);
    for text in [
        "no turns: exited with code 1",
        "several turns and nulls: exited with code 1",
        "golden turns: score: expected a number from 0 to 1, found null",
        "unknown fields: score: expected a number from 0 to 1, found 7",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {}", ran.stdout);
    }
}

#[test]
fn an_answer_is_right_to_the_letter() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    for (name, answer) in [
        ("text", "{'score': '0.5'}"),
        ("contradicts", "{'score': 1.0, 'status': 'FAILED'}"),
        ("shouts", "{'score': 1.0, 'status': 'passed'}"),
        ("too_many", "{'score': 1.0, 'per_invocation_scores': [1.0] * 9}"),
        ("too_few", "{'score': 1.0, 'per_invocation_scores': [1.0]}"),
        ("nan", "{'score': float('nan')}"),
        ("null_list", "{'score': 1.0, 'per_invocation_scores': None}"),
        ("listed", "{'score': 1.0, 'details': []}"),
        ("chatty", "'hello')); print(json.dumps({'score': 1}"),
    ] {
        python(&directory, name, answer);
    }
    let ran = directory.evaluator(&["validate", "."]).exits(1);
    assert_eq!(last(&ran), "0 valid, 9 not valid, 0 not wholly checked, 9 in all");
    assert_eq!(ran.stdout.matches("ok       smoke run").count(), 9, "{}", ran.stdout);
}

#[test]
fn a_check_that_cannot_be_done_is_not_green() {
    let directory = Directory::new();
    python(&directory, "good", GOOD);
    let run = |args: &[&str]| {
        let mut command = directory.command(args);
        support::finish(command.env("EVALUATOR_PYTHON", "/no/such/python").spawn().unwrap())
    };
    let ran = run(&["validate", "good"]).exits(3);
    assert!(
        ran.stdout.contains("skipped  syntax         EVALUATOR_PYTHON names"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("skipped  smoke run"), "{}", ran.stdout);
    assert_eq!(last(&ran), "0 valid, 0 not valid, 1 not wholly checked, 1 in all");
    // What is known to be wrong counts more.
    directory.file("bad/evaluator.yaml", "name: bad\n");
    run(&["validate", "good", "bad"]).exits(1);
}

#[test]
fn a_missing_sdk_is_no_fault_of_the_evaluator() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    let source = "from agentevals_evaluator_sdk import evaluator\n@evaluator\ndef main(): pass\n";
    written(&directory, "check", "python", "py", &format!("{source}{GUARD}"));
    // Neither in the interpreter, whatever it is, nor installed.
    let mut command = directory.command(&["validate", "--no-install", "check"]);
    command
        .env("EVALUATOR_PYTHON_SDK", "agentevals-evaluator-sdk>=999")
        .env("EVALUATOR_CACHE_DIR", directory.path());
    let ran = support::finish(command.spawn().unwrap()).exits(3);
    assert!(ran.stdout.contains("pip install 'agentevals-evaluator-sdk>=999'"), "{}", ran.stdout);
}

#[test]
fn an_evaluator_that_hangs_is_stopped_once() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    python(&directory, "hangs", "__import__('time').sleep(3600)");
    let ran = directory.evaluator(&["validate", "hangs", "--timeout", "1"]).exits(1);
    // Not with the other documents, too.
    let expected = "one turn with tool calls: timed out after 1s\n";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
}

#[test]
fn manifests_are_shown_with_their_mistakes_underlined() {
    let directory = Directory::new();
    directory.file("bad/evaluator.yaml", "name: bad\nlangauge: rust\n");
    let ran = directory.evaluator(&["validate", "bad"]).exits(1);
    assert!(ran.stdout.contains("^^^^^^^^ did you mean `language`?"), "{}", ran.stdout);
    assert!(ran.stdout.contains("the key `entrypoint` is missing"), "{}", ran.stdout);
    let ran = directory.evaluator(&["validate", "bad", "--output", "json"]).exits(1);
    let problems = ran.json()["evaluators"][0]["checks"][0]["problems"].to_string();
    assert!(problems.contains("bad/evaluator.yaml:2:1: unknown key `langauge`"), "{problems}");
}

#[test]
fn a_rust_evaluator_is_compiled_and_what_the_compiler_says_is_shown() {
    let directory = Directory::new();
    let package = |name: &str, source: &str| {
        directory.file(&format!("{name}/src/main.rs"), source);
        directory.file(
            &format!("{name}/Cargo.toml"),
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n"),
        );
        directory.file(
            &format!("{name}/evaluator.yaml"),
            format!("name: {name}\ndescription: Tests.\nlanguage: rust\nentrypoint: src/main.rs\n"),
        );
    };
    package("good", r#"fn main() { println!("{{\"score\": 1.0}}"); }"#);
    package("bad", "fn main() { undefined(); }");
    let ran = directory.evaluator(&["validate", ".", "-o", "json"]).exits(1);
    let compiled = ["manifest ok", "files ok", "syntax ok", "smoke_run ok", "result_schema ok"];
    assert_eq!(outcomes(&ran, "good"), compiled);
    let evaluators = ran.json()["evaluators"].as_array().unwrap().clone();
    for evaluator in evaluators {
        assert_eq!(evaluator["directory"], format!("./{}", evaluator["name"].as_str().unwrap()));
    }
    let failed =
        ["manifest ok", "files ok", "syntax failed", "smoke_run skipped", "result_schema skipped"];
    assert_eq!(outcomes(&ran, "bad"), failed);
    assert!(ran.stdout.contains("cannot find function `undefined`"), "{}", ran.stdout);
}

#[test]
fn what_is_no_evaluator_is_a_mistake_of_the_caller() {
    let directory = Directory::new();
    directory.file("readme.md", "");
    directory.evaluator(&["validate"]).exits(2);
    directory.evaluator(&["validate", "nowhere"]).exits(2).says("no such file");
    directory.evaluator(&["validate", "readme.md"]).exits(2).says("there is nothing to validate");
    directory.evaluator(&["validate", ".", "--timeout", "0"]).exits(2);
    // A directory without a manifest is an evaluator that lacks one.
    directory.evaluator(&["validate", "."]).exits(1);
}
