//! Whether an answer is right to the letter.

use evaluator_document::did_you_mean;
use serde_json::Value;

use super::inputs::THRESHOLD;
use crate::{
    process::Outcome,
    verdict::{BadAnswer, Evaluation, Verdict},
};

/// The keys of a result. A report of an error has `error`.
const KEYS: [&str; 5] = ["score", "status", "per_invocation_scores", "details", "error"];

/// Lines of an evaluator's stderr that are shown: enough for what Node.js has to say of a module that is missing.
const STDERR_LINES: usize = 30;

/// The SDK of the agentevals project.
const PYTHON_SDK: &str = "agentevals_evaluator_sdk";

/// What came of one run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// It ran, and this is wrong with its answer, if anything.
    Answered(Vec<String>),
    /// It did not run well.
    Broke(String),
    /// It could not run here, which is not its fault.
    Prevented(String),
}

/// Judges a run on a document with so many turns.
pub(super) fn judge(name: &str, outcome: &Outcome, turns: usize) -> Judged {
    let evaluation = Evaluation::from_outcome(outcome).for_turns(turns);
    let stderr = last_lines(&evaluation.stderr_tail);
    let explained = || {
        let what = evaluation.verdict.describe(name, "").unwrap_or_default();
        match stderr.lines().count() {
            0 => what,
            1 => format!("{what}: {stderr}"),
            _ => format!("{what}\n{stderr}"),
        }
    };
    match &evaluation.verdict {
        Verdict::Answer(answer) => {
            let mut complaints = answer.contradictions(THRESHOLD);
            complaints.extend(to_the_letter(outcome.stdout.head()));
            Judged::Answered(complaints)
        }
        Verdict::BadAnswer(bad) if *bad != BadAnswer::Empty => {
            Judged::Answered(vec![bad.to_string()])
        }
        Verdict::Cancelled => Judged::Prevented("it was interrupted".to_owned()),
        Verdict::Exited { .. } if stderr.contains(&format!("No module named '{PYTHON_SDK}'")) => {
            Judged::Prevented(format!(
                "the evaluator imports {PYTHON_SDK}, which this Python does not have; \
                 `python3 -m pip install agentevals-evaluator-sdk`, or set EVALUATOR_PYTHON to one that has it"
            ))
        }
        _ => Judged::Broke(explained()),
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(STDERR_LINES)..].join("\n")
}

/// What this host lets pass in an answer and another may not.
fn to_the_letter(answer: &[u8]) -> Vec<String> {
    let object = match serde_json::from_slice::<Value>(answer) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return vec!["the answer is not an object".to_owned()],
        Err(error) => return vec![format!("not every host can read it as JSON: {error}")],
    };
    let mut found = Vec::new();
    match object.get("score") {
        Some(Value::Number(_)) | None => {}
        Some(other) => found.push(format!("score: must be a number itself, not {other}")),
    }
    if let Some(Value::Array(scores)) = object.get("per_invocation_scores") {
        for (index, score) in scores.iter().enumerate() {
            if !(score.is_number() || score.is_null()) {
                found.push(format!(
                    "per_invocation_scores[{index}]: must be a number itself, or null, not {score}"
                ));
            }
        }
    }
    for key in object.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        // A key of its own is an evaluator's own business; one that stands for a key that is not there is a slip.
        let absent = KEYS.into_iter().filter(|known| !object.contains_key(*known));
        found.extend(
            did_you_mean(key, absent).map(|hint| format!("{key}: no host reads this key; {hint}")),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::process::{Captured, Ending};

    fn judged(ending: Ending, stdout: &str, stderr: &str) -> Judged {
        let outcome = Outcome {
            ending,
            stdout: Captured::complete(stdout),
            stderr: Captured::complete(stderr),
            unsent: 0,
            duration: Duration::ZERO,
        };
        judge("polite", &outcome, 2)
    }

    fn complaints(stdout: &str) -> String {
        match judged(Ending::Exited(0), stdout, "") {
            Judged::Answered(complaints) => complaints.join("; "),
            other => panic!("{stdout}: {other:?}"),
        }
    }

    #[test]
    fn good_answers() {
        for answer in [
            r#"{"score": 1}"#,
            r#"{"score": 0.0, "status": null, "details": null, "per_invocation_scores": []}"#,
            r#"{"score": 0.5, "per_invocation_scores": [1, null], "details": {"a": 1}, "status": "PASSED"}"#,
            r#"{"score": 0.5, "status": "NOT_EVALUATED", "reason": "mine"}"#,
        ] {
            assert_eq!(complaints(answer), "", "{answer}");
        }
    }

    #[test]
    fn answers_that_only_some_hosts_take() {
        for (answer, expected) in [
            (r#"{"score": "0.5"}"#, r#"score: must be a number itself, not "0.5""#),
            (r#"{"score": true}"#, "score: must be a number itself, not true"),
            (
                r#"{"score": 1, "per_invocation_scores": [true, "1"]}"#,
                "per_invocation_scores[0]: must be a number itself, or null, not true; \
                 per_invocation_scores[1]: must be a number itself, or null, not \"1\"",
            ),
            (
                r#"{"score": 1, "detail": {}}"#,
                "detail: no host reads this key; did you mean `details`?",
            ),
            (
                r#"{"score": 1, "details": {"a": NaN}}"#,
                "not every host can read it as JSON: expected value at line 1 column 31",
            ),
        ] {
            assert_eq!(complaints(answer), expected);
        }
    }

    #[test]
    fn answers_that_no_host_takes() {
        for (answer, expected) in [
            (r#"{"score": 1.5}"#, "score: expected a number from 0 to 1, found 1.5"),
            ("{}", "score: a number from 0 to 1 is required, but the field is missing"),
            (r#"{"score": 1, "status": "FAILED"}"#, "it says FAILED"),
            (
                r#"{"score": 1, "per_invocation_scores": [1, 1, 1]}"#,
                "per_invocation_scores: 3 scores for a conversation of 2 turns; give one for each turn",
            ),
            (
                r#"{"score": 1, "per_invocation_scores": [1]}"#,
                "per_invocation_scores: 1 score for a conversation of 2 turns; ",
            ),
            (
                r#"{"score": 1, "score": 1}"#,
                "the key is repeated in the same object at line 1 column 14 (byte 13): ",
            ),
            (r#"{"score": 1, "per_invocation_scores": [2, 1]}"#, "it scores turn 1 with 2"),
            ("log\n{}", "expected a value at line 1"),
        ] {
            assert!(complaints(answer).starts_with(expected), "{answer}: {}", complaints(answer));
        }
    }

    #[test]
    fn what_keeps_it_from_answering() {
        let broke = |ending, stdout, stderr| match judged(ending, stdout, stderr) {
            Judged::Broke(problem) => problem,
            other => panic!("{other:?}"),
        };
        assert!(broke(Ending::Exited(0), "", "").contains("produced no output"));
        assert!(broke(Ending::Exited(2), r#"{"score": 1}"#, "boom").contains("code 2: boom"));
        assert!(broke(Ending::Exited(0), r#"{"error": "no"}"#, "").contains("reported an error"));
        let missing = "ModuleNotFoundError: No module named 'agentevals_evaluator_sdk'";
        assert!(matches!(judged(Ending::Exited(1), "", missing), Judged::Prevented(_)));
        assert!(matches!(judged(Ending::Cancelled, "", ""), Judged::Prevented(_)));
    }
}
