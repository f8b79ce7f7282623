//! Eval files as runs: run files, `--resume`, `--fail-fast`, tolerated errors, events.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs;

use evaluator_test_support::finish;
use serde_json::{Value, json};

use crate::support::{
    Directory,
    collector::{collector, decoded},
    has,
};

/// A directory with recorded outputs of three tests, each graded by a text and by a program that counts its starts.
fn three_tests() -> Directory {
    let directory = Directory::new();
    let entries = "[{name: has, type: contains, value: Paris}, {name: g, type: code-grader, command: [python3, judge.py]}]";
    let test = |(id, threshold): (&str, f64)| {
        format!(
            "  - {{id: {id}, criteria: x, input: q, execution: {{threshold: {threshold}}}, assertions: {entries}}}\n"
        )
    };
    let tests: String =
        [("one", 0.75), ("two", 0.25), ("three", 0.75)].into_iter().map(test).collect();
    directory.file("capitals.yaml", format!("tests:\n{tests}"));
    directory.file("out/one.txt", "Paris");
    directory.file("out/two.txt", "Rome");
    directory.file("out/three.txt", "Paris");
    directory.file("judge.py", "open('starts', 'a').write('x')\nprint('{\"score\": 1}')\n");
    directory
}

/// A test of a target.
#[cfg(unix)]
const TESTED: &str =
    "tests: [{id: one, criteria: x, input: q, assertions: [{type: contains, value: Paris}]}]";

fn starts(directory: &Directory) -> usize {
    fs::read(directory.join("starts")).map_or(0, |text| text.len())
}

fn report(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_saved_run_is_resumed_and_reported() {
    if !has("python3") {
        return;
    }
    let directory = three_tests();
    let run = |more: &[&str]| {
        let args = ["capitals.yaml", "--outputs", "out", "-o", "json", "--save-run", "r.evalrun"];
        directory.run(&[&args[..], more].concat())
    };
    let first = run(&[]).exits(0);
    assert_eq!(starts(&directory), 3);
    assert_eq!(report(&first.stdout)["results"][1]["threshold"], 0.25);
    let again = run(&["--resume"]).exits(0);
    assert_eq!((starts(&directory), &again.stdout), (3, &first.stdout));
    again.says("3 of 3 results from an earlier run");
    let saved = directory.evaluator(&["report", "r.evalrun", "-o", "json"]).exits(0);
    assert_eq!(saved.stdout, first.stdout);
    let table = directory.evaluator(&["report", "r.evalrun"]).exits(0);
    assert!(table.stdout.contains("Test: one\n"), "{}", table.stdout);
    // Another output, another test and another program are graded again.
    directory.file("out/one.txt", "Paris, of course");
    run(&["--resume"]).exits(0).says("2 of 3 results from an earlier run");
    let text = directory.read("capitals.yaml").replacen("value: Paris", "value: Pari", 1);
    directory.file("capitals.yaml", text);
    run(&["--resume"]).exits(0).says("2 of 3 results from an earlier run");
    directory.file("judge.py", "open('starts', 'a').write('x')\nprint('{\"score\": 0.5}')\n");
    run(&["--resume"]).exits(0).says("0 of 3 results from an earlier run");
    assert_eq!(starts(&directory), 8);
}

/// Lines of the run file `r.evalrun` with records of this kind.
fn records(directory: &Directory, kind: &str) -> Vec<Value> {
    let records = directory.read("r.evalrun");
    records.lines().map(report).filter(|record| record["kind"] == kind).collect()
}

#[test]
fn an_edit_of_a_test_its_program_or_its_output_is_seen_by_its_name() {
    if !has("python3") {
        return;
    }
    let (here, there) = (three_tests(), three_tests());
    let run = |directory: &Directory| {
        let args = ["capitals.yaml", "--outputs", "out", "--save-run", "r.evalrun"];
        directory.run(&args);
        let evaluator = records(directory, "header")[0]["evaluators"][0].clone();
        let contents = records(directory, "conversation").into_iter().map(|it| {
            let conversation = &it["conversation"];
            assert_eq!(conversation["prompt"], "q");
            (conversation["trace_id"].to_string(), conversation["content"].to_string())
        });
        let contents: std::collections::BTreeMap<String, String> = contents.collect();
        (evaluator, contents)
    };
    let (first, outputs) = run(&here);
    assert_eq!(run(&there), (first.clone(), outputs.clone()));
    let keys = |part: &str| first[part].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys("code"), ["judge.py"]);
    assert_eq!(keys("settings"), ["one", "three", "two"]);
    assert!(keys("environment").contains(&"interpreter".to_owned()), "{first}");
    let differing = |now: &Value| {
        let parts = ["code", "settings", "environment"].into_iter();
        let names = parts.flat_map(|part| keys(part).into_iter().map(move |key| (part, key)));
        let changed = names.filter(|(part, key)| first[part][key] != now[part][key]);
        changed.map(|(part, key)| format!("{part} {key}")).collect::<Vec<_>>()
    };
    here.file("out/one.txt", "Paris, of course");
    let (now, contents) = run(&here);
    assert_eq!(now, first, "another output is no other suite");
    let changed: Vec<_> = contents.iter().filter(|(id, it)| outputs[*id] != **it).collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    let text = here.read("capitals.yaml").replacen("value: Paris", "value: Pari", 1);
    here.file("capitals.yaml", text);
    assert_eq!(differing(&run(&here).0), ["settings one"]);
    there.file("judge.py", "print('{\"score\": 0.5}')\n");
    assert_eq!(differing(&run(&there).0), ["code judge.py"]);
}

#[cfg(unix)]
#[test]
fn what_may_change_unseen_is_graded_again() {
    let directory = Directory::new();
    directory.file("judge.sh", "echo x >> starts\necho '{\"score\": 1}'\n");
    let entry = "{name: g, type: code-grader, command: sh judge.sh}";
    directory.file(
        "e.yaml",
        format!("tests: [{{id: one, criteria: x, input: q, assertions: [{entry}]}}]"),
    );
    directory.file("out/one.txt", "Paris");
    for count in [2, 4] {
        let args = ["e.yaml", "--outputs", "out", "--resume", "--save-run", "r.evalrun"];
        directory.run(&args).exits(0).says("0 of 1 result from an earlier run");
        assert_eq!(starts(&directory), count);
    }
}

#[cfg(unix)]
#[test]
fn a_grader_that_is_killed_once_answers_at_the_second_attempt() {
    let directory = Directory::new();
    let grader = "[ -e again ] || { touch again; kill -9 $$; }; echo '{\"score\": 1}'";
    let entry = json!({"name": "g", "type": "code-grader", "command": grader});
    let suite =
        json!({"tests": [{"id": "one", "criteria": "x", "input": "q", "assertions": [entry]}]});
    directory.file("e.yaml", suite.to_string());
    directory.file("out/one.txt", "Paris");
    let args = ["e.yaml", "--outputs", "out"];
    let ran = directory.run(&args).exits(3);
    assert!(ran.stdout.contains("the program killed by signal 9"), "{}", ran.stdout);
    fs::remove_file(directory.join("again")).unwrap();
    directory.run(&[&args[..], &["--retries", "1"]].concat()).exits(0);
}

#[test]
fn fail_fast_starts_no_test_after_a_failure() {
    let directory = Directory::new();
    let test = |id: usize| {
        format!(
            "  - {{id: t{id}, criteria: x, input: q, assertions: [{{type: contains, value: Paris}}]}}\n"
        )
    };
    let tests: String = (0..400).map(test).collect();
    directory.file("e.yaml", format!("tests:\n{tests}"));
    let row = |id: usize| format!("{{\"test_id\": \"t{id}\", \"output\": \"Rome\"}}\n");
    directory.file("rows.jsonl", (0..400).map(row).collect::<String>());
    let args = ["e.yaml", "--outputs", "rows.jsonl", "-o", "json", "--fail-fast", "--jobs", "1"];
    let ran = directory.run(&args).exits(1);
    let report = report(&ran.stdout);
    let summary = &report["summary"];
    assert!(summary["not_run"].as_u64().unwrap() > 0, "{summary}");
    assert_eq!(report["results"][399]["status"], "not_run");
    ran.says("not run (400 tests)").says("partial: the run stopped at the first failure");
}

#[cfg(unix)]
#[test]
fn fail_fast_lets_a_case_finish_whose_program_fails() {
    let directory = Directory::new();
    let test = |more: &str| {
        format!(
            "tests: [{{id: one, criteria: x, input: q, assertions: [{more}{{type: contains, value: Paris}}]}}]"
        )
    };
    directory.file("e.yaml", test(""));
    let target = |last: u32| {
        format!(
            "targets: [{{name: default, provider: cli, timeout_seconds: 1, command: 'if [ {{ATTEMPT}} -lt {last} ]; then sleep 60; fi; echo Paris > {{OUTPUT_FILE}}'}}]"
        )
    };
    directory.file("targets.yaml", target(1));
    directory.run(&["e.yaml", "--fail-fast"]).exits(0);
    directory.file("targets.yaml", target(9));
    let ran = directory.run(&["e.yaml", "--fail-fast", "--max-retries", "1"]).exits(3);
    assert!(ran.stdout.contains("timed out after 1s (2 of 2 attempts)"), "{}", ran.stdout);
    // The error of a grader is that of its case.
    directory.file("targets.yaml", target(0));
    directory.file("e.yaml", test("{name: g, type: code-grader, command: 'exit 3'}, "));
    let ran = directory.run(&["e.yaml", "--fail-fast"]).exits(3);
    assert!(ran.stdout.contains("`g` broke: the program exited with code 3"), "{}", ran.stdout);
}

#[cfg(unix)]
#[test]
fn a_comparison_sees_each_of_two_graders_of_one_name() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    let grader = |name: &str| {
        format!("{{name: {name}, type: code-grader, command: [python3, ../{name}/grade.py]}}")
    };
    directory.file(
        "suite/e.yaml",
        format!(
            "tests: [{{id: one, criteria: x, input: q, assertions: [{}, {}]}}]",
            grader("a"),
            grader("b")
        ),
    );
    directory.file("suite/out/one.txt", "Paris");
    directory.file("a/grade.py", "print('{\"score\": 1}')");
    directory.file("b/grade.py", "print('{\"score\": 1}')");
    let run = |file: &str| {
        let args = ["suite/e.yaml", "--outputs", "suite/out", "--save-run", file];
        directory.run(&args).exits(0);
    };
    run("base.evalrun");
    for changed in ["a", "b"] {
        let file = format!("{changed}/grade.py");
        let before = directory.read(&file);
        directory.file(&file, "print('{\"score\": 1.0}')");
        run("new.evalrun");
        directory.file(&file, before);
        directory
            .evaluator(&["compare", "base.evalrun", "new.evalrun"])
            .exits(2)
            .says("file `grade.py`");
    }
}

#[cfg(unix)]
#[test]
fn runs_of_different_targets_are_compared() {
    let directory = Directory::new();
    directory.file("e.yaml", TESTED);
    let run = |answer: &str, more: &[&str]| {
        let target = format!(
            "targets: [{{name: default, provider: cli, command: 'echo x >> starts; echo {answer} > {{OUTPUT_FILE}}'}}]"
        );
        directory.file("targets.yaml", target);
        directory.run(&[&["e.yaml"], more].concat())
    };
    run("Paris", &["--save-run", "base.evalrun"]).exits(0);
    run("Rome", &["--save-run", "new.evalrun"]).exits(1);
    let compare = ["compare", "base.evalrun", "new.evalrun", "--no-regressions"];
    let ran = directory.evaluator(&compare).exits(1);
    assert!(ran.stdout.contains("1 regressed: one (1.0000 -> 0.0000)"), "{}", ran.stdout);
    // Its output is produced again.
    run("Paris", &["--save-run", "new.evalrun", "--resume"]).exits(0);
    assert_eq!(starts(&directory), 6);
    // What measures must not differ.
    directory.file("e.yaml", TESTED.replace("value: Paris", "value: Par"));
    run("Rome", &["--save-run", "new.evalrun"]).exits(1);
    directory.evaluator(&compare).exits(2).says("setting `one`");
}

#[test]
fn a_share_of_errors_is_tolerated() {
    let directory = Directory::new();
    let test = |id: &str| {
        format!(
            "  - {{id: {id}, criteria: x, input: q, assertions: [{{type: contains, value: Paris}}]}}\n"
        )
    };
    directory.file("e.yaml", format!("tests:\n{}{}", test("one"), test("two")));
    directory.file("out/one.txt", "Paris");
    directory.run(&["e.yaml", "--outputs", "out"]).exits(3);
    let ran = directory.run(&["e.yaml", "--outputs", "out", "--max-error-rate", "0.5"]).exits(0);
    ran.says("1 error tolerated");
}

#[test]
fn results_are_sent_as_events() {
    let directory = three_tests();
    let server = collector("200 OK");
    let args = ["run", "capitals.yaml", "--outputs", "out", "--emit-otel"];
    let mut command = directory.command(&args);
    finish(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", server.url()).spawn().unwrap()).exits(0);
    let requests = server.requests();
    let export = decoded(&requests[0].body);
    let records = export["records"].as_array().unwrap();
    let attribute = |record: &Value, name: &str| record["attributes"][name].clone();
    let found: Vec<_> = records
        .iter()
        .map(|record| {
            let name = attribute(record, "gen_ai.evaluation.name");
            let label = attribute(record, "gen_ai.evaluation.score.label");
            (name, attribute(record, "agentevals.evaluator.type"), label)
        })
        .collect();
    let event = |name: &str, kind: Value, label: &str| (json!(name), kind, json!(label));
    let program = || event("g", Value::Null, "pass");
    let test = |label: &str| {
        let evaluator = event("has", json!("deterministic"), label);
        [event("capitals", Value::Null, "pass"), evaluator, program()]
    };
    assert_eq!(found, [test("pass"), test("fail"), test("pass")].concat(), "{export}");
}
