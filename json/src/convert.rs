//! To and from the value types of serde and `serde_json`.

use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::value::RawValue;

use super::value::{Object, Value};

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

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(int: i64) -> Self {
        Self::Int(int)
    }
}

impl From<i128> for Value {
    fn from(int: i128) -> Self {
        i64::try_from(int)
            .map_or_else(|_| Self::BigInt(int.to_string().into_boxed_str()), Self::Int)
    }
}

impl From<f64> for Value {
    fn from(float: f64) -> Self {
        Self::Float(float)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Self>) -> Self {
        Self::Array(items)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NonFinite, ParseOptions, parse, to_string};

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
