//! `evaluator compare`.

use std::fs;

use crate::support::{Directory, Ran};

/// Runs over recordings of three conversations, which are compared with golden cases, by a metric of their answers.
fn saved(directory: &Directory, file: &str, answers: [&str; 3]) -> Ran {
    recorded(directory, file, &answers);
    directory.run(&["traces.jsonl", "-c", "c.yaml", "--save-run", file])
}

/// Writes recordings of conversations with these answers, a golden case for each, whose answer is `yes`, and a configuration
/// with a metric of answers. Trace ids begin with `name`.
pub(crate) fn recorded(directory: &Directory, name: &str, answers: &[&str]) {
    let mut lines = String::new();
    for (number, answer) in answers.iter().enumerate() {
        let text = |role: &str, text: &str| {
            format!(
                r#"[{{\"role\": \"{role}\", \"parts\": [{{\"type\": \"text\", \"content\": \"{text}\"}}]}}]"#
            )
        };
        let (asked, said) =
            (text("user", &format!("question {number}")), text("assistant", answer));
        let attribute = |key: &str, value: &str| {
            format!(r#"{{"key": "{key}", "value": {{"stringValue": "{value}"}}}}"#)
        };
        let attributes = [
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.input.messages", &asked),
            attribute("gen_ai.output.messages", &said),
        ];
        lines += &format!(
            r#"{{"traceId": "{name}{number}", "spanId": "s", "startTimeUnixNano": "1", "endTimeUnixNano": "3000001", "attributes": [{}]}}"#,
            attributes.join(", ")
        );
        lines.push('\n');
    }
    directory.file("traces.jsonl", &lines);
    let case = |number: usize| {
        format!(
            r#"{{"eval_id": "case-{number}", "conversation": [{{"user_content": {{"parts": [{{"text": "question {number}"}}]}}, "final_response": {{"parts": [{{"text": "yes"}}]}}}}]}}"#
        )
    };
    let cases: Vec<String> = (0..answers.len()).map(case).collect();
    directory.file(
        "set.json",
        format!(r#"{{"eval_set_id": "set", "eval_cases": [{}]}}"#, cases.join(", ")),
    );
    directory.file(
        "c.yaml",
        "eval_set: set.json\nevaluators: [{name: response_match_score, type: builtin, threshold: 0.5}]",
    );
}

fn two_runs(base: [&str; 3], new: [&str; 3]) -> Directory {
    let directory = Directory::new();
    saved(&directory, "base.evalrun", base);
    saved(&directory, "new.evalrun", new);
    directory
}

fn compare(directory: &Directory, more: &[&str]) -> Ran {
    directory.evaluator(&[&["compare", "base.evalrun", "new.evalrun"], more].concat())
}

#[test]
fn one_case_lost_and_one_won_is_a_regression_and_no_difference_of_means() {
    let directory = two_runs(["yes", "no", "yes"], ["no", "yes", "yes"]);
    let ran = compare(&directory, &[]).exits(0);
    let text = "response_match_score: 0.6667 -> 0.6667, +0.0000 (-1.0000 to +1.0000) over 3 cases, p = 1.000";
    assert!(ran.stdout.starts_with(text), "{}", ran.stdout);
    assert!(ran.stdout.contains("  1 regressed: case-0 (1.0000 -> 0.0000)\n  1 fixed: case-1 (0.0000 -> 1.0000)\n  1 case unchanged\n"), "{}", ran.stdout);
    ran.says("PASSED: compared; nothing is asked of the new run; 1 regressed, 1 fixed");
    compare(&directory, &["--no-regressions"])
        .exits(1)
        .says("FAILED: 1 claim fails (response_match_score: no regressions); 1 regressed, 1 fixed");
}

#[test]
fn a_run_has_no_regressions_against_itself_and_three_cases_do_not_show_more() {
    let directory = two_runs(["yes", "no", "yes"], ["yes", "no", "yes"]);
    let other = compare(&directory, &["--no-regressions"]).exits(0);
    let other = other.says("PASSED: no case changed");
    // The traces of the new run evaluated again.
    let again = directory.run(&["traces.jsonl", "-c", "c.yaml", "--save-run", "again.evalrun"]);
    again.exits(1);
    let same = directory.evaluator(&["compare", "again.evalrun", "new.evalrun"]).exits(0);
    let sentence = "the recordings are the same, and no change of an evaluator is known\n";
    assert!(same.stdout.starts_with(sentence), "{}", same.stdout);
    assert!(!other.stdout.contains("the recordings are the same"), "{}", other.stdout);
    let ran = compare(&directory, &["--no-worse-than", "0.05"])
        .exits(4)
        .says("INCONCLUSIVE: 1 claim undecided (response_match_score: no worse than 0.05); no case changed");
    assert!(ran.stdout.contains("about 92 cases that differ like these would decide, and --no-regressions suits small suites"), "{}", ran.stdout);
}

#[test]
fn a_comparison_has_a_form_for_programs_and_one_for_comments() {
    let directory = two_runs(["yes", "yes", "yes"], ["no", "yes", "yes"]);
    let outputs = ["--no-regressions", "-o", "json", "-o", "markdown=c.md", "-o", "table=c.txt"];
    let ran = compare(&directory, &outputs).exits(1);
    let found: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let right = &found["evaluators"][0];
    assert_eq!(right["changes"][0]["change"], "regressed");
    assert_eq!(right["claims"][0]["verdict"], "fail");
    assert_eq!((&right["difference"]["n"], &right["unchanged"]), (&3.into(), &2.into()));
    let markdown = fs::read_to_string(directory.join("c.md")).unwrap();
    assert!(markdown.starts_with("### FAILED: 1 claim fails"), "{markdown}");
    assert!(markdown.contains("| response\\_match\\_score | 3 | 1.0000 | 0.6667 |"), "{markdown}");
    assert!(fs::read_to_string(directory.join("c.txt")).unwrap().contains("1 regressed: case-0"));
}

#[test]
fn runs_that_cannot_be_compared_are_refused() {
    let directory = two_runs(["yes", "yes", "yes"], ["yes", "yes", "yes"]);
    compare(&directory, &["--no-worse-than", "1"])
        .exits(2)
        .says("has to be at least 0 and below 1");
    compare(&directory, &["-o", "xml"]).exits(2).says("there is no form `xml`");
    // Without golden cases, conversations are known by their trace ids, which differ.
    for (file, number) in [("a.evalrun", 0), ("b.evalrun", 1)] {
        let traces = fs::read_to_string(directory.join("traces.jsonl")).unwrap();
        let traces = traces.replace("new.evalrun", &format!("other{number}"));
        directory.file("other.jsonl", &traces);
        directory.script("one", r#"cat >/dev/null; echo '{"score": 1}'"#);
        directory.run(&["other.jsonl", "--evaluator", "one", "--save-run", file]).exits(0);
    }
    directory
        .evaluator(&["compare", "a.evalrun", "b.evalrun"])
        .exits(2)
        .says("in both runs; name the attribute that identifies a case with --case-key");
    let whole = fs::read_to_string(directory.join("base.evalrun")).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    directory.file("cut.evalrun", format!("{}\n", lines[..lines.len() - 1].join("\n")));
    directory
        .evaluator(&["compare", "cut.evalrun", "new.evalrun"])
        .exits(2)
        .says("is not compared, because the run file ends before everything was evaluated");
}

#[test]
fn runs_that_measured_other_things_are_refused_by_name() {
    let directory = two_runs(["yes", "yes", "yes"], ["yes", "yes", "yes"]);
    let again = |file: &str, args: &[&str]| {
        let args = [&["traces.jsonl", "-c", "c.yaml", "--save-run", file], args].concat();
        directory.run(&args)
    };
    let against = |file: &str, args: &[&str]| {
        directory.evaluator(&[&["compare", "base.evalrun", file], args].concat())
    };
    again("threshold.evalrun", &["--threshold", "0.25"]);
    against("threshold.evalrun", &[])
        .exits(2)
        .says("response_match_score: threshold: 0.5 -> 0.25")
        .says("--allow-changed evaluator compares them all the same");
    against("threshold.evalrun", &["--allow-changed", "golden"]).exits(2);
    against("threshold.evalrun", &["--allow-changed", "evaluator"])
        .exits(0)
        .says("response_match_score: threshold: 0.5 -> 0.25");
    again("same.evalrun", &[]);
    let same = ["compare", "same.evalrun", "threshold.evalrun", "--allow-changed", "evaluator"];
    for form in ["table", "markdown"] {
        let shown = directory.evaluator(&[&same[..], &["-o", form]].concat()).exits(0).stdout;
        let sentence = "the recordings are the same: what differs is how they were evaluated\n";
        assert!(shown.contains(sentence), "{shown}");
    }
    let golden = directory.read("set.json").replacen("yes", "yes!", 1);
    directory.file("set.json", golden);
    again("golden.evalrun", &[]);
    against("golden.evalrun", &[]).exits(2).says("golden case `case-0`");
    against("golden.evalrun", &["--allow-changed", "all"]).exits(0);
}

#[test]
fn a_run_in_which_something_broke_is_not_green() {
    let directory = two_runs(["yes", "yes", "yes"], ["yes", "yes", "yes"]);
    directory.file("broken.json", "{");
    directory
        .run(&["traces.jsonl", "broken.json", "-c", "c.yaml", "--save-run", "broken.evalrun"])
        .exits(3);
    for files in [["base.evalrun", "broken.evalrun"], ["broken.evalrun", "new.evalrun"]] {
        directory
            .evaluator(&["compare", files[0], files[1], "--no-regressions"])
            .exits(3)
            .says("broken.evalrun is a run in which something broke: ERROR: ")
            .says("broken.evalrun: Failed to load trace file 'broken.json'")
            .says("ERROR: something broke in a run that is compared; PASSED: no case changed");
    }
}

#[test]
fn a_comparison_replaces_no_input_and_leaves_no_earlier_one() {
    let directory = two_runs(["yes", "yes", "yes"], ["yes", "yes", "yes"]);
    let base = fs::read(directory.join("base.evalrun")).unwrap();
    compare(&directory, &["-o", "json=base.evalrun"])
        .exits(2)
        .says("base.evalrun is an input of this command");
    assert_eq!(fs::read(directory.join("base.evalrun")).unwrap(), base);
    compare(&directory, &["-o", "json=c.json"]).exits(0);
    compare(&directory, &["-o", "json=c.json", "--no-worse-than", "2"]).exits(2);
    assert!(directory.read("c.json").starts_with("there is no comparison"));
    for option in ["--confidence=2", "--confidence=nan", "--min-change=nan", "--min-change=-1"] {
        compare(&directory, &[option]).exits(2);
    }
}
