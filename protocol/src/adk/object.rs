//! Objects of ADK's models: read in both of their spellings, with nulls for what is absent, and without losing anything.

use serde::{Deserialize, Deserializer};

use crate::JsonObject;

/// Declares an object of ADK's models.
///
/// Each field is followed by its names, the one that is written first. Both in one object are an error, as in ADK. A null
/// is read as an absent field; a `required` field must be there. Fields that are not known are kept in `unknown`, so that
/// models of later releases pass through whole.
macro_rules! object {
    (
        $(#[$meta:meta])*
        $visible:vis struct $name:ident {
            $($(#[$field_meta:meta])* $($required:ident)? [$written:literal $(| $camel:literal)?] $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        #[non_exhaustive]
        $visible struct $name {
            $($(#[$field_meta])* $visible $field: $type,)*
            /// Fields that are not known here, as they came.
            $visible unknown: $crate::JsonObject,
        }

        impl $name {
            /// Names of the fields that are there.
            #[allow(dead_code, reason = "not every object is looked at by its names")]
            pub(crate) fn present(&self) -> Vec<&str> {
                let known = [$(($written, $crate::adk::object::IsThere::is_there(&self.$field)),)*];
                let known = known.into_iter().filter_map(|(name, is_there)| is_there.then_some(name));
                known.chain(self.unknown.keys().map(String::as_str)).collect()
            }
        }

        impl $crate::adk::object::IsThere for $name {
            fn is_there(&self) -> bool {
                *self != Self::default()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;

                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        use serde::de::Error as _;

                        $(let mut $field: Option<$type> = None;)*
                        let mut unknown = $crate::JsonObject::new();
                        while let Some(key) = map.next_key::<String>()? {
                            match key.as_str() {
                                $($written $(| $camel)? => {
                                    if $field.is_some() {
                                        return Err(A::Error::duplicate_field($written));
                                    }
                                    $field = Some(object!(@read map, $type $(, $required)?));
                                })*
                                _ => match map.next_value()? {
                                    serde_json::Value::Null => {}
                                    value => drop(unknown.insert(key, value)),
                                },
                            }
                        }
                        Ok($name { $($field: object!(@finish A, $field, $written $(, $required)?),)* unknown })
                    }
                }

                deserializer.deserialize_map(Visitor)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;

                let mut map = serializer.serialize_map(None)?;
                $(if $crate::adk::object::IsThere::is_written(&self.$field) {
                    map.serialize_entry($written, &self.$field)?;
                })*
                self.unknown.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    };
    (@read $map:ident, $type:ty, required) => { $map.next_value::<$type>()? };
    (@read $map:ident, $type:ty) => { $map.next_value::<$crate::adk::object::OrDefault<$type>>()?.0 };
    (@finish $access:ident, $field:ident, $written:literal, required) => {
        $field.ok_or_else(|| $access::Error::missing_field($written))?
    };
    (@finish $access:ident, $field:ident, $written:literal) => { $field.unwrap_or_default() };
}

pub(super) use object;

/// A value, or its default for a null.
pub(super) struct OrDefault<T>(pub(super) T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for OrDefault<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(|value| Self(value.unwrap_or_default()))
    }
}

/// A type of fields, that knows which of its values are as good as an absent field.
pub(super) trait IsThere {
    /// Whether there is anything.
    fn is_there(&self) -> bool;

    /// Whether it is written. All but nothing is, as ADK does.
    fn is_written(&self) -> bool {
        true
    }
}

impl<T> IsThere for Option<T> {
    fn is_there(&self) -> bool {
        self.is_some()
    }

    fn is_written(&self) -> bool {
        self.is_some()
    }
}

impl<T> IsThere for Vec<T> {
    fn is_there(&self) -> bool {
        !self.is_empty()
    }
}

impl IsThere for String {
    fn is_there(&self) -> bool {
        !self.is_empty()
    }
}

impl IsThere for JsonObject {
    fn is_there(&self) -> bool {
        !self.is_empty()
    }
}

/// A number that may be absent: for fields that are no scores.
pub(super) type Number = Option<f64>;
