//! SHA-256 over several things, none of which runs into the next.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// 32 bytes that stand for everything that was put into them.
pub type Digest = [u8; 32];

/// Puts things together to a [`Digest`]: each with its name, and its length or its kind of value, so that no two sequences
/// of things look the same.
#[derive(Clone, Default)]
pub struct Digester(Sha256);

impl Digester {
    /// Begins with what the digest is about.
    #[must_use]
    pub fn new(about: &str) -> Self {
        Self::default().bytes("about", about.as_bytes())
    }

    /// Adds some bytes.
    #[must_use]
    pub fn bytes(mut self, name: &str, bytes: &[u8]) -> Self {
        self.part(name.as_bytes());
        self.part(bytes);
        self
    }

    /// Adds everything that the `Debug` form of a value shows. For types of this crate, which derive it: so no field
    /// that is added to them later can be forgotten here.
    #[must_use]
    pub fn shown(mut self, name: &str, value: &dyn fmt::Debug) -> Self {
        let mut shown = Shown(Sha256::new());
        // Hashing cannot fail.
        let _ = fmt::write(&mut shown, format_args!("{value:?}"));
        self.part(name.as_bytes());
        self.part(&shown.0.finalize());
        self
    }

    /// The digest of all that was added, in this order.
    #[must_use]
    pub fn finish(self) -> Digest {
        self.0.finalize().into()
    }

    fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }
}

impl fmt::Debug for Digester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Digester").finish_non_exhaustive()
    }
}

struct Shown(Sha256);

impl fmt::Write for Shown {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text);
        Ok(())
    }
}

/// Hexadecimal digits, two for each byte.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_runs_into_the_next() {
        let digest = |parts: &[(&str, &str)]| {
            let digester = Digester::new("test");
            let add = |digester: Digester, (name, text): &(&str, &str)| {
                digester.bytes(name, text.as_bytes())
            };
            parts.iter().fold(digester, add).finish()
        };
        let all = [
            digest(&[]),
            digest(&[("a", "bc")]),
            digest(&[("ab", "c")]),
            digest(&[("a", "b"), ("c", "")]),
            digest(&[("a", "b"), ("", "c")]),
            Digester::new("test").shown("a", &"bc").finish(),
            Digester::new("tes").bytes("t", b"").finish(),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{at}");
        }
    }
}
