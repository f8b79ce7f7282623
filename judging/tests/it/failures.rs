//! What is reported if the judge fails: each way in which it fails, by default and as agentevals treats it.

use evaluator_judging::judge::OnFailure;
use evaluator_metrics::Outcome;

use crate::{INVALID, VALID, lines, matched, scripted, session, turns};

/// Result of a conversation of one turn.
#[derive(Debug, PartialEq)]
enum Expected {
    Scored(f64),
    NotEvaluated,
    /// An error whose text contains this.
    Failed(&'static str),
}

use Expected::{Failed, NotEvaluated, Scored};

fn judged(replies: &[String], samples: u32, is_lenient: bool) -> Outcome {
    let place = tempfile::tempdir().unwrap();
    let mut settings = scripted(&place, replies);
    settings.samples = Some(samples);
    if is_lenient {
        settings.errors = Some(OnFailure::NotEvaluated);
        settings.min_readable = Some(1);
    }
    let connection = session(settings).connect("e", &Default::default()).unwrap();
    matched(&connection, &turns(1)).outcome
}

fn check(name: &str, outcome: &Outcome, expected: &Expected) {
    let is_it = match (outcome, expected) {
        (Outcome::Scored(scored), Scored(score)) => scored.score == *score,
        (Outcome::NotEvaluated { .. }, NotEvaluated) => true,
        (Outcome::Failed { reason }, Failed(text)) => reason.contains(text),
        _ => false,
    };
    assert!(is_it, "{name}: {outcome:?} instead of {expected:?}");
}

#[test]
fn one_sample() {
    let text = |text: &str| serde_json::to_string(text).unwrap();
    let cut_off = format!(r#"{{"text": {}, "finish": "length"}}"#, text(VALID));
    let thought = format!(
        r#"{{"parts": [{{"text": {}, "thought": true}}, {{"text": {}}}]}}"#,
        text(INVALID),
        text(VALID)
    );
    let rows: [(&str, String, Expected, Expected); 14] = [
        ("good reply", text(VALID), Scored(1.0), Scored(1.0)),
        ("bad answer", text(INVALID), Scored(0.0), Scored(0.0)),
        ("call fails", r#"{"error": "503"}"#.into(), Failed("sample 1: unavailable"), NotEvaluated),
        ("timeout", r#"{"timeout": true}"#.into(), Failed("sample 1: timeout"), NotEvaluated),
        ("no reply", r#"{"nothing": true}"#.into(), Failed("did not reply"), NotEvaluated),
        ("empty text", text(""), Failed("unreadable reply"), NotEvaluated),
        ("null", r#"{"content": null}"#.into(), Failed("unreadable reply"), NotEvaluated),
        (
            "content filter",
            r#"{"content": null, "finish_reason": "SAFETY"}"#.into(),
            Failed("sample 1: blocked"),
            NotEvaluated,
        ),
        (
            "refusal",
            r#"{"text": "", "finish": "refusal"}"#.into(),
            Failed("sample 1: refused"),
            NotEvaluated,
        ),
        (
            "tool call",
            r#"{"text": "", "finish": "tool_calls"}"#.into(),
            Failed("a tool call instead of text"),
            NotEvaluated,
        ),
        (
            "cut off, label missing",
            r#"{"text": "The ans", "finish": "length"}"#.into(),
            Failed("cut off"),
            NotEvaluated,
        ),
        // ADK reads the label of a reply that was cut off, and thoughts. Neither is read here.
        ("cut off, label complete", cut_off, Failed("cut off"), NotEvaluated),
        ("thinking holds another label", thought, Scored(1.0), Scored(1.0)),
        ("prose", text("It is fine."), Failed("It is fine."), NotEvaluated),
    ];
    for (name, reply, ours, lenient) in rows {
        let replies = [reply];
        check(name, &judged(&replies, 1, false), &ours);
        check(name, &judged(&replies, 1, true), &lenient);
    }
}

#[test]
fn several_samples() {
    let error = r#"{"error": "429"}"#.to_owned();
    let blocked = r#"{"content": null, "finish_reason": "SAFETY"}"#.to_owned();
    let with = |replies: &[&str], more: &[&String]| {
        let more = more.iter().map(|line| (*line).clone());
        lines(replies).into_iter().chain(more).collect::<Vec<_>>()
    };
    let rows: [(&str, Vec<String>, Expected, Expected); 5] = [
        ("one of five calls fails", with(&[VALID; 4], &[&error]), Failed("sample 5"), NotEvaluated),
        (
            "one is blocked",
            with(&[VALID; 4], &[&blocked]),
            Failed("sample 5: blocked"),
            Scored(1.0),
        ),
        (
            "one is readable",
            lines(&[VALID, "?", "?", "?", "?"]),
            Failed("too few readable replies (1 of 5)"),
            Scored(1.0),
        ),
        ("three are readable", lines(&[VALID, VALID, INVALID, "?", "?"]), Scored(1.0), Scored(1.0)),
        (
            "a tie is negative",
            lines(&[VALID, VALID, INVALID, INVALID, "?"]),
            Scored(0.0),
            Scored(0.0),
        ),
    ];
    for (name, replies, ours, lenient) in rows {
        check(name, &judged(&replies, 5, false), &ours);
        check(name, &judged(&replies, 5, true), &lenient);
    }
}
