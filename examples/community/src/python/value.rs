//! Settings of any type: how they are shown and read.

use std::{cmp::Ordering, fmt};

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use super::text::{repr_text, strip};

/// The value as Python's `str` shows it: a text is itself, anything else is shown as [`repr`] does.
#[must_use]
pub fn str(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => repr(other),
    }
}

/// The value as Python's `repr` shows it.
#[must_use]
pub fn repr(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => repr_float(float),
            _ => number.to_string(),
        },
        Value::String(text) => repr_text(text),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(repr).collect())),
        Value::Object(entries) => {
            let entry =
                |(key, value): (&String, &Value)| format!("{}: {}", repr_text(key), repr(value));
            format!("{{{}}}", joined(entries.iter().map(entry).collect()))
        }
    }
}

/// Rust and Python agree on the digits, and on when to use an exponent, but not on its form.
fn repr_float(float: f64) -> String {
    let text = format!("{float:?}");
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => {
            let (sign, exponent) =
                exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
            format!("{digits}e{sign}{exponent:0>2}")
        }
    }
}

/// Reads a switch: [`is_true`].
///
/// For `#[serde(deserialize_with = "..")]`.
///
/// # Errors
///
/// None of its own.
pub fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Value::deserialize(deserializer).map(|value| is_true(&value))
}

/// Whether Python counts the value as true: it is not empty, zero or null. So the text "false" is true.
#[must_use]
pub fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
    }
}

/// Reads a text without the blanks around it; what counts as false ([`is_true`]) is no text.
///
/// For `#[serde(deserialize_with = "..")]`.
///
/// # Errors
///
/// When there is something else than a text.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(Some(strip(&text).to_owned()).filter(|text| !text.is_empty())),
        value if !is_true(&value) => Ok(None),
        value => Err(de::Error::custom(format_args!("expected a text, found {}", repr(&value)))),
    }
}

/// A number that Python compares with others and shows as it was written; `true` is 1, as in Python.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a number")]
pub enum Number {
    /// A boolean.
    Boolean(bool),
    /// Any other number.
    Number(serde_json::Number),
}

impl From<u32> for Number {
    fn from(value: u32) -> Self {
        Self::Number(value.into())
    }
}

impl PartialEq<usize> for Number {
    fn eq(&self, other: &usize) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd<usize> for Number {
    /// Counts are far below 2^53, where this is exact.
    fn partial_cmp(&self, other: &usize) -> Option<Ordering> {
        let value = match self {
            Self::Boolean(value) => f64::from(u8::from(*value)),
            Self::Number(number) => number.as_f64()?,
        };
        value.partial_cmp(&(*other as f64))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&repr(&match self {
            Self::Boolean(value) => Value::Bool(*value),
            Self::Number(number) => Value::Number(number.clone()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_shown_as_python_shows_them() {
        let value = json!({"a": [1, -2.0, true, null, "it's"], "b": {}});
        assert_eq!(repr(&value), r#"{'a': [1, -2.0, True, None, "it's"], 'b': {}}"#);
        assert_eq!((str(&json!("x")), repr(&json!("x"))), ("x".to_owned(), "'x'".to_owned()));
    }

    #[test]
    fn floats_have_python_exponents() {
        for (float, expected) in [
            (4.0, "4.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-2.5e-7, "-2.5e-07"),
            (-0.0, "-0.0"),
        ] {
            assert_eq!(repr_float(float), expected);
        }
    }

    #[test]
    fn anything_but_nothing_is_true() {
        for value in
            [json!("false"), json!(" "), json!([0]), json!({"a": null}), json!(-1), json!(0.1)]
        {
            assert!(truth(value.clone()).unwrap(), "{value}");
        }
        for value in
            [json!(null), json!(false), json!(""), json!([]), json!({}), json!(0), json!(-0.0)]
        {
            assert!(!truth(value.clone()).unwrap(), "{value}");
        }
    }

    #[test]
    fn a_text_has_no_blanks_around_it() {
        assert_eq!(text(json!(" a b\u{a0}")).unwrap().as_deref(), Some("a b"));
        for value in [json!(" \n"), json!(null), json!(0), json!([])] {
            assert_eq!(text(value.clone()).unwrap(), None, "{value}");
        }
        assert_eq!(text(json!(42)).unwrap_err().to_string(), "expected a text, found 42");
    }

    #[test]
    fn numbers_compare_and_are_shown_as_written() {
        for (value, below, shown) in [
            (json!(2), 1, "2"),
            (json!(2.5), 2, "2.5"),
            (json!(3.0), 2, "3.0"),
            (json!(true), 0, "True"),
        ] {
            let number = Number::deserialize(value).unwrap();
            assert!(number > below && number <= below + 1);
            assert_eq!(number.to_string(), shown);
        }
        assert!(Number::deserialize(json!("2")).is_err());
        assert!(Number::deserialize(json!(null)).is_err());
    }
}
