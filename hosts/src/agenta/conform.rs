//! Conformance to Agenta: custom code that runs the program, and a webhook behind which a server runs it.
//!
//! | what comes back | code v1, v2 | code v3 | webhook, status 200 |
//! |---|---|---|---|
//! | number | score, `success` by the threshold | the same | the same |
//! | `true`, `false` | 1 or 0 | `success` | a score of that name |
//! | text | as a number, else error | kept | kept |
//! | object | its `score` as a number, else error | kept | kept, unchecked |
//! | array | error | kept | error |
//! | `null`, nothing, no JSON | error | error | error |
//! | `NaN`, `Infinity` | **a score** | error | **a score** |
//! | a score beyond 0..=1 | **a score** | **a score** | **a score** |
//! | exit code other than 0 (status 500), a signal, time is up | error | error | error |
//!
//! The code for v1 and v2 makes a number of the answer's `score`; that for v3 hands on what it reads.

use super::super::conform::{
    Base, Case, Outcome, Recorded, Release, Suite, data, disguise, finished, number, python_json,
};
use crate::{
    json::{self, MAX_DEPTH, Object, Value},
    process,
};

const CODE_V1: &str = "agenta-code-v1";
const CODE_V2: &str = "agenta-code-v2";
const CODE_V3: &str = "agenta-code-v3";
const WEBHOOK: &str = "agenta-webhook";

/// Suite of Agenta, which sends one line: with spaces after `,` and `:` to custom code, as the body of a request to webhooks.
/// It sends no settings.
pub(super) const SUITE: Suite = Suite {
    releases: &[
        release(CODE_V1, "Agenta 0.125.1, custom code v1", |run, _| code(Version::V1, run)),
        release(CODE_V2, "Agenta 0.125.1, custom code v2", |run, _| code(Version::V2, run)),
        release(CODE_V3, "Agenta 0.125.1, custom code v3", |run, _| code(Version::V3, run)),
        release(WEBHOOK, "Agenta 0.125.1, webhook", |run, _| webhook(run)),
    ],
    bases: &BASES,
    documents: || {
        let mut cases: Vec<Case> = BASES.iter().flat_map(Base::documents).collect();
        cases.extend([
            Case::document("empty", &[CODE_V1], 1, data!("agenta1-empty")),
            Case::document("object", &[CODE_V1], 1, data!("agenta1-object")),
            Case::document("number", &[CODE_V1], 1, data!("agenta1-number")),
            Case::document("empty", &[CODE_V2, CODE_V3], 1, data!("agenta2-empty")),
            Case::document("object", &[CODE_V2, CODE_V3], 1, data!("agenta2-object")),
            Case::document("empty", &[WEBHOOK], 1, data!("webhook-empty")),
            Case::document("object as text", &[WEBHOOK], 1, data!("webhook-object")),
        ]);
        cases
    },
    with_settings: |text, _| text.to_owned(),
};

const BASES: [Base; 3] = [
    base(&[CODE_V1], data!("agenta1-plain")),
    base(&[CODE_V2, CODE_V3], data!("agenta2-plain")),
    base(&[WEBHOOK], data!("webhook-plain")),
];

const fn base(releases: &'static [&'static str], text: &'static str) -> Base {
    Base { releases, text, turns: 1, end: "", grows: "Basel", odd: None }
}

const fn release(
    name: &'static str,
    title: &'static str,
    record: fn(&process::Outcome, usize) -> Recorded,
) -> Release {
    Release { host: "agenta", name, title, scores_everything: false, record }
}

/// Versions of the interface of custom code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
    V3,
}

/// Default threshold.
const THRESHOLD: f64 = 0.5;

/// Maximum length of a reply, in bytes.
const LONGEST_REPLY: usize = 1 << 20;

/// Returns the record of custom code that sends its arguments to a program and returns its answer.
fn code(version: Version, run: &process::Outcome) -> Recorded {
    let printed = match finished(run) {
        Ok(printed) => printed,
        Err(reason) => return raised(&reason),
    };
    let value = match python_json(printed, MAX_DEPTH) {
        Ok(value) => value,
        Err(reason) => return raised(&reason),
    };
    match (version, &value) {
        (Version::V1 | Version::V2, Value::Object(object)) => match object.get("score") {
            Some(score @ Value::Object(_)) => raised(&format!("score is {}", score.kind())),
            Some(score) => returned(version, score, THRESHOLD),
            None => raised("'score'"),
        },
        _ => returned(version, &value, THRESHOLD),
    }
}

/// Returns the record of a server's reply, if the server runs the program: an error of the program is a status 500.
fn webhook(run: &process::Outcome) -> Recorded {
    match finished(run) {
        Ok(printed) => reply(200, printed, THRESHOLD),
        Err(reason) => reply(500, reason.as_bytes(), THRESHOLD),
    }
}

fn raised(reason: &str) -> Recorded {
    Recorded::error(format!("Error during code execution: {reason}")).with_status("500")
}

/// Returns the record of a value that custom code returned.
fn returned(version: Version, value: &Value, threshold: f64) -> Recorded {
    let unserializable = "Result is not JSON-serializable: non-finite floats are not supported";
    match (version, value) {
        (_, Value::Null) => raised("Evaluator returned None"),
        (Version::V3, Value::Bool(success)) => {
            Recorded::new(Outcome::Recorded).with_status(word(*success))
        }
        (Version::V3, Value::String(text)) => text_kept(text),
        (Version::V3, Value::Array(_) | Value::Object(_)) if !is_finite(value) => {
            raised("Result is not JSON-serializable")
        }
        (Version::V3, Value::Object(object)) => object_kept(object),
        (Version::V3, Value::Array(_)) => {
            Recorded::new(Outcome::Lost).with_remark("a list has no score")
        }
        (Version::V3, other) if !is_finite(other) => raised(unserializable),
        (Version::V1 | Version::V2, Value::Bool(score)) => {
            scored(f64::from(u8::from(*score)), threshold)
        }
        (Version::V1 | Version::V2, Value::String(text)) => match json::parse_float(text) {
            Some(score) => scored(score, threshold),
            None => raised(&format!("Result cannot be converted to float: '{text}'")),
        },
        (_, other) => match number(other) {
            Some(score) => scored(score, threshold),
            None => raised(&format!("Result is not a float after conversion: {}", other.kind())),
        },
    }
}

/// Returns the record of a webhook's reply with this status and body.
fn reply(status: u16, body: &[u8], threshold: f64) -> Recorded {
    let failed = |status: &'static str, reason: &str| Recorded::error(reason).with_status(status);
    if status != 200 {
        return failed("custom-hook-server-error", &String::from_utf8_lossy(body));
    }
    if body.len() > LONGEST_REPLY {
        return failed("custom-hook-client-error", "the reply is longer than 1 MiB");
    }
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    let value = match python_json(body, MAX_DEPTH) {
        Ok(value) => value,
        Err(reason) => return failed("custom-hook-client-error", &reason),
    };
    match &value {
        Value::Bool(score) => scored(f64::from(u8::from(*score)), threshold),
        Value::String(text) => text_kept(text),
        Value::Object(object) => object_kept(object),
        Value::Null | Value::Array(_) => {
            failed("invalid-outputs", &format!("Expected '['dict', 'str']', got {}", value.kind()))
        }
        other => scored(number(other).unwrap_or(f64::NAN), threshold),
    }
}

/// Returns the record of a number, which is a score whatever its value.
fn scored(score: f64, threshold: f64) -> Recorded {
    let success = score >= threshold;
    let record = Recorded::with_score(Outcome::Recorded, score).with_status(word(success));
    if (0.0..=1.0).contains(&score) {
        return record;
    }
    let remark = format!("the score {score} is not in 0..=1, and recorded as it is");
    record.reclassified(disguise(success), remark)
}

/// Returns the record of a text, which is not a score.
fn text_kept(text: &str) -> Recorded {
    let record = Recorded { message: Some(text.to_owned()), ..Recorded::new(Outcome::Lost) };
    record.with_remark("a text is kept as it is, and is not a score")
}

/// Returns the record of an object, which is kept unchanged.
fn object_kept(object: &Object) -> Recorded {
    let score = object.get("score").and_then(number);
    let success = object.get("success").and_then(Value::as_bool);
    let record = Recorded { score, status: success.map(word), ..Recorded::new(Outcome::Recorded) };
    match (score, success) {
        (Some(score), Some(success)) if !(0.0..=1.0).contains(&score) => {
            let remark = format!("the score {score} is not in 0..=1, and recorded as it is");
            record.reclassified(disguise(success), remark)
        }
        (Some(_), Some(_)) => record,
        (Some(_), None) => record.reclassified(
            Outcome::Lost,
            "`success` is missing, and no threshold is applied to objects",
        ),
        (None, Some(success)) => record.reclassified(
            disguise(success),
            "`score` is not a number, and `success` is recorded all the same",
        ),
        (None, None) => record.reclassified(
            Outcome::Lost,
            "there is neither a `score` that is a number nor `success`",
        ),
    }
}

fn word(success: bool) -> &'static str {
    if success { "success" } else { "no success" }
}

fn is_finite(value: &Value) -> bool {
    match value {
        Value::Float(float) => float.is_finite(),
        Value::Array(items) => items.iter().all(is_finite),
        Value::Object(object) => object.values().all(is_finite),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::{
        super::super::conform::testing::{data, ended, printed},
        *,
    };
    use crate::process::Ending;

    /// The value of an expression of Python, as far as JSON has it.
    fn value(expression: &str) -> Option<Value> {
        match expression {
            "float('nan')" => Some(Value::Float(f64::NAN)),
            "{'x': float('inf')}" => Some(Value::Object(
                [("x".to_owned(), Value::Float(f64::INFINITY))].into_iter().collect(),
            )),
            "(1, 2)" => Some(Value::Array(vec![Value::Int(1), Value::Int(2)])),
            _ => {
                let json = expression.replace('\'', "\"").replace("None", "null");
                let json = json.replace("True", "true").replace("False", "false");
                python_json(json.as_bytes(), MAX_DEPTH).ok()
            }
        }
    }

    /// Whether the record says what was measured.
    fn agrees(got: &Recorded, row: &Json) {
        if row.get("error").is_some() {
            assert_eq!(got.outcome, Outcome::Error, "{row}: {got:?}");
            return;
        }
        assert_ne!(got.outcome, Outcome::Error, "{row}: {got:?}");
        let Some(result) = row.get("result") else {
            assert!(got.score.unwrap().is_nan(), "{row}: {got:?}");
            return;
        };
        let score = match &result["score"] {
            Json::Bool(score) => Some(f64::from(u8::from(*score))),
            other => other.as_f64(),
        };
        assert_eq!(got.score, score, "{row}");
        assert_eq!(got.status, result["success"].as_bool().map(word), "{row}");
        assert_eq!(got.message.as_deref(), result.as_str(), "{row}");
    }

    #[test]
    fn what_code_returns_is_recorded_as_it_was_by_the_real_release() {
        let mut seen = 0;
        for row in data("agenta-code-results").as_array().unwrap() {
            let version = match row["version"].as_str() {
                Some("1") => Version::V1,
                Some("2") => Version::V2,
                Some("3") => Version::V3,
                // Another way of calling, or a mistake of the arguments.
                _ => continue,
            };
            let other = ["handler", "inputs", "outputs"].iter().any(|key| row.get(*key).is_some());
            let threshold = row.get("threshold").map_or(Some(THRESHOLD), |threshold| {
                threshold.as_f64().filter(|_| !threshold.is_i64())
            });
            let value = value(row["return"].as_str().unwrap());
            let (Some(value), Some(threshold), false) = (value, threshold, other) else { continue };
            agrees(&returned(version, &value, threshold), row);
            seen += 1;
        }
        assert!(seen >= 35, "{seen}");
    }

    #[test]
    fn replies_are_recorded_as_they_were_by_the_real_release() {
        let mut seen = 0;
        for row in data("agenta-webhook-replies").as_array().unwrap() {
            let threshold = match &row["parameters"]["threshold"] {
                Json::Null => Some(THRESHOLD),
                zero if zero.as_i64() == Some(0) => Some(THRESHOLD),
                threshold => threshold
                    .as_f64()
                    .filter(|number| !threshold.is_i64() && (0.0..=1.0).contains(number)),
            };
            // Other thresholds are refused before anything is asked.
            let Some(threshold) = threshold else { continue };
            let status = u16::try_from(row["status"].as_u64().unwrap()).unwrap();
            agrees(&reply(status, row["body"].as_str().unwrap().as_bytes(), threshold), row);
            seen += 1;
        }
        assert_eq!(seen, 26);
    }

    #[test]
    fn what_is_no_judgement_is_told_from_what_is() {
        use Outcome::{
            Error, LooksFailed as Failed, LooksPassed as Passed, Lost, Recorded as Kept,
        };
        for (stdout, wanted) in [
            (r#"{"score":0.3,"success":false}"#, [Kept, Kept, Kept]),
            ("0.7\n", [Kept, Kept, Kept]),
            (r#"{"score":0.3}"#, [Kept, Lost, Lost]),
            (r#"{"score":2,"success":true}"#, [Passed, Passed, Passed]),
            (r#"{"score":NaN,"success":true}"#, [Failed, Error, Passed]),
            (r#"{"score":-1,"success":false}"#, [Failed, Failed, Failed]),
            (r#"{"score":"0.9","success":true}"#, [Kept, Passed, Passed]),
            (r#"{"success":true}"#, [Error, Passed, Passed]),
            ("{}", [Error, Lost, Lost]),
            ("", [Error; 3]),
            ("log\n0.7", [Error; 3]),
            ("null", [Error; 3]),
            ("[1]", [Error, Lost, Error]),
        ] {
            let run = printed(stdout);
            let got = [
                code(Version::V1, &run).outcome,
                code(Version::V3, &run).outcome,
                webhook(&run).outcome,
            ];
            assert_eq!(got, wanted, "{stdout}");
            assert_eq!(code(Version::V2, &run).outcome, wanted[0], "{stdout}");
        }
        let broke = ended(Ending::Exited(3), br#"{"score":1,"success":true}"#, "why");
        for got in [code(Version::V1, &broke), code(Version::V3, &broke), webhook(&broke)] {
            assert_eq!(got.outcome, Error);
            assert!(got.message.unwrap().ends_with("exited with code 3: why"));
        }
    }
}
