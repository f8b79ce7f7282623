//! `evaluator agree --sheet`.

use super::saved;
use crate::support::{Directory, Ran};

fn sheet(directory: &Directory, more: &[&str]) -> Ran {
    directory.evaluator(&[&["agree", "run.evalrun", "--sheet", "sheet.csv"], more].concat())
}

/// Runs over ten conversations, two of which pass.
fn ten(more: &[&str]) -> Directory {
    saved(&["no", "no", "=1+1, no", "no", "yes", "no", "maybe", "no", "no", "no"], more)
}

#[test]
fn a_sheet_that_is_filled_in_is_read_as_it_is() {
    let directory = ten(&["--transcripts", "all"]);
    let ran = sheet(&directory, &["--evaluator", "check"]).exits(0);
    ran.says("10 of 10 conversations written to sheet.csv: evaluators pass 2 and fail 8; write pass or fail");
    let text = directory.read("sheet.csv");
    let (header, rows) = text.split_once('\n').unwrap();
    assert_eq!(header, "case,trace_id,prompt,answer,label,comment,rater");
    // What the agent says is no formula, and nothing tells what the evaluator says.
    assert!(rows.contains("case-2,t2,question 2,\"'=1+1, no\",,,\n"), "{rows}");
    assert!(!rows.contains("nearly") && !rows.contains("0.6") && !rows.contains("check"), "{rows}");
    let filled = rows.lines().map(|row| {
        let label = if row.contains(",yes,") { "pass" } else { "fail" };
        format!("{},{label},,Ana\n", row.strip_suffix(",,,").unwrap())
    });
    directory.file("filled.csv", format!("{header}\n{}", filled.collect::<String>()));
    let agree = ["agree", "filled.csv", "run.evalrun", "--evaluator", "check", "-o", "json"];
    let found = directory.evaluator(&agree).exits(0).json();
    assert_eq!(found["evaluators"][0]["compared"], 10);
    assert_eq!(found["evaluators"][0]["disagreements"][0]["case"], "case-6");
}

#[test]
fn a_sample_has_as_many_that_pass_as_that_fail_and_is_the_same_for_a_seed() {
    let directory = ten(&["--transcripts", "all"]);
    let of = |more: &[&str]| {
        let args = [&["--evaluator", "check", "--sample", "4"], more].concat();
        let ran = sheet(&directory, &args).exits(0);
        let text = directory.read("sheet.csv");
        std::fs::remove_file(directory.join("sheet.csv")).unwrap();
        (ran, text)
    };
    let (ran, first) = of(&[]);
    ran.says("4 of 10 conversations written to sheet.csv: evaluators pass 2 and fail 2");
    assert_eq!(of(&[]).1, first);
    assert_ne!(of(&["--seed", "5"]).1, first);
    assert!(first.contains(",yes,") && first.contains(",maybe,"), "{first}");
    let (_, drawn) = of(&["--at-random"]);
    assert_eq!(drawn.lines().count(), 5);
}

#[test]
fn a_sheet_replaces_no_file_and_needs_transcripts() {
    let directory = ten(&["--transcripts", "all"]);
    directory.file("sheet.csv", "labels");
    sheet(&directory, &[]).exits(2).says("sheet.csv exists, and may have labels already");
    assert_eq!(directory.read("sheet.csv"), "labels");
    let directory = ten(&[]);
    let message = "the run has no transcripts of 10 of the conversations to label; evaluate again with `run --transcripts all`";
    sheet(&directory, &[]).exits(2).says(message);
    assert!(!directory.join("sheet.csv").exists());
}
