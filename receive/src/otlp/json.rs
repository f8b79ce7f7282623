//! Objects whose members stay as they were written, and values whose JSON is not that of serde: 64-bit integers are text, ids are
//! hexadecimal, bytes are base64, and some numbers are names.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt::{self, Display},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Error, MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// Members of an object, each as it was written. Nothing but an object is read, and no key twice.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct Members(pub(super) BTreeMap<String, Box<RawValue>>);

impl Members {
    /// Returns the object with another member.
    pub(crate) fn with(&self, key: &str, value: &impl Serialize) -> Result<Self, String> {
        let mut members = self.clone();
        members.0.insert(key.to_owned(), raw(value)?);
        Ok(members)
    }

    /// Takes a list out of the object; one that is absent or `null` is empty.
    pub(crate) fn take<T: DeserializeOwned>(&mut self, key: &str) -> Result<Vec<T>, String> {
        let Some(text) = self.0.remove(key) else { return Ok(Vec::new()) };
        let list = serde_json::from_str::<Option<Vec<T>>>(text.get());
        Ok(list.map_err(|error| format!("`{key}`: {error}"))?.unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfObject;

        impl<'de> Visitor<'de> for OfObject {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    match members.entry(key) {
                        Entry::Vacant(vacant) => drop(vacant.insert(value)),
                        Entry::Occupied(known) => {
                            let key = known.key();
                            return Err(A::Error::custom(format_args!("duplicate field `{key}`")));
                        }
                    }
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(OfObject)
    }
}

/// Returns a value as JSON.
pub(super) fn raw(value: &impl Serialize) -> Result<Box<RawValue>, String> {
    serde_json::value::to_raw_value(value).map_err(|error| error.to_string())
}

/// Returns bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Writes an integer of 64 bits, as text.
pub(super) fn number<T: Display, S: Serializer>(
    number: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

/// Writes a float; those that JSON does not have are text.
pub(super) fn double<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.is_finite() {
        return serializer.serialize_f64(*number);
    }
    serializer.serialize_str(&number.to_string().replace("inf", "Infinity"))
}

/// Writes an id, in hexadecimal.
pub(super) fn id<S: Serializer>(id: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex(id))
}

/// Writes bytes, in base64.
pub(super) fn base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_that_json_does_not_have_are_text() {
        let written = |number: f64| double(&number, serde_json::value::Serializer).unwrap();
        assert_eq!(written(-0.5), -0.5);
        assert_eq!(written(f64::NAN), "NaN");
        assert_eq!(written(f64::INFINITY), "Infinity");
        assert_eq!(written(f64::NEG_INFINITY), "-Infinity");
    }
}
