//! Macros that declare the objects of documents: a table of fields, from which reading and writing are generated.
//!
//! They stand in for `#[derive(Serialize, Deserialize)]`: `serde_derive` would be a fifth of the processor time of an
//! author's first build, and every field would need its attributes spelled out.

use std::{fmt, marker::PhantomData};

use serde_core::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, MapAccess, Visitor},
};
use serde_json::Value;

use crate::{JsonObject, Score};

/// Declares an object of a document.
///
/// ```text
/// object! {
///     /// Documentation.
///     pub struct Name: strict {
///         /// Documentation.
///         field | "otherSpelling": Type,
///         /// Documentation.
///         kind as "type": Type = required(Type::Example),
///     } other
/// }
/// ```
///
/// The word after the name determines how absent values are treated:
///
/// | kind | `null` for a field that is not an `Option` | `None` is written as |
/// |---|---|---|
/// | `strict` | error | `null` |
/// | `sparse` | error | nothing |
/// | `lenient` | absent | nothing |
///
/// An absent field without a mode has the default value of its type. The modes:
///
/// | mode | effect |
/// |---|---|
/// | `required`, `required(value)` | an error where it is absent; `value` is needed for types without a default |
/// | `number(default)` | also reads numeric text and booleans |
/// | `unless(default)` | not written where it equals the default |
/// | `nullable` | `null` counts as absent, whatever the kind of the object |
/// | `optional` | the same, and not written where it is empty |
/// | `always` | `None` is written as `null`, whatever the kind of the object |
///
/// The word after the fields, if any, names the field that keeps unknown keys; without it, unknown keys are ignored. A
/// known key that occurs twice, in any spelling, is an error.
macro_rules! object {
    ($(#[$meta:meta])* $visible:vis struct $name:ident: lenient { $($fields:tt)* } $($other:ident)?) => {
        object! {
            @declare lenient "an object"
            $(#[$meta])* #[derive(Default)] $visible struct $name { $($fields)* } $($other)?
        }
        object!(@present $name { $($fields)* } $($other)?);

        impl $crate::object::Field for $name {
            fn is_present(&self) -> bool {
                *self != Self::default()
            }
        }
    };
    ($(#[$meta:meta])* $visible:vis struct $name:ident: $kind:ident { $($fields:tt)* } $($other:ident)?) => {
        object! {
            @declare $kind (concat!("struct ", stringify!($name)))
            $(#[$meta])* $visible struct $name { $($fields)* } $($other)?
        }
        object!(@present $name { $($fields)* } $($other)?);

        impl $crate::object::Field for $name {}
    };
    (
        @declare $kind:ident $expected:tt
        $(#[$meta:meta])* $visible:vis struct $name:ident {
            $(
                $(#[$field_meta:meta])*
                $field:ident $(as $key:literal)? $(| $alias:literal)?: $type:ty $(= $mode:ident $(($default:expr))?)?,
            )*
        } $($other:ident)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        $visible struct $name {
            $($(#[$field_meta])* $visible $field: $type,)*
            $(
                /// Keys that are not known here, as they came.
                $visible $other: $crate::JsonObject,
            )?
        }

        impl $name {
            /// Returns the object whose fields have their defaults.
            pub(crate) fn blank() -> Self {
                Self {
                    $($field: object!(@default $($($default)?)?),)*
                    $($other: $crate::JsonObject::new(),)?
                }
            }
        }

        impl $crate::object::Object for $name {
            const EXPECTED: &'static str = $expected;

            fn visit<'de, A: serde_core::de::MapAccess<'de>>(
                mut map: A,
                unknown: &mut dyn FnMut(&str),
            ) -> Result<Self, A::Error> {
                use $crate::object::{Key, Keys, check_present, mark_seen};

                #[allow(non_camel_case_types, reason = "one variant for each field, named like it")]
                enum Index { $($field,)* }
                const KEYS: Keys = Keys(&[$(&[object!(@key $field $($key)?) $(, $alias)?],)*]);
                const REQUIRED: u64 = 0 $(| object!(@required Index::$field as u64 $(, $mode)?))*;

                let mut this = Self::blank();
                let mut seen = 0;
                while let Some(key) = map.next_key_seed(KEYS)? {
                    match key {
                        Key::Unknown(key) => {
                            unknown(&key);
                            object!(@unknown this, map, key, $kind $(, $other)?);
                        }
                        Key::Known(index) => {
                            mark_seen(&mut seen, index, KEYS)?;
                            match index {
                                $(field if field == Index::$field as usize => {
                                    this.$field = object!(@read map, $type, $kind $(, $mode)?);
                                })*
                                _ => {}
                            }
                        }
                    }
                }
                check_present(REQUIRED & !seen, KEYS)?;
                Ok(this)
            }
        }

        impl<'de> serde_core::Deserialize<'de> for $name {
            fn deserialize<D: serde_core::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::object::read(deserializer)
            }
        }

        impl serde_core::Serialize for $name {
            fn serialize<S: serde_core::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde_core::ser::SerializeMap as _;

                let mut map = serializer.serialize_map(None)?;
                $(if object!(@is_written self.$field, $kind $(, $mode $(($default))?)?) {
                    map.serialize_entry(object!(@key $field $($key)?), &self.$field)?;
                })*
                $(self.$other.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;)?
                map.end()
            }
        }
    };
    (@present $name:ident { $($fields:tt)* }) => {};
    (
        @present $name:ident {
            $(
                $(#[$field_meta:meta])*
                $field:ident $(as $key:literal)? $(| $alias:literal)?: $type:ty $(= $mode:ident $(($default:expr))?)?,
            )*
        } $other:ident
    ) => {
        impl $name {
            /// Returns the keys of the fields that are present, and the unknown ones whose values are not `null`.
            #[allow(dead_code, reason = "not every object is asked for its keys")]
            pub(crate) fn present(&self) -> Vec<&str> {
                let known = [$((object!(@key $field $($key)?), $crate::object::Field::is_present(&self.$field)),)*];
                let known = known.into_iter().filter(|(_, is_present)| *is_present).map(|(key, _)| key);
                let others = self.$other.iter().filter(|(_, value)| !value.is_null());
                known.chain(others.map(|(key, _)| key.as_str())).collect()
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@required $index:expr, required) => { 1 << ($index) };
    (@required $index:expr $(, $mode:ident)?) => { 0 };
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
    (@read $map:ident, $type:ty, $kind:ident, required) => { $map.next_value::<$type>()? };
    (@read $map:ident, $type:ty, $kind:ident, number) => { $map.next_value::<$crate::score::LenientNumber>()?.0 };
    (@read $map:ident, $type:ty, lenient) => { $map.next_value::<$crate::object::OrDefault<$type>>()?.0 };
    (@read $map:ident, $type:ty, $kind:ident, nullable) => { object!(@read $map, $type, lenient) };
    (@read $map:ident, $type:ty, $kind:ident, optional) => { object!(@read $map, $type, lenient) };
    (@read $map:ident, $type:ty, $kind:ident $(, $mode:ident)?) => { $map.next_value::<$type>()? };
    (@unknown $this:ident, $map:ident, $key:ident, $kind:ident) => {
        $map.next_value::<serde_core::de::IgnoredAny>()?
    };
    (@unknown $this:ident, $map:ident, $key:ident, lenient, $other:ident) => {
        match $map.next_value()? {
            serde_json::Value::Null => {}
            value => drop($this.$other.insert($key, value)),
        }
    };
    (@unknown $this:ident, $map:ident, $key:ident, $kind:ident, $other:ident) => {
        drop($this.$other.insert($key, $map.next_value()?))
    };
    (@is_written $value:expr, $kind:ident, always) => { true };
    (@is_written $value:expr, $kind:ident, unless($default:expr)) => { $value != $default };
    (@is_written $value:expr, $kind:ident, optional) => { $crate::object::Field::is_present(&$value) };
    (@is_written $value:expr, strict $(, $mode:ident $(($default:expr))?)?) => { true };
    (@is_written $value:expr, $kind:ident $(, $mode:ident $(($default:expr))?)?) => {
        $crate::object::Field::is_written(&$value)
    };
}

/// Declares methods that take `self`, change it and return it.
macro_rules! builder {
    ($($(#[$meta:meta])* fn $name:ident($this:ident $(, $argument:ident: $type:ty)*) $body:block)*) => {
        $(
            $(#[$meta])*
            #[must_use]
            pub fn $name(mut $this $(, $argument: $type)*) -> Self {
                $body
                $this
            }
        )*
    };
}

/// Declares an enumeration of texts to which later versions of a host may add.
macro_rules! open_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// A value of a later version.
            Other(String),
        }

        impl $name {
            /// Returns the text of the value.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde_core::Serialize for $name {
            fn serialize<S: serde_core::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde_core::Deserialize<'de> for $name {
            fn deserialize<D: serde_core::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(|text| Self::from(text.as_str()))
            }
        }

        impl $crate::object::Field for $name {}
    };
}

/// Writes each variant of an enumeration as the value in it.
macro_rules! untagged {
    ($name:ident { $($variant:ident),* $(,)? }) => {
        impl serde_core::Serialize for $name {
            fn serialize<S: serde_core::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(value) => value.serialize(serializer),)*
                }
            }
        }
    };
}

pub(crate) use {builder, object, open_enum, untagged};

/// An object that [`object!`] declared.
pub(crate) trait Object: Sized {
    /// The expected type, as errors about another JSON type name it.
    const EXPECTED: &'static str;

    /// Reads the object, and passes each unknown key to `unknown`.
    fn visit<'de, A: MapAccess<'de>>(
        map: A,
        unknown: &mut dyn FnMut(&str),
    ) -> Result<Self, A::Error>;
}

/// Reads an object. Arrays of its fields, which `serde` would accept as well, are errors.
pub(crate) fn read<'de, T: Object, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct ObjectVisitor<T>(PhantomData<T>);

    impl<'de, T: Object> Visitor<'de> for ObjectVisitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::EXPECTED)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::visit(map, &mut |_| {})
        }
    }

    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

/// Reads text and converts it. The conversion is part of the reading, so that its error has the position of the text.
pub(crate) fn read_text<'de, D: Deserializer<'de>, T, E: fmt::Display>(
    deserializer: D,
    expected: &'static str,
    convert: fn(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    struct TextVisitor<T, E>(&'static str, fn(&str) -> Result<T, E>);

    impl<T, E: fmt::Display> Visitor<'_> for TextVisitor<T, E> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_str<Error: de::Error>(self, text: &str) -> Result<T, Error> {
            (self.1)(text).map_err(Error::custom)
        }
    }

    deserializer.deserialize_str(TextVisitor(expected, convert))
}

/// The keys of an object, the spellings of each field together.
#[derive(Clone, Copy)]
pub(crate) struct Keys(pub(crate) &'static [&'static [&'static str]]);

/// A key, as it was read.
pub(crate) enum Key {
    /// Index of the field.
    Known(usize),
    Unknown(String),
}

impl<'de> DeserializeSeed<'de> for Keys {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Keys {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<Key, E> {
        let index = self.0.iter().position(|spellings| spellings.contains(&key));
        Ok(index.map_or_else(|| Key::Unknown(key.to_owned()), Key::Known))
    }
}

/// Marks a field as seen.
///
/// # Errors
///
/// The field was seen before.
pub(crate) fn mark_seen<E: de::Error>(seen: &mut u64, index: usize, keys: Keys) -> Result<(), E> {
    let bit = 1 << index;
    if *seen & bit != 0 {
        return Err(E::duplicate_field(keys.0[index][0]));
    }
    *seen |= bit;
    Ok(())
}

/// Checks that no bit is set in `missing`, which has one for each required field that was not seen.
///
/// # Errors
///
/// The first field that is missing.
pub(crate) fn check_present<E: de::Error>(missing: u64, keys: Keys) -> Result<(), E> {
    match missing {
        0 => Ok(()),
        _ => Err(E::missing_field(keys.0[missing.trailing_zeros() as usize][0])),
    }
}

/// A value, or its default for `null`.
pub(crate) struct OrDefault<T>(pub(crate) T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for OrDefault<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(|value| Self(value.unwrap_or_default()))
    }
}

/// The type of a field.
pub(crate) trait Field {
    /// Returns true if the value differs from that of an absent field.
    fn is_present(&self) -> bool {
        true
    }

    /// Returns true if the value is written in objects that leave absent fields out.
    fn is_written(&self) -> bool {
        true
    }
}

impl<T> Field for Option<T> {
    fn is_present(&self) -> bool {
        self.is_some()
    }

    fn is_written(&self) -> bool {
        self.is_some()
    }
}

impl<T> Field for Vec<T> {
    fn is_present(&self) -> bool {
        !self.is_empty()
    }
}

impl<K, V> Field for std::collections::BTreeMap<K, V> {
    fn is_present(&self) -> bool {
        !self.is_empty()
    }
}

impl Field for JsonObject {
    fn is_present(&self) -> bool {
        !self.is_empty()
    }
}

impl Field for String {
    fn is_present(&self) -> bool {
        !self.is_empty()
    }
}

impl Field for Value {}
impl Field for Score {}
impl Field for f64 {}
impl Field for bool {}
