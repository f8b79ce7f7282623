//! SHA-256 digests of several values.
//!
//! A digest is taken over a sequence of parts: for each its name and its value, both behind their length in bytes as
//! eight bytes, least significant first. Values that are not bytes are compact JSON as serde writes it, so a digest
//! depends neither on the machine nor on how a value is printed for debugging.

use std::{
    fmt,
    io::{self, Write},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest as _, Sha256};

/// Version of the encoding of keys and fingerprints. Part of every digest, so another version matches no record.
///
/// 2: files are named relative to the configuration, and interpreters have no name.
pub(crate) const ENCODING: u64 = 2;

/// Hexadecimal digits.
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// A SHA-256 digest. As text and in JSON: 64 hexadecimal digits in lower case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Digest {
    /// Adds another digest, as numbers modulo 2^256 with the most significant byte first.
    pub(crate) fn add(&mut self, other: &Self) {
        let mut carry = 0;
        for (byte, more) in self.0.iter_mut().zip(other.0).rev() {
            let sum = u16::from(*byte) + u16::from(more) + carry;
            *byte = sum.to_be_bytes()[1];
            carry = sum >> 8;
        }
    }

    /// Returns its first bytes as a number.
    pub(crate) fn number(&self) -> u64 {
        self.0.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let text: String = digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect();
        f.write_str(&text)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(text.as_bytes()).ok_or_else(|| D::Error::custom("expected 64 hexadecimal digits"))
    }
}

/// Reads the text of a digest.
fn parse(text: &[u8]) -> Option<Digest> {
    let digit = |at: usize| match text[at] {
        digit @ b'0'..=b'9' => Some(digit - b'0'),
        digit @ b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut digest = Digest::default();
    for (at, byte) in digest.0.iter_mut().enumerate().filter(|_| text.len() == 64) {
        *byte = digit(2 * at)? << 4 | digit(2 * at + 1)?;
    }
    (text.len() == 64).then_some(digest)
}

/// Combines named values into a [`Digest`].
#[derive(Clone, Default, derive_more::Debug)]
#[debug("Digester")]
pub struct Digester(Sha256);

impl Digester {
    /// Starts with the kind of thing that the digest is of.
    pub fn new(about: &str) -> Self {
        Self::default().bytes("version", &ENCODING.to_le_bytes()).bytes("about", about.as_bytes())
    }

    /// Adds bytes without a name or a length, for a digest of nothing else.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds bytes.
    #[must_use]
    pub fn bytes(mut self, name: &str, bytes: &[u8]) -> Self {
        for part in [name.as_bytes(), bytes] {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
        self
    }

    /// Adds a value as JSON. One that cannot be serialized counts as its error message.
    #[must_use]
    pub fn json(self, name: &str, value: &impl Serialize) -> Self {
        let mut hasher = Self::default();
        if let Err(error) = serde_json::to_writer(&mut hasher, value) {
            hasher.0.update(error.to_string());
        }
        self.bytes(name, hasher.finish().as_ref())
    }

    /// Returns the digest of all added values, in this order.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// Adds bytes without a name or a length, for a digest of nothing else.
impl Write for Digester {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        let digest = |parts: &[(&str, &str)]| {
            let add = |digester: Digester, (name, text): &(&str, &str)| {
                digester.bytes(name, text.as_bytes())
            };
            parts.iter().fold(Digester::new("test"), add).finish()
        };
        let all = [
            digest(&[]),
            digest(&[("a", "bc")]),
            digest(&[("ab", "c")]),
            digest(&[("a", "b"), ("c", "")]),
            digest(&[("a", "b"), ("", "c")]),
            Digester::new("test").json("a", &"bc").finish(),
            Digester::new("tes").bytes("t", b"").finish(),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{at}");
        }
    }

    #[test]
    fn a_digest_is_read_as_it_is_written_and_in_no_other_form() {
        let digest = Digester::new("test").finish();
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), digest);
        for other in [text.to_uppercase(), text.replacen('"', "\"0", 1), "\"+f\"".to_owned()] {
            assert!(serde_json::from_str::<Digest>(&other).is_err(), "{other}");
        }
    }
}
