//! `evaluator agree`.

mod bad_labels;
mod sheet;

use std::fs;

use crate::{
    compare::recorded,
    support::{Directory, Ran, page::Page},
};

/// An evaluator that passes answers with `yes`, gives `maybe` 0.6 and a reason, and breaks at `crash`.
const CHECK: &str = r#"#!/bin/sh
document=$(sed 's/"expected_invocations".*//')
case "$document" in
  *'"final_response":"yes'*|*'"final_response": "yes'*) echo '{"score": 1.0, "details": {"reason": "said yes"}}' ;;
  *'"final_response":"maybe'*|*'"final_response": "maybe'*) echo '{"score": 0.6, "details": {"reason": "nearly"}}' ;;
  *'"final_response":"crash'*|*'"final_response": "crash'*) echo broken >&2; exit 3 ;;
  *) echo '{"score": 0.0, "details": {"reason": "did not say yes"}}' ;;
esac
"#;

/// Saves a run `run.evalrun` over conversations with these answers, by two evaluators. Cases are `case-0` and so on, trace ids
/// `t0` and so on.
pub(crate) fn saved(answers: &[&str], more: &[&str]) -> Directory {
    let directory = Directory::new();
    recorded(&directory, "t", answers);
    directory.executable("check", CHECK);
    directory.file(
        "c.yaml",
        "eval_set: set.json\nevaluators:\n  - {name: check, type: code, path: check, threshold: 0.5}\n  - {name: response_match_score, type: builtin, threshold: 0.5}\n",
    );
    directory.run(&[&["traces.jsonl", "-c", "c.yaml", "--save-run", "run.evalrun"], more].concat());
    directory
}

/// Compares with labels in a file `labels.csv` of this text.
fn agree(directory: &Directory, labels: &str, more: &[&str]) -> Ran {
    directory.file("labels.csv", labels);
    directory.evaluator(&[&["agree", "labels.csv", "run.evalrun"], more].concat())
}

#[test]
fn an_evaluator_is_held_against_labels_with_both_reasons_of_disagreements() {
    let directory = saved(&["yes", "maybe", "no", "no", "yes", "yes"], &[]);
    let labels = "case,label,rater,comment\ncase-0,pass,Ana,\ncase-0,PASS,Bo,\ncase-1,fail,Ana,never booked\ncase-2,no,Ana,\ncase-2,0,Bo,\ncase-3,yes,Ana,polite enough\ncase-3,yes,Bo,\ncase-4,pass,Ana,\ncase-4,fail,Bo,\nother,pass,Ana,\n";
    let ran = agree(&directory, labels, &["--evaluator", "check"]).exits(0);
    for line in [
        "1 label without a conversation in the run: other (labels.csv:11)\n",
        "check against 2 people: 4 conversations\n",
        "  kappa 0.00 (-0.98 to 0.98); both say the same in 0.50 (0.07 to 0.93)\n",
        "  people agree with each other: alpha 0.53 over 4 conversations that several labelled\n",
        "  check with each of them: kappa about 0.25; they with each other: about 0.53\n",
        "  true positive rate 0.50 (0.01 to 0.99), of the 2 that people pass\n",
        "  true negative rate 0.50 (0.01 to 0.99), of the 2 that people fail\n",
        "  conversations left out: 1 about which as many people say one as the other, 1 without a label\n",
        "                    people pass  people fail\n",
        "  evaluator passes            1            1\n",
        "  evaluator fails             1            1\n",
        "  2 disagreements, worst first:\n    case-1 passes with 0.60, \"nearly\"; Ana: fail, \"never booked\"; asked \"question 1\"\n    case-3 fails with 0.00, \"did not say yes\"; Ana: pass, \"polite enough\"; Bo: pass; asked \"question 3\"\n",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{}", ran.stdout);
    }
    ran.says("PASSED: compared; nothing is asked of the evaluators; check kappa 0.00 (-0.98 to 0.98), 2 disagreements in 4");
    // All evaluators, by the labels alone.
    let forms = ["-o", "json", "-o", "markdown=a.md", "-o", "html=a.html"];
    let all = agree(&directory, labels, &forms);
    let all = all.exits(0).json();
    let names: Vec<&str> = all["evaluators"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["check", "response_match_score"]);
    let check = &all["evaluators"][0];
    assert_eq!(check["confusion"]["false_positives"], 1);
    assert_eq!(check["raters"]["evaluator"], 0.25);
    assert_eq!(check["disagreements"][0]["comments"][0]["comment"], "never booked");
    assert_eq!(check["best_threshold"]["value"], 1.0);
    assert_eq!((&all["labels"]["unmatched"], &all["conversations"]), (&1.into(), &6.into()));
    let markdown = fs::read_to_string(directory.join("a.md")).unwrap();
    assert!(markdown.starts_with("### PASSED: compared; nothing is asked"), "{markdown}");
    assert!(markdown.contains("| evaluator passes | 1 | 1 |"), "{markdown}");
    // The page has the same data.
    let page = Page::read(&directory.read("a.html"));
    assert_eq!(
        (&page.data["subject"], &page.data["verdict"]),
        (&"agreement".into(), &"PASSED".into())
    );
    assert_eq!(page.data["result"], all);
}

#[test]
fn a_limit_of_kappa_passes_fails_or_stays_open() {
    let answers: Vec<&str> = (0..70).map(|number| if number < 35 { "yes" } else { "no" }).collect();
    let directory = saved(&answers, &[]);
    let labels = |wrong: usize, count: usize| {
        let rows = (0..count).map(|number| {
            let label = if (number < 35) != (number % 7 < wrong) { "good" } else { "bad" };
            format!("case-{number},{label}\n")
        });
        "case,label\n".to_owned() + &rows.collect::<String>()
    };
    let ask = |labels: &str, limit: &str, code: i32, text: &str| {
        let more = ["--evaluator", "check", "--min-kappa", limit];
        agree(&directory, labels, &more).exits(code).says(text);
    };
    ask(
        &labels(0, 70),
        "0.9",
        0,
        "PASSED: check kappa >= 0.9: kappa is 1.00, 0 disagreements in 70",
    );
    // Perfect labels have no standard error, and so no interval.
    let perfect = agree(&directory, &labels(0, 70), &["-o", "json"]).json();
    let kappa = &perfect["evaluators"][0]["kappa"];
    let shown = ["value", "se", "lower", "upper"].map(|key| kappa[key].as_f64());
    assert_eq!(shown, [Some(1.0), Some(0.0), None, None]);
    ask(&labels(2, 70), "0.9", 1, "FAILED: check kappa >= 0.9: kappa is 0.43");
    ask(&labels(2, 70), "0.4", 4, "INCONCLUSIVE: check kappa >= 0.4: kappa is 0.43");
    ask(
        &labels(0, 64),
        "0.9",
        4,
        "35 labels are passes and 29 failures, and 30 of each are needed",
    );
    for limit in ["1.5", "x", "NaN"] {
        ask(&labels(0, 70), limit, 2, "--min-kappa");
    }
}

#[test]
fn an_evaluator_that_broke_is_no_disagreement_and_never_green() {
    let directory = saved(&["yes", "crash", "no"], &[]);
    let labels = "trace_id,label\nt0,pass\nt1,pass\nt2,fail\n";
    let ran = agree(&directory, labels, &["--evaluator", "check"]).exits(3);
    assert!(ran.stdout.contains("check against labels: 2 conversations\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("left out: 1 with a label and an error\n"), "{}", ran.stdout);
    let ran = ran.says("ERROR: something broke in the run; check kappa 1.00");
    ran.says("run.evalrun is a run in which something broke");
    // The evaluator that worked is not told off for the other one.
    agree(&directory, labels, &["--evaluator", "response_match_score"]).exits(0);
    // The run tolerates the error.
    let directory = saved(&["yes", "crash", "no"], &["--max-error-rate", "0.5"]);
    agree(&directory, labels, &["--evaluator", "check"]).exits(0);
}

#[test]
fn evaluators_are_held_against_each_other_without_labels() {
    let directory = saved(&["yes", "maybe", "no"], &[]);
    let with = ["agree", "run.evalrun", "--with", "response_match_score"];
    let ran = directory.evaluator(&with).exits(0);
    for line in [
        "check against response_match_score: 3 conversations\n",
        "  1 disagreement, worst first:\n    case-1 passes with 0.60, \"nearly\"; response_match_score: fail",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{}", ran.stdout);
    }
    let itself = [&with[..], &["--evaluator", "response_match_score"]].concat();
    directory
        .evaluator(&itself)
        .exits(2)
        .says("`response_match_score` would be compared with itself");
    let twice = [&with[..], &["--evaluator", "check", "--evaluator", "check"]].concat();
    let ran = directory.evaluator(&twice).exits(0);
    assert_eq!(ran.stdout.matches("check against").count(), 1, "{}", ran.stdout);
    let both = agree(&directory, "case,label\ncase-0,pass\n", &with[2..]).exits(0);
    for line in [
        "check against labels: 1 ",
        "response_match_score against labels: 1 ",
        "check against response_match_score: 3 ",
    ] {
        assert!(both.stdout.contains(line), "{line}\n{}", both.stdout);
    }
}

#[test]
fn grades_are_compared_as_grades_and_from_one_of_them_on_as_classes() {
    let directory = saved(&["yes", "maybe", "no", "no"], &[]);
    let labels = "case,label\ncase-0,5\ncase-1,4\ncase-2,2\ncase-3,poor\n";
    let grades = ["--evaluator", "check", "--label", "poor=1"];
    let ran = agree(&directory, labels, &grades).exits(0);
    let line = "  correlation with the grades: Spearman 0.95, Kendall 0.91, Pearson 0.97\n";
    assert!(ran.stdout.contains(line), "{}", ran.stdout);
    let from = [&grades[..], &["--pass-from", "3", "-o", "json"]].concat();
    let found = agree(&directory, labels, &from).exits(0).json();
    let check = &found["evaluators"][0];
    assert_eq!((&check["graded"], &check["kappa"]["value"]), (&true.into(), &1.0.into()));
    assert_eq!(check["best_threshold"]["value"], 0.6);
}

#[test]
fn labels_of_one_split_are_used_alone() {
    let directory = saved(&["yes", "no"], &[]);
    let labels = "case,label,split\ncase-0,pass,dev\ncase-1,pass,test\n";
    let check = ["--evaluator", "check", "--split"];
    let ran = agree(&directory, labels, &[&check[..], &["test"]].concat()).exits(0);
    for line in
        ["1 label of another split\n", "check against labels: 1 conversation\n", "case-1 fails"]
    {
        assert!(ran.stdout.contains(line), "{line}\n{}", ran.stdout);
    }
    agree(&directory, labels, &[&check[..], &["x"]].concat())
        .exits(2)
        .says("no label has the split `x`; there are dev, test");
}

#[test]
fn labels_of_the_cases_of_another_tool_are_read_as_those_of_a_run() {
    let runs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/producers/runs");
    let result = runs.join("promptfoo-base.json").display().to_string();
    let directory = Directory::new();
    let shown = directory.evaluator(&["report", &result, "-o", "json"]);
    let case = shown.json()["traces"][0]["eval_case_id"].as_str().unwrap().to_owned();
    directory.file("labels.jsonl", serde_json::json!({"case": case, "label": "pass"}).to_string());
    let found = directory.evaluator(&["agree", "labels.jsonl", &result, "-o", "json"]).json();
    assert_eq!(found["labels"]["unmatched"], 0);
    assert_eq!(found["evaluators"][0]["compared"], 1);
}
