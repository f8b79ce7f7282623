//! Records of hosts, and how hosts written in JavaScript and in Python read the output of a process.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

/// pydantic reads a number from a boolean, and from text that is a number, too.
pub(crate) use super::super::number as pydantic_float;
use crate::{
    json::{self, ParseOptions, Value},
    process::{self, Ending},
};

/// Status of an evaluation without a verdict, in hosts that have one.
pub(crate) const NOT_EVALUATED: &str = "NOT_EVALUATED";

/// Record of one evaluation in a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recorded {
    /// Relation of the record to what the program meant.
    pub outcome: Outcome,
    /// Recorded score, any number including `NaN`; `None` if no score is recorded.
    #[serde(serialize_with = "number_or_text")]
    pub score: Option<f64>,
    /// The host's own status, e.g. `quality_failure`; `None` if it has none.
    pub status: Option<&'static str>,
    /// Rows that are kept: hits and misses, assertions, checks, turns.
    pub rows: Vec<Row>,
    /// Recorded message.
    pub message: Option<String>,
    /// Lost part, or the reason why the record differs from the answer.
    pub remark: Option<String>,
}

/// Relation of a record to what the program meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The answer is recorded as it was meant.
    Recorded,
    /// An answer or a part of it is not recorded.
    Lost,
    /// An error is recorded as an error.
    Error,
    /// Something that is not a judgement is recorded as a failure of the agent.
    LooksFailed,
    /// Something that is not a judgement is recorded as a success of the agent.
    LooksPassed,
    /// The host may terminate, and lose what was not yet recorded.
    HostDies,
}

/// A row of a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// Text; empty for a turn.
    pub text: String,
    /// Whether the row passed; `None` if the host does not record it.
    pub passed: Option<bool>,
    /// Score of the row.
    #[serde(serialize_with = "number_or_text")]
    pub score: Option<f64>,
    /// Reason or evidence.
    pub note: Option<String>,
}

/// Writes a number that JSON does not have as text, so that it differs from a missing one.
fn number_or_text<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) if !number.is_finite() => serializer.collect_str(number),
        number => number.serialize(serializer),
    }
}

impl Recorded {
    /// An error that the host keeps apart from scores.
    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::new(Outcome::Error) }
    }

    pub(crate) fn new(outcome: Outcome) -> Self {
        Self { outcome, score: None, status: None, rows: Vec::new(), message: None, remark: None }
    }

    pub(crate) fn with_score(outcome: Outcome, score: f64) -> Self {
        Self { score: Some(score), ..Self::new(outcome) }
    }

    #[must_use]
    pub(crate) fn with_status(self, status: &'static str) -> Self {
        Self { status: Some(status), ..self }
    }

    /// Sets the outcome and the reason for it.
    #[must_use]
    pub(crate) fn reclassified(self, outcome: Outcome, remark: impl Into<String>) -> Self {
        Self { outcome, ..self.with_remark(remark) }
    }

    #[must_use]
    pub(crate) fn with_remark(self, remark: impl Into<String>) -> Self {
        Self { remark: Some(remark.into()), ..self }
    }
}

/// Returns the outcome of a broken evaluation that is recorded with a score.
pub(crate) fn disguise(passed: bool) -> Outcome {
    if passed { Outcome::LooksPassed } else { Outcome::LooksFailed }
}

/// Returns standard output as Node.js decodes it: invalid UTF-8 becomes U+FFFD, line ends become `\n`, and JavaScript's
/// whitespace, including a byte order mark, is removed at both ends.
pub(crate) fn javascript_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let blank = |c: char| c.is_whitespace() && c != '\u{85}' || c == '\u{feff}';
    text.trim_matches(blank).to_owned()
}

/// `JSON.parse`.
pub(crate) fn javascript_json(text: &str) -> Option<Value> {
    let options = ParseOptions { non_finite: false, ..ParseOptions::default() };
    json::parse(text, &options).ok().map(|parsed| parsed.value)
}

/// Reads a document as Python's `json` and pydantic do: `NaN` and `Infinity` are numbers, and only whitespace may surround it.
///
/// # Errors
///
/// The message of the reader.
pub(crate) fn python_json(bytes: &[u8], max_depth: usize) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to()))?;
    let options = ParseOptions { max_depth, non_finite: true, ..ParseOptions::default() };
    json::parse(text, &options).map(|parsed| parsed.value).map_err(|error| error.to_string())
}

/// Returns a JSON number as a float.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(_) | Value::String(_) => None,
        other => pydantic_float(other),
    }
}

/// Returns standard error without surrounding whitespace; `None` if it is empty.
pub(crate) fn message(run: &process::Outcome) -> Option<String> {
    let text = run.stderr.text();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns how a process ended that did not exit.
pub(crate) fn untimely(ending: &Ending) -> Option<Cow<'static, str>> {
    Some(match ending {
        Ending::Exited(_) => return None,
        Ending::Signalled(signal) => format!("it was ended by signal {signal}").into(),
        Ending::TimedOut { limit } => {
            format!("it was not done after {} s", limit.as_secs_f64()).into()
        }
        Ending::Cancelled => "it was interrupted".into(),
        Ending::SpawnFailed(error) => error.to_string().into(),
        Ending::Lost { reason } => format!("its exit status is not available: {reason}").into(),
    })
}

/// Returns the exit code of a process that failed.
pub(super) fn bad_exit_code(ending: &Ending) -> Option<i32> {
    match ending {
        Ending::Exited(code) if *code != 0 => Some(*code),
        _ => None,
    }
}

/// Returns the standard output of a process that succeeded.
///
/// # Errors
///
/// Returns the failure of the process, as hosts written in Python record it.
pub(crate) fn finished(run: &process::Outcome) -> Result<&[u8], String> {
    if let Some(untimely) = untimely(&run.ending) {
        return Err(untimely.into_owned());
    }
    if let Some(code) = bad_exit_code(&run.ending) {
        let message = message(run).map(|message| format!(": {message}")).unwrap_or_default();
        return Err(format!("exited with code {code}{message}"));
    }
    if run.leaked_pipe() {
        return Err("a process that it started keeps its output open, until the timeout".into());
    }
    Ok(run.stdout.head())
}

/// Returns true if standard output has anything but whitespace.
pub(super) fn printed(run: &process::Outcome) -> bool {
    !run.stdout.head().trim_ascii().is_empty() || run.stdout.overflowed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_languages_read_json_differently() {
        assert!(javascript_json(r#"{"score":NaN}"#).is_none());
        assert!(python_json(br#"{"score":NaN}"#, 200).is_ok());
        assert_eq!(javascript_text(b"\xef\xbb\xbf{\r\n}\r\n"), "{\n}");
        assert!(python_json(b"\xef\xbb\xbf{}", 200).is_err());
        assert_eq!(number(&javascript_json("1e999").unwrap()), Some(f64::INFINITY));
        assert_eq!(pydantic_float(&Value::String("0.5".to_owned())), Some(0.5));
    }
}
