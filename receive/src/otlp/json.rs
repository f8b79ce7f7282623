//! Values whose JSON is not that of serde: 64-bit integers are text, ids are hexadecimal, bytes are base64, and some numbers
//! are names.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};

/// Returns true if a field is left out.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Reads a value; `null` is the default.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads an integer that is a number or text; `null` is 0.
pub(super) fn integer<'de, D: Deserializer<'de>, T: TryFrom<i128> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(Integer(PhantomData))
}

struct Integer<T>(PhantomData<T>);

impl<T: TryFrom<i128> + Default> Visitor<'_> for Integer<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer, as a number or as text")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_i128(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_i128(number.into())
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<T, E> {
        T::try_from(number).map_err(|_| E::custom(format_args!("{number} is out of range")))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        // Further numbers have no fraction either, and are out of range for every field.
        match number.fract() == 0.0 {
            true => self.visit_i128(number as i128),
            false => Err(E::custom(format_args!("{number} is not an integer"))),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        match text.parse::<i128>() {
            Ok(number) => self.visit_i128(number),
            Err(_) => Err(E::custom(format_args!("{text:?} is not an integer"))),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }
}

/// Integers of 64 bits, which are written as text.
pub(super) mod number {
    use std::fmt::Display;

    use serde::Serializer;

    pub(in super::super) use super::integer as deserialize;

    pub(in super::super) fn serialize<T: Display, S: Serializer>(
        number: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }
}

/// Floats; those that JSON does not have are text.
pub(super) mod double {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in super::super) fn serialize<S: Serializer>(
        number: &f64,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match *number {
            number if number.is_finite() => serializer.serialize_f64(number),
            number if number.is_nan() => serializer.serialize_str("NaN"),
            number if number > 0.0 => serializer.serialize_str("Infinity"),
            _ => serializer.serialize_str("-Infinity"),
        }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Text(String),
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<f64, D::Error> {
        match Written::deserialize(deserializer) {
            Ok(Written::Number(number)) => Ok(number),
            Ok(Written::Text(text)) => {
                text.parse().map_err(|_| D::Error::custom(format_args!("{text:?} is not a number")))
            }
            Err(_) => Err(D::Error::custom("`doubleValue` is not a number")),
        }
    }
}

/// Ids, in hexadecimal.
pub(super) mod id {
    use serde::{Deserialize, Deserializer, Serializer};

    /// Stands for a text that is not an id. It has the length of no id, so its span is refused.
    const INVALID: [u8; 1] = [0];

    pub(in super::super) fn serialize<S: Serializer>(
        id: &[u8],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::hex(id))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
        let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
        Ok(match digits {
            Some(digits) if digits.len().is_multiple_of(2) => {
                digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
            }
            _ => INVALID.to_vec(),
        })
    }
}

/// Bytes, in base64.
pub(super) mod base64 {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in super::super) fn serialize<S: Serializer>(
        bytes: &[u8],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(&text).map_err(|error| D::Error::custom(format_args!("base64: {error}")))
    }
}
