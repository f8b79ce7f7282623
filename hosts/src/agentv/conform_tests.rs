//! Records of real releases of AgentV, row by row.

use serde_json::{Value, json};

use super::{
    super::super::conform::testing::{data, ended, printed},
    *,
};
use crate::process::Captured;
use std::time::Duration;

const GENERATIONS: [(Generation, &str); 3] =
    [(Generation::V2, "v2.5.1"), (Generation::V4, "v4.42.4"), (Generation::V5, "v5_head")];

/// Returns the process of a measured row.
fn run(row: &Value) -> process::Outcome {
    let code = |key: &str| i32::try_from(row[key].as_i64().unwrap()).unwrap();
    let ending = match row["name"].as_str().unwrap() {
        "timeout" => Ending::TimedOut { limit: Duration::from_secs(2) },
        // Recorded like an exit code without output.
        name @ ("missing_command" | "not_executable") => Ending::Lost { reason: name.to_owned() },
        _ if row["signal"].is_number() => Ending::Signalled(code("signal")),
        _ => Ending::Exited(code("exit")),
    };
    let stdout = row["stdout"].as_str().unwrap_or_default();
    let stdout = if row["name"] == "badutf8" {
        stdout.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
    } else {
        stdout.as_bytes().to_vec()
    };
    ended(ending, &stdout, row["stderr"].as_str().unwrap_or_default())
}

fn texts(rows: &[Row], passed: bool) -> Value {
    rows.iter().filter(|row| row.passed == Some(passed)).map(|row| row.text.clone()).collect()
}

/// Compares a record with the measured one.
fn check(generation: Generation, row: &Value, wanted: &Value) {
    let name = format!("{} under {generation:?}", row["name"]);
    let got = recorded(generation, &run(row));
    let score = got.score.unwrap();
    assert!((score - wanted["score"].as_f64().unwrap()).abs() < 1e-9, "{name}: {got:?}");
    let status = match generation {
        Generation::V2 => &wanted["verdict"],
        _ => &wanted["execution_status"],
    };
    assert_eq!(status, got.status.unwrap(), "{name}");
    if got.message.as_deref().is_some_and(|message| message.contains("is not available")) {
        // Node.js has its own message for a program that cannot be started.
        return;
    }
    match generation {
        Generation::V2 => {
            assert_eq!(wanted["hits"], texts(&got.rows, true), "{name}");
            assert_eq!(wanted["misses"], texts(&got.rows, false), "{name}");
            assert_eq!(
                wanted.get("reasoning").cloned().unwrap_or_default(),
                json!(got.message),
                "{name}"
            );
        }
        Generation::V4 => {
            let rows: Vec<Value> = got
                .rows
                .iter()
                .map(|row| match &row.note {
                    Some(note) => json!({"text": row.text, "passed": row.passed, "evidence": note}),
                    None => json!({"text": row.text, "passed": row.passed}),
                })
                .collect();
            assert_eq!(wanted["assertions"], json!(rows), "{name}");
        }
        Generation::V5 => {
            if let Some(checks) = wanted["checks"].as_array().filter(|checks| !checks.is_empty()) {
                let kept: Vec<_> = checks
                    .iter()
                    .map(|check| {
                        (check["text"].clone(), check["pass"].clone(), check["reason"].clone())
                    })
                    .collect();
                let got: Vec<_> = got
                    .rows
                    .iter()
                    .map(|row| (json!(row.text), json!(row.passed), json!(row.note)))
                    .collect();
                assert_eq!(kept, got, "{name}");
            }
            let reason = wanted["reason"].as_str().filter(|reason| !reason.starts_with("Grader "));
            // Written by hand into its result file, where it shows the text of a row that is not kept.
            if let Some(reason) = reason.filter(|_| row["name"] != "badutf8") {
                assert_eq!(Some(reason), got.message.as_deref(), "{name}");
            }
        }
    }
}

#[test]
fn every_program_is_recorded_as_it_was_by_the_real_releases() {
    let rows = data("agentv-outcomes");
    let mut seen = 0;
    for row in rows.as_array().unwrap() {
        for (generation, key) in GENERATIONS {
            if let Some(wanted) = row["recorded"].get(key) {
                check(generation, row, wanted);
                seen += 1;
            }
        }
    }
    assert_eq!((rows.as_array().unwrap().len(), seen > 140), (55, true), "{seen}");
}

fn outcomes(run: &process::Outcome) -> [Outcome; 3] {
    GENERATIONS.map(|(generation, _)| recorded(generation, run).outcome)
}

#[test]
fn what_is_no_judgement_is_told_from_what_is() {
    use Outcome::{HostDies, LooksFailed as Failed, LooksPassed as Passed, Lost, Recorded as Kept};
    for (stdout, wanted) in [
        (r#"{"score":0.3}"#, [Kept; 3]),
        (r#"{"score":0.9,"hits":["a"]}"#, [Kept, Lost, Lost]),
        (r#"{"score":0.9,"assertions":[{"text":"a","passed":true}]}"#, [Lost, Kept, Lost]),
        (r#"{"score":0.9,"checks":[{"text":"a","pass":true,"reason":"r"}]}"#, [Lost, Lost, Kept]),
        (r#"{"score":0.9,"checks":[{"text":"a","pass":true}]}"#, [Lost; 3]),
        (r#"{"pass":false,"score":0.9}"#, [Passed; 3]),
        (r#"{"pass":true,"score":0.3}"#, [Kept; 3]),
        (r#"{"score":1.7}"#, [Passed; 3]),
        (r#"{"score":-3}"#, [Failed; 3]),
        (r#"{"score":1e999}"#, [Failed; 3]),
        (r#"{"score":"0.9"}"#, [Failed; 3]),
        (r#"{"score":"0.3","assertions":[{"text":"a","passed":true}]}"#, [Failed, Lost, Failed]),
        (r#"{"score":"0.3","pass":true}"#, [Failed, Failed, Lost]),
        (r#"{"score":NaN}"#, [Failed, Passed, Passed]),
        ("", [Failed, Passed, Passed]),
        ("log\n{\"score\":0.1}", [Failed, Passed, Passed]),
        (r#"{"pass":true}"#, [Failed, Failed, Kept]),
        (r#"{"assertions":[{"text":"a","passed":true}]}"#, [Failed, Kept, Failed]),
        ("{}", [Failed; 3]),
    ] {
        assert_eq!(outcomes(&printed(stdout)), wanted, "{stdout}");
    }
    assert_eq!(outcomes(&ended(Ending::Signalled(6), b"", "panicked")), [Failed, Passed, Passed]);
    assert_eq!(outcomes(&ended(Ending::Exited(1), br#"{"score":0.9}"#, "")), [Lost; 3]);
    assert_eq!(outcomes(&ended(Ending::Exited(1), b"", "why")), [Failed; 3]);
    let unread = process::Outcome { unsent: 1, ..printed(r#"{"score":0.9}"#) };
    assert_eq!(outcomes(&unread), [HostDies; 3]);
}

#[test]
fn of_a_long_message_the_end_is_kept() {
    let long = "x".repeat(3000) + "end";
    let run =
        process::Outcome { stderr: Captured::complete(long), ..ended(Ending::Exited(1), b"", "") };
    let message = recorded(Generation::V2, &run).message.unwrap();
    assert!(message.ends_with("xend"));
    assert_eq!(message.len(), "Code evaluator exited with code 1: ".len() + 2000);
}
