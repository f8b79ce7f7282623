//! Runs that end as soon as their gates are decided.
#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};

use crate::{
    gates::recording,
    support::{Directory, Ran},
};

/// A directory with conversations, and evaluators that count their calls.
fn directory(conversations: usize) -> Directory {
    let directory = Directory::new();
    directory.file("t.json", recording(conversations));
    for (name, score) in [("perfect", "1"), ("other", "1"), ("bad", "0.2")] {
        let script =
            format!(r#"cat >/dev/null; echo x >>{name}.calls; echo '{{"score": {score}}}'"#);
        directory.script(name, &script);
    }
    directory
}

fn run(directory: &Directory, evaluators: &[&str], options: &[&str]) -> Ran {
    let args: Vec<&str> = evaluators.iter().flat_map(|name| ["--evaluator", name]).collect();
    directory.run(&[&["t.json"], &args[..], &["--until-decided"], options].concat())
}

fn calls(directory: &Directory, evaluator: &str) -> usize {
    fs::read_to_string(directory.join(format!("{evaluator}.calls")))
        .map_or(0, |it| it.lines().count())
}

/// The report without durations.
fn comparable(ran: &Ran) -> Value {
    let mut report = ran.json();
    for trace in report["traces"].as_array_mut().into_iter().flatten() {
        for metric in trace["metrics"].as_array_mut().into_iter().flatten() {
            metric["duration_ms"].take();
        }
    }
    report
}

#[test]
fn a_run_ends_when_its_gate_is_decided_and_what_was_not_run_fails_nothing() {
    let directory = directory(60);
    let gate = ["--gate", "perfect: mean >= 0.5", "-o", "json"];
    let one = run(
        &directory,
        &["perfect"],
        &[&gate[..], &["--jobs", "1", "--save-run", "r.evalrun"]].concat(),
    )
    .exits(0)
    .says("gate perfect: mean >= 0.5: PASS, 1.000 after 10 cases")
    .says("PASSED: 1 gate passes; 10 passed, 0 failed")
    .says("partial: the run ended when all gates were decided");
    assert!((10..=12).contains(&calls(&directory, "perfect")), "{}", calls(&directory, "perfect"));
    let report = one.json();
    let gate_of = |report: &Value| report["gates"][0].clone();
    assert_eq!(
        (&gate_of(&report)["verdict"], &gate_of(&report)["cases"]),
        (&json!("pass"), &json!(10))
    );
    assert_eq!(
        (&report["summary"]["passed"], &report["summary"]["not_run"]),
        (&json!(10), &json!(50))
    );
    assert_eq!(report["partial"], true);
    // The number of jobs decides nothing, and a saved run is reported as it was.
    let four = run(&directory, &["perfect"], &[&gate[..], &["--jobs", "4"]].concat()).exits(0);
    assert_eq!(comparable(&four), comparable(&one));
    let saved = directory.evaluator(&["report", "r.evalrun", "-o", "json"]).exits(0);
    assert_eq!(comparable(&saved), comparable(&one));
    // Another seed takes other cases.
    let other = run(&directory, &["perfect"], &[&gate[..], &["--seed", "7"]].concat()).exits(0);
    assert_eq!(gate_of(&other.json()), gate_of(&report));
    assert_ne!(comparable(&other), comparable(&one));
    // It is no base of a comparison.
    directory
        .evaluator(&["compare", "r.evalrun", "r.evalrun"])
        .exits(2)
        .says("all gates were decided; run it again without --until-decided");
}

#[test]
fn a_run_that_ends_with_its_gates_is_no_part_of_another() {
    let directory = directory(60);
    let gate = ["--gate", "perfect: mean >= 0.5"];
    let save = |file| [&gate[..], &["--save-run", file]].concat();
    run(&directory, &["perfect"], &save("decided.evalrun")).exits(0);
    // Other conversations.
    let text = directory.read("t.json").replace("\"traceId\":\"", "\"traceId\":\"f");
    directory.file("t.json", text);
    run(&directory, &["perfect"], &save("more.evalrun")).exits(0);
    let whole = [&["t.json", "--evaluator", "perfect"], &save("whole.evalrun")[..]].concat();
    directory.run(&whole).exits(0);
    for (first, second) in [("decided", "whole"), ("whole", "decided"), ("decided", "more")] {
        let files = [first, second].map(|it| format!("{it}.evalrun"));
        directory
            .evaluator(&["report", &files[0], &files[1], "--parts"])
            .exits(2)
            .says("are not parts of one run: one of them ends as soon as its gates are decided")
            .reports_nothing();
    }
}

#[test]
fn a_run_that_ended_with_its_gates_is_not_asked_for_what_needs_all_cases() {
    let directory = directory(60);
    let gate = ["--gate", "perfect: mean >= 0.5"];
    let whole = ["t.json", "--evaluator", "perfect", "--save-run", "whole.evalrun"];
    directory.run(&whole).exits(0);
    run(&directory, &["perfect"], &[&gate[..], &["--save-run", "r.evalrun"]].concat()).exits(0);
    let report =
        |options: &[&str]| directory.evaluator(&[&["report", "r.evalrun"], options].concat());
    let no_worse = ["--no-worse-than", "0.5", "--allow-missing"];
    for (options, what) in [
        (&["--gate", "perfect: pass^1 >= 0.5"][..], "`perfect: pass^1 >= 0.5`"),
        (&[&["--baseline", "whole.evalrun"], &no_worse[..]].concat(), "a comparison"),
    ] {
        let says = format!("the run ended when all gates were decided, and {what} needs all cases");
        report(options).exits(2).says(&says).reports_nothing();
    }
    report(&["--gate", "perfect: pass_rate >= 0.5"]).exits(0);
}

#[test]
fn an_evaluator_whose_gate_is_decided_is_not_asked_again() {
    let directory = directory(60);
    let gates = ["--gate", "perfect: mean >= 0.5", "--gate", "other: pass_rate >= 0.7"];
    let options = [&gates[..], &["--jobs", "1", "-o", "json"]].concat();
    let report = run(&directory, &["perfect", "other"], &options).exits(0).json();
    let cases: Vec<&Value> =
        report["gates"].as_array().into_iter().flatten().map(|it| &it["cases"]).collect();
    assert_eq!(cases, [10, 19]);
    assert!((10..=12).contains(&calls(&directory, "perfect")), "{}", calls(&directory, "perfect"));
    assert!((19..=21).contains(&calls(&directory, "other")), "{}", calls(&directory, "other"));
    assert_eq!(report["evaluators"][0]["not_run"], 50);
}

#[test]
fn a_gate_fails_early_or_stays_undecided() {
    let directory = directory(60);
    run(&directory, &["bad"], &["--gate", "bad: mean >= 0.8"])
        .exits(1)
        .says("gate bad: mean >= 0.8: FAIL, 0.200 after ");
    assert!(calls(&directory, "bad") < 20);
    let few = self::directory(5);
    run(&few, &["perfect"], &["--gate", "perfect: mean >= 0.5"])
        .exits(4)
        .says("INCONCLUSIVE, 1.000 after 5 cases; the cases ended before it was decided");
}

#[test]
fn recordings_of_a_case_are_taken_together() {
    let directory = directory(2);
    let case = |id: &str, said: &str| json!({"eval_id": id, "conversation": [{"user_content": {"parts": [{"text": said}]}}]});
    let cases = [case("a", "<0>"), case("b", "<1>")];
    directory.file("set.json", json!({"eval_set_id": "s", "eval_cases": cases}).to_string());
    let again = recording(2).replace(r#""traceId":"t"#, r#""traceId":"u"#);
    directory.file("t.json", recording(2) + &again);
    run(&directory, &["perfect"], &["-e", "set.json", "--gate", "perfect: mean >= 0.5"])
        .exits(4)
        .says("1.000 after 2 cases; the cases ended");
    assert_eq!(calls(&directory, "perfect"), 4);
}

#[test]
fn a_run_of_golden_cases_that_ends_early_is_reported_as_it_was() {
    let directory = directory(20);
    let case = |number: usize| {
        let parts = json!({"parts": [{"text": format!("<{number}>")}]});
        json!({"eval_id": number.to_string(), "conversation": [{"user_content": parts}]})
    };
    let cases: Vec<Value> = (0..20).map(case).collect();
    directory.file("set.json", json!({"eval_set_id": "s", "eval_cases": cases}).to_string());
    let again = recording(20).replace(r#""traceId":"t"#, r#""traceId":"u"#);
    directory.file("t.json", recording(20) + &again);
    let options = ["-e", "set.json", "--gate", "perfect: mean >= 0.5", "-o", "json"];
    let saved = [&options[..], &["--jobs", "1", "--save-run", "r.evalrun"]].concat();
    let one = run(&directory, &["perfect"], &saved).exits(0);
    assert_eq!(one.json()["gates"][0]["cases"], 10);
    let report = directory.evaluator(&["report", "r.evalrun", "-o", "json"]).exits(0);
    assert!(comparable(&report) == comparable(&one));
    let four = run(&directory, &["perfect"], &[&options[..], &["--jobs", "4"]].concat());
    assert!(comparable(&four) == comparable(&one));
}

#[test]
fn what_cannot_be_decided_case_by_case_is_refused() {
    let directory = directory(3);
    let gate = ["--gate", "perfect: mean >= 0.5"];
    let refused = |evaluators: &[&str], options: &[&str], says: &str| {
        run(&directory, evaluators, options).exits(2).says(says);
    };
    refused(&["perfect", "other"], &gate, "needs a gate for every evaluator, and `other` has none");
    refused(
        &["perfect"],
        &["--gate", "perfect: pass^2 >= 0.5"],
        "`perfect: pass^2 >= 0.5` is another one",
    );
    refused(&["perfect"], &[&gate[..], &["--fail-fast"]].concat(), "cannot be used with");
    directory.file("b.evalrun", "");
    refused(
        &["perfect"],
        &[&gate[..], &["--baseline", "b.evalrun"]].concat(),
        "and a baseline exclude each other",
    );
    directory.run(&["t.json", "--evaluator", "perfect", "--seed", "1"]).exits(2);
    directory.file("s.eval.yaml", "tests:\n- {id: a, input: hello, criteria: polite}\n");
    directory
        .run(&["s.eval.yaml", "--until-decided"])
        .exits(2)
        .says("--until-decided belongs to trace files");
    assert_eq!(calls(&directory, "perfect"), 0);
}
