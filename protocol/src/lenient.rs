//! Numbers as the hosts of this contract read them: numeric text and booleans count.

use std::fmt;

use serde::{Deserializer, de};

/// Reads a finite number from a number, numeric text or a boolean.
pub(crate) fn float<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(Visitor)
}

struct Visitor;

impl de::Visitor<'_> for Visitor {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<f64, E> {
        Ok(f64::from(u8::from(value)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<f64, E> {
        match text.trim().parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}
