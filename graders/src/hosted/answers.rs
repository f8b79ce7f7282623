//! Answers of a server, read strictly: what is missing or contradictory is an error, never a score.

use serde_json::{Value, json};

/// Grades of the items of a job.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Graded {
    /// Grade of each item, in the order of the job.
    pub grades: Vec<ItemGrade>,
    /// Ids and counts of the server.
    pub details: Vec<(&'static str, Value)>,
    /// What a user should know, such as requests that were sent again.
    pub warnings: Vec<String>,
}

/// Grade of an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ItemGrade {
    /// Score as the server gives it; finite.
    pub score: f64,
    /// Whether the item passes.
    pub passed: bool,
}

/// State of a run.
#[derive(Debug, PartialEq)]
pub(super) enum RunState {
    InProgress,
    Completed,
    /// Sentence about a run that has no results.
    Ended(String),
}

/// Returns true if the text can be a part of a path.
pub(super) fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// Returns the id of an answer.
pub(super) fn id(answer: &Value, of: &str) -> Result<String, String> {
    let id = answer.get("id").and_then(Value::as_str).filter(|id| is_id(id));
    id.map(str::to_owned).ok_or_else(|| format!("the answer about the {of} has no usable `id`"))
}

/// Reads the state of a run.
pub(super) fn state(run: &Value) -> Result<RunState, String> {
    let status = run.get("status").and_then(Value::as_str).unwrap_or_default();
    let text = |name: &str| run.pointer(&format!("/error/{name}")).and_then(Value::as_str);
    let reason: Vec<&str> = ["code", "message"].iter().filter_map(|name| text(name)).collect();
    let reason = match &reason[..] {
        [] => String::new(),
        reason => format!(": {}", super::client::shown(&reason.join(": "))),
    };
    match status {
        "queued" | "in_progress" => Ok(RunState::InProgress),
        "completed" => Ok(RunState::Completed),
        "failed" => Ok(RunState::Ended(format!("the run failed{reason}"))),
        "canceled" | "cancelled" => {
            Ok(RunState::Ended(format!("the run was canceled by the server{reason}")))
        }
        other => Err(format!("the run has the unknown status {other:?}{reason}")),
    }
}

/// Counts of a completed run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) errored: u64,
    pub(super) total: u64,
}

impl Counts {
    pub(super) fn read(run: &Value) -> Result<Self, String> {
        let counts = run.get("result_counts").filter(|counts| counts.is_object());
        let counts = counts.ok_or("the completed run has no `result_counts`")?;
        let count = |name: &str| {
            counts.get(name).and_then(Value::as_u64).ok_or_else(|| {
                format!("`result_counts` of the completed run has no count `{name}`")
            })
        };
        let errored = match counts.get("errored") {
            None | Some(Value::Null) => 0,
            Some(_) => count("errored")?,
        };
        Ok(Self {
            passed: count("passed")?,
            failed: count("failed")?,
            errored,
            total: count("total")?,
        })
    }

    pub(super) fn json(&self) -> Value {
        let Self { passed, failed, errored, total } = self;
        json!({"passed": passed, "failed": failed, "errored": errored, "total": total})
    }
}

/// Returns passed and failed items of each testing criterion, under the names that agentevals gives them.
pub(super) fn per_criterion(run: &Value) -> Value {
    let rows = run.get("per_testing_criteria_results").and_then(Value::as_array);
    let row = |row: &Value| json!({"name": row["testing_criteria"], "passed": row["passed"], "failed": row["failed"]});
    rows.into_iter().flatten().map(row).collect()
}

/// Returns the grades of output items in the order of the items that were sent, of which there were `sent`.
pub(super) fn grades(
    items: &[Value],
    sent: usize,
    counts: &Counts,
) -> Result<Vec<ItemGrade>, String> {
    let mut found: Vec<Option<Result<ItemGrade, String>>> = vec![None; sent];
    for item in items {
        let index = item.get("datasource_item_id").and_then(Value::as_u64);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let place = index.and_then(|index| found.get_mut(index));
        let place = place.ok_or_else(|| {
            format!(
                "an output item has the number {}, and {sent} items were sent",
                item["datasource_item_id"]
            )
        })?;
        if place.is_some() {
            return Err(format!("two output items have the number {}", index.unwrap_or_default()));
        }
        *place = Some(grade(item));
    }
    let returned = found.iter().flatten().count();
    let mut problems = Vec::new();
    for (index, grade) in found.iter().enumerate() {
        if let Some(Err(reason)) = grade {
            problems.push(format!("item {}: {reason}", index + 1));
        }
    }
    if let Some(first) = problems.first() {
        let good = found.iter().flatten().flatten().map(|grade| format!("{:.3}", grade.score));
        let good = good.collect::<Vec<_>>().join(", ");
        let good = if good.is_empty() { "none".to_owned() } else { good };
        return Err(format!(
            "{} of {sent} items have no score: {first}; other scores: {good}",
            problems.len()
        ));
    }
    if counts.errored > 0 {
        return Err(format!(
            "the server counts {} of {} items as errored",
            counts.errored, counts.total
        ));
    }
    if returned != sent {
        return Err(format!("{sent} items were sent, {returned} were returned"));
    }
    let grades: Vec<ItemGrade> = found.into_iter().flatten().flatten().collect();
    let passed = grades.iter().filter(|grade| grade.passed).count();
    let counted = [counts.passed, counts.failed, counts.total].map(usize::try_from);
    if counted != [Ok(passed), Ok(sent - passed), Ok(sent)] {
        return Err(format!(
            "the counts of the server contradict its items: {}, and {passed} of {sent} items pass",
            counts.json()
        ));
    }
    Ok(grades)
}

/// Reads an output item: the first result with a score counts.
fn grade(item: &Value) -> Result<ItemGrade, String> {
    let status = item.get("status").and_then(Value::as_str).unwrap_or_default();
    let passed = match status {
        "pass" => true,
        "fail" => false,
        other => {
            let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str);
            let reason = text("/sample/error/message").or(text("/results/0/sample/error/message"));
            let reason = reason.map(|it| format!(": {}", super::client::shown(it)));
            return Err(format!("its status is {other:?}{}", reason.unwrap_or_default()));
        }
    };
    let results = item.get("results").and_then(Value::as_array).into_iter().flatten();
    let score = results.filter_map(|result| result.get("score")?.as_f64()).next();
    match score.filter(|score| score.is_finite()) {
        Some(score) => Ok(ItemGrade { score, passed }),
        None => Err("none of its results has a score".to_owned()),
    }
}
