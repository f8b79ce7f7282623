//! JSON as JavaScript writes and compares it.

use evaluator_json::{NonFinite, Value, to_indented, to_string};
pub(crate) use evaluator_json::{count, object};

/// Returns the text of `JSON.stringify(value, null, 2)`.
pub(crate) fn pretty(value: &Value) -> String {
    to_indented(&plain(value))
}

/// Returns the text of `JSON.stringify(value)`.
pub(crate) fn compact(value: &Value) -> String {
    to_string(&plain(value), NonFinite::Null)
}

/// Converts numbers such as `100.0` to integers: JavaScript has one type of numbers.
fn plain(value: &Value) -> Value {
    match value {
        #[expect(clippy::cast_possible_truncation, reason = "whole numbers below 2^53")]
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
            Value::Int(*number as i64)
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), plain(value))).collect())
        }
        other => other.clone(),
    }
}

/// Compares without conversions: the order of keys does not count, that of items does, `1` is `1.0` and not `true`.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Bool(_), _) | (_, Value::Bool(_)) => false,
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(key, left): (&String, &Value)| {
                right.get(key).is_some_and(|right| equal(left, right))
            };
            left.len() == right.len() && left.iter().all(same)
        }
        _ => evaluator_json::python_eq(left, right),
    }
}

/// Removes the white space of JavaScript from both ends.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}'))
}

/// Returns the JSON in a text that may have fences and prose around it: from the first `{` to the last `}`.
pub(crate) fn embedded(text: &str) -> Option<Value> {
    let text = text.replace("```json\n", "").replace("```", "");
    let cut = text.get(text.find('{')?..=text.rfind('}')?)?;
    let options = evaluator_json::ParseOptions { non_finite: false, ..Default::default() };
    Some(evaluator_json::parse(cut, &options).ok()?.value)
}

/// Returns a finite number; a text is none.
pub(crate) fn finite(value: &Value) -> Option<f64> {
    match value {
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => {
            evaluator_hosts::number(value).filter(|number| number.is_finite())
        }
        _ => None,
    }
}

/// Returns the value behind these steps: keys of objects and indexes of lists.
pub(crate) fn at<'v, 's>(
    value: &'v Value,
    mut steps: impl Iterator<Item = &'s str>,
) -> Option<&'v Value> {
    steps.try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

/// Returns an object without the members that have no value.
pub(crate) fn present<'k>(members: impl IntoIterator<Item = (&'k str, Option<Value>)>) -> Value {
    object(members.into_iter().filter_map(|(key, value)| Some((key, value?))))
}

pub(crate) fn list(items: impl IntoIterator<Item = Value>) -> Value {
    Value::Array(items.into_iter().collect())
}

pub(crate) fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

pub(crate) fn number(number: Option<f64>) -> Value {
    number.map_or(Value::Null, Value::Float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_by_value_and_types_matter() {
        let value = |text: &str| evaluator_json::parse_python(text).unwrap();
        for (left, right, expected) in [
            ("1", "1.0", true),
            ("1", "true", false),
            ("1", "\"1\"", false),
            (r#"{"a": 1, "b": [1, 2]}"#, r#"{"b": [1, 2], "a": 1}"#, true),
            ("[1, 2]", "[2, 1]", false),
            (r#"{"a": 1}"#, r#"{"a": 1, "b": null}"#, false),
            ("null", "null", true),
        ] {
            assert_eq!(equal(&value(left), &value(right)), expected, "{left} {right}");
        }
        assert_eq!(
            pretty(&value(r#"{"a": 100.0, "b": 0.5, "c": []}"#)),
            "{\n  \"a\": 100,\n  \"b\": 0.5,\n  \"c\": []\n}"
        );
    }
}
