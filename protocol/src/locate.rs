//! Decoding of a JSON value into any type, with the path of the value that caused an error.
//!
//! Stands in for `serde_path_to_error`, which with its dependency on `serde` is a twentieth of an author's first build.

use std::fmt::{self, Write as _};

use serde_core::{
    Deserialize as _, Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, EnumAccess, Error as _, IntoDeserializer, MapAccess,
        SeqAccess, VariantAccess, Visitor, value::StrDeserializer,
    },
    forward_to_deserialize_any,
};
use serde_json::{Value, map};

use crate::DecodeError;

/// Decodes `value`, which stands at `path` of a document.
pub(crate) fn locate<T: DeserializeOwned>(path: &str, value: &Value) -> Result<T, DecodeError> {
    T::deserialize(Tracked(value)).map_err(|LocatedError { segments, reason }| {
        let mut path = path.to_owned();
        for segment in segments.iter().rev() {
            // Writing to a string does not fail.
            let _ = match segment {
                Segment::Key(key) => write!(path, ".{key}"),
                Segment::Index(index) => write!(path, "[{index}]"),
            };
        }
        DecodeError::shape(path, reason)
    })
}

/// An error, with the path of the value from the innermost segment outwards.
#[derive(Debug)]
struct LocatedError {
    segments: Vec<Segment>,
    reason: String,
}

#[derive(Debug)]
enum Segment {
    Key(String),
    Index(usize),
}

impl LocatedError {
    fn at_key(mut self, key: &str) -> Self {
        self.segments.push(Segment::Key(key.to_owned()));
        self
    }
}

impl fmt::Display for LocatedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for LocatedError {}

impl serde_core::de::Error for LocatedError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self { segments: Vec::new(), reason: reason.to_string() }
    }
}

/// A value whose contents are tracked. Everything else is left to the deserializer of [`Value`].
#[derive(Clone, Copy)]
struct Tracked<'de>(&'de Value);

impl<'de> Deserializer<'de> for Tracked<'de> {
    type Error = LocatedError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, LocatedError> {
        match self.0 {
            Value::Array(items) => {
                let mut rest = Items(items.iter().enumerate());
                let value = visitor.visit_seq(&mut rest)?;
                match rest.0.len() {
                    0 => Ok(value),
                    _ => Err(LocatedError::invalid_length(items.len(), &"fewer elements in array")),
                }
            }
            Value::Object(object) => visitor.visit_map(Entries { rest: object.iter(), last: None }),
            other => other.deserialize_any(visitor).map_err(LocatedError::custom),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, LocatedError> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, LocatedError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, LocatedError> {
        let entry = self.0.as_object().filter(|object| object.len() == 1);
        match entry.and_then(|object| object.iter().next()) {
            Some((key, value)) => visitor.visit_enum(Variant { key, value }),
            None => self.0.deserialize_enum(name, variants, visitor).map_err(LocatedError::custom),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items<'de>(std::iter::Enumerate<std::slice::Iter<'de, Value>>);

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = LocatedError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, LocatedError> {
        let Some((index, item)) = self.0.next() else { return Ok(None) };
        seed.deserialize(Tracked(item)).map(Some).map_err(|mut error| {
            error.segments.push(Segment::Index(index));
            error
        })
    }
}

struct Entries<'de> {
    rest: map::Iter<'de>,
    /// The entry whose value is read next.
    last: Option<(&'de String, &'de Value)>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = LocatedError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, LocatedError> {
        self.last = self.rest.next();
        let Some((key, _)) = self.last else { return Ok(None) };
        seed.deserialize(Key(key)).map(Some).map_err(|error| error.at_key(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, LocatedError> {
        let Some((key, value)) = self.last else {
            return Err(LocatedError::custom("a value was read before its key"));
        };
        seed.deserialize(Tracked(value)).map_err(|error| error.at_key(key))
    }
}

/// A key, which types with numbers as keys read as a number.
struct Key<'de>(&'de str);

macro_rules! number_keys {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, LocatedError> {
            match self.0.parse::<serde_json::Number>() {
                Ok(number) => number.deserialize_any(visitor).map_err(LocatedError::custom),
                Err(_) => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = LocatedError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, LocatedError> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, LocatedError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, LocatedError> {
        let key: StrDeserializer<'de, LocatedError> = self.0.into_deserializer();
        key.deserialize_enum(name, variants, visitor)
    }

    number_keys! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// An object with one entry, as an enum whose variant is the key.
struct Variant<'de> {
    key: &'de str,
    value: &'de Value,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = LocatedError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), LocatedError> {
        let key: StrDeserializer<'de, LocatedError> = self.key.into_deserializer();
        Ok((seed.deserialize(key)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = LocatedError;

    fn unit_variant(self) -> Result<(), LocatedError> {
        <()>::deserialize(Tracked(self.value)).map_err(|error| error.at_key(self.key))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, LocatedError> {
        seed.deserialize(Tracked(self.value)).map_err(|error| error.at_key(self.key))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, LocatedError> {
        Tracked(self.value).deserialize_any(visitor).map_err(|error| error.at_key(self.key))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, LocatedError> {
        self.tuple_variant(0, visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only errors are looked at")]
    #[serde(deny_unknown_fields)]
    struct Settings {
        #[serde(default)]
        share: Option<Share>,
        #[serde(default)]
        rules: Vec<Rule>,
        #[serde(default)]
        limits: BTreeMap<u8, (u8, u8)>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only errors are looked at")]
    #[serde(rename_all = "snake_case")]
    enum Rule {
        Any,
        Contains { words: Vec<String> },
        Least(u8),
    }

    #[derive(Debug, Deserialize)]
    #[serde(try_from = "f64")]
    struct Share;

    impl TryFrom<f64> for Share {
        type Error = String;

        fn try_from(value: f64) -> Result<Self, String> {
            if value <= 1.0 { Ok(Self) } else { Err(format!("{value} is more than 1")) }
        }
    }

    #[test]
    fn errors_have_the_path_of_their_value() {
        for (value, expected) in [
            (json!({"share": 2}), "config.share: 2 is more than 1"),
            (json!({"share": "a"}), "config.share: invalid type: string \"a\", expected f64"),
            (
                json!({"shares": 1}),
                "config.shares: unknown field `shares`, expected one of `share`, `rules`, `limits`",
            ),
            (
                json!({"rules": ["any", "none"]}),
                "config.rules[1]: unknown variant `none`, expected one of `any`, `contains`, `least`",
            ),
            (
                json!({"rules": [{"least": -1}]}),
                "config.rules[0].least: invalid value: integer `-1`, expected u8",
            ),
            (
                json!({"rules": [{"contains": {"words": ["a", 5]}}]}),
                "config.rules[0].contains.words[1]: invalid type: integer `5`, expected a string",
            ),
            (
                json!({"rules": [{"contains": {}}]}),
                "config.rules[0].contains: missing field `words`",
            ),
            (
                json!({"limits": {"7": [1, 2], "8": [1]}}),
                "config.limits.8: invalid length 1, expected a tuple of size 2",
            ),
            (
                json!({"limits": {"7": [1, 2, 3]}}),
                "config.limits.7: invalid length 3, expected fewer elements in array",
            ),
            (
                json!({"limits": {"x": [1, 2]}}),
                "config.limits.x: invalid type: string \"x\", expected u8",
            ),
        ] {
            let error = DecodeError::locate::<Settings>("config", &value).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
