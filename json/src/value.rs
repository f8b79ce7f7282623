//! The value type.

use foldhash::fast::RandomState;
use indexmap::IndexMap;

/// A JSON object in the order of its keys' first appearance; a repeated key keeps its place and takes the last value.
///
/// Its hasher is seeded, so that nobody can write down keys that collide, and several times as fast as Rust's own: a
/// recording consists of small objects.
pub type Object = IndexMap<String, Value, RandomState>;

/// A JSON value as Python's `json` module would hold it.
///
/// There is no `PartialEq`: whether `1`, `1.0` and `true` are equal depends on who asks. [`python_eq`](super::python_eq)
/// answers as Python does.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer that fits 64 bits.
    Int(i64),
    /// An integer that does not fit [`Value::Int`], as its canonical decimal digits (`-` first, no leading zeros).
    BigInt(Box<str>),
    /// A number written with a fraction or an exponent, or `NaN`, `Infinity`, `-Infinity`.
    Float(f64),
    /// A string. A lone surrogate escape is held as U+FFFD (the parser counts them).
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

impl Value {
    /// The integer written as `digits`, an optional sign followed by one or more ASCII digits.
    ///
    /// Leading zeros are dropped and `-0` is `0`. `None` when `digits` is anything else.
    #[must_use]
    pub fn from_digits(digits: &str) -> Option<Self> {
        let (negative, magnitude) = match digits.as_bytes().first()? {
            b'-' => (true, &digits[1..]),
            b'+' => (false, &digits[1..]),
            _ => (false, digits),
        };
        if magnitude.is_empty() || !magnitude.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        if let Ok(int) = digits.parse::<i64>() {
            return Some(Self::Int(int));
        }
        let magnitude = magnitude.trim_start_matches('0');
        let sign = if negative { "-" } else { "" };
        Some(Self::BigInt(format!("{sign}{magnitude}").into_boxed_str()))
    }

    /// The text, if this is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The members, if this is an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The items, if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The truth value, if this is a boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer, if this is one that fits 128 bits. Booleans and floats are not integers.
    #[must_use]
    pub fn as_i128(&self) -> Option<i128> {
        match self {
            Self::Int(int) => Some(i128::from(*int)),
            Self::BigInt(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// The member called `key`, if this is an object that has one.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether this says nothing: `null`, `""` or `[]`. An empty object, `0` and `false` do say something.
    #[must_use]
    pub fn is_empty_like(&self) -> bool {
        match self {
            Self::Null => true,
            Self::String(text) => text.is_empty(),
            Self::Array(items) => items.is_empty(),
            _ => false,
        }
    }

    /// Whether Python takes it for true in a condition: not `null`, `false`, zero, or empty.
    #[must_use]
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Int(int) => *int != 0,
            Self::BigInt(_) => true,
            Self::Float(float) => *float != 0.0,
            Self::String(text) => !text.is_empty(),
            Self::Array(items) => !items.is_empty(),
            Self::Object(object) => !object.is_empty(),
        }
    }

    /// What this is, in words for an error message: "an object", "a string" and so on.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::BigInt(_) => "an integer",
            Self::Float(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_canonical() {
        let text = |digits| match Value::from_digits(digits) {
            Some(Value::Int(int)) => format!("int {int}"),
            Some(Value::BigInt(digits)) => format!("big {digits}"),
            other => format!("{other:?}"),
        };
        assert_eq!(text("-0"), "int 0");
        assert_eq!(text("+007"), "int 7");
        assert_eq!(text("9223372036854775807"), "int 9223372036854775807");
        assert_eq!(text("9223372036854775808"), "big 9223372036854775808");
        assert_eq!(text("-0009223372036854775809"), "big -9223372036854775809");
        assert_eq!(text("+99999999999999999999"), "big 99999999999999999999");
        for bad in ["", "-", "+", "1.0", "1_0", "--1", "٣"] {
            assert_eq!(text(bad), "None", "{bad:?}");
        }
    }

    #[test]
    fn empty_like_is_narrower_than_falsy() {
        for empty in [Value::Null, Value::String(String::new()), Value::Array(vec![])] {
            assert!(empty.is_empty_like() && !empty.is_truthy(), "{empty:?}");
        }
        for falsy in [
            Value::Bool(false),
            Value::Int(0),
            Value::Float(-0.0),
            Value::Object(Object::default()),
        ] {
            assert!(!falsy.is_empty_like() && !falsy.is_truthy(), "{falsy:?}");
        }
        assert!(Value::Float(f64::NAN).is_truthy());
    }
}
