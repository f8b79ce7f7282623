//! Conformance to AgentV: code judges, code graders, scripts.
//!
//! | the program does | 2.5.1 | 4.42.4 | 5 |
//! |---|---|---|---|
//! | one object, exit 0 | `score`, `hits`, `misses` | `score`, `assertions` | `score`, `pass`, `checks` |
//! | anything else, exit 0 | 0, no message | **1** | **1** |
//! | is ended by a signal | like an exit code of 0 | the same | the same |
//! | text, exit not 0, no message | 0, the code | 0, the text | 0, the text |
//! | `{..` or `[..`, exit not 0 | 0, discarded | the same | the same |
//! | message, exit not 0 | 0, the end of the message | the same | the same |
//! | exits without reading | the host may terminate | the same | the same |
//!
//! Only the score decides whether a case passes: 0.8 or more, unless another threshold is set.

use super::{
    super::conform::{
        Base, Case, Outcome, Recorded, Release, Row, Suite, data, disguise, javascript_json,
        javascript_text, message, number, untimely,
    },
    document::snake_case,
};
use crate::{
    json::{NonFinite, Object, Value, to_string},
    process::{self, Ending},
};

const V2: &str = "agentv-2.5.1";
const V4: &str = "agentv-4.42.4";
const V5: &str = "agentv-5";

/// Suite of AgentV, which indents by two spaces and writes no line end; `agentv pipeline grade` writes one line.
pub(super) const SUITE: Suite = Suite {
    releases: &[
        release(V2, "AgentV 2.5.1", |run, _| recorded(Generation::V2, run)),
        release(V4, "AgentV 4.42.4", |run, _| recorded(Generation::V4, run)),
        release(V5, "AgentV 5", |run, _| recorded(Generation::V5, run)),
    ],
    bases: &BASES,
    documents,
    with_settings,
};

const BASES: [Base; 2] = [
    base(&[V2], data!("agentv2-plain"), "The last train to Basel leaves at 23:38."),
    base(&[V4, V5], data!("agentv4-plain"), "I will look it up."),
];

const fn base(releases: &'static [&'static str], text: &'static str, grows: &'static str) -> Base {
    Base { releases, text, turns: 1, end: "", grows, odd: None }
}

const fn release(
    name: &'static str,
    title: &'static str,
    record: fn(&process::Outcome, usize) -> Recorded,
) -> Release {
    Release { host: "agentv", name, title, scores_everything: true, record }
}

fn documents() -> Vec<Case> {
    let mut cases = BASES[0].documents().to_vec();
    cases.extend([
        Case::document("few keys", &[V2], 1, data!("agentv2-partial")),
        Case::document("empty", &[V2], 1, data!("agentv2-empty")),
        Case::document("nulls", &[V2], 1, data!("agentv2-nulls")),
        Case::document("content blocks", &[V2], 1, data!("agentv2-blocks")),
        // Releases 4 and 5 send different plain documents, and write a large answer to a file.
        Case::document("plain", &[V4], 1, data!("agentv4-plain")),
        Case::document("plain", &[V5], 1, data!("agentv5-plain")),
        Case::document("nulls", &[V4, V5], 1, data!("agentv4-nulls")),
        Case::document("empty", &[V5], 1, data!("agentv5-empty")),
        Case::document("content blocks", &[V4, V5], 1, data!("agentv4-blocks")),
        Case::document("camelCase, pipeline grade", &[V4], 1, data!("agentv4-pipeline")),
        Case::document("camelCase, eval assert", &[V4], 1, data!("agentv4-assert")),
        Case::file_backed("large, answer in a file", &[V4, V5], data!("agentv4-file")),
    ]);
    cases
}

/// Adds settings as `config`, with keys in snake_case except in documents of `agentv pipeline grade`.
fn with_settings(text: &str, settings: &Object) -> String {
    let settings = Value::Object(settings.clone());
    let config = |settings: &Value| format!("\"config\": {}", to_string(settings, NonFinite::Null));
    text.replacen(r#""config":null"#, &config(&settings), 1).replacen(
        r#""config": null"#,
        &config(&snake_case(&settings)),
        1,
    )
}

/// Releases that read answers in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Generation {
    V2,
    V4,
    V5,
}

/// Score from which on a case passes.
const PASSES: f64 = 0.8;

/// Score from which on a case is borderline in 2.5.1.
const BORDERLINE: f64 = 0.6;

/// Number of characters at the end of standard error that are kept.
const MESSAGE: usize = 2000;

fn recorded(generation: Generation, run: &process::Outcome) -> Recorded {
    let text = javascript_text(run.stdout.head());
    let record = match &run.ending {
        Ending::Exited(0) => answered(generation, &text),
        // Node.js reports no exit code then, which counts as 0.
        Ending::Signalled(signal) => {
            let record = answered(generation, &text);
            let more = record.remark.iter().map(|remark| format!("; {remark}")).collect::<String>();
            record.with_remark(format!("death by signal {signal} counts as exit code 0{more}"))
        }
        Ending::Exited(code) => failed(generation, *code, &text, message(run)),
        Ending::TimedOut { limit } => {
            broke(generation, &format!("Process timed out after {}ms", limit.as_millis()))
        }
        other => broke(generation, &untimely(other).unwrap_or_default()),
    };
    let ended = !matches!(run.ending, Ending::SpawnFailed(_) | Ending::Cancelled);
    let record = Recorded { status: Some(status(generation, record.score)), ..record };
    if ended && run.unsent > 0 {
        let remark = "it did not read its input to the end: the host does not handle broken pipes, and may \
                      terminate with all unfinished cases";
        return record.reclassified(Outcome::HostDies, remark);
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

/// Returns the record of standard output with exit code 0.
fn answered(generation: Generation, text: &str) -> Recorded {
    if let Some(Value::Object(object)) = javascript_json(text) {
        return scored(generation, &object);
    }
    let remark = "standard output is not one JSON object";
    if generation == Generation::V2 {
        return Recorded::with_score(Outcome::LooksFailed, 0.0).with_remark(remark);
    }
    let row = Row { text: text_or(text, 0), passed: Some(true), ..Row::default() };
    Recorded { rows: vec![row], ..Recorded::with_score(Outcome::LooksPassed, 1.0) }
        .with_remark(format!("{remark}, so the exit code 0 counts as a success"))
}

fn text_or(text: &str, code: i32) -> String {
    if text.is_empty() { format!("exit {code}") } else { text.to_owned() }
}

fn failed(generation: Generation, code: i32, text: &str, message: Option<String>) -> Recorded {
    let is_json = text.starts_with(['{', '[']);
    if generation != Generation::V2 && !is_json && message.is_none() {
        let row = Row { text: text_or(text, code), passed: Some(false), ..Row::default() };
        return Recorded { rows: vec![row], ..Recorded::with_score(Outcome::LooksFailed, 0.0) };
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
        let remark = format!("its output is discarded, because it exited with code {code}");
        return record.reclassified(Outcome::Lost, remark);
    }
    record
}

/// Returns the record of a broken evaluation: a score of 0 with the reason.
fn broke(generation: Generation, reason: &str) -> Recorded {
    let record = Recorded::with_score(Outcome::LooksFailed, 0.0);
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

/// Returns the record of an object.
fn scored(generation: Generation, object: &Object) -> Recorded {
    let given = object.get("score").and_then(number);
    let rows = rows_of(generation, object);
    let pass = object.get("pass").and_then(Value::as_bool);
    let score = match (generation, given) {
        (_, Some(given)) => Some(clamped(given)),
        (Generation::V4 | Generation::V5, None) if !rows.kept.is_empty() => Some(mean(&rows.kept)),
        (Generation::V5, None) => pass.map(|pass| f64::from(u8::from(pass))),
        (Generation::V2 | Generation::V4, None) => None,
    };
    let Some(score) = score else {
        if generation == Generation::V5 {
            return broke(
                generation,
                "Script evaluator JSON must include pass, score, or checks[]",
            )
            .with_remark("there is no score that is a number");
        }
        return Recorded { rows: rows.kept, ..Recorded::with_score(Outcome::LooksFailed, 0.0) }
            .with_remark("there is no score that is a number, which counts as 0");
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
        Recorded { rows: rows.kept, message, ..Recorded::with_score(Outcome::Recorded, score) };
    match given {
        Some(given) if !(0.0..=1.0).contains(&given) => {
            let remark = format!("the score {given} is not in 0..=1, and recorded as {score}");
            record.reclassified(disguise(score >= PASSES), remark)
        }
        _ if pass == Some(false) && score >= PASSES => {
            let remark = format!("it says `pass: false`, but the score {score} alone decides");
            record.reclassified(Outcome::LooksPassed, remark)
        }
        None if object.get("score").is_some_and(|score| !score.is_null()) => {
            let remark = format!("the score is not a number; {score} is made of the rest");
            record.reclassified(Outcome::Lost, remark)
        }
        _ => match rows.lost {
            Some(lost) => record.reclassified(Outcome::Lost, lost),
            None => record,
        },
    }
}

/// Returns a score as it is recorded: within `0..=1`, and 0 if it is not finite.
fn clamped(score: f64) -> f64 {
    if score.is_finite() { score.clamp(0.0, 1.0) } else { 0.0 }
}

/// Returns the mean score of rows; those without a score count 1 or 0.
#[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^53 rows")]
fn mean(rows: &[Row]) -> f64 {
    let of = |row: &Row| row.score.unwrap_or(f64::from(u8::from(row.passed == Some(true))));
    clamped(rows.iter().map(of).sum::<f64>() / rows.len() as f64)
}

/// Rows of an answer.
struct Rows {
    kept: Vec<Row>,
    /// Remark about rows that are not kept.
    lost: Option<String>,
}

/// Returns the rows that a generation keeps: those under its own keys, in its own form.
fn rows_of(generation: Generation, object: &Object) -> Rows {
    let items = |key: &str| object.get(key).and_then(Value::as_array).unwrap_or_default();
    let (own, kept): (&[&str], Vec<Row>) = match generation {
        Generation::V2 => (
            &["hits", "misses"],
            [("hits", true), ("misses", false)]
                .into_iter()
                .flat_map(|(key, passed)| {
                    items(key).iter().filter_map(move |item| hit_or_miss(item, passed))
                })
                .collect(),
        ),
        Generation::V4 => {
            (&["assertions"], items("assertions").iter().filter_map(assertion).collect())
        }
        Generation::V5 => (&["checks"], items("checks").iter().filter_map(check).collect()),
    };
    let written: usize = own.iter().map(|key| items(key).len()).sum();
    let elsewhere = ["hits", "misses", "assertions", "checks"]
        .into_iter()
        .find(|key| !own.contains(key) && !items(key).is_empty());
    let lost = match (written - kept.len(), elsewhere) {
        (1.., _) => Some(format!(
            "{} of {written} rows of `{}` do not have the form that is read, and are dropped",
            written - kept.len(),
            own.join("` and `"),
        )),
        (0, Some(key)) if written == 0 => Some(format!(
            "the rows of `{key}` are lost: only `{}` {} read",
            own.join("` and `"),
            if own.len() == 1 { "is" } else { "are" },
        )),
        _ => None,
    };
    Rows { kept, lost }
}

fn hit_or_miss(item: &Value, passed: bool) -> Option<Row> {
    let text = item.as_str().filter(|text| !text.trim().is_empty())?;
    Some(Row { text: text.to_owned(), passed: Some(passed), ..Row::default() })
}

/// Reads an assertion. `passed` is JavaScript's truth of the value; a missing one is false.
fn assertion(item: &Value) -> Option<Row> {
    let item = item.as_object()?;
    Some(Row {
        text: item.get("text")?.as_str()?.to_owned(),
        passed: Some(item.get("passed").is_some_and(is_truthy)),
        score: None,
        note: item.get("evidence").and_then(Value::as_str).map(str::to_owned),
    })
}

/// Reads a check. A check without a reason is dropped silently.
fn check(item: &Value) -> Option<Row> {
    let item = item.as_object()?;
    Some(Row {
        text: item.get("text")?.as_str()?.to_owned(),
        passed: Some(item.get("pass")?.as_bool()?),
        score: item.get("score").and_then(number),
        note: Some(item.get("reason")?.as_str()?.to_owned()),
    })
}

/// Returns the truth of a value in JavaScript: as in Python, but empty arrays and objects are true, and `NaN` is false.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) => true,
        Value::Float(float) => *float != 0.0 && !float.is_nan(),
        other => other.is_truthy(),
    }
}

#[cfg(test)]
#[path = "conform_tests.rs"]
mod tests;
