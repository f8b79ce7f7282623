//! Verdicts as members of a record.

use super::record::{duration, nanoseconds};
use crate::{
    json::{Object, Value},
    verdict::{Answer, BadAnswer, Status, Verdict},
};

/// Adds a verdict to a record: the member `verdict` says of which kind it is, those after it say the rest.
pub(super) fn write(verdict: &Verdict, record: &mut Object) {
    let kind = verdict.error_type().unwrap_or("answer");
    let mut add = |name: &str, value: Value| drop(record.insert(name.to_owned(), value));
    let text = |text: &str| Value::String(text.to_owned());
    add("verdict", text(kind));
    match verdict {
        Verdict::Answer(Answer { score, status, per_invocation_scores, details }) => {
            let scores = per_invocation_scores.iter().copied().map(number).collect();
            add("score", number(*score));
            add("status", status.map_or(Value::Null, |status| text(status.as_str())));
            add("per_invocation_scores", Value::Array(scores));
            add("details", details.clone().map_or(Value::Null, Value::Object));
        }
        Verdict::Exited { code } => add("code", Value::Int(i64::from(*code))),
        Verdict::Signalled { signal } => add("signal", Value::Int(i64::from(*signal))),
        Verdict::TimedOut { limit } => add("limit_ns", nanoseconds(*limit)),
        Verdict::LeakedPipe | Verdict::Cancelled | Verdict::NotRun => {}
        Verdict::BadAnswer(BadAnswer::Empty) => add("bad", text("empty")),
        Verdict::BadAnswer(BadAnswer::NotJson { reason }) => {
            add("bad", text("not_json"));
            add("reason", text(reason));
        }
        Verdict::BadAnswer(BadAnswer::Invalid { path, reason }) => {
            add("bad", text("invalid"));
            add("path", text(path));
            add("reason", text(reason));
        }
        Verdict::BadAnswer(BadAnswer::Foreign { contract, found }) => {
            add("bad", text("foreign"));
            add("contract", text(contract.name()));
            add("found", text(found));
        }
        Verdict::BadAnswer(BadAnswer::TooLarge { limit }) => {
            add("bad", text("too_large"));
            add("limit", Value::Int(i64::try_from(*limit).unwrap_or(i64::MAX)));
        }
        Verdict::SpawnFailed { reason, transient } => {
            add("reason", text(reason));
            add("transient", Value::Bool(*transient));
        }
        Verdict::Lost { reason }
        | Verdict::PrepareFailed { reason }
        | Verdict::MetricFailed { reason } => add("reason", text(reason)),
        Verdict::Reported { kind, message } => {
            add("kind", text(kind));
            add("message", text(message));
        }
    }
}

/// The verdict of a record; `None` when it is none that this version writes.
pub(super) fn read(record: &Value) -> Option<Verdict> {
    let text = |name: &str| record.get(name)?.as_str().map(str::to_owned);
    let int = |name: &str| i32::try_from(record.get(name)?.as_i128()?).ok();
    let reason = || text("reason");
    Some(match &*text("verdict")? {
        "answer" => Verdict::Answer(answer(record)?),
        "exited" => Verdict::Exited { code: int("code")? },
        "signalled" => Verdict::Signalled { signal: int("signal")? },
        "timed_out" => Verdict::TimedOut { limit: duration(record.get("limit_ns")?)? },
        "leaked_pipe" => Verdict::LeakedPipe,
        "bad_answer" => Verdict::BadAnswer(match &*text("bad")? {
            "empty" => BadAnswer::Empty,
            "not_json" => BadAnswer::NotJson { reason: reason()? },
            "invalid" => BadAnswer::Invalid { path: text("path")?, reason: reason()? },
            "foreign" => {
                let contract = text("contract")?.parse().ok()?;
                BadAnswer::Foreign { contract, found: text("found")? }
            }
            "too_large" => {
                let limit = usize::try_from(record.get("limit")?.as_i128()?).ok()?;
                BadAnswer::TooLarge { limit }
            }
            _ => return None,
        }),
        "cancelled" => Verdict::Cancelled,
        "not_run" => Verdict::NotRun,
        "lost" => Verdict::Lost { reason: reason()? },
        "spawn_failed" => {
            let transient = record.get("transient")?.as_bool()?;
            Verdict::SpawnFailed { reason: reason()?, transient }
        }
        "prepare_failed" => Verdict::PrepareFailed { reason: reason()? },
        "metric_failed" => Verdict::MetricFailed { reason: reason()? },
        "reported" => Verdict::Reported { kind: text("kind")?, message: text("message")? },
        _ => return None,
    })
}

fn answer(record: &Value) -> Option<Answer> {
    let status = match record.get("status")? {
        Value::Null => None,
        name => Some(Status::ALL.into_iter().find(|it| Some(it.as_str()) == name.as_str())?),
    };
    let scores = record.get("per_invocation_scores")?.as_array()?.iter().map(optional_number);
    let details = match record.get("details")? {
        Value::Null => None,
        details => Some(details.as_object()?.clone()),
    };
    Some(Answer {
        score: optional_number(record.get("score")?)?,
        status,
        per_invocation_scores: scores.collect::<Option<_>>()?,
        details,
    })
}

/// The kinds of errors, as [`Verdict::error_type`] names them.
const ERRORS: [&str; 12] = [
    "exited",
    "signalled",
    "timed_out",
    "leaked_pipe",
    "bad_answer",
    "cancelled",
    "not_run",
    "lost",
    "spawn_failed",
    "prepare_failed",
    "metric_failed",
    "reported",
];

/// The kind of error of that name.
pub(super) fn known_error(name: &str) -> Option<&'static str> {
    ERRORS.into_iter().find(|known| *known == name)
}

/// Whether the same evaluation would most likely end the same way again, so that a record of it can stand for it.
///
/// Answers do, and what an evaluator says or does wrong by itself. What may be transient does not, and neither does what
/// can be mended without changing the evaluator: a program that was not ready or not there, and a metric, which in any
/// case tells at once.
pub(super) fn lasts(verdict: &Verdict) -> bool {
    let can_be_mended = matches!(
        verdict,
        Verdict::SpawnFailed { .. } | Verdict::PrepareFailed { .. } | Verdict::MetricFailed { .. }
    );
    !can_be_mended && !verdict.may_be_transient()
}

fn number(number: Option<f64>) -> Value {
    number.map_or(Value::Null, Value::Float)
}

/// A number or none; `None` for anything else.
fn optional_number(value: &Value) -> Option<Option<f64>> {
    match value {
        Value::Null => Some(None),
        Value::Float(float) => Some(Some(*float)),
        _ => None,
    }
}
