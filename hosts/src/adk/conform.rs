//! Conformance to ADK, through a metric in Python that starts the program and reads its answer with pydantic.
//!
//! | the program does | the metric with `on_error: fail` | without that |
//! |---|---|---|
//! | one object with `overall_eval_status`, one row for each turn, exit 0 | recorded | recorded |
//! | anything else | 0.0, FAILED, with the reason in the log | not evaluated, and the case may pass |
//! | PASSED or FAILED with too many or too few rows | 0.0, FAILED, if it counts them | **the run dies** |
//!
//! Scores are recorded as they come, `NaN` and numbers beyond 0..=1 included; the status is the one of the answer.

use super::super::conform::{
    Base, Case, NOT_EVALUATED, Outcome, Recorded, Release, Row, Suite, data, disguise, finished,
    number, pydantic_float, python_json,
};
use crate::{
    json::{MAX_DEPTH, NonFinite, Object, Value, to_string},
    process,
};

const NAME: &str = "adk-2.13";
const RELEASES: [&str; 1] = [NAME];

/// Suite of ADK, whose metric sends one line with a line end.
pub(super) const SUITE: Suite = Suite {
    releases: &[Release {
        host: "adk",
        name: NAME,
        title: "ADK 2.13",
        scores_everything: false,
        record: recorded,
    }],
    bases: &[BASE],
    documents: || {
        let mut cases = BASE.documents().to_vec();
        cases.extend(
            [
                ("scenario", 3, data!("adk-scenario")),
                ("image, no response", 2, data!("adk-silent")),
                ("nulls", 2, data!("adk-nulls")),
                ("camelCase", 2, data!("adk-camel")),
                ("no turns", 0, data!("adk-empty")),
            ]
            .map(|(name, turns, text)| Case::document(name, &RELEASES, turns, format!("{text}\n"))),
        );
        cases
    },
    with_settings,
};

const BASE: Base = Base {
    releases: &RELEASES,
    text: data!("adk-plain"),
    turns: 2,
    end: "\n",
    grows: "Have a good trip!",
    odd: None,
};

/// Adds settings as keys of the criterion.
fn with_settings(text: &str, settings: &Object) -> String {
    let object = to_string(&Value::Object(settings.clone()), NonFinite::Null);
    let keys = object.strip_prefix('{').and_then(|keys| keys.strip_suffix('}')).unwrap_or_default();
    let last_keys = [
        r#""include_intermediate_responses_in_final":false"#,
        r#""includeIntermediateResponsesInFinal":false"#,
    ];
    last_keys
        .into_iter()
        .fold(text.to_owned(), |text, last| text.replacen(last, &format!("{last},{keys}"), 1))
}

const PASSED: u8 = 1;
const FAILED: u8 = 2;

/// Names of the statuses 1 to 4.
const STATUSES: [&str; 4] = ["PASSED", "FAILED", NOT_EVALUATED, "INFORMATIONAL"];

fn recorded(run: &process::Outcome, turns: usize) -> Recorded {
    match read(run, turns) {
        Ok(record) => record,
        Err(reason) => {
            let record = Recorded::with_score(Outcome::LooksFailed, 0.0).with_status("FAILED");
            Recorded { message: Some(reason), ..record }
        }
    }
}

/// Returns the record of an answer, or the error that the metric raises.
fn read(run: &process::Outcome, turns: usize) -> Result<Recorded, String> {
    let value = python_json(finished(run)?, MAX_DEPTH)?;
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
    let status_name = STATUSES[usize::from(status) - 1];
    let record =
        Recorded { score, rows, ..Recorded::new(Outcome::Recorded).with_status(status_name) };
    Ok(judged(record, status, turns))
}

fn judged(record: Recorded, status: u8, turns: usize) -> Recorded {
    let decides = status == PASSED || status == FAILED;
    let rows = record.rows.len();
    if decides && rows != turns {
        let remark = format!(
            "{rows} rows for {turns} turns: the whole run fails without a result file, unless the metric counts \
             them itself"
        );
        return record.reclassified(Outcome::HostDies, remark);
    }
    let scores = record.rows.iter().filter_map(|row| row.score).chain(record.score);
    match scores.into_iter().find(|score| !score.is_finite()) {
        Some(score) if decides => {
            let remark = format!("the score {score} is recorded as it is");
            record.reclassified(disguise(status == PASSED), remark)
        }
        _ => record,
    }
}

/// Reads a status: an integer, or a value that pydantic converts to one.
fn status(object: &Object, key: &str) -> Result<Option<u8>, String> {
    let number = match object.get(key) {
        None => return Ok(None),
        Some(Value::Bool(value)) => Some(f64::from(u8::from(*value))),
        Some(other) => number(other),
    };
    (1..=4)
        .find(|known| number == Some(f64::from(*known)))
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

/// Checks rubric scores, which have no other keys than these, in either spelling.
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
        super::super::conform::testing::{ended, printed},
        *,
    };
    use crate::process::Ending;

    fn outcome(stdout: &str, turns: usize) -> (Outcome, Option<&'static str>) {
        let got = recorded(&printed(stdout), turns);
        (got.outcome, got.status)
    }

    fn overall(status: &str) -> String {
        format!(
            r#"{{"overall_score":0.5,"overall_eval_status":{status},"per_invocation_results":[{{"score":0.5,"eval_status":1}}]}}"#
        )
    }

    #[test]
    fn what_pydantic_takes_for_a_result_is_recorded() {
        let minimal = r#"{"overall_score":0.5,"overall_eval_status":1,"per_invocation_results":[{"score":0.0,"eval_status":2},{"score":1.0,"eval_status":1}]}"#;
        assert_eq!(outcome(minimal, 2), (Outcome::Recorded, Some("PASSED")));
        let rows = recorded(&printed(minimal), 2).rows;
        assert_eq!(
            rows.iter().map(|row| row.passed).collect::<Vec<_>>(),
            [Some(false), Some(true)]
        );
        let rubrics = r#"{"overall_score":0.75,"overall_eval_status":2,"per_invocation_results":[{"score":0.5,"eval_status":1,"unknown":1,"rubric_scores":[{"rubricId":"length","rationale":"28 characters","score":1.0}]}],"overall_rubric_scores":[{"rubric_id":"length"}]}"#;
        assert_eq!(outcome(rubrics, 1), (Outcome::Recorded, Some("FAILED")));
        for (status, word) in
            [("1", "PASSED"), ("1.0", "PASSED"), ("true", "PASSED"), ("4", "INFORMATIONAL")]
        {
            assert_eq!(outcome(&overall(status), 1), (Outcome::Recorded, Some(word)), "{status}");
        }
        for status in ["\"PASSED\"", "\"1\"", "5", "null", "0", "false"] {
            assert_eq!(
                outcome(&overall(status), 1),
                (Outcome::LooksFailed, Some("FAILED")),
                "{status}"
            );
        }
    }

    #[test]
    fn scores_are_taken_as_they_come() {
        for (score, wanted) in
            [("1", 1.0), ("\"0.5\"", 0.5), ("true", 1.0), ("7", 7.0), ("-0.5", -0.5)]
        {
            let stdout = format!(r#"{{"overall_score":{score},"overall_eval_status":3}}"#);
            let got = recorded(&printed(&stdout), 5);
            assert_eq!((got.outcome, got.score), (Outcome::Recorded, Some(wanted)), "{score}");
        }
        for (status, wanted) in
            [(1, Outcome::LooksPassed), (2, Outcome::LooksFailed), (3, Outcome::Recorded)]
        {
            for score in ["NaN", "Infinity", "1e400"] {
                let stdout = format!(
                    r#"{{"overall_score":{score},"overall_eval_status":{status},"per_invocation_results":[{{"eval_status":{status}}}]}}"#
                );
                assert_eq!(outcome(&stdout, 1).0, wanted, "{stdout}");
            }
        }
        assert_eq!(
            outcome(r#"{"overall_score":"x","overall_eval_status":3}"#, 0).0,
            Outcome::LooksFailed
        );
    }

    #[test]
    fn a_wrong_number_of_rows_ends_the_run() {
        assert_eq!(outcome(&overall("1"), 2).0, Outcome::HostDies);
        assert_eq!(outcome(&overall("2"), 0).0, Outcome::HostDies);
        assert_eq!(outcome(r#"{"overall_eval_status":1}"#, 1).0, Outcome::HostDies);
        // Where nothing is decided, rows are not counted.
        for status in ["3", "4"] {
            assert_eq!(outcome(&overall(status), 2).0, Outcome::Recorded);
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
            assert_eq!(outcome(stdout, 1), (Outcome::LooksFailed, Some("FAILED")), "{stdout}");
        }
        let got = recorded(&ended(Ending::Exited(3), b"", "why"), 1);
        assert_eq!(got.message.as_deref(), Some("exited with code 3: why"));
        assert_eq!(
            recorded(&ended(Ending::Signalled(6), b"", ""), 1).outcome,
            Outcome::LooksFailed
        );
        // The last value of a repeated key counts, and a line end is nothing.
        assert_eq!(
            outcome("{\"overall_eval_status\":9,\"overall_eval_status\":3}\n", 1).0,
            Outcome::Recorded
        );
    }
}
