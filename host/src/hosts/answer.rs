//! Reads what an evaluator printed.

use crate::json::{
    self, NonFinite, Object, ParseErrorKind, ParseOptions, RepeatedKeys, Surrogates, Value,
};

use super::{Answer, BadAnswer, Status};

/// How many arrays and objects may be open at once in an answer; other hosts refuse more, too.
const MAX_DEPTH: usize = 199;

/// Characters of a value or line that an error message shows.
const EXCERPT: usize = 60;

/// Reads one JSON document in UTF-8, with nothing but whitespace around it.
pub(super) fn document(bytes: &[u8]) -> Result<Value, BadAnswer> {
    // Read here so that the message can name the field.
    read(bytes, true)
}

/// The same without `NaN` and infinities, which no other reader need know.
pub(crate) fn strict_document(bytes: &[u8]) -> Result<Value, BadAnswer> {
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
                _ if noise => "; print the result and nothing else, logs belong on standard error",
                _ => "",
            };
            let reason = format!("{error}: {}{hint}", surroundings(text, before.len()));
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

/// Reads a result from its document, an object.
///
/// `score` must be there, a finite number from 0 to 1; text that is such a number and booleans count as numbers.
/// `status`, `per_invocation_scores` and `details` may be missing. Other keys are ignored. [`BadAnswer`] names the field and shows what stands there.
pub(super) fn answer_from(document: Value) -> Result<Answer, BadAnswer> {
    let Value::Object(mut object) = document else {
        return Err(unexpected("", "an object", &document));
    };
    Ok(Answer {
        score: Some(score(&object)?),
        status: status(&object)?,
        per_invocation_scores: per_invocation_scores(&object)?,
        details: details(object.swap_remove("details"))?,
    })
}

fn score(object: &Object) -> Result<f64, BadAnswer> {
    const EXPECTED: &str = "a number from 0 to 1";
    let Some(value) = object.get("score") else {
        return Err(invalid("score", format!("{EXPECTED} is required, but the field is missing")));
    };
    match number(value) {
        // Adding zero turns a negative zero into a plain one.
        Some(score) if (0.0..=1.0).contains(&score) => Ok(score + 0.0),
        _ => Err(unexpected("score", EXPECTED, value)),
    }
}

fn status(object: &Object) -> Result<Option<Status>, BadAnswer> {
    let value = match object.get("status") {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value,
    };
    Status::ALL
        .into_iter()
        .find(|status| value.as_str() == Some(status.as_str()))
        .map(Some)
        .ok_or_else(|| {
            unexpected("status", r#""PASSED", "FAILED", "NOT_EVALUATED" or null"#, value)
        })
}

fn per_invocation_scores(object: &Object) -> Result<Vec<Option<f64>>, BadAnswer> {
    let items = match object.get("per_invocation_scores") {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => {
            return Err(unexpected(
                "per_invocation_scores",
                "an array of numbers and nulls",
                other,
            ));
        }
    };
    let read = |(index, item): (usize, &Value)| match (item, number(item)) {
        (Value::Null, _) => Ok(None),
        (_, Some(score)) if score.is_finite() => Ok(Some(score)),
        _ => Err(unexpected(
            &format!("per_invocation_scores[{index}]"),
            "a finite number or null",
            item,
        )),
    };
    items.iter().enumerate().map(read).collect()
}

fn details(value: Option<Value>) -> Result<Option<Object>, BadAnswer> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(details)) => Ok(Some(details).filter(|details| !details.is_empty())),
        Some(other) => Err(unexpected("details", "an object or null", &other)),
    }
}

/// The number a value stands for, finite or not.
pub(crate) fn number(value: &Value) -> Option<f64> {
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

/// The complaint that a field has another value than expected.
pub(crate) fn unexpected(path: &str, expected: &str, found: &Value) -> BadAnswer {
    let shown = cut(&json::to_string(found, NonFinite::Literal));
    invalid(path, format!("expected {expected}, found {shown}"))
}

/// The complaint about a field.
pub(crate) fn invalid(path: &str, reason: String) -> BadAnswer {
    BadAnswer::Invalid { path: path.to_owned(), reason }
}

/// The text around byte `at`, on one line, quoted so that it cannot disturb a terminal.
fn surroundings(text: &str, at: usize) -> String {
    let (before, after) = text.split_at(at);
    let start = before.char_indices().rev().nth(EXCERPT / 2).map_or(0, |(start, _)| start);
    let end = after.char_indices().nth(EXCERPT / 2).map_or(text.len(), |(end, _)| at + end);
    let more_before = if start > 0 { "... " } else { "" };
    let more_after = if end < text.len() { " ..." } else { "" };
    format!("{more_before}{:?}{more_after}", &text[start..end])
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_answer(bytes: &[u8]) -> Result<Answer, BadAnswer> {
        answer_from(document(bytes)?)
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
