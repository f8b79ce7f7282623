//! AgentV: code judges, code graders, scripts.
//!
//! | the program does | 2.5.1 | 4.42.4 | 5 |
//! |---|---|---|---|
//! | one object, exit 0 | `score`, `hits`, `misses` | `score`, `assertions` | `score`, `pass`, `checks` |
//! | anything else, exit 0 | 0, no message | **1** | **1** |
//! | is ended by a signal | read as if it had ended with 0 | the same | the same |
//! | text, exit not 0, no message | 0, the code | 0, the text | 0, the text |
//! | `{..` or `[..`, exit not 0 | 0, thrown away | the same | the same |
//! | message, exit not 0 | 0, the end of the message | the same | the same |
//! | ends without reading | the host may end | the same | the same |
//!
//! Whether a case passes is decided by its score alone, 0.8 or more unless another threshold is set.

mod rows;
#[cfg(test)]
mod tests;

use super::super::{
    Fate, Recorded, Row,
    recorded::disguise,
    reply::{javascript_json, javascript_text, message, number, untimely},
};
use crate::{
    json::{Object, Value},
    process::{Ending, Outcome},
};

/// Releases that read answers in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    V2,
    V4,
    V5,
}

/// Scores from here on pass.
const PASSES: f64 = 0.8;

/// Scores from here on are borderline in 2.5.1.
const BORDERLINE: f64 = 0.6;

/// Characters of standard error that are kept, from its end.
const MESSAGE: usize = 2000;

pub(super) fn recorded(generation: Generation, outcome: &Outcome) -> Recorded {
    let text = javascript_text(outcome.stdout.head());
    let record = match &outcome.ending {
        Ending::Exited(0) => answered(generation, &text),
        // Node.js gives no exit code then, and none counts as 0.
        Ending::Signalled(signal) => {
            let record = answered(generation, &text);
            let remark = format!("death by signal {signal} counts as exit code 0");
            match &record.remark {
                Some(more) => {
                    let remark = format!("{remark}; {more}");
                    record.because(remark)
                }
                None => record.because(remark),
            }
        }
        Ending::Exited(code) => failed(generation, *code, &text, message(outcome)),
        Ending::TimedOut { limit } => {
            broke(generation, &format!("Process timed out after {}ms", limit.as_millis()))
        }
        other => broke(generation, &untimely(other).unwrap_or_default()),
    };
    let ended = !matches!(outcome.ending, Ending::SpawnFailed(_) | Ending::Cancelled);
    let record = Recorded { status: Some(status(generation, record.score)), ..record };
    if ended && outcome.unsent > 0 {
        let remark = "it did not read its input to the end: the host writes it without minding broken pipes, \
                      and may end, with all cases that are not finished";
        return Recorded { fate: Fate::HostDies, ..record.because(remark) };
    }
    record
}

fn status(generation: Generation, score: Option<f64>) -> &'static str {
    let score = score.unwrap_or_default();
    match generation {
        Generation::V2 if score >= PASSES => "pass",
        Generation::V2 if score >= BORDERLINE => "borderline",
        Generation::V2 => "fail",
        Generation::V4 | Generation::V5 if score >= PASSES => "ok",
        Generation::V4 | Generation::V5 => "quality_failure",
    }
}

/// What is recorded of text on standard output that came with exit code 0.
fn answered(generation: Generation, text: &str) -> Recorded {
    if let Some(Value::Object(object)) = javascript_json(text) {
        return scored(generation, &object);
    }
    let remark = "standard output is not one JSON object";
    if generation == Generation::V2 {
        return Recorded::with_score(Fate::LooksFailed, 0.0).because(remark);
    }
    let row = Row { text: text_or(text, 0), passed: Some(true), ..Row::default() };
    Recorded { rows: vec![row], ..Recorded::with_score(Fate::LooksPassed, 1.0) }
        .because(format!("{remark}, so the exit code 0 counts as a success"))
}

fn text_or(text: &str, code: i32) -> String {
    if text.is_empty() { format!("exit {code}") } else { text.to_owned() }
}

fn failed(generation: Generation, code: i32, text: &str, message: Option<String>) -> Recorded {
    let is_json = text.starts_with(['{', '[']);
    if generation != Generation::V2 && !is_json && message.is_none() {
        let row = Row { text: text_or(text, code), passed: Some(false), ..Row::default() };
        return Recorded { rows: vec![row], ..Recorded::with_score(Fate::LooksFailed, 0.0) };
    }
    let who = if generation == Generation::V5 { "Script" } else { "Code" };
    let mut reason = format!("{who} evaluator exited with code {code}");
    if let Some(message) = message {
        let skipped = message.chars().count().saturating_sub(MESSAGE);
        reason.push_str(": ");
        reason.extend(message.chars().skip(skipped));
    }
    let record = broke(generation, &reason);
    if is_json {
        let remark = format!("what it printed is thrown away, as it ended with exit code {code}");
        return Recorded { fate: Fate::Lost, ..record.because(remark) };
    }
    record
}

/// An evaluation that broke, which is recorded as a score of 0 with the reason.
fn broke(generation: Generation, reason: &str) -> Recorded {
    let record = Recorded::with_score(Fate::LooksFailed, 0.0);
    let failed = |text: String| Row { text, passed: Some(false), ..Row::default() };
    match generation {
        Generation::V2 | Generation::V4 => Recorded {
            rows: vec![failed(format!("Code evaluator failed: {reason}"))],
            message: Some(reason.to_owned()),
            ..record
        },
        Generation::V5 => Recorded {
            rows: vec![Row {
                score: Some(0.0),
                note: Some(reason.to_owned()),
                ..failed("Script evaluator execution".to_owned())
            }],
            message: Some(format!("Script evaluator failed: {reason}")),
            ..record
        },
    }
}

/// What is recorded of an object.
fn scored(generation: Generation, object: &Object) -> Recorded {
    let given = object.get("score").and_then(number);
    let rows = rows::of(generation, object);
    let pass = object.get("pass").and_then(Value::as_bool);
    let checks = object.get("checks").and_then(Value::as_array);
    let score = match (generation, given) {
        (_, Some(given)) => Some(clamped(given)),
        (Generation::V4, None) if !rows.kept.is_empty() => Some(share_of_passed(&rows.kept)),
        (Generation::V5, None) if checks.is_some() && !rows.kept.is_empty() => {
            Some(mean(&rows.kept))
        }
        (Generation::V5, None) => pass.map(|pass| f64::from(u8::from(pass))),
        (Generation::V2 | Generation::V4, None) => None,
    };
    let Some(score) = score else {
        if generation == Generation::V5 {
            return broke(
                generation,
                "Script evaluator JSON must include pass, score, or checks[]",
            )
            .because("there is no score that is a number");
        }
        return Recorded { rows: rows.kept, ..Recorded::with_score(Fate::LooksFailed, 0.0) }
            .because("there is no score that is a number, which counts as 0");
    };
    let message = match generation {
        Generation::V2 => object.get("reasoning").and_then(Value::as_str).map(str::to_owned),
        Generation::V4 => None,
        Generation::V5 => {
            let first = rows.kept.iter().find(|row| row.passed == Some(false));
            let own = object.get("reason").and_then(Value::as_str).map(str::to_owned);
            own.or_else(|| first.and_then(|row| row.note.clone()))
        }
    };
    let record =
        Recorded { rows: rows.kept, message, ..Recorded::with_score(Fate::Recorded, score) };
    match given {
        Some(given) if !(0.0..=1.0).contains(&given) => {
            let remark = format!("the score {given} is not in 0..=1, and recorded as {score}");
            Recorded { fate: disguise(score >= PASSES), ..record.because(remark) }
        }
        _ if pass == Some(false) && score >= PASSES => {
            let remark = format!("it says `pass: false`, but the score {score} alone decides");
            Recorded { fate: Fate::LooksPassed, ..record.because(remark) }
        }
        None if object.get("score").is_some_and(|score| !score.is_null()) => {
            let remark = format!("the score is not a number; {score} is made of the rest");
            Recorded { fate: Fate::Lost, ..record.because(remark) }
        }
        _ => match rows.lost {
            Some(lost) => Recorded { fate: Fate::Lost, ..record.because(lost) },
            None => record,
        },
    }
}

/// A score as it is recorded: within 0..=1, and 0 if it is no finite number.
fn clamped(score: f64) -> f64 {
    if score.is_finite() { score.clamp(0.0, 1.0) } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "nobody writes so many rows")]
fn share_of_passed(rows: &[Row]) -> f64 {
    rows.iter().filter(|row| row.passed == Some(true)).count() as f64 / rows.len() as f64
}

/// Rows without a score count 1 or 0.
#[expect(clippy::cast_precision_loss, reason = "nobody writes so many rows")]
fn mean(rows: &[Row]) -> f64 {
    let of = |row: &Row| row.score.unwrap_or(f64::from(u8::from(row.passed == Some(true))));
    clamped(rows.iter().map(of).sum::<f64>() / rows.len() as f64)
}
