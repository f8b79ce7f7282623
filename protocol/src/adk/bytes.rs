//! Bytes in documents: base64 with the alphabet of URLs, as pydantic writes them.

use std::{fmt, ops::Deref};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes: an image, a signature.
///
/// They are written as base64 with `-` and `_` and padding. Both alphabets are read, with padding or without.
///
/// ```
/// use evaluator_protocol::adk::Bytes;
///
/// let bytes: Bytes = serde_json::from_str(r#""-vv8_Q==""#)?;
/// assert_eq!(bytes, Bytes::from(vec![0xfa, 0xfb, 0xfc, 0xfd]));
/// assert_eq!(serde_json::from_str::<Bytes>(r#""+vv8/Q""#)?, bytes);
/// assert_eq!(serde_json::to_string(&bytes)?, r#""-vv8_Q==""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Bytes(Vec<u8>);

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Bytes {
    /// The bytes alone.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        self.0
    }

    fn from_base64(text: &str) -> Result<Self, BadBase64> {
        let digits = text.as_bytes();
        let padding = digits.iter().rev().take_while(|digit| **digit == b'=').count();
        let digits = &digits[..digits.len() - padding];
        // Padding may be left out; what there is has to fill the last group of four.
        let rest = digits.len() % 4;
        if rest == 1 || padding > 0 && padding != (4 - rest) % 4 {
            return Err(BadBase64);
        }
        let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
        for group in digits.chunks(4) {
            let mut bits = 0_u32;
            for digit in group {
                bits = bits << 6 | u32::from(value(*digit).ok_or(BadBase64)?);
            }
            bits <<= 6 * (4 - group.len());
            bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
        }
        Ok(Self(bytes))
    }

    fn to_base64(&self) -> String {
        let mut text = String::with_capacity(self.0.len().div_ceil(3) * 4);
        for group in self.0.chunks(3) {
            let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
            let bits = bits << (8 * (3 - group.len()));
            for place in 0..4 {
                let digit = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
                text.push(if place <= group.len() { char::from(digit) } else { '=' });
            }
        }
        text
    }
}

fn value(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'-' | b'+' => 62,
        b'_' | b'/' => 63,
        _ => return None,
    })
}

/// A text is not base64.
struct BadBase64;

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An image would bury all else.
        write!(f, "Bytes({} bytes)", self.0.len())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_base64())
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes as base64")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
                // The text may be of any size, and says nothing.
                Bytes::from_base64(text).map_err(|BadBase64| E::custom("this text is not base64"))
            }
        }

        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<Vec<u8>> {
        Bytes::from_base64(text).ok().map(Bytes::into_vec)
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(bytes: Vec<u8>) {
            let text = Bytes::from(bytes.clone()).to_base64();
            prop_assert_eq!(text.len() % 4, 0);
            prop_assert_eq!(read(&text), Some(bytes.clone()));
            prop_assert_eq!(read(text.trim_end_matches('=')), Some(bytes.clone()));
            let classic = text.replace('-', "+").replace('_', "/");
            prop_assert_eq!(read(&classic), Some(bytes));
        }

        #[test]
        fn no_text_is_too_much(text: String) {
            let _ = read(&text);
        }
    }

    #[test]
    fn known_values() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("AP_--3NpZz4-Pj8_Pw==", b"\x00\xff\xfe\xfbsig>>>???"),
        ] {
            assert_eq!(read(text).as_deref(), Some(bytes));
            assert_eq!(Bytes::from(bytes.to_vec()).to_base64(), text);
        }
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        for text in
            ["Z", "Zg=", "Zg===", "Zm9v=", "=", "====", "Zm 9v", "Zm9v\n", "Zg==Zg==", "Zmé"]
        {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
