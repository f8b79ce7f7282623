//! `--baseline` of `run` and `report`: a run that is compared with an earlier one.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{fs, io::Write as _, os::unix::fs::symlink};

use evaluator_test_support::finish;
use serde_json::{Value, json};

use crate::{
    compare::recorded,
    support::{self, Directory, Ran, has},
};

/// Records conversations with these answers, and runs the metric over them.
fn run(directory: &Directory, answers: &[&str], options: &[&str]) -> Ran {
    recorded(directory, &answers.join(""), answers);
    directory.run(&[&["traces.jsonl", "-c", "c.yaml"], options].concat())
}

/// A directory with the baseline `base.evalrun`, a run over these answers.
fn with_baseline(answers: &[&str]) -> Directory {
    let directory = Directory::new();
    run(&directory, answers, &["--save-run", "base.evalrun"]);
    directory
}

/// A directory with a program that notes that it ran, and the baseline `base.evalrun` of it.
fn with_program() -> Directory {
    let directory = Directory::new();
    recorded(&directory, "t", &["yes", "yes"]);
    directory.script("check", "cat >/dev/null; echo x >>ran; echo '{\"score\": 1}'");
    configure(&directory, "");
    directory
        .run(&["traces.jsonl", "-c", "c.yaml", "--baseline", "base.evalrun", "--update-baseline"])
        .exits(0);
    fs::remove_file(directory.join("ran")).unwrap();
    directory
}

fn configure(directory: &Directory, more: &str) {
    let text = format!(
        "eval_set: set.json\nbaseline: base.evalrun\n{more}evaluators: [{{name: check, type: code, path: ./check}}]"
    );
    directory.file("c.yaml", text);
}

fn kinds(directory: &Directory, file: &str) -> Vec<String> {
    let kind = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["kind"].as_str().unwrap().to_owned()
    };
    directory.read(file).lines().map(kind).collect()
}

#[test]
fn a_case_that_is_lost_fails_the_run_and_known_failures_do_not() {
    let directory = with_baseline(&["yes", "no", "yes"]);
    let options = ["--baseline", "base.evalrun", "--no-regressions", "-o", "json"];
    let lost = run(&directory, &["no", "yes", "yes"], &options).exits(1);
    let lost = lost.says("claim response_match_score: no regressions: FAIL, 1 regressed (case-0)").says(
        "FAILED: against base.evalrun: 1 claim fails (response_match_score: no regressions); 1 regressed, 1 fixed; 2 passed, 1 failed",
    );
    let comparison = &lost.json()["comparison"];
    assert_eq!(comparison["base"], "base.evalrun");
    assert_eq!(comparison["evaluators"][0]["changes"][0]["change"], "regressed");
    assert_eq!(comparison["evaluators"][0]["claims"][0]["verdict"], "fail");
    // The same failed before.
    run(&directory, &["yes", "no", "yes"], &options)
        .exits(0)
        .says("PASSED: against base.evalrun: no case changed; 2 passed, 1 failed");
    // Without a claim, thresholds decide; the comparison is shown.
    let shown = run(&directory, &["no", "yes", "yes"], &["--baseline", "base.evalrun"]).exits(1);
    let shown =
        shown.says("FAILED: against base.evalrun: 1 regressed, 1 fixed; 2 passed, 1 failed");
    let section = "Compared with base.evalrun:\n  response_match_score: 0.6667 -> 0.6667, ";
    assert!(shown.stdout.contains(section), "{}", shown.stdout);
    assert!(shown.stdout.contains("1 regressed: case-0 (1.0000 -> 0.0000)"), "{}", shown.stdout);
    // A failure of a case that the baseline does not have is not a known one.
    run(&directory, &["yes", "no", "yes", "no"], &options)
        .exits(1)
        .says("FAILED: against base.evalrun: 1 new; 2 passed, 2 failed");
}

#[test]
fn what_is_missing_or_too_few_leaves_a_run_undecided() {
    let directory = with_baseline(&["yes", "yes", "yes"]);
    let claim = ["--baseline", "base.evalrun", "--no-regressions"];
    let two = ["yes", "yes"];
    run(&directory, &two, &claim).exits(4).says("1 case of the base is missing");
    run(&directory, &two, &[&claim[..], &["--allow-missing"]].concat()).exits(0);
    let undecided = ["--baseline", "base.evalrun", "--no-worse-than", "0.05"];
    let three = ["yes", "yes", "yes"];
    run(&directory, &three, &undecided)
        .exits(4)
        .says("INCONCLUSIVE: against base.evalrun: 1 claim undecided (response_match_score: no worse than 0.05)");
    for (policy, code) in [("pass", 0), ("fail", 1)] {
        let options = [&undecided[..], &["--inconclusive", policy]].concat();
        run(&directory, &three, &options)
            .exits(code)
            .says(&format!("(--inconclusive {policy}); 3 passed"));
    }
}

#[test]
fn an_evaluator_that_is_gone_is_named_where_the_claims_are() {
    let directory = Directory::new();
    recorded(&directory, "t", &["yes", "yes"]);
    directory.script("check", "cat >/dev/null; echo '{\"score\": 1}'");
    let entry = |name: &str| format!("{{name: {name}, type: code, path: ./check}}");
    let evaluators = |entries: &str| directory.file("c.yaml", format!("evaluators: [{entries}]"));
    evaluators(&format!("{}, {}", entry("check"), entry("gone")));
    directory.run(&["traces.jsonl", "-c", "c.yaml", "--save-run", "base.evalrun"]).exits(0);
    evaluators(&entry("check"));
    let outputs = ["openmetrics=m.txt", "markdown=r.md", "overview=o.txt"];
    let mut run = vec!["traces.jsonl", "-c", "c.yaml", "--baseline", "base.evalrun"];
    run.extend(["--no-regressions", "--allow-changed", "evaluator"]);
    run.extend(outputs.iter().flat_map(|output| ["-o", output]));
    directory.run(&run).exits(4).says("only in the base: gone (--allow-missing)");
    let metrics = directory.read("m.txt");
    let claim = "\nevaluator_claim{evaluator=\"gone\",claim=\"evaluator is in both runs\"} 0.5\n";
    assert!(metrics.contains(claim), "{metrics}");
    let undecided =
        "gone: only in the baseline, which leaves the claims undecided (--allow-missing)\n";
    let overview = directory.read("o.txt");
    assert!(overview.contains(&format!("\n  [----] {undecided}")), "{overview}");
    let markdown = directory.read("r.md");
    assert!(markdown.contains(&format!("\n- {undecided}")), "{markdown}");
    run.push("--allow-missing");
    directory.run(&run).exits(0);
    assert!(!directory.read("m.txt").contains("\"gone\",claim"));
}

#[test]
fn a_saved_run_is_held_against_a_baseline_as_the_run_was() {
    let directory = with_baseline(&["yes", "no", "yes"]);
    let claim = ["--baseline", "base.evalrun", "--no-regressions", "-o", "json"];
    let options = [&claim[..], &["--save-run", "new.evalrun"]].concat();
    let ran = run(&directory, &["no", "yes", "yes"], &options).exits(1);
    let report = |more: &[&str]| directory.evaluator(&[&["report", "new.evalrun"], more].concat());
    let again = report(&claim).exits(1);
    assert_eq!(again.json()["comparison"], ran.json()["comparison"]);
    report(&["-o", "json"]).exits(1).says("FAILED: 2 passed, 1 failed");
    let min_change = ["--baseline", "base.evalrun", "--min-change", "2"];
    report(&min_change).exits(1).says("1 regressed, 1 fixed");
    report(&["--baseline", "new.evalrun", "--no-regressions"]).exits(0);
    let other = Directory::new();
    recorded(&other, "other", &["yes"]);
    other.file(
        "c.yaml",
        "evaluators: [{name: response_match_score, type: builtin, threshold: 0.5}]",
    );
    other.run(&["traces.jsonl", "-c", "c.yaml", "--save-run", "other.evalrun"]);
    let file = other.join("other.evalrun");
    report(&["--baseline", file.to_str().unwrap()])
        .exits(2)
        .says("no evaluator has a result for a case that is in both runs");
}

#[test]
fn every_form_of_the_report_has_the_comparison_and_counts_as_the_exit_code_does() {
    let directory = with_baseline(&["yes", "no", "yes"]);
    let outputs = [
        "-o",
        "junit=r.xml",
        "-o",
        "github=r.txt",
        "-o",
        "markdown=r.md",
        "-o",
        "overview=o.txt",
        "-o",
        "openmetrics=m.txt",
    ];
    let options = [&["--baseline", "base.evalrun", "--no-regressions"], &outputs[..]].concat();
    run(&directory, &["no", "yes", "yes"], &options).exits(1);
    let junit = directory.read("r.xml");
    assert!(
        junit.contains(r#"<testsuites name="evaluator" tests="4" failures="1" errors="0""#),
        "{junit}"
    );
    assert!(junit.contains(r#"<testsuite name="regressions" tests="1" failures="1""#), "{junit}");
    assert!(junit.contains(r#"<property name="below_threshold""#), "{junit}");
    let github = directory.read("r.txt");
    let lines: Vec<&str> = github.lines().collect();
    assert!(
        lines[0]
            .starts_with("::error title=baseline::response_match_score: no regressions: FAIL, "),
        "{github}"
    );
    assert_eq!(
        lines[1],
        "::warning title=response_match_score regressed::case-0 (1.0000 -> 0.0000)"
    );
    assert!(
        lines[2].starts_with("::notice file=traces.jsonl,title=response_match_score on "),
        "{github}"
    );
    let markdown = directory.read("r.md");
    assert!(markdown.contains("#### Compared with base.evalrun\n"), "{markdown}");
    assert!(markdown.contains("1 fixed:\n\n- case-1 (0.0000 -> 1.0000)\n"), "{markdown}");
    let overview = directory.read("o.txt");
    assert!(overview.contains("    1 fixed: case-1 (0.0000 -> 1.0000)\n"), "{overview}");
    let metrics = directory.read("m.txt");
    for line in [
        "evaluator_mean_difference{evaluator=\"response_match_score\"} 0\n",
        "evaluator_changed_cases{evaluator=\"response_match_score\",change=\"regressed\"} 1\n",
        "evaluator_claim{evaluator=\"response_match_score\",claim=\"no regressions\"} 0\n",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    // Known failures are none of the CI system either.
    run(&directory, &["yes", "no", "yes"], &options).exits(0);
    let junit = directory.read("r.xml");
    assert!(junit.contains(r#"tests="4" failures="0" errors="0" skipped="0""#), "{junit}");
    // What is undecided is counted as the exit code says.
    for (policy, counts) in [
        ("pass", r#"failures="0" errors="0" skipped="1""#),
        ("fail", r#"failures="1" errors="0" skipped="0""#),
    ] {
        let options = [
            "--baseline",
            "base.evalrun",
            "--no-worse-than",
            "0.05",
            "-o",
            "junit=r.xml",
            "--inconclusive",
            policy,
        ];
        run(&directory, &["yes", "no", "yes"], &options);
        let junit = directory.read("r.xml");
        assert!(
            junit.contains(&format!(r#"<testsuite name="regressions" tests="1" {counts}"#)),
            "{junit}"
        );
    }
}

#[test]
fn many_changed_cases_are_folded_and_bounded() {
    let base: Vec<&str> = (0..130).map(|_| "yes").collect();
    let directory = with_baseline(&base);
    let new: Vec<&str> = (0..130).map(|_| "no").collect();
    let outputs = ["-o", "markdown=r.md", "-o", "overview=o.txt", "-o", "github=g.txt"];
    let claims = ["--baseline", "base.evalrun", "--no-regressions", "--no-worse-than", "0.05"];
    let options = [&claims[..], &outputs[..]].concat();
    run(&directory, &new, &options)
        .exits(1)
        .says("FAILED: against base.evalrun: 2 claims fail (response_match_score: ");
    let markdown = directory.read("r.md");
    assert!(markdown.len() < 65_536);
    assert!(markdown.contains("<details><summary>120 more</summary>"), "{markdown}");
    assert!(markdown.contains("\n... and 20 more.\n"), "{markdown}");
    assert!(directory.read("o.txt").contains("    130 regressed, 10 of them: case-0 "));
    let github = directory.read("g.txt");
    assert_eq!(github.matches("::warning ").count(), 10, "{github}");
    assert!(github.contains("120 warnings, "), "{github}");
}

#[test]
fn a_run_that_passed_becomes_the_baseline_and_no_other() {
    let directory = Directory::new();
    let update = ["--baseline", "base.evalrun", "--update-baseline"];
    run(&directory, &["yes", "no"], &update)
        .exits(1)
        .says("stays as it is, because the run did not pass");
    assert!(!directory.join("base.evalrun").exists());
    run(&directory, &["yes", "yes"], &update)
        .exits(0)
        .says("there is no baseline base.evalrun yet, so nothing is compared")
        .says("the run is the baseline base.evalrun now");
    let first = directory.read("base.evalrun");
    assert_eq!(
        kinds(&directory, "base.evalrun"),
        ["header", "conversation", "conversation", "end"]
    );
    // It is a run like any other.
    directory.evaluator(&["report", "base.evalrun"]).exits(0);
    directory.evaluator(&["compare", "base.evalrun", "base.evalrun", "--no-regressions"]).exits(0);
    let stricter = [&update[..], &["--no-regressions"]].concat();
    run(&directory, &["yes", "no"], &stricter).exits(1).says("stays as it is");
    assert_eq!(directory.read("base.evalrun"), first);
    run(&directory, &["yes", "yes", "yes"], &stricter).exits(0).says("1 new; 3 passed");
    assert_eq!(kinds(&directory, "base.evalrun").len(), 5);
    // Saved runs become baselines, too.
    run(&directory, &["yes", "yes"], &["--save-run", "r.evalrun"]).exits(0);
    let report = ["report", "r.evalrun", "--baseline", "other.evalrun", "--update-baseline"];
    directory.evaluator(&report).exits(0);
    let conversations = |text: String| -> Vec<String> {
        let lines = text.lines().filter(|it| it.contains(r#""kind":"conversation""#));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(conversations(directory.read("other.evalrun")), conversations(first));
}

#[test]
fn a_baseline_is_small_and_has_no_text_of_conversations() {
    let directory = Directory::new();
    recorded(&directory, &"0".repeat(30), &["yes"; 50]);
    let update = ["--baseline", "base.evalrun", "--update-baseline"];
    directory.run(&[&["traces.jsonl", "-c", "c.yaml"], &update[..]].concat()).exits(0);
    let text = directory.read("base.evalrun");
    let conversations: usize =
        text.lines().filter(|it| it.contains(r#""kind":"conversation""#)).map(str::len).sum();
    assert!(conversations / 50 < 400, "{}", conversations / 50);
    assert!(!text.contains("question") && !text.contains("traces.jsonl"), "{text}");
}

#[test]
fn a_baseline_has_no_text_of_errors_warnings_and_attributes() {
    let directory = Directory::new();
    recorded(&directory, "t", &["yes", "yes"]);
    let traces = directory.read("traces.jsonl");
    let attribute = r#""attributes": [{"key": "user", "value": {"stringValue": "secret-label"}}, "#;
    directory.file("traces.jsonl", traces.replace(r#""attributes": ["#, attribute));
    // It contradicts itself in one case, and breaks in the other.
    directory.script(
        "check",
        "grep -q 'question 0' || { echo secret-error >&2; exit 1; }\necho '{\"score\": 0.25, \"status\": \"PASSED\"}'",
    );
    configure(&directory, "by: [user]\nmax_error_rate: 0.5\n");
    let run =
        |options: &[&str]| directory.run(&[&["traces.jsonl", "-c", "c.yaml"], options].concat());
    run(&["--update-baseline", "--save-run", "r.evalrun"]).exits(0);
    let saved = directory.read("r.evalrun");
    let text = directory.read("base.evalrun");
    for secret in ["secret-label", "secret-error"] {
        assert!(saved.contains(secret), "{saved}");
        assert!(!text.contains(secret), "{text}");
    }
    // It is a run like any other, and decides like one.
    let report = |file| directory.evaluator(&["report", file, "-o", "json"]).exits(0).json();
    let (lean, whole) = (report("base.evalrun"), report("r.evalrun"));
    assert_eq!(lean["summary"], whole["summary"]);
    let kind = |report: &Value| report["traces"][1]["metrics"][0]["error_type"].clone();
    assert_eq!(kind(&lean), "exited");
    assert_eq!(kind(&lean), kind(&whole));
    run(&["--no-regressions"]).exits(0).says("no case changed");
}

#[test]
fn no_run_and_no_report_is_replaced_by_a_baseline_or_replaces_one() {
    let directory = with_baseline(&["yes", "yes"]);
    let base = directory.read("base.evalrun");
    let update = ["--baseline", "./base.evalrun", "--update-baseline"];
    directory
        .evaluator(&[&["report", "base.evalrun"], &update[..]].concat())
        .exits(2)
        .says("./base.evalrun is a run that this command reports, and --update-baseline would replace it by less");
    run(&directory, &["yes"; 3], &["--save-run", "more.evalrun"]).exits(0);
    directory
        .evaluator(&[&["report", "more.evalrun", "base.evalrun", "--parts"], &update[..]].concat())
        .exits(2)
        .says("is a run that this command reports");
    assert_eq!(directory.read("base.evalrun"), base);
    // The baseline need not exist, nor be spelled like the other file.
    let new = ["--baseline", "new.evalrun", "--update-baseline"];
    for (output, says) in [
        (["--save-run", "./new.evalrun"], "new.evalrun is the baseline, and this command would"),
        (["-o", "json=./new.evalrun"], "./new.evalrun is an input of this command"),
    ] {
        run(&directory, &["yes"], &[&new[..], &output].concat()).exits(2).says(says);
        assert!(!directory.join("new.evalrun").exists());
    }
    let configuration = directory.read("c.yaml");
    for file in ["new.evalrun", "base.evalrun"] {
        directory.file("c.yaml", format!("baseline: {file}\n{configuration}"));
        let output = format!("json={file}");
        directory
            .run(&["traces.jsonl", "-c", "c.yaml", "--update-baseline", "-o", &output])
            .exits(2)
            .says(&format!("{file} is an input of this command"));
    }
    assert!(!directory.join("new.evalrun").exists());
    assert_eq!(directory.read("base.evalrun"), base);
    // A configuration that cannot be used leaves no earlier report.
    directory.file("c.yaml", "{");
    directory.file("r.json", "earlier");
    directory.run(&["traces.jsonl", "-c", "c.yaml", "-o", "json=r.json"]).exits(2);
    assert!(directory.read("r.json").contains("there is no report"));
}

#[test]
fn failures_of_the_first_baseline_are_known_if_something_is_claimed() {
    let directory = Directory::new();
    let claim = ["--baseline", "base.evalrun", "--no-regressions"];
    let first = [&claim[..], &["--update-baseline"]].concat();
    run(&directory, &["yes", "no"], &first)
        .exits(1)
        .says("the run is the baseline base.evalrun now")
        .says("what failed in it is known");
    run(&directory, &["yes", "no"], &claim).exits(0).says("no case changed; 1 passed, 1 failed");
    let base = directory.read("base.evalrun");
    // Only the first one.
    run(&directory, &["no", "no"], &first).exits(1).says("stays as it is");
    assert_eq!(directory.read("base.evalrun"), base);
    run(&directory, &["no", "no"], &claim).exits(1).says("1 regressed (case-0)");
    // A run that may stop early is none.
    fs::remove_file(directory.join("base.evalrun")).unwrap();
    run(&directory, &["no", "yes"], &[&first[..], &["--fail-fast"]].concat())
        .exits(2)
        .says("exclude each other");
    // Neither is one in which something breaks.
    recorded(&directory, "t", &["yes", "no"]);
    directory.script("check", "cat >/dev/null; exit 1");
    configure(&directory, "");
    directory
        .run(&["traces.jsonl", "-c", "c.yaml", "--no-regressions", "--update-baseline"])
        .exits(3);
    assert!(!directory.join("base.evalrun").exists());
}

#[test]
fn the_first_recording_of_a_case_that_fails_is_no_known_failure() {
    let directory = Directory::new();
    // Three recordings of one case, of which one fails.
    let record = |answers: [&str; 3]| {
        recorded(&directory, "t", &answers);
        let traces = directory.read("traces.jsonl");
        let traces =
            (1..3).fold(traces, |text, it| text.replace(&format!("question {it}"), "question 0"));
        directory.file("traces.jsonl", traces);
    };
    let run =
        |options: &[&str]| directory.run(&[&["traces.jsonl", "-c", "c.yaml"], options].concat());
    let claim = ["--baseline", "base.evalrun", "--no-regressions"];
    record(["yes", "yes", "yes"]);
    run(&claim[..2].iter().copied().chain(["--update-baseline"]).collect::<Vec<_>>()).exits(0);
    let base = directory.read("base.evalrun");
    record(["yes", "yes", "no"]);
    run(&claim[..2]).exits(1).says("1 flaky");
    run(&[&claim[..], &["--update-baseline"]].concat())
        .exits(4)
        .says("no regressions: INCONCLUSIVE, 0 regressed, 1 flaky (case-0)")
        .says("stays as it is");
    assert_eq!(directory.read("base.evalrun"), base);
}

#[test]
fn a_write_that_is_killed_leaves_the_old_baseline() {
    let directory = with_baseline(&["yes", "yes", "yes", "yes"]);
    let base = directory.read("base.evalrun");
    let evaluator = env!("CARGO_BIN_EXE_evaluator");
    // The system ends a process that writes beyond this limit.
    let ran = directory.sh(&format!(
        "ulimit -c 0; ulimit -f 1; exec {evaluator} run traces.jsonl -c c.yaml --baseline base.evalrun --update-baseline"
    ));
    assert_eq!(ran.code, None, "{}", ran.stderr);
    assert_eq!(directory.read("base.evalrun"), base);
    run(&directory, &["yes"; 4], &["--baseline", "base.evalrun", "--no-regressions"]).exits(0);
}

#[test]
fn a_baseline_that_cannot_be_written_is_an_error_of_the_run() {
    let directory = Directory::new();
    let missing = ["--baseline", "no/such/base.evalrun", "--update-baseline"];
    run(&directory, &["yes"], &missing).exits(2).says("no/such does not exist");
    recorded(&directory, "t", &["yes"]);
    let text = directory.read("c.yaml");
    directory.file("c.yaml", format!("baseline: no/such/base.evalrun\n{text}"));
    directory
        .run(&["traces.jsonl", "-c", "c.yaml", "--update-baseline"])
        .exits(2)
        .says("cannot write no/such/base.evalrun: ");
}

#[test]
fn what_measures_something_else_is_refused_before_anything_runs() {
    let directory = with_program();
    let saved = directory.read("base.evalrun");
    let run =
        |options: &[&str]| directory.run(&[&["traces.jsonl", "-c", "c.yaml"], options].concat());
    let has_run = || fs::remove_file(directory.join("ran")).is_ok();
    run(&["--save-run", "r.evalrun"]).exits(0);
    assert!(has_run());
    let earlier = directory.read("r.evalrun");
    directory.script("check", "cat >/dev/null; echo x >>ran; echo '{\"score\": 0.9}'");
    let refused = run(&["--save-run", "r.evalrun", "-o", "json=r.json"]).exits(2);
    refused
        .says("the runs did not measure the same:\n  check: file `check`: ")
        .says("--allow-changed evaluator compares them all the same")
        .says("NOT RUN: nothing was evaluated");
    assert!(!has_run());
    // The results of the last run are still there.
    assert_eq!(directory.read("r.evalrun"), earlier);
    run(&["--allow-changed", "golden", "--allow-changed", "judge"]).exits(2);
    assert!(!has_run());
    let allowed = run(&["--allow-changed", "evaluator", "-o", "json"]).exits(0);
    assert!(has_run());
    let allowed = allowed.says("evaluator: check: file `check`: ");
    let differences = &allowed.json()["comparison"]["differences"];
    assert!(differences[0].as_str().unwrap().starts_with("check: file `check`: "), "{differences}");
    // The edited evaluator is accepted on purpose only.
    run(&["--update-baseline"]).exits(2);
    assert_eq!(directory.read("base.evalrun"), saved);
    run(&["--update-baseline", "--allow-changed", "evaluator"]).exits(0);
    run(&[]).exits(0);
    assert!(has_run());
    configure(&directory, "strict_matching: true\n");
    run(&[]).exits(2).says("`strict_matching`: false -> true").says("--allow-changed config");
    configure(&directory, "");
    let golden = directory.read("set.json").replacen("yes", "yes!", 1);
    directory.file("set.json", golden);
    run(&[]).exits(2).says("golden case `case-0`: ").says("--allow-changed golden compares");
    run(&["--allow-changed", "golden", "--allow-changed", "all"]).exits(0);
    // Under another name, nothing of it would be compared.
    assert!(has_run());
    let renamed = directory.read("c.yaml").replace("name: check", "name: other");
    directory.file("c.yaml", renamed);
    run(&["--allow-changed", "all"]).exits(2).says("no evaluator is in both runs");
    assert!(!has_run());
}

#[test]
fn a_golden_case_that_the_baseline_has_no_recording_of_may_be_edited() {
    let directory = Directory::new();
    recorded(&directory, "t", &["yes", "yes"]);
    let recordings = directory.read("traces.jsonl");
    // Only the first conversation is recorded.
    let first = recordings.lines().next().unwrap().to_owned() + "\n";
    directory.file("traces.jsonl", first);
    directory.run(&["traces.jsonl", "-c", "c.yaml", "--save-run", "base.evalrun"]);
    let golden = directory.read("set.json");
    let edit = |case: usize| {
        let text =
            format!("question {case}\"}}]}}, \"final_response\": {{\"parts\": [{{\"text\": \"yes");
        assert!(golden.contains(&text), "{golden}");
        directory.file("set.json", golden.replace(&text, &(text.clone() + "!")));
    };
    let again = |file: &str| {
        let run = ["traces.jsonl", "-c", "c.yaml", "--baseline", "base.evalrun"];
        directory.run(&[&run[..], &["--save-run", file]].concat())
    };
    edit(1);
    again("b.evalrun").exits(0);
    directory.evaluator(&["compare", "base.evalrun", "b.evalrun"]).exits(0);
    edit(0);
    again("c.evalrun").exits(2).says("golden case `case-0`: ");
}

#[test]
fn a_changed_threshold_or_judge_is_named_with_both_values() {
    let directory = with_baseline(&["yes"]);
    let options = ["--baseline", "base.evalrun", "--threshold", "0.25"];
    run(&directory, &["yes"], &options)
        .exits(2)
        .says("response_match_score: threshold: 0.5 -> 0.25")
        .says("--allow-changed evaluator compares them all the same");
    let reply = r#"cat >/dev/null; echo '{"text": "{\"reasoning\": \"r\", \"score\": 1}"}'"#;
    directory.script("model", reply);
    let judge = |samples: u32| {
        format!(
            "eval_set: set.json\nevaluators: [{{name: kind, type: llm_judge, prompt: 'Kind? {{{{ response }}}}', judge: {{model: 'command:model', samples: {samples}}}}}]"
        )
    };
    directory.file("c.yaml", judge(1));
    let run =
        |options: &[&str]| directory.run(&[&["traces.jsonl", "-c", "c.yaml"], options].concat());
    run(&["--baseline", "j.evalrun", "--update-baseline"]).exits(0);
    directory.file("c.yaml", judge(3));
    let against = ["--baseline", "j.evalrun", "--allow-changed"];
    run(&against[..2])
        .exits(2)
        .says("kind: setting `judge.samples`: ")
        .says("--allow-changed judge compares");
    run(&[&against[..], &["evaluator"]].concat()).exits(2);
    run(&[&against[..], &["judge"]].concat()).exits(0);
}

#[test]
fn a_baseline_of_another_machine_is_usable() {
    if !has("python3") {
        return;
    }
    let (here, there) = (Directory::new(), Directory::new());
    for directory in [&here, &there] {
        recorded(directory, "t", &["yes", "yes"]);
        directory.file(
            "evals/check.py",
            "import json, sys\njson.load(sys.stdin)\nprint('{\"score\": 1}')\n",
        );
        directory.file("evals/c.yaml", "eval_set: ../set.json\nbaseline: base.evalrun\nevaluators: [{name: check, type: code, path: check.py}]");
    }
    here.run(&["traces.jsonl", "-c", "evals/c.yaml", "--update-baseline"]).exits(0);
    there.file("evals/base.evalrun", here.read("evals/base.evalrun"));
    // Another directory, and another interpreter: what follows the program in its file is not read.
    let line = "import os, sys; print(os.path.realpath(sys.executable)); print(sys.base_prefix)";
    let python = here.sh(&format!("python3 -c '{line}'")).stdout;
    let (executable, home) = python.trim_end().split_once('\n').unwrap();
    let interpreter = there.join("python3");
    fs::copy(executable, &interpreter).unwrap();
    let mut copy = fs::OpenOptions::new().append(true).open(&interpreter).unwrap();
    copy.write_all(b"another").unwrap();
    drop(copy);
    let args = ["run", "../traces.jsonl", "-c", "c.yaml", "--no-regressions"];
    let mut command = support::command(&there.join("evals"), &args);
    command.env("EVALUATOR_PYTHON", &interpreter).env("PYTHONHOME", home);
    finish(command.spawn().unwrap())
        .exits(0)
        .says("evaluator: check: environment `interpreter`: ")
        .says("PASSED: against base.evalrun: no case changed; 2 passed");
}

#[test]
fn a_file_that_is_no_whole_run_is_refused_with_what_to_do() {
    let directory = with_baseline(&["yes", "yes"]);
    let whole = directory.read("base.evalrun");
    let lines: Vec<&str> = whole.lines().collect();
    let without_end = format!("{}\n", lines[..lines.len() - 1].join("\n"));
    directory.file("partial.evalrun", without_end);
    directory.file(
        "damaged.evalrun",
        whole.replace(r#""eval_case_id":"case-1""#, r#""eval_case_id":"case-9""#),
    );
    directory.file("empty.evalrun", "");
    directory.file("other.evalrun", "{}\n");
    directory.file("broken.json", "{");
    directory
        .run(&["traces.jsonl", "broken.json", "-c", "c.yaml", "--save-run", "broken.evalrun"])
        .exits(3);
    symlink("base.evalrun", directory.join("link.evalrun")).unwrap();
    for (options, says) in [
        (
            &["--baseline", "no.evalrun"][..],
            "the baseline no.evalrun does not exist; --update-baseline writes it after a run that ends with exit code 0",
        ),
        (&["--baseline", "partial.evalrun"], "has no end line"),
        (&["--baseline", "damaged.evalrun"], "the checksum does not match"),
        (&["--baseline", "empty.evalrun"], "empty.evalrun is empty"),
        (
            &["--baseline", "partial.evalrun", "--update-baseline"],
            "write it again from a run that passed",
        ),
        (&["--baseline", "other.evalrun"], "other.evalrun is not a run file"),
        (&["--baseline", "broken.evalrun"], "broken.evalrun is not a baseline: "),
        (
            &["--no-regressions"],
            "--no-regressions is about a baseline, and there is none; name one with --baseline FILE (key `baseline`)",
        ),
        (&["--no-worse-than", "0.1"], "--no-worse-than is about a baseline"),
        (&["--allow-missing"], "--allow-missing is about a baseline"),
        (&["--allow-changed", "all"], "--allow-changed is about a baseline"),
        (&["--min-change", "0.1"], "--min-change is about a baseline"),
        (&["--update-baseline"], "--update-baseline is about a baseline"),
        (
            &["--baseline", "base.evalrun", "--no-worse-than", "1"],
            "has to be at least 0 and below 1",
        ),
        (
            &["--baseline", "base.evalrun", "--save-run", "base.evalrun"],
            "base.evalrun is the baseline, and this command would write something else to it",
        ),
        (
            &["--baseline", "base.evalrun", "--save-run", "link.evalrun"],
            "base.evalrun is the baseline",
        ),
        (
            &["--baseline", "base.evalrun", "-o", "json=base.evalrun"],
            "base.evalrun is an input of this command",
        ),
        (
            &["--baseline", "base.evalrun", "--no-regressions", "--fail-fast"],
            "claims about a baseline and `--fail-fast` (key `fail_fast`) exclude each other",
        ),
    ] {
        directory.run(&[&["traces.jsonl", "-c", "c.yaml"], options].concat()).exits(2).says(says);
        if !options.iter().any(|it| ["--save-run", "--fail-fast"].contains(it)) {
            let report = [&["report", "base.evalrun"], options].concat();
            directory.evaluator(&report).exits(2).says(says);
        }
    }
    for runs in [["damaged.evalrun", "base.evalrun"], ["base.evalrun", "damaged.evalrun"]] {
        directory
            .evaluator(&["compare", runs[0], runs[1]])
            .exits(2)
            .says("damaged.evalrun is not compared, because parts of the run are missing")
            .says("the checksum does not match; what it recorded is not in the report");
    }
    assert_eq!(directory.read("base.evalrun"), whole);
}

#[test]
fn recordings_without_a_common_case_are_refused_before_anything_runs() {
    let directory = Directory::new();
    directory.script("check", "cat >/dev/null; echo x >>ran; echo '{\"score\": 1}'");
    for name in ["first", "second"] {
        recorded(&directory, name, &["yes"]);
        let options = ["--baseline", "base.evalrun", "--update-baseline"];
        let run =
            directory.run(&[&["traces.jsonl", "--evaluator", "check"], &options[..]].concat());
        match name {
            "first" => run.exits(0),
            _ => run.exits(2).says("no evaluator has a result for a case that is in both runs"),
        };
    }
    assert_eq!(directory.read("ran"), "x\n");
}

#[test]
fn a_test_of_an_eval_file_is_a_case() {
    let directory = Directory::new();
    let suite = |value: &str, ids: &[&str]| {
        let test = |id: &&str| {
            format!(
                "  - {{id: {id}, criteria: x, input: q, assertions: [{{name: has, type: contains, value: {value}}}]}}\n"
            )
        };
        directory
            .file("capitals.yaml", format!("tests:\n{}", ids.iter().map(test).collect::<String>()));
    };
    let ids = ["one", "two"];
    suite("Paris", &ids);
    directory.file("out/one.txt", "Paris");
    directory.file("out/two.txt", "Rome");
    directory.file("out/three.txt", "Paris");
    let run = |options: &[&str]| {
        directory.run(&[&["capitals.yaml", "--outputs", "out"], options].concat())
    };
    run(&["--save-run", "base.evalrun"]).exits(1);
    let claim = ["--baseline", "base.evalrun", "--no-regressions", "-o", "json"];
    let ran = run(&claim)
        .exits(0)
        .says("PASSED: against base.evalrun: no case changed; 1 passed, 1 failed");
    assert_eq!(ran.json()["status"], "passed");
    assert_eq!(ran.json()["comparison"]["evaluators"][0]["unchanged"], 2);
    directory.file("out/one.txt", "Rome");
    run(&claim).exits(1).says("1 regressed (one)");
    directory.file("out/one.txt", "Paris");
    // A further test is a new case.
    suite("Paris", &["one", "two", "three"]);
    run(&claim).exits(0).says("1 new");
    suite("Roma", &ids);
    run(&claim).exits(2).says("capitals: setting `one`: ").says("--allow-changed evaluator");
}

#[test]
fn gates_judge_an_eval_file() {
    let directory = Directory::new();
    let tests: String = (0..8)
        .map(|id| format!("  - {{id: t{id}, criteria: x, input: q, assertions: [{{name: has, type: contains, value: Paris}}]}}\n"))
        .collect();
    directory.file("capitals.yaml", format!("tests:\n{tests}"));
    (0..8).for_each(|id| drop(directory.file(&format!("out/t{id}.txt"), "Paris")));
    let args = ["capitals.yaml", "--outputs", "out", "-o", "json", "--gate"];
    let run = |more: &[&str]| directory.run(&[&args[..], more].concat());
    let ran = run(&["capitals: pass_rate >= 0.5"]).exits(0).says("PASSED: 1 gate passes; 8 passed");
    assert_eq!(ran.json()["gates"][0]["verdict"], json!("pass"));
    let few = run(&["capitals: mean >= 0.9", "--save-run", "r.evalrun"]).exits(4);
    let few = few.says("`capitals: mean >= 0.9` cannot pass with 8 cases");
    let again = directory.evaluator(&["report", "r.evalrun", "-o", "json"]).exits(4);
    assert_eq!(again.stdout, few.stdout);
    run(&["capitals: mean >= 0.9", "--inconclusive", "pass"]).exits(0);
    run(&["capital: mean >= 0.9"]).exits(2).says("did you mean `capitals`?");
    run(&["capitals: mean >= 0.9", "--fail-fast"]).exits(2).says("exclude each other");
}
