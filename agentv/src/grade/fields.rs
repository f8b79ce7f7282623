//! Fields of an answer that is JSON.

use std::sync::LazyLock;

use evaluator_json::Value;
use regress::Regex;

use super::{Row, Score, dates};
use crate::{
    json_text::{self, compact, embedded, equal, finite, trim},
    model::{Comparison, FieldAccuracy, Message},
};

/// Compares the fields of an answer with those of the gold answer.
///
/// # Errors
///
/// The gold answer is not JSON.
pub fn grade(
    accuracy: &FieldAccuracy,
    answer: &str,
    expected: &[Message],
) -> Result<Score, String> {
    let Some(expected) = gold(expected) else {
        return Err(
            "the test has no expected output that is an object, or text with one".to_owned()
        );
    };
    let Some(actual) = embedded(answer) else {
        return Ok(Score::of(false, vec![Row::new("the answer holds a JSON object", false)]));
    };
    let (mut rows, mut sum, mut total) = (Vec::new(), 0.0, 0.0);
    for field in &accuracy.fields {
        let (text, passed, weight) = match (at(&expected, &field.path), at(&actual, &field.path)) {
            (None, _) => ("nothing is expected".to_owned(), true, field.weight),
            (Some(_), None) if field.required => ("missing".to_owned(), false, field.weight),
            (Some(_), None) => ("missing, and optional".to_owned(), true, 0.0),
            (Some(expected), Some(actual)) => {
                let passed = is_match(&field.comparison, expected, actual);
                let text = format!("{}, expected {}", compact(actual), compact(expected));
                (text, passed, field.weight)
            }
        };
        rows.push(Row::new(format!("{}: {text}", field.path), passed));
        sum += if passed { weight } else { 0.0 };
        total += weight;
    }
    Ok(match accuracy.all_or_nothing {
        true => Score::of(rows.iter().all(|row| row.passed), rows),
        false => Score::new(if total > 0.0 { sum / total } else { 0.0 }, rows),
    })
}

/// Returns the object in the last message of the assistant that is one, or has one in its text.
fn gold(expected: &[Message]) -> Option<Value> {
    let message = expected.iter().rev().find(|message| message.role() == "assistant")?;
    match message.value.get("content")? {
        object @ Value::Object(_) => Some(object.clone()),
        Value::String(text) => embedded(text),
        _ => None,
    }
}

/// Returns the value at a path such as `a.b[0].c` or `a.b.0.c`; `None` if it is absent.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let steps = path.split(['.', '[']).map(|step| step.trim_end_matches(']'));
    json_text::at(value, steps.filter(|step| !step.is_empty()))
}

fn is_match(comparison: &Comparison, expected: &Value, actual: &Value) -> bool {
    match comparison {
        Comparison::Exact => equal(expected, actual),
        Comparison::Number { tolerance, relative } => {
            let (Some(expected), Some(actual)) = (number(expected), number(actual)) else {
                return false;
            };
            let difference = (actual - expected).abs();
            let scale = if *relative && expected != 0.0 { expected.abs() } else { 1.0 };
            difference / scale <= *tolerance
        }
        Comparison::Date { formats } => {
            let day = |value: &Value| dates::day(value.as_str()?, formats);
            let (expected, actual) = (day(expected), day(actual));
            expected.is_some() && expected == actual
        }
    }
}

/// Returns a number, or the number at the start of a text.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => parse_float(text).filter(|number| number.is_finite()),
        other => finite(other),
    }
}

/// Reads the longest number at the start of a text, as JavaScript's `parseFloat` does.
fn parse_float(text: &str) -> Option<f64> {
    static NUMBER: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?").ok());
    let text = trim(text);
    text.get(NUMBER.as_ref()?.find(text)?.range())?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_the_start_of_texts() {
        for (text, expected) in [
            ("12 apples", Some(12.0)),
            (" -1.5e2x", Some(-150.0)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("1e", Some(1.0)),
            ("apples", None),
            (".", None),
            ("", None),
            ("1,000", Some(1.0)),
        ] {
            assert_eq!(parse_float(text), expected, "{text}");
        }
    }

    #[test]
    fn paths_lead_into_lists() {
        let value = evaluator_json::parse_python(r#"{"a": {"b": [{"c": 1}, [2]]}}"#).unwrap();
        for (path, expected) in
            [("a.b[0].c", "1"), ("a.b.0.c", "1"), ("a.b[1][0]", "2"), ("a.b[2]", "-")]
        {
            assert_eq!(at(&value, path).map_or("-".to_owned(), compact), expected, "{path}");
        }
    }
}
