//! Rows of an answer: which of them a generation keeps.

use super::{Generation, number};
use crate::{
    conform::Row,
    json::{Object, Value},
};

/// What became of the rows of an answer.
pub(super) struct Rows {
    pub(super) kept: Vec<Row>,
    /// Says what is not kept, if that is anything.
    pub(super) lost: Option<String>,
}

/// The rows that this generation keeps. Each reads its own keys only, and of them what has the form it wants.
pub(super) fn of(generation: Generation, object: &Object) -> Rows {
    let items = |key: &str| object.get(key).and_then(Value::as_array).unwrap_or_default();
    let (own, kept): (&[&str], Vec<Row>) = match generation {
        Generation::V2 => (
            &["hits", "misses"],
            [("hits", true), ("misses", false)]
                .into_iter()
                .flat_map(|(key, passed)| {
                    items(key).iter().filter_map(move |item| said(item, passed))
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

fn said(item: &Value, passed: bool) -> Option<Row> {
    let text = item.as_str().filter(|text| !text.trim().is_empty())?;
    Some(Row { text: text.to_owned(), passed: Some(passed), ..Row::default() })
}

/// `passed` is what JavaScript takes for true; missing is false.
fn assertion(item: &Value) -> Option<Row> {
    let item = item.as_object()?;
    Some(Row {
        text: item.get("text")?.as_str()?.to_owned(),
        passed: Some(item.get("passed").is_some_and(is_truthy)),
        score: None,
        note: item.get("evidence").and_then(Value::as_str).map(str::to_owned),
    })
}

/// Without a reason a check is dropped, and nobody says so.
fn check(item: &Value) -> Option<Row> {
    let item = item.as_object()?;
    Some(Row {
        text: item.get("text")?.as_str()?.to_owned(),
        passed: Some(item.get("pass")?.as_bool()?),
        score: item.get("score").and_then(number),
        note: Some(item.get("reason")?.as_str()?.to_owned()),
    })
}

/// As Python has it, but that empty arrays and objects are true, and `NaN` is not.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) => true,
        Value::Float(float) => *float != 0.0 && !float.is_nan(),
        other => other.is_truthy(),
    }
}
