//! What a process left behind, as hosts written in JavaScript and in Python read it.

use std::borrow::Cow;

use crate::{
    json::{self, ParseOptions, Value},
    process::{Ending, Outcome},
};

/// Standard output as Node.js decodes it: invalid UTF-8 becomes U+FFFD, line ends become `\n`, and what JavaScript takes
/// for whitespace, a byte order mark included, is cut off at both ends.
pub(super) fn javascript_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let blank = |c: char| c.is_whitespace() && c != '\u{85}' || c == '\u{feff}';
    text.trim_matches(blank).to_owned()
}

/// `JSON.parse`.
pub(super) fn javascript_json(text: &str) -> Option<Value> {
    let options = ParseOptions { non_finite: false, ..ParseOptions::default() };
    json::parse(text, &options).ok().map(|parsed| parsed.value)
}

/// A document as Python's `json` and pydantic read it: `NaN` and `Infinity` are numbers, and nothing but whitespace may
/// stand around it.
///
/// # Errors
///
/// What the reader complains of.
pub(super) fn python_json(bytes: &[u8], max_depth: usize) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to()))?;
    let options = ParseOptions { max_depth, non_finite: true, ..ParseOptions::default() };
    json::parse(text, &options).map(|parsed| parsed.value).map_err(|error| error.to_string())
}

/// A number that is a number, as a float.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "both languages hold scores as floats")]
        Value::Int(int) => Some(*int as f64),
        Value::BigInt(digits) => digits.parse().ok(),
        Value::Float(float) => Some(*float),
        _ => None,
    }
}

/// A number, or what pydantic takes for one: booleans and text that is a number.
pub(super) fn pydantic_float(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        Value::String(text) => json::parse_float(text),
        other => number(other),
    }
}

/// Standard error as a message: its text without whitespace around it.
pub(super) fn message(outcome: &Outcome) -> Option<String> {
    let text = outcome.stderr.text();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// How the process ended, in words, where it did not end with an exit code.
pub(super) fn untimely(ending: &Ending) -> Option<Cow<'static, str>> {
    match ending {
        Ending::Exited(_) => None,
        Ending::Signalled(signal) => Some(format!("it was ended by signal {signal}").into()),
        Ending::TimedOut { limit } => {
            Some(format!("it was not done after {} s", limit.as_secs_f64()).into())
        }
        Ending::Cancelled => Some("it was interrupted".into()),
        Ending::SpawnFailed(error) => Some(error.to_string().into()),
        Ending::Lost { reason } => Some(format!("how it ended is not known: {reason}").into()),
    }
}

/// The exit code, if it says that something went wrong.
pub(super) fn bad_exit_code(ending: &Ending) -> Option<i32> {
    match ending {
        Ending::Exited(code) if *code != 0 => Some(*code),
        _ => None,
    }
}

/// What a program printed that did all it was asked for.
///
/// # Errors
///
/// How it broke, as those say it who start programs from Python.
pub(super) fn finished(outcome: &Outcome) -> Result<&[u8], String> {
    if let Some(untimely) = untimely(&outcome.ending) {
        return Err(untimely.into_owned());
    }
    if let Some(code) = bad_exit_code(&outcome.ending) {
        let message = message(outcome).map(|message| format!(": {message}")).unwrap_or_default();
        return Err(format!("exited with code {code}{message}"));
    }
    if outcome.leaked_pipe() {
        return Err("something it started keeps its output open, so that its time runs out".into());
    }
    Ok(outcome.stdout.head())
}

/// Whether anything is on standard output, whitespace apart.
pub(super) fn printed(outcome: &Outcome) -> bool {
    !outcome.stdout.head().trim_ascii().is_empty() || outcome.stdout.overflowed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_languages_differ_in_what_json_is() {
        assert!(javascript_json(r#"{"score":NaN}"#).is_none());
        assert!(python_json(br#"{"score":NaN}"#, 200).is_ok());
        assert_eq!(javascript_text(b"\xef\xbb\xbf{\r\n}\r\n"), "{\n}");
        assert!(python_json(b"\xef\xbb\xbf{}", 200).is_err());
        assert_eq!(number(&javascript_json("1e999").unwrap()), Some(f64::INFINITY));
        assert_eq!(pydantic_float(&Value::String("0.5".to_owned())), Some(0.5));
    }
}
