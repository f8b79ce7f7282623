//! Runs with more conversations than are held in memory.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::path::Path;

use crate::support::{self, Directory};
use evaluator_host::run::Runner;
use serde_json::{Value, json};

/// More conversations than are held in memory.
const MANY: usize = 3000;

/// An id in letters only, so that it differs from a duration.
fn id(number: usize) -> String {
    (0..6u32)
        .rev()
        .map(|place| char::from(b'a' + (number / 10usize.pow(place) % 10) as u8))
        .collect()
}

/// A recording of that number of conversations of one turn, and at its end one without turns.
fn recording(conversations: usize) -> String {
    let line = |number: usize, operation: &str| {
        let attribute =
            |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let said = json!([{"role": "user", "parts": [{"type": "text", "content": format!("<{number}>")}]}]);
        json!({
            "traceId": id(number), "spanId": "s", "startTimeUnixNano": "1", "endTimeUnixNano": "3000001",
            "attributes": [
                attribute("gen_ai.operation.name", operation),
                attribute("gen_ai.input.messages", &said.to_string()),
            ],
        })
        .to_string()
    };
    let lines: Vec<String> = (0..conversations)
        .map(|number| line(number, "chat"))
        .chain([line(conversations, "other")])
        .collect();
    lines.join("\n")
}

/// A report in JSON without durations.
fn without_time(text: &str) -> Value {
    let mut report: Value = serde_json::from_str(text).unwrap();
    for trace in report["traces"].as_array_mut().unwrap() {
        for metric in trace["metrics"].as_array_mut().unwrap() {
            metric["duration_ms"] = Value::Null;
        }
    }
    report
}

/// A report in any form without numbers, and without the blanks and rules whose length depends on them.
fn without_numbers(text: &str) -> Vec<String> {
    // Compressed text has all of its numbers in it, and the id of a run is random.
    let id = text.split_once("\"id\":\"").and_then(|(_, rest)| Some(rest.split_once('"')?.0));
    let text = id.map_or_else(|| text.to_owned(), |id| text.replace(id, ""));
    let lines = text.lines().filter(|line| !line.contains("id=\"block-"));
    let words = lines.flat_map(str::split_whitespace).map(|word| {
        let bare = word.replace(|c: char| c.is_ascii_digit() || ".-".contains(c), "");
        // A duration has this unit, or that one.
        bare.replace("ms", "s")
    });
    words.collect()
}

fn ids(report: &Value) -> Vec<&str> {
    report["traces"].as_array().unwrap().iter().map(|it| it["trace_id"].as_str().unwrap()).collect()
}

#[test]
fn without_a_place_for_temporary_files_the_report_is_the_same_and_a_warning_says_so() {
    let directory = Directory::new();
    directory.file("t.json", recording(MANY));
    let run = |temporary: &Path| {
        let metrics = ["-m", "tool_call_count_v1", "-m", "token_usage_v1"];
        let mut command = directory.command(&["run", "t.json", "-o", "json"]);
        command.args(metrics).env("TMPDIR", temporary);
        support::finish(command.spawn().unwrap()).exits(3)
    };
    let usual = run(directory.path());
    assert!(!usual.stderr.contains("temporary"), "{}", usual.stderr);
    // The file has no name, so nothing is left of it.
    let left: Vec<_> =
        directory.path().read_dir().unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["t.json"]);

    let unwritable = run(&directory.path().join("t.json"));
    let warnings = unwritable.stderr.matches("stay in memory from here on").count();
    assert_eq!(warnings, 1, "{}", unwritable.stderr);
    assert!(unwritable.stderr.contains("TMPDIR names another directory"), "{}", unwritable.stderr);

    let report = without_time(&usual.stdout);
    assert_eq!(report, without_time(&unwritable.stdout));
    assert_eq!(ids(&report), (0..=MANY).map(id).collect::<Vec<_>>());
    assert_eq!(report["summary"]["total"], 2 * MANY + 1);
}

#[test]
fn every_form_of_report_is_the_same_when_nothing_is_held_in_memory() {
    let directory = Directory::new();
    directory.script("picky", r#"case "$(cat)" in *'<3>'*) echo "odd" >&2; exit 3;; *'<5>'*) echo '{"score": 0.25}';; *) echo '{"score": 1, "status": "FAILED", "details": {"reason": "é", "big": 123456789012345678901234567890}}';; esac"#);
    let traces = directory.file("t.json", recording(20));
    let path = |name: &str| directory.path().join(name).into_os_string().into_string().unwrap();
    directory.file(
        "c.yaml",
        format!(
            "evaluators:\n- {{name: picky, type: code, path: '{}'}}\n- {{name: tool_trajectory_avg_score, type: builtin}}\n",
            path("picky")
        ),
    );
    let report = |form: &str, report_memory: usize| {
        let mut runner = Runner::default();
        runner.report_memory = report_memory;
        let file = path(&format!("{form}-{report_memory}"));
        let traces = traces.to_str().unwrap();
        let (config, arguments) = (path("c.yaml"), ["evaluator", "run", traces, "-c"]);
        let arguments = arguments.into_iter().chain([&*config, "-o", form, "--output-file", &file]);
        // That it is not green is held in other tests.
        let _ = evaluator_cli::evaluator_with(runner, arguments);
        std::fs::read_to_string(file).unwrap()
    };
    for form in support::all_output_formats() {
        let (held, written) = (report(form, usize::MAX), report(form, 0));
        // These name a bounded number of conversations.
        let is_short = ["overview", "openmetrics", "github"].contains(&form);
        assert!(held.contains("picky") && (is_short || held.contains(&id(19))), "{held}");
        let (one, other) = (without_numbers(&held), without_numbers(&written));
        let different = one.iter().zip(&other).find(|(one, other)| one != other);
        assert_eq!((one.len(), different), (other.len(), None), "{form}");
        if form == "json" {
            assert_eq!(without_time(&held), without_time(&written));
        }
    }
}

#[test]
fn conversations_are_reported_in_order_when_some_take_longer() {
    let directory = Directory::new();
    directory.script(
        "slow",
        r#"case "$(cat)" in *'<0>'*|*'<7>'*) sleep 0.5;; esac; echo '{"score": 1}'"#,
    );
    directory.file("t.json", recording(40));
    directory.file("c.yaml", "evaluators:\n- {name: slow, type: code, path: slow}\n");
    let run = |jobs: &str| {
        let ran = directory.run(&["t.json", "-c", "c.yaml", "-o", "json", "--jobs", jobs]).exits(3);
        without_time(&ran.stdout)
    };
    let report = run("4");
    assert_eq!(ids(&report), (0..=40).map(id).collect::<Vec<_>>());
    assert_eq!(report, run("1"));
}
