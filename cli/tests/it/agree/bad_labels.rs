//! Labels that cannot be used, and commands that compare nothing.

use super::{agree, saved};

#[test]
fn labels_that_cannot_be_used_are_refused_with_their_line() {
    let directory = saved(&["yes", "no"], &[]);
    for (labels, message) in [
        ("case,label\ncase-0,pass\ncase-1,maybe\n", "labels.csv:3: `maybe` is not a label"),
        (
            "case,label\ncase-0,pass\ncase-0,fail\n",
            "labels.csv:3: `case-0` is labelled twice; if two people labelled it",
        ),
        (
            "case,trace_id,label,rater\ncase-0,,pass,Ana\n,t0,pass,Ana\n",
            "labels.csv:3: `Ana` labelled `t0` twice: the other label is labels.csv:2",
        ),
        (
            "case,label\nx,pass\n",
            "no label matches a conversation of the run: labels name `x` (labels.csv:2)",
        ),
        (
            "case,label\ncase-0,3\ncase-1,pass\n",
            "labels.csv:3: `pass` is a class, and 3 at labels.csv:2 is a grade",
        ),
        (
            "case,label,evaluator\ncase-0,pass,quality\n",
            "labels are about quality, which is not compared; --about NAME",
        ),
        (
            "case,label,comment\ncase-0,pass,\"a\ncase-1,fail,\n",
            "labels.csv:2: a quote opens here and is not closed",
        ),
        (
            "case,trace_id,label\ncase-0,t0,pass\ncase-0,t1,pass\n",
            "labels.csv:3: trace id `t1` is a conversation of `case-1`, and case `case-0` is another one",
        ),
        ("case;label\ncase-0;1,0\n", "labels.csv:2: `1,0` is not a label"),
        ("", "labels.csv: the file is empty"),
    ] {
        let ran = agree(&directory, labels, &["-o", "json=found.json"]).exits(2).says(message);
        ran.says("NOT RUN: nothing was evaluated");
        let found = directory.read("found.json");
        assert!(found.starts_with("there is no agreement"), "{found}");
    }
    let about = "case,label,evaluator\ncase-0,pass,quality\n";
    agree(&directory, about, &["--about", "quality"]).exits(0);
    directory.file("others.csv", "case,label\ncase-1,fail\n");
    let files =
        ["agree", "labels.csv", "others.csv", "run.evalrun", "--about", "quality", "-o", "json"];
    assert_eq!(directory.evaluator(&files).exits(0).json()["labels"]["about_others"], 1);
}

#[test]
fn commands_that_compare_nothing_say_what_is_missing() {
    let directory = saved(&["yes", "no"], &[]);
    let labels = "case,label\ncase-0,pass\n";
    directory.file("labels.csv", labels);
    for (args, message) in [
        (&["run.evalrun"][..], "name the labels before the run"),
        (&["labels.csv", "labels.csv"], "labels.csv"),
        (
            &["labels.csv", "run.evalrun", "--evaluator", "chek"],
            "the run has no evaluator `chek`; it has check, response_match_score",
        ),
        (&["labels.csv", "run.evalrun", "--with", "x"], "the run has no evaluator `x`"),
        (&["labels.csv", "run.evalrun", "--label", "x"], "write WORD=MEANING"),
        (&["labels.csv", "run.evalrun", "--label", "pass=fail"], "`pass` has a meaning already"),
        (
            &["labels.csv", "run.evalrun", "-o", "xml"],
            "there is no form `xml`; the forms are table, json, markdown",
        ),
        (
            &["labels.csv", "run.evalrun", "-o", "json=labels.csv"],
            "labels.csv is an input of this command",
        ),
        (
            &["labels.csv", "run.evalrun", "--split", "test"],
            "no label has the split `test`; none has a `split`",
        ),
        (&["labels.csv", "run.evalrun", "--sheet", "s.csv"], "--sheet needs the run alone"),
        (&["labels.csv", "run.evalrun", "--sample", "3"], "required arguments were not provided"),
    ] {
        directory.evaluator(&[&["agree"], args].concat()).exits(2).says(message);
    }
    assert_eq!(directory.read("labels.csv"), labels);
}
