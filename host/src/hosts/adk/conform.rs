//! Google ADK, through a metric in Python that starts the program and reads its answer with pydantic.
//!
//! | the program does | the metric, told to fail on errors | without that |
//! |---|---|---|
//! | one object with `overall_eval_status`, one row for each turn, exit 0 | recorded | recorded |
//! | anything else | 0.0, FAILED, with the reason in the log | not evaluated, and the case may pass |
//! | PASSED or FAILED with too many or too few rows | 0.0, FAILED, if it counts them | **the run dies** |
//!
//! Scores are recorded as they come, `NaN` and numbers beyond 0..=1 included; the status is the program's own word.

use super::super::{
    Fate, Recorded, Row,
    recorded::disguise,
    reply::{finished, number, pydantic_float, python_json},
};
use crate::{
    json::{MAX_DEPTH, Object, Value},
    process::Outcome,
};

const PASSED: i64 = 1;
const FAILED: i64 = 2;

/// By their numbers, from 1 on.
const STATUSES: [&str; 4] = ["PASSED", "FAILED", "NOT_EVALUATED", "INFORMATIONAL"];

pub(super) fn recorded(outcome: &Outcome, turns: usize) -> Recorded {
    match read(outcome, turns) {
        Ok(record) => record,
        Err(reason) => {
            let record = Recorded::with_score(Fate::LooksFailed, 0.0).with_status("FAILED");
            Recorded { message: Some(reason), ..record }
        }
    }
}

/// The record of an answer; an error is what the metric raises.
fn read(outcome: &Outcome, turns: usize) -> Result<Recorded, String> {
    let value = python_json(finished(outcome)?, MAX_DEPTH)?;
    let object = value.as_object().ok_or("not an object")?;
    let status = status(object, "overall_eval_status")?
        .ok_or("overall_eval_status is missing, without which the answer counts as empty")?;
    let score = score(object, "overall_score")?;
    rubric_scores(object, "overall_rubric_scores")?;
    let rows = match object.get("per_invocation_results") {
        None => Vec::new(),
        Some(Value::Array(items)) => items.iter().map(row).collect::<Result<_, _>>()?,
        Some(_) => return Err("per_invocation_results: not a list".to_owned()),
    };
    let word = STATUSES[usize::try_from(status.saturating_sub(1)).unwrap_or_default()];
    let record = Recorded { score, rows, ..Recorded::new(Fate::Recorded).with_status(word) };
    Ok(judged(record, status, turns))
}

fn judged(record: Recorded, status: i64, turns: usize) -> Recorded {
    let decides = status == PASSED || status == FAILED;
    let rows = record.rows.len();
    if decides && rows != turns {
        let remark = format!(
            "{rows} rows for {turns} turns: the whole run dies of that, without a result file, unless the metric counts \
             them itself"
        );
        return Recorded { fate: Fate::HostDies, ..record.because(remark) };
    }
    let scores = record.rows.iter().filter_map(|row| row.score).chain(record.score);
    match scores.into_iter().find(|score| !score.is_finite()) {
        Some(score) if decides => {
            let remark = format!("the score {score} is recorded as it is");
            Recorded { fate: disguise(status == PASSED), ..record.because(remark) }
        }
        _ => record,
    }
}

/// A status: an integer, or what counts as one.
fn status(object: &Object, key: &str) -> Result<Option<i64>, String> {
    let number = match object.get(key) {
        None => return Ok(None),
        Some(Value::Bool(value)) => Some(f64::from(u8::from(*value))),
        Some(other) => number(other),
    };
    let known = [1, 2, 3, 4].into_iter();
    #[expect(clippy::cast_precision_loss, reason = "they are four small numbers")]
    known
        .clone()
        .find(|known| number == Some(*known as f64))
        .map(Some)
        .ok_or_else(|| format!("{key}: not 1, 2, 3 or 4"))
}

fn score(object: &Object, key: &str) -> Result<Option<f64>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            pydantic_float(value).map(Some).ok_or_else(|| format!("{key}: not a number"))
        }
    }
}

fn row(item: &Value) -> Result<Row, String> {
    let object = item.as_object().ok_or("per_invocation_results: not a list of objects")?;
    let score = score(object, "score")?;
    let passed = match status(object, "eval_status")? {
        Some(PASSED) => Some(true),
        Some(FAILED) => Some(false),
        _ => None,
    };
    rubric_scores(object, "rubric_scores")?;
    Ok(Row { score, passed, ..Row::default() })
}

/// Rubric scores know no other keys, in either spelling.
fn rubric_scores(object: &Object, key: &str) -> Result<(), String> {
    const KNOWN: [&str; 4] = ["rubric_id", "rubricId", "rationale", "score"];
    let items = match object.get(key) {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(format!("{key}: not a list")),
    };
    for item in items {
        let item = item.as_object().ok_or_else(|| format!("{key}: not a list of objects"))?;
        let id = item.get("rubric_id").or_else(|| item.get("rubricId"));
        if id.and_then(Value::as_str).is_none() {
            return Err(format!("{key}: rubric_id is missing"));
        }
        if let Some(unknown) = item.keys().find(|key| !KNOWN.contains(&key.as_str())) {
            return Err(format!("{key}: `{unknown}` is not known"));
        }
        score(item, "score")?;
        if !matches!(item.get("rationale"), None | Some(Value::Null | Value::String(_))) {
            return Err(format!("{key}: rationale is not a text"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{ended, printed},
        *,
    };
    use crate::process::Ending;

    fn fate(stdout: &str, turns: usize) -> (Fate, Option<&'static str>) {
        let got = recorded(&printed(stdout), turns);
        (got.fate, got.status)
    }

    fn overall(status: &str) -> String {
        format!(
            r#"{{"overall_score":0.5,"overall_eval_status":{status},"per_invocation_results":[{{"score":0.5,"eval_status":1}}]}}"#
        )
    }

    #[test]
    fn what_pydantic_takes_for_a_result_is_recorded() {
        let minimal = r#"{"overall_score":0.5,"overall_eval_status":1,"per_invocation_results":[{"score":0.0,"eval_status":2},{"score":1.0,"eval_status":1}]}"#;
        assert_eq!(fate(minimal, 2), (Fate::Recorded, Some("PASSED")));
        let rows = recorded(&printed(minimal), 2).rows;
        assert_eq!(
            rows.iter().map(|row| row.passed).collect::<Vec<_>>(),
            [Some(false), Some(true)]
        );
        let rubrics = r#"{"overall_score":0.75,"overall_eval_status":2,"per_invocation_results":[{"score":0.5,"eval_status":1,"unknown":1,"rubric_scores":[{"rubricId":"length","rationale":"28 characters","score":1.0}]}],"overall_rubric_scores":[{"rubric_id":"length"}]}"#;
        assert_eq!(fate(rubrics, 1), (Fate::Recorded, Some("FAILED")));
        for (status, word) in
            [("1", "PASSED"), ("1.0", "PASSED"), ("true", "PASSED"), ("4", "INFORMATIONAL")]
        {
            assert_eq!(fate(&overall(status), 1), (Fate::Recorded, Some(word)), "{status}");
        }
        for status in ["\"PASSED\"", "\"1\"", "5", "null", "0", "false"] {
            assert_eq!(fate(&overall(status), 1), (Fate::LooksFailed, Some("FAILED")), "{status}");
        }
    }

    #[test]
    fn scores_are_taken_as_they_come() {
        for (score, wanted) in
            [("1", 1.0), ("\"0.5\"", 0.5), ("true", 1.0), ("7", 7.0), ("-0.5", -0.5)]
        {
            let stdout = format!(r#"{{"overall_score":{score},"overall_eval_status":3}}"#);
            let got = recorded(&printed(&stdout), 5);
            assert_eq!((got.fate, got.score), (Fate::Recorded, Some(wanted)), "{score}");
        }
        for (status, wanted) in
            [(1, Fate::LooksPassed), (2, Fate::LooksFailed), (3, Fate::Recorded)]
        {
            for score in ["NaN", "Infinity", "1e400"] {
                let stdout = format!(
                    r#"{{"overall_score":{score},"overall_eval_status":{status},"per_invocation_results":[{{"eval_status":{status}}}]}}"#
                );
                assert_eq!(fate(&stdout, 1).0, wanted, "{stdout}");
            }
        }
        assert_eq!(
            fate(r#"{"overall_score":"x","overall_eval_status":3}"#, 0).0,
            Fate::LooksFailed
        );
    }

    #[test]
    fn a_wrong_number_of_rows_ends_the_run() {
        assert_eq!(fate(&overall("1"), 2).0, Fate::HostDies);
        assert_eq!(fate(&overall("2"), 0).0, Fate::HostDies);
        assert_eq!(fate(r#"{"overall_eval_status":1}"#, 1).0, Fate::HostDies);
        // Where nothing is decided, rows are not counted.
        for status in ["3", "4"] {
            assert_eq!(fate(&overall(status), 2).0, Fate::Recorded);
        }
    }

    #[test]
    fn whatever_else_is_printed_fails_the_case() {
        for stdout in [
            "",
            "{}",
            "[]",
            "log\n{\"overall_eval_status\":3}",
            "{\"overall_eval_status\":3}{\"overall_eval_status\":3}",
            "\u{feff}{\"overall_eval_status\":3}",
            r#"{"overallScore":1,"overallEvalStatus":1}"#,
            r#"{"overall_eval_status":3,"per_invocation_results":null}"#,
            r#"{"overall_eval_status":3,"overall_rubric_scores":[{"rubric_id":"a","unknown":1}]}"#,
        ] {
            assert_eq!(fate(stdout, 1), (Fate::LooksFailed, Some("FAILED")), "{stdout}");
        }
        let got = recorded(&ended(Ending::Exited(3), b"", "why"), 1);
        assert_eq!(got.message.as_deref(), Some("exited with code 3: why"));
        assert_eq!(recorded(&ended(Ending::Signalled(6), b"", ""), 1).fate, Fate::LooksFailed);
        // The last value of a repeated key counts, and a line end is nothing.
        assert_eq!(
            fate("{\"overall_eval_status\":9,\"overall_eval_status\":3}\n", 1).0,
            Fate::Recorded
        );
    }
}
