//! Paths in JSON: text where they are UTF-8, otherwise an array of bytes, so that no path changes.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, SeqAccess, Visitor},
};

/// A path with this form in JSON.
struct PathText(PathBuf);

pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => serializer.serialize_str(text),
        None => serializer.collect_seq(path.as_os_str().as_encoded_bytes()),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    struct Text;
    impl<'de> Visitor<'de> for Text {
        type Value = PathBuf;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a path: text, or an array of bytes")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<PathBuf, E> {
            Ok(text.into())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<PathBuf, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = items.next_element()? {
                bytes.push(byte);
            }
            from_bytes(bytes).ok_or_else(|| A::Error::custom("bytes that are not text"))
        }
    }
    deserializer.deserialize_any(Text)
}

#[cfg(unix)]
fn from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt};
    Some(OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

impl Serialize for PathText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for PathText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Self)
    }
}

/// Lists of paths.
pub(crate) mod many {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        paths: &[PathBuf],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| PathText(path.clone())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let paths = Vec::<PathText>::deserialize(deserializer)?;
        Ok(paths.into_iter().map(|path| path.0).collect())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    use crate::Policy;

    #[test]
    fn every_path_survives() {
        for bytes in
            [&b"/plain"[..], b"/with blank\nand line", b"/not\xff\xfe utf8", "/\u{fc}".as_bytes()]
        {
            let policy =
                Policy { read: vec![OsStr::from_bytes(bytes).into()], ..Policy::default() };
            let text = serde_json::to_string(&policy).unwrap();
            assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy, "{text}");
        }
    }
}
