//! Answers: the result of an evaluator, and reading one of the default contract.

pub use evaluator_protocol::EvalStatus as Status;

use evaluator_protocol::Contract;

use crate::json::{
    self, NonFinite, Object, ParseErrorKind, ParseOptions, RepeatedKeys, Surrogates, Value,
};

/// Maximum nesting of an answer, in arrays and objects. Other hosts have the same limit.
const MAX_DEPTH: usize = 199;

/// Expected value of a score, in error messages.
pub(super) const SCORE: &str = "a number from 0 to 1";

/// Characters of a value or line that an error message shows.
const EXCERPT: usize = 60;

/// Keys of an object that an error message names.
const KEYS: usize = 5;

/// Result of an evaluator.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Overall score, finite and in `0..=1`. `None` only if nothing was evaluated.
    pub score: Option<f64>,
    /// Status stated by the evaluator; `None` if the threshold decides.
    pub status: Option<Status>,
    /// Score of each turn; `None` where a turn was not scored.
    pub per_invocation_scores: Vec<Option<f64>>,
    /// Additional data.
    pub details: Option<Object>,
    /// Keys of the answer that are not read, without those that are read under other contracts.
    pub dropped_keys: Vec<String>,
}

impl Answer {
    /// Returns the status at this threshold: the stated one, else whether the score reaches the threshold.
    pub fn status_for(&self, threshold: f64) -> Status {
        match (self.status, self.score) {
            (Some(given), _) => given,
            (None, None) => Status::NotEvaluated,
            (None, Some(score)) if score >= threshold => Status::Passed,
            (None, Some(_)) => Status::Failed,
        }
    }
}

/// Reason why the output of an evaluator is not an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    /// The output is empty.
    #[error("nothing was printed")]
    Empty,
    /// The output is not one JSON document in UTF-8.
    #[error("{reason}")]
    NotJson {
        /// Position and reason.
        reason: String,
    },
    /// A field has the wrong type or a value that is not allowed.
    #[error("{path}{separator}{reason}", separator = if path.is_empty() { "" } else { ": " })]
    Invalid {
        /// Path of the field, e.g. `per_invocation_scores[2]`; empty for the document itself.
        path: String,
        /// Expected and found value.
        reason: String,
    },
    /// The output is an answer that only another host understands.
    #[error(
        "answered in the terms of {} ({found}): add `contract: {contract}` to its entry, or `contract: agentevals` \
         if it means a result of agentevals",
        title_of(*contract)
    )]
    Foreign {
        /// Contract of that host.
        contract: Contract,
        /// Keys or type of the answer that identify the contract.
        found: String,
    },
    /// The output exceeds the limit.
    #[error("printed more than {limit} bytes on stdout")]
    TooLarge {
        /// Limit in bytes.
        limit: usize,
    },
}

/// Returns the name of the host that defines a contract, as its authors write it.
pub(super) const fn title_of(contract: Contract) -> &'static str {
    match contract {
        Contract::AgentV => "AgentV",
        Contract::Adk => "Google ADK",
        Contract::Agenta => "Agenta",
        _ => contract.name(),
    }
}

/// Reads one JSON document in UTF-8, with nothing but whitespace around it. `NaN` and infinities are numbers.
///
/// # Errors
///
/// [`BadAnswer::Empty`] or [`BadAnswer::NotJson`].
pub fn parse_document(bytes: &[u8]) -> Result<Value, BadAnswer> {
    // `NaN` is read so that the error can name its field.
    read(bytes, true)
}

/// Reads one JSON document as [`parse_document`] does, without `NaN` and infinities.
///
/// # Errors
///
/// [`BadAnswer::Empty`] or [`BadAnswer::NotJson`].
pub fn parse_strict_document(bytes: &[u8]) -> Result<Value, BadAnswer> {
    read(bytes, false)
}

fn read(bytes: &[u8], non_finite: bool) -> Result<Value, BadAnswer> {
    if bytes.trim_ascii().is_empty() {
        return Err(BadAnswer::Empty);
    }
    let text =
        std::str::from_utf8(bytes).map_err(|error| invalid_utf8(bytes, error.valid_up_to()))?;
    let options = ParseOptions {
        max_depth: MAX_DEPTH,
        non_finite,
        surrogates: Surrogates::Reject,
        repeated_keys: RepeatedKeys::Reject,
    };
    match json::parse(text, &options) {
        Ok(parsed) => Ok(parsed.value),
        Err(error) => {
            let before = text.get(..error.offset).unwrap_or(text);
            let noise = error.kind == ParseErrorKind::TrailingText
                || error.kind == ParseErrorKind::ExpectedValue && before.trim().is_empty();
            let hint = match error.kind {
                ParseErrorKind::RepeatedKey => "; it is not known which of its values counts",
                _ if error.kind == ParseErrorKind::ExpectedKey
                    && text[before.len()..].starts_with('\'') =>
                {
                    "; print JSON, in Python with `json.dumps`"
                }
                _ if noise => "; print the result and nothing else, logs belong on standard error",
                _ => "",
            };
            let reason = format!("{error}: {}{hint}", excerpt(text, before.len()));
            Err(BadAnswer::NotJson { reason })
        }
    }
}

fn invalid_utf8(bytes: &[u8], at: usize) -> BadAnswer {
    let line = 1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count();
    let hint = match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "; it looks like UTF-16, print UTF-8",
        _ => "; print UTF-8",
    };
    let found = bytes[at];
    BadAnswer::NotJson {
        reason: format!("invalid UTF-8, byte 0x{found:02x} at line {line} (byte {at}){hint}"),
    }
}

/// Returns a key for messages.
pub(super) fn quoted(key: &str) -> String {
    truncated(&key.escape_debug().to_string())
}

/// Returns the error of an answer without a score, which has these members.
pub(super) fn missing_score(object: &Object) -> BadAnswer {
    let keys: Vec<String> =
        object.keys().take(KEYS).map(|key| format!("`{}`", quoted(key))).collect();
    let found = match &keys[..] {
        [] => String::new(),
        keys => format!("; the object has {}", keys.join(", ")),
    };
    let unused = if object.get("status").and_then(Value::as_str) == Some("NOT_EVALUATED") {
        "; add `\"score\": 0.0`, which is not used with NOT_EVALUATED"
    } else {
        ""
    };
    invalid("score", format!("{SCORE} is required, but the field is missing{found}{unused}"))
}

/// Returns the number that a value stands for, finite or not: a number, a boolean, or text that is a number.
pub fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        #[expect(clippy::cast_precision_loss, reason = "a score is a float on the wire")]
        Value::Int(int) => Some(*int as f64),
        Value::BigInt(digits) => digits.parse().ok(),
        Value::Float(float) => Some(*float),
        Value::String(text) => json::parse_float(text),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the error of a field that has another value than expected.
pub fn unexpected(path: &str, expected: &str, found: &Value) -> BadAnswer {
    let shown = truncated(&json::to_string(found, NonFinite::Literal));
    invalid(path, format!("expected {expected}, found {shown}"))
}

/// Returns the error of a field.
pub fn invalid(path: &str, reason: String) -> BadAnswer {
    BadAnswer::Invalid { path: path.to_owned(), reason }
}

/// Reads the score of a foreign answer: a number in `0..=1`.
pub(super) fn score(path: &str, value: &Value) -> Result<f64, BadAnswer> {
    let number = match value {
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => number(value),
        _ => None,
    };
    in_range(number).ok_or_else(|| unexpected(path, SCORE, value))
}

/// Returns a number in `0..=1`, with a negative zero as a plain one.
pub(super) fn in_range(number: Option<f64>) -> Option<f64> {
    number.filter(|score| (0.0..=1.0).contains(score)).map(|score| score + 0.0)
}

/// Returns the members of an answer that must be an object.
pub(super) fn members(document: Value, expected: &str) -> Result<Object, BadAnswer> {
    match document {
        Value::Object(object) => Ok(object),
        other => Err(unexpected("", expected, &other)),
    }
}

/// Returns the details of a foreign answer: its members that are not empty.
pub(super) fn nonempty(members: impl IntoIterator<Item = (String, Value)>) -> Option<Object> {
    let details: Object = members.into_iter().filter(|(_, value)| !value.is_empty_like()).collect();
    (!details.is_empty()).then_some(details)
}

/// Returns the text around byte `at` on one line, quoted because a terminal may interpret it.
fn excerpt(text: &str, at: usize) -> String {
    let (before, after) = text.split_at(at);
    let start = before.char_indices().rev().nth(EXCERPT / 2).map_or(0, |(start, _)| start);
    let end = after.char_indices().nth(EXCERPT / 2).map_or(text.len(), |(end, _)| at + end);
    let more_before = if start > 0 { "... " } else { "" };
    let more_after = if end < text.len() { " ..." } else { "" };
    format!("{more_before}{:?}{more_after}", &text[start..end])
}

fn truncated(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer_from;

    #[test]
    fn a_stated_status_wins_over_the_threshold() {
        let scored = |score, status| Answer { score, status, ..Answer::default() };
        for (score, given, expected) in [
            (Some(0.5), None, Status::Passed),
            (Some(0.49), None, Status::Failed),
            (None, None, Status::NotEvaluated),
            (Some(1.0), Some(Status::Failed), Status::Failed),
            (Some(0.0), Some(Status::Passed), Status::Passed),
            (Some(1.0), Some(Status::NotEvaluated), Status::NotEvaluated),
        ] {
            assert_eq!(scored(score, given).status_for(0.5), expected, "{score:?} {given:?}");
        }
        assert_eq!(scored(Some(1.0), None).status_for(f64::NAN), Status::Failed);
    }

    fn parse_answer(bytes: &[u8]) -> Result<Answer, BadAnswer> {
        answer_from(parse_document(bytes)?)
    }

    fn reason(text: &str) -> String {
        parse_answer(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_counts_as_a_number() {
        for (text, score) in [
            ("1", 1.0),
            ("0.25", 0.25),
            ("-0.0", 0.0),
            ("true", 1.0),
            ("false", 0.0),
            (r#"" 0.5 ""#, 0.5),
            (r#""1e-1""#, 0.1),
        ] {
            let answer = parse_answer(format!(r#"{{"score": {text}}}"#).as_bytes()).unwrap();
            assert_eq!(answer.score, Some(score), "{text}");
            assert!(answer.score.is_some_and(f64::is_sign_positive), "{text}");
        }
    }

    #[test]
    fn optional_fields() {
        let answer = parse_answer(
            br#"{"score": 1, "status": "FAILED", "per_invocation_scores": [7, null, "0.5", true],
                 "details": {"a": NaN}, "unknown": []}"#,
        )
        .unwrap();
        assert_eq!((answer.score, answer.status), (Some(1.0), Some(Status::Failed)));
        assert_eq!(answer.per_invocation_scores, [Some(7.0), None, Some(0.5), Some(1.0)]);
        assert_eq!(answer.details.unwrap().len(), 1);

        for empty in ["{}", "null"] {
            let text = format!(r#"{{"score": 1, "status": null, "details": {empty}}}"#);
            let answer = parse_answer(text.as_bytes()).unwrap();
            assert!(answer.details.is_none() && answer.status.is_none(), "{empty}");
        }
    }

    #[test]
    fn errors_name_the_field_and_show_the_value() {
        for (text, expected) in [
            ("{}", "score: a number from 0 to 1 is required, but the field is missing"),
            (
                r#"{"status": "NOT_EVALUATED"}"#,
                "score: a number from 0 to 1 is required, but the field is missing; the object has `status`; \
                 add `\"score\": 0.0`, which is not used with NOT_EVALUATED",
            ),
            (r#"{"score": 1.5}"#, "score: expected a number from 0 to 1, found 1.5"),
            (r#"{"score": NaN}"#, "score: expected a number from 0 to 1, found NaN"),
            (r#"{"score": "nan"}"#, r#"score: expected a number from 0 to 1, found "nan""#),
            (r#"{"score": "high"}"#, r#"score: expected a number from 0 to 1, found "high""#),
            (
                r#"{"score": 1, "per_invocation_scores": [1, -Infinity]}"#,
                "per_invocation_scores[1]: expected a finite number or null, found -Infinity",
            ),
            (r#"{"score": 1, "details": []}"#, "details: expected an object or null, found []"),
            ("[1]", "expected an object, found [1]"),
        ] {
            assert_eq!(reason(text), expected);
        }
        assert!(reason(r#"{"score": 1, "status": "passed"}"#).ends_with(r#"found "passed""#));
        assert!(reason(&format!(r#"{{"score": "{}"}}"#, "x".repeat(500))).len() < 200);
    }

    #[test]
    fn errors_of_the_text_show_where() {
        assert_eq!(
            reason("loading ...\n{}"),
            "expected a value at line 1 column 1 (byte 0): \"loading ...\\n{}\"; print the result and nothing else, \
             logs belong on standard error"
        );
        let far =
            format!(r#"{{"a": "{}", "b": oops, "c": "{}"}}"#, "é".repeat(100), "z".repeat(100));
        let reason = reason(&far);
        assert!(reason.contains(r#"\"b\": oops"#) && reason.len() < 250, "{reason}");
        let latin1 = parse_answer(b"{\n\"a\": \"caf\xe9\"}").unwrap_err().to_string();
        assert_eq!(latin1, "invalid UTF-8, byte 0xe9 at line 2 (byte 11); print UTF-8");
    }

    #[test]
    fn repeated_keys_are_errors_at_any_depth() {
        assert_eq!(
            reason("{\"score\": 0.1,\n \"score\": 0.9}"),
            "the key is repeated in the same object at line 2 column 2 (byte 16): \"{\\\"score\\\": 0.1,\\n \\\"score\\\": 0.9}\"; it is not known which of \
             its values counts"
        );
        for text in [
            r#"{"score": 1, "status": "FAILED", "status": "PASSED"}"#,
            r#"{"score": 1, "sc\u006fre": 0}"#,
            r#"{"score": 1, "error": "broke", "error": null}"#,
            r#"{"score": 1, "own": 1, "own": 1}"#,
            r#"{"score": 1, "details": {"a": 1, "b": 2, "a": 3}}"#,
            r#"{"score": 1, "details": {"list": [{"a": 1, "a": 1}]}}"#,
            r#"{"score": 1, "details": {}, "details": null}"#,
        ] {
            assert!(
                reason(text)
                    .starts_with("the key is repeated in the same object at line 1 column "),
                "{text}"
            );
        }
        let same_elsewhere =
            br#"{"score": 1, "details": {"score": 0, "list": [{"a": 1}, {"a": 1}]}}"#;
        assert!(parse_answer(same_elsewhere).is_ok());
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |levels: usize| {
            // The object itself is a level, and so is `details`.
            let (open, close) = ("[".repeat(levels - 2), "]".repeat(levels - 2));
            parse_answer(format!(r#"{{"score": 1, "details": {{"x": {open}{close}}}}}"#).as_bytes())
        };
        assert!(nested(199).is_ok());
        assert!(matches!(nested(200), Err(BadAnswer::NotJson { .. })));
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_printed_a_score_is_a_score(bytes in ".*|[{}\\[\\]\",:a-z0-9NI.+-]*") {
            if let Ok(answer) = parse_answer(bytes.as_bytes()) {
                proptest::prop_assert!(answer.score.is_some_and(|score| (0.0..=1.0).contains(&score)));
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse_answer(&bytes);
        }

        #[test]
        fn only_scores_in_range_are_accepted(score: f64) {
            let text = format!(r#"{{"score": {score:?}}}"#).replace("inf", "Infinity");
            let accepted = parse_answer(text.as_bytes()).is_ok();
            proptest::prop_assert_eq!(accepted, (0.0..=1.0).contains(&score));
        }
    }
}
