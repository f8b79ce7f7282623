//! Conformance to agentevals: all errors are errors, and only a valid answer is recorded.
//!
//! | the program does | recorded |
//! |---|---|
//! | one object with a `score` in 0..=1, exit 0 | score; status as given, else by the threshold |
//! | anything else on standard output | error, not evaluated |
//! | exit code other than 0, a signal, time is up | error, not evaluated |
//! | does not read its input | what it answers |

use super::super::conform::{
    Base, Case, NOT_EVALUATED, Outcome, Recorded, Release, Row, Suite, data, finished, message,
    number, pydantic_float, python_json,
};
use crate::{
    json::{NonFinite, Value, to_string},
    process,
};

const NAME: &str = "agentevals-0.11.0";
const RELEASES: [&str; 1] = [NAME];

/// Suite of agentevals, which sends one line without a line end.
pub(super) const SUITE: Suite = Suite {
    releases: &[Release {
        host: "agentevals",
        name: NAME,
        title: "agentevals 0.11.0",
        scores_everything: false,
        record: |run, _| recorded(run),
    }],
    bases: &[BASE],
    documents: || {
        let mut cases = BASE.documents().to_vec();
        cases.push(Case::document("empty", &RELEASES, 1, data!("agentevals-empty")));
        cases.push(Case::document("nulls", &RELEASES, 1, data!("agentevals-nulls")));
        cases
    },
    with_settings: |text, settings| {
        let settings = to_string(&Value::Object(settings.clone()), NonFinite::Null);
        text.replacen(r#""config":{}"#, &format!("\"config\": {settings}"), 1)
    },
};

const BASE: Base = Base {
    releases: &RELEASES,
    text: data!("agentevals-plain"),
    turns: 2,
    end: "",
    grows: "You are welcome.",
    odd: Some([
        "unknown protocol version",
        r#""protocol_version":"1.1""#,
        r#""protocol_version":"9.0""#,
    ]),
};

/// Score from which on an evaluation without a status passes.
const THRESHOLD: f64 = 0.5;

/// Maximum nesting of an answer.
const MAX_DEPTH: usize = 199;

fn recorded(run: &process::Outcome) -> Recorded {
    match read(run) {
        Ok(record) => record,
        Err(reason) => Recorded::error(reason).with_status(NOT_EVALUATED),
    }
}

fn read(run: &process::Outcome) -> Result<Recorded, String> {
    let stdout = finished(run)?;
    if stdout.trim_ascii().is_empty() {
        let message = message(run).map(|message| format!(": {message}")).unwrap_or_default();
        return Err(format!("produced no output on stdout{message}"));
    }
    let invalid = |reason: String| format!("produced invalid JSON: {reason}");
    let value = python_json(stdout, MAX_DEPTH).map_err(invalid)?;
    answer(&value).map_err(invalid)
}

/// Returns the record of an answer, or the field that is invalid.
fn answer(value: &Value) -> Result<Recorded, String> {
    let object = value.as_object().ok_or("not an object")?;
    let score = object.get("score").ok_or("score: field required")?;
    let score = pydantic_float(score)
        .filter(|score| (0.0..=1.0).contains(score))
        .ok_or("score: not a number from 0 to 1")?;
    let status = match object.get("status") {
        None | Some(Value::Null) if score >= THRESHOLD => "PASSED",
        None | Some(Value::Null) => "FAILED",
        Some(status) => ["PASSED", "FAILED", NOT_EVALUATED]
            .into_iter()
            .find(|known| status.as_str() == Some(known))
            .ok_or("status: not PASSED, FAILED or NOT_EVALUATED")?,
    };
    if !matches!(object.get("details"), None | Some(Value::Null | Value::Object(_))) {
        return Err("details: not an object".to_owned());
    }
    let rows = match object.get("per_invocation_scores") {
        None => Vec::new(),
        Some(Value::Array(items)) => items.iter().map(turn).collect::<Result<_, _>>()?,
        Some(_) => return Err("per_invocation_scores: not a list".to_owned()),
    };
    Ok(Recorded { rows, ..Recorded::with_score(Outcome::Recorded, score).with_status(status) })
}

fn turn(item: &Value) -> Result<Row, String> {
    match (item, pydantic_float(item).or_else(|| number(item))) {
        (Value::Null, _) => Ok(Row::default()),
        (_, Some(score)) => Ok(Row { score: Some(score), ..Row::default() }),
        _ => Err("per_invocation_scores: not a list of numbers and nulls".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        super::super::conform::testing::{ended, printed},
        *,
    };
    use crate::process::Ending;

    #[test]
    fn only_an_answer_of_the_right_form_is_recorded() {
        let status = |stdout: &str| {
            let got = recorded(&printed(stdout));
            (got.outcome, got.status.unwrap())
        };
        for (stdout, wanted) in [
            (r#"{"score":0.5}"#, "PASSED"),
            (r#"{"score":0.4}"#, "FAILED"),
            (r#"{"score":"0.5"}"#, "PASSED"),
            (r#"{"score":true}"#, "PASSED"),
            (r#"{"score":0,"status":"PASSED","unknown":1}"#, "PASSED"),
            (r#"{"score":0,"status":"NOT_EVALUATED"}"#, "NOT_EVALUATED"),
            (" {\"score\":1,\"score\":0,\"details\":null}\n", "FAILED"),
            (r#"{"score":1,"per_invocation_scores":[1,null,7]}"#, "PASSED"),
        ] {
            assert_eq!(status(stdout), (Outcome::Recorded, wanted), "{stdout}");
        }
        for stdout in [
            "",
            "{}",
            "[]",
            "0.5",
            "log\n{\"score\":1}",
            "{\"score\":1}{\"score\":1}",
            "\u{feff}{\"score\":1}",
            r#"{"score":NaN}"#,
            r#"{"score":1.1}"#,
            r#"{"score":null}"#,
            r#"{"score":1,"status":"passed"}"#,
            r#"{"score":1,"details":[1]}"#,
            r#"{"score":1,"per_invocation_scores":null}"#,
        ] {
            assert_eq!(status(stdout), (Outcome::Error, NOT_EVALUATED), "{stdout}");
        }
    }

    #[test]
    fn an_end_that_is_not_good_is_an_error_with_the_message() {
        for (ending, wanted) in [
            (Ending::Exited(3), "exited with code 3: why"),
            (Ending::Signalled(9), "it was ended by signal 9"),
            (Ending::TimedOut { limit: Duration::from_secs(2) }, "it was not done after 2 s"),
        ] {
            let got = recorded(&ended(ending, br#"{"score":1}"#, " why\n"));
            assert_eq!((got.outcome, got.message.as_deref()), (Outcome::Error, Some(wanted)));
        }
        // A program need not read its input.
        let unread = process::Outcome { unsent: 9, ..printed(r#"{"score":1}"#) };
        assert_eq!(recorded(&unread).outcome, Outcome::Recorded);
    }
}
