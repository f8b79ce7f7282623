//! Which evaluation a record is of.

use std::fmt;

use super::digest::{Digest, Digester, hex};

/// An evaluator, as it was set up, and what it was given: evaluations with the same key are the same work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(Digest);

impl Key {
    /// The key of what an evaluator of this [`Fingerprint`](super::Fingerprint) does with an input.
    pub(super) fn new(evaluator: &Digest, input: &Digest) -> Self {
        Self(
            Digester::new("evaluation")
                .bytes("evaluator", evaluator)
                .bytes("input", input)
                .finish(),
        )
    }

    /// Reads 64 hexadecimal digits in lower case.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut bytes = Digest::default();
        if text.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, digits) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            let value = |digit: u8| match digit {
                b'0'..=b'9' => Some(digit - b'0'),
                b'a'..=b'f' => Some(digit - b'a' + 10),
                _ => None,
            };
            *byte = value(digits[0])? << 4 | value(digits[1])?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written_and_in_no_other_form() {
        let key = Key::new(&[1; 32], &[2; 32]);
        let text = key.to_string();
        assert_eq!(Key::parse(text.as_bytes()), Some(key));
        for other in [text.to_uppercase(), text[1..].to_owned(), format!("{text}0")] {
            assert_eq!(Key::parse(other.as_bytes()), None);
        }
        assert_ne!(key, Key::new(&[2; 32], &[1; 32]));
    }
}
