//! What Agenta makes of replies and of returned values: the rules of its own evaluators, for those who play the host.
//!
//! `Value` has no numbers that are not finite, which Agenta takes all the same. They are [`Recorded::Scored`] as numbers,
//! and `null` inside objects and lists.

use serde_json::{Value, json};

use super::{
    http::MAX_REPLY,
    threshold::{DEFAULT_THRESHOLD, ThresholdError, strict_threshold},
};

/// What Agenta records.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Recorded {
    /// A number, and whether it reaches the threshold. It may be any number.
    Scored {
        /// The number.
        score: f64,
        /// Whether that is a success; never for NaN.
        success: bool,
    },
    /// This value, which nobody has looked at.
    Value(Value),
    /// Nothing: a remote workflow replied `null`.
    Nothing,
}

impl Recorded {
    fn scored(score: f64, threshold: f64) -> Self {
        Self::Scored { score, success: score >= threshold }
    }
}

/// An error that Agenta records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// Status.
    pub code: u16,
    /// Kind, e.g. `v0:workflows:custom-hook-server-error`.
    pub kind: &'static str,
    /// What went wrong; where Agenta leaves that to a library, in our words.
    pub message: String,
    /// Whether Agenta itself fails with an exception instead of recording this, when the evaluator is called by a workflow:
    /// the reply was an error whose body is a JSON object.
    pub raises: bool,
}

impl Refused {
    fn new(code: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self { code, kind, message: message.into(), raises: false }
    }

    fn threshold(error: &ThresholdError) -> Self {
        Self::new(400, "v0:schemas:invalid-parameter", error.to_string())
    }

    fn client(message: impl Into<String>) -> Self {
        Self::new(500, "v0:workflows:custom-hook-client-error", message)
    }

    fn code(message: impl Into<String>) -> Self {
        Self::new(500, "v0:workflows:custom-code-server-error", message)
    }
}

/// What becomes of the reply of a webhook. `threshold` is the parameter of that name.
///
/// # Errors
///
/// [`Refused`]: there is an error instead of a result.
pub fn webhook(status: u16, body: &[u8], threshold: Option<&Value>) -> Result<Recorded, Refused> {
    let threshold = strict_threshold(threshold).map_err(|error| Refused::threshold(&error))?;
    let body = hook_body(status, body)?;
    let Some(reply) = Json::read(&body) else {
        return Err(Refused::client("the reply is not JSON"));
    };
    match reply {
        Json::NotFinite(number) => Ok(Recorded::scored(number, threshold)),
        Json::Value(Value::Number(number)) => {
            Ok(Recorded::scored(number.as_f64().unwrap_or(f64::NAN), threshold))
        }
        Json::Value(Value::Bool(success)) => {
            Ok(Recorded::Value(json!({"score": success, "success": success})))
        }
        Json::Value(value @ (Value::Object(_) | Value::String(_))) => Ok(Recorded::Value(value)),
        Json::Value(other) => {
            let message = format!("expected an object or a text, found {other}");
            Err(Refused::new(400, "v0:schemas:invalid-outputs", message))
        }
    }
}

/// What becomes of the reply of a remote workflow.
///
/// # Errors
///
/// [`Refused`]: there is an error instead of a result.
pub fn remote(status: u16, body: &[u8]) -> Result<Recorded, Refused> {
    let body = hook_body(status, body)?;
    Ok(match Json::read(&body) {
        Some(Json::Value(Value::Null)) => Recorded::Nothing,
        Some(Json::Value(value)) => Recorded::Value(value),
        Some(Json::NotFinite(score)) => Recorded::Scored { score, success: false },
        None => Recorded::Value(body.into()),
    })
}

/// The body of a good reply as text.
fn hook_body(status: u16, body: &[u8]) -> Result<String, Refused> {
    let text = String::from_utf8_lossy(body).into_owned();
    if status != 200 {
        let json = Json::read(&text);
        let raises = matches!(json, Some(Json::Value(Value::Object(_))));
        let message = match json {
            Some(Json::Value(Value::String(message))) => message,
            _ => text,
        };
        let kind = "v0:workflows:custom-hook-server-error";
        return Err(Refused { raises, ..Refused::new(status, kind, message) });
    }
    if body.len() > MAX_REPLY {
        return Err(Refused::client(format!("the reply is longer than {MAX_REPLY} bytes")));
    }
    Ok(text)
}

/// What becomes of the value that custom code returns, by the version of its interface (1, 2 or 3). `threshold` is the
/// parameter of that name.
///
/// # Errors
///
/// [`Refused`]: there is an error instead of a result.
pub fn code(version: u8, returned: &Value, threshold: Option<&Value>) -> Result<Recorded, Refused> {
    let threshold = strict_threshold(threshold).map_err(|error| Refused::threshold(&error))?;
    match (version, returned) {
        (_, Value::Number(number)) => {
            Ok(Recorded::scored(number.as_f64().unwrap_or(f64::NAN), threshold))
        }
        (_, Value::Null) => Err(Refused::code("nothing was returned")),
        (3, Value::Bool(success)) => Ok(Recorded::Value(json!({"success": success}))),
        (3, other) => Ok(Recorded::Value(other.clone())),
        (_, Value::Bool(success)) => Ok(Recorded::scored(f64::from(u8::from(*success)), threshold)),
        (_, Value::String(text)) => match python_float(text) {
            Some(number) => Ok(Recorded::scored(number, threshold)),
            None => Err(Refused::code(format!("{text:?} is not a number"))),
        },
        (_, other) => Err(Refused::code(format!("{other} is not a number"))),
    }
}

/// As Python's `float` reads text: blanks around it, underscores between digits, words for what is not finite.
fn python_float(text: &str) -> Option<f64> {
    let text = text.trim();
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let misplaced = bytes.iter().enumerate().any(|(at, byte)| {
        *byte == b'_'
            && !(digit(at.checked_sub(1).and_then(|at| bytes.get(at))) && digit(bytes.get(at + 1)))
    });
    // Rust reads the same words and forms otherwise.
    (!misplaced).then(|| text.replace('_', "").parse().ok()).flatten()
}

/// JSON as Python reads it.
enum Json {
    Value(Value),
    NotFinite(f64),
}

impl Json {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}').trim();
        if let Ok(value) = serde_json::from_str(text) {
            return Some(Self::Value(value));
        }
        match text {
            "NaN" => Some(Self::NotFinite(f64::NAN)),
            "Infinity" => Some(Self::NotFinite(f64::INFINITY)),
            "-Infinity" => Some(Self::NotFinite(f64::NEG_INFINITY)),
            number if number.ends_with(|last: char| last.is_ascii_digit()) && is_number(number) => {
                number.parse().ok().map(Self::NotFinite)
            }
            other => serde_json::from_str(&without_not_finite(other)).ok().map(Self::Value),
        }
    }
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The text with `null` for the words that Python has for numbers that are not finite.
fn without_not_finite(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    // Between quotes nothing is replaced; a quote that is escaped ends nothing.
    let (mut in_string, mut escaped, mut rest) = (false, false, text);
    while let Some(next) = rest.chars().next() {
        let word = ["-Infinity", "Infinity", "NaN"].into_iter().find(|word| rest.starts_with(word));
        if let (false, Some(word)) = (in_string, word) {
            written.push_str("null");
            rest = &rest[word.len()..];
            continue;
        }
        in_string ^= next == '"' && !escaped;
        escaped = next == '\\' && in_string && !escaped;
        written.push(next);
        rest = &rest[next.len_utf8()..];
    }
    written
}

/// The threshold of the handler `agenta:custom:code:v0`, which takes any number: [`DEFAULT_THRESHOLD`] where there is none.
#[must_use]
pub fn custom_code_threshold(value: Option<&Value>) -> Option<f64> {
    match value {
        Some(value) if !super::threshold::is_none(value) => match value {
            Value::Bool(_) => Some(1.0),
            Value::Number(number) => number.as_f64(),
            Value::String(text) => python_float(text),
            _ => None,
        },
        _ => Some(DEFAULT_THRESHOLD),
    }
}
