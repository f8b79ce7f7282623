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
