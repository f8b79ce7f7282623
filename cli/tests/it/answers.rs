//! Answers that must not count, though a score can be read from them. Warm workers are in the matrix of faults.

#![cfg(unix)]

use serde_json::Value;

use super::support::{Directory, Ran, trace};

/// Runs a program that gives this answer on five conversations of one turn.
fn answered(answer: &str) -> Ran {
    let directory = Directory::new();
    directory.file("answer", answer);
    directory.script("own", &format!("cat >/dev/null; cat {}/answer", directory.path().display()));
    directory.file("c.yaml", "evaluators: [{name: own, type: code, path: own}]");
    directory.run(&[&trace("i11_five_traces_plain"), "-c", "c.yaml", "-o", "json"])
}

#[track_caller]
fn breaks(answer: &str, kind: &str, message: &str) {
    let ran = answered(answer).exits(3);
    for conversation in 0..5 {
        assert_eq!(ran.evaluations(conversation), [format!("own ERROR {kind}")], "{answer}");
    }
    assert!(ran.error_of("own").contains(message), "{answer}: {}", ran.error_of("own"));
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], Value::Null, "{answer}");
}

#[track_caller]
fn passes(answer: &str) {
    assert_eq!(answered(answer).exits(0).evaluations(4), ["own PASSED"], "{answer}");
}

#[test]
fn an_error_next_to_a_score_is_one_whatever_it_says() {
    let silent = "does not say what went wrong";
    breaks(r#"{"score": 0.0, "error": ""}"#, "reported", silent);
    breaks(r#"{"score": 1.0, "error": {}}"#, "reported", silent);
    breaks(r#"{"error": [], "score": 1.0, "details": {"a": 1}}"#, "reported", silent);
    breaks(r#"{"score": 1.0, "error": "late"}"#, "reported", "late");
}

#[test]
fn no_error_is_not_an_error() {
    passes(r#"{"score": 1.0, "error": null}"#);
    passes(r#"{"score": 1.0, "error": false}"#);
}

#[test]
fn keys_that_are_not_read_get_a_warning_once() {
    for (answer, warning) in [
        (
            r#"{"score": 1, "detail": {}}"#,
            "the key `detail`, which is not read; did you mean `details`?",
        ),
        (
            r#"{"score": 1, "reason": "x"}"#,
            "the key `reason`, which is not read; a report shows what is under `details`",
        ),
        (
            r#"{"score": true, "a": 1, "b": 1, "c": 1, "d": 1}"#,
            "the keys `a`, `b`, `c` and 1 more, which are not read",
        ),
    ] {
        answered(answer).exits(0).says(warning);
    }
    // Keys of other hosts, and those without a meaning.
    for answer in
        [r#"{"score": "1", "status": null, "reasoning": "x"}"#, r#"{"score": 1, "_own": 1}"#]
    {
        let ran = answered(answer).exits(0);
        assert!(!ran.stderr.contains("not read"), "{}", ran.stderr);
    }
    let missing = "the field is missing; the object has `scores`, `reason`";
    breaks(r#"{"scores": 1, "reason": ""}"#, "bad_answer", missing);
}

#[test]
fn a_file_without_an_interpreter_is_an_error_however_it_is_started() {
    let directory = Directory::new();
    directory.script("plain", "");
    directory.file("plain", "echo '{\"score\": 1}'\n");
    let trace = trace("a01_otlp_basic_parts");
    for (limits, signals) in [("", ""), ("limits: {open_files: 64}", ""), ("", "trap '' HUP INT;")]
    {
        directory.file(
            "c.yaml",
            format!("evaluators: [{{name: plain, type: code, path: plain, {limits}}}]"),
        );
        let evaluator = env!("CARGO_BIN_EXE_evaluator");
        let ran = directory
            .sh(&format!("{signals} exec {evaluator} run '{trace}' -c c.yaml -o summary"))
            .exits(3);
        assert!(
            ran.stdout.contains("its first line does not name an interpreter"),
            "{limits} {signals} {}",
            ran.stdout
        );
    }
}

#[test]
fn a_text_report_says_what_to_do_about_a_program_that_says_nothing() {
    let directory = Directory::new();
    let result = "{\"score\": 1}";
    let silent = "exited with code 0 and produced no output on stdout (print one JSON document like {\"score\": 0.5} to stdout)";
    let line_ends = "carriage return; save the file with Unix line ends (LF)";
    let cases = [
        ("silent", "#!/bin/sh\n".to_owned(), silent),
        ("quiet", "#!/bin/sh\nexit 4\n".to_owned(), "exited with code 4 without any output"),
        (
            "late",
            format!("#!/bin/sh\necho '{result}'; exit 4\n"),
            "code 4; its result counts only with exit code 0",
        ),
        ("slow", "#!/bin/sh\nsleep 60\n".to_owned(), "raise `timeout` of its entry"),
        ("number", "#!/bin/sh\necho 0.5\n".to_owned(), "a bare number, not an object like"),
        ("python", "#!/bin/sh\necho \"{'score': 1}\"\n".to_owned(), "in Python with `json.dumps`"),
        ("crlf", format!("#!/bin/sh\r\necho '{result}'\r\n"), line_ends),
        ("env", "#!/usr/bin/env sh\r\n".to_owned(), "first line ends with a carriage return"),
        ("bom", "\u{feff}#!/bin/sh\n".to_owned(), "it starts with a byte order mark"),
        ("plain", format!("echo '{result}'\n"), "its first line does not name an interpreter"),
        (
            "gone",
            "#!/no/such\n".to_owned(),
            "the interpreter named in its first line is not: /no/such",
        ),
        ("empty", String::new(), "the file is empty"),
    ];
    let mut entries = String::from("evaluators:\n");
    for (name, text, _) in &cases {
        directory.script(name, "");
        directory.file(name, text);
        let timeout = if *name == "slow" { 1 } else { 60 };
        entries.push_str(&format!(
            "- {{name: {name}, type: code, path: {name}, timeout: {timeout}}}\n"
        ));
    }
    directory.file("c.yaml", entries);
    let ran = directory.run(&[&trace("a01_otlp_basic_parts"), "-c", "c.yaml", "-o", "summary"]);
    let report = ran.exits(3).stdout;
    for (name, _, expected) in cases {
        let line = report.lines().find(|line| line.contains(&format!("] {name}: ")));
        assert!(line.is_some_and(|line| line.contains(expected)), "{name}: {report}");
    }
}

#[test]
fn repeated_keys_are_errors_with_their_position() {
    breaks(
        r#"{"score": 0.1, "score": 0.9}"#,
        "bad_answer",
        "the key is repeated in the same object at line 1 column 16",
    );
    breaks(
        "{\"score\": 1,\n \"score\": 1}",
        "bad_answer",
        "the key is repeated in the same object at line 2 column 2",
    );
    breaks(
        r#"{"score": 1, "details": {"a": {"b": 1, "b": 2}}}"#,
        "bad_answer",
        "the key is repeated in the same object at line 1 column 40",
    );
}

#[test]
fn scores_of_another_number_of_turns_are_errors() {
    for scores in ["[1, 1]", "[null, 1]", "[0.5, 0.5, 0.5]"] {
        let answer = format!(r#"{{"score": 1, "per_invocation_scores": {scores}}}"#);
        breaks(
            &answer,
            "bad_answer",
            "scores for a conversation of 1 turn; give one for each turn",
        );
    }
    passes(r#"{"score": 1, "per_invocation_scores": []}"#);
    passes(r#"{"score": 1, "per_invocation_scores": [null]}"#);
}

#[test]
fn turns_that_were_left_out_are_missed() {
    let directory = Directory::new();
    directory
        .script("first", r#"cat >/dev/null; echo '{"score": 1, "per_invocation_scores": [1]}'"#);
    directory.file("c.yaml", "evaluators: [{name: first, type: code, path: first}]");
    let two_turns =
        format!("{}/tests/data/events/traces/k09_traj_two_turns.json", env!("CARGO_MANIFEST_DIR"));
    let session = ["--group-by", "conversation"];
    let ran = directory.run(&[&[&*two_turns, "-c", "c.yaml", "-o", "json"][..], &session].concat());
    let ran = ran.exits(3);
    let error = "per_invocation_scores: 1 score for a conversation of 2 turns; ";
    assert!(ran.error_of("first").contains(error), "{}", ran.error_of("first"));
}
