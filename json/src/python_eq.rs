//! Equality as Python sees it.

use super::value::Value;

/// Whether Python's `==` holds between the two: `1 == 1.0 == True`, objects in any order, `NaN` equal to nothing.
///
/// Integers of any size are compared exactly, also with floats.
#[must_use]
pub fn python_eq(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::String(left), Value::String(right)) => left == right,
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| python_eq(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, left)| right.get(key).is_some_and(|right| python_eq(left, right)))
        }
        _ => match (number(left), number(right)) {
            (Some(left), Some(right)) => same_number(left, right),
            _ => false,
        },
    }
}

#[derive(Clone, Copy)]
enum Number<'a> {
    Int(i64),
    Big(&'a str),
    Float(f64),
}

fn number(value: &Value) -> Option<Number<'_>> {
    match value {
        Value::Bool(value) => Some(Number::Int(i64::from(*value))),
        Value::Int(int) => Some(Number::Int(*int)),
        Value::BigInt(digits) => Some(Number::Big(digits)),
        Value::Float(float) => Some(Number::Float(*float)),
        _ => None,
    }
}

fn same_number(left: Number<'_>, right: Number<'_>) -> bool {
    match (left, right) {
        (Number::Int(left), Number::Int(right)) => left == right,
        // Both are canonical.
        (Number::Big(left), Number::Big(right)) => left == right,
        (Number::Float(left), Number::Float(right)) => left == right,
        (Number::Int(_), Number::Big(_)) | (Number::Big(_), Number::Int(_)) => false,
        (Number::Int(int), Number::Float(float)) | (Number::Float(float), Number::Int(int)) => {
            // Every i64 fits i128 exactly, and so does every float the cast does not saturate; those are no i64.
            float.fract() == 0.0 && float as i128 == i128::from(int)
        }
        (Number::Big(digits), Number::Float(float))
        | (Number::Float(float), Number::Big(digits)) => {
            // Rust writes all digits of a float that large, exactly.
            float.fract() == 0.0 && format!("{float:.0}") == digits
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ParseOptions, parse};

    fn equal(left: &str, right: &str) -> bool {
        let [left, right] =
            [left, right].map(|text| parse(text, &ParseOptions::default()).expect("valid").value);
        let equal = python_eq(&left, &right);
        assert_eq!(equal, python_eq(&right, &left), "not symmetric");
        equal
    }

    #[test]
    fn numbers_compare_by_value() {
        for (left, right) in [
            ("1", "1.0"),
            ("1", "true"),
            ("0.0", "false"),
            ("0", "-0.0"),
            ("9223372036854775808", "9.223372036854775808e18"),
            ("-1e25", "-10000000000000000905969664"),
            ("Infinity", "1e999"),
        ] {
            assert!(equal(left, right), "{left} {right}");
        }
        for (left, right) in [
            ("1", "1.5"),
            ("9007199254740993", "9007199254740992.0"),
            ("9223372036854775807", "9223372036854775808.0"),
            ("10000000000000000000000000", "1e25"),
            ("NaN", "NaN"),
            ("Infinity", "99999999999999999999999"),
            ("1", "\"1\""),
            ("0", "null"),
            ("false", "null"),
            ("0", "[]"),
        ] {
            assert!(!equal(left, right), "{left} {right}");
        }
    }

    #[test]
    fn containers_compare_deeply() {
        assert!(equal(
            r#"{"a": [1, {"b": true}], "c": null}"#,
            r#"{"c": null, "a": [1.0, {"b": 1}]}"#
        ));
        assert!(!equal(r#"{"a": 1}"#, r#"{"a": 1, "b": null}"#));
        assert!(!equal(r#"{"a": null}"#, r#"{"b": null}"#));
        assert!(!equal("[1, 2]", "[2, 1]"));
        assert!(!equal("[]", "{}"));
    }
}
