//! Numbers as the hosts of this contract read them: numeric text and booleans count.

use std::{convert::Infallible, fmt};

use serde::{Deserializer, de};

/// Reads a finite number from a number, numeric text or a boolean.
pub(crate) fn float<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    checked(deserializer, Ok::<_, Infallible>)
}

/// Reads such a number and makes something of it. The check is part of the reading, so that its complaint has the place
/// of the number.
pub(crate) fn checked<'de, D: Deserializer<'de>, T, C: fmt::Display>(
    deserializer: D,
    check: fn(f64) -> Result<T, C>,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(Visitor { check })
}

struct Visitor<T, C> {
    check: fn(f64) -> Result<T, C>,
}

impl<T, C: fmt::Display> de::Visitor<'_> for Visitor<T, C> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        (self.check)(value).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        self.visit_f64(value as f64)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<T, E> {
        self.visit_f64(f64::from(u8::from(value)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        match text.trim().parse::<f64>() {
            Ok(value) if value.is_finite() => self.visit_f64(value),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}
