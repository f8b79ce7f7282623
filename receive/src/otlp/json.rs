//! Objects whose members stay as they were written.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error, MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// Members of an object, each as it was written. Nothing but an object is read, and no key twice.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct Members(BTreeMap<String, Box<RawValue>>);

impl Members {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Sets a list.
    pub(crate) fn insert_list(&mut self, key: &str, list: &[impl Serialize]) -> Result<(), String> {
        let list = serde_json::value::to_raw_value(list).map_err(|error| error.to_string())?;
        self.0.insert(key.to_owned(), list);
        Ok(())
    }

    /// Returns the value of a member; one that is absent or `null` has the default.
    pub(crate) fn get<T: DeserializeOwned + Default>(&self, key: &str) -> Result<T, String> {
        let Some(text) = self.0.get(key) else { return Ok(T::default()) };
        let value = serde_json::from_str::<Option<T>>(text.get());
        Ok(value.map_err(|error| format!("`{key}`: {error}"))?.unwrap_or_default())
    }

    /// Takes a list out of the object.
    pub(crate) fn take_list<T: DeserializeOwned>(&mut self, key: &str) -> Result<Vec<T>, String> {
        let list = self.get(key)?;
        self.0.remove(key);
        Ok(list)
    }

    /// Checks that a member is an object, if it is there.
    pub(crate) fn check_object(&self, key: &str) -> Result<(), String> {
        self.get::<Self>(key).map(drop)
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

/// Returns bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
