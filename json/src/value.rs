//! The value type, and conversions to and from the value types of serde and `serde_json`.

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::value::RawValue;

/// The deepest nesting that the parser accepts, whatever its options say.
///
/// It bounds every recursive function over a [`Value`] (writing, comparing, cloning, dropping), so that none of them can
/// overflow a thread's stack.
pub const MAX_DEPTH: usize = 1000;

/// A JSON object in the order of its keys' first appearance; a repeated key keeps its place and takes the last value.
///
/// Its hasher is seeded, which protects against chosen keys that collide, and several times as fast as that of the standard
/// library: a recording consists of small objects.
pub type Object = IndexMap<String, Value, RandomState>;

/// A JSON value as Python's `json` module would hold it.
///
/// `PartialEq` is not implemented, because languages disagree about whether `1`, `1.0` and `true` are equal.
/// [`python_eq`](super::python_eq) compares as Python does.
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
    /// Returns the integer written as `digits`, an optional sign followed by one or more ASCII digits.
    ///
    /// Leading zeros are dropped, and `-0` is `0`. The result is `None` if `digits` is anything else.
    pub fn from_digits(digits: &str) -> Option<Self> {
        let magnitude = digits.strip_prefix(['-', '+']).unwrap_or(digits);
        if magnitude.is_empty() || !magnitude.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        if let Ok(int) = digits.parse::<i64>() {
            return Some(Self::Int(int));
        }
        let magnitude = magnitude.trim_start_matches('0');
        let sign = if digits.starts_with('-') { "-" } else { "" };
        Some(Self::BigInt(format!("{sign}{magnitude}").into_boxed_str()))
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the members of an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the items of an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns an integer that fits 128 bits. Booleans and floats are not integers.
    pub fn as_i128(&self) -> Option<i128> {
        match self {
            Self::Int(int) => Some(i128::from(*int)),
            Self::BigInt(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// Returns the member `key` of an object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// Returns true for `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns true for `null`, `""` and `[]`, but not for an empty object, `0` and `false`.
    pub fn is_empty_like(&self) -> bool {
        match self {
            Self::Null => true,
            Self::String(text) => text.is_empty(),
            Self::Array(items) => items.is_empty(),
            _ => false,
        }
    }

    /// Returns the truth value that Python gives it: false for `null`, `false`, zero, and everything empty.
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

    /// Returns the name of the type with its article, for messages: `an object`, `a string`.
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

impl Serialize for Value {
    /// Writes `NaN` and `Infinity` as `null`, and integers of any size with all their digits (the latter only with
    /// serializers of `serde_json`).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(int) => serializer.serialize_i64(*int),
            Self::BigInt(digits) => RawValue::from_string(digits.to_string())
                .map_err(S::Error::custom)?
                .serialize(serializer),
            Self::Float(float) if float.is_finite() => serializer.serialize_f64(*float),
            Self::Float(_) => serializer.serialize_unit(),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(object) => serializer.collect_map(object),
        }
    }
}

/// Loses precision: an integer beyond 64 bits becomes the nearest float, `NaN` and infinities become `null`.
impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(int) => Self::from(*int),
            Value::BigInt(digits) => match digits.parse::<u64>() {
                Ok(int) => Self::from(int),
                Err(_) => digits.parse::<f64>().map_or(Self::Null, Self::from),
            },
            Value::Float(float) => Self::from(*float),
            Value::String(text) => Self::String(text.clone()),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(object) => Self::Object(
                object.iter().map(|(key, value)| (key.clone(), Self::from(value))).collect(),
            ),
        }
    }
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(value),
            serde_json::Value::Number(number) => {
                match (number.as_i64(), number.as_u64(), number.as_f64()) {
                    (Some(int), _, _) => Self::Int(int),
                    (None, Some(int), _) => Self::BigInt(int.to_string().into_boxed_str()),
                    (None, None, Some(float)) => Self::Float(float),
                    (None, None, None) => Self::Null,
                }
            }
            serde_json::Value::String(text) => Self::String(text),
            serde_json::Value::Array(items) => {
                Self::Array(items.into_iter().map(Self::from).collect())
            }
            serde_json::Value::Object(object) => Self::Object(
                object.into_iter().map(|(key, value)| (key, Self::from(value))).collect::<Object>(),
            ),
        }
    }
}

/// Creates an object.
pub fn object<'k>(members: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Converts a number of things.
pub fn count(count: usize) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

impl From<i128> for Value {
    fn from(int: i128) -> Self {
        i64::try_from(int)
            .map_or_else(|_| Self::BigInt(int.to_string().into_boxed_str()), Self::Int)
    }
}

macro_rules! from {
    ($($from:ty => $variant:ident),* $(,)?) => {
        $(impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

from!(&str => String, String => String, bool => Bool, i64 => Int, f64 => Float, Vec<Value> => Array, Object => Object);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NonFinite, ParseOptions, parse, to_string};

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

    const TEXT: &str = r#"{"b":[1,-0.5,123456789012345678901234567890,true,null],"a":"é\n"}"#;

    #[test]
    fn serde_keeps_order_and_digits() {
        let value = parse(TEXT, &ParseOptions::default()).expect("valid").value;
        assert_eq!(serde_json::to_string(&value).expect("serializes"), TEXT);
        assert_eq!(to_string(&value, NonFinite::Null), TEXT);
        let odd = Value::Array(vec![Value::Float(f64::NAN), Value::Float(f64::INFINITY)]);
        assert_eq!(serde_json::to_string(&odd).expect("serializes"), "[null,null]");
    }

    #[test]
    fn serde_json_values_lose_only_what_they_cannot_hold() {
        let value = parse(
            r#"[18446744073709551615, 18446744073709551616, 1.5, NaN]"#,
            &ParseOptions::default(),
        );
        let plain = serde_json::Value::from(&value.expect("valid").value);
        assert_eq!(plain, serde_json::json!([u64::MAX, 18446744073709551616.0, 1.5, null]));
        let back = Value::from(plain);
        assert_eq!(
            to_string(&back, NonFinite::Null),
            "[18446744073709551615,1.8446744073709552e+19,1.5,null]"
        );
    }
}
