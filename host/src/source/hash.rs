//! The hash of an evaluator's content.

use std::fmt;

use sha2::{Digest, Sha256};

use super::SourceFile;

/// What an evaluator consists of, in 32 bytes: SHA-256 over the list of its files.
///
/// The list has a line for each file, in the order of their paths: the hexadecimal SHA-256 of the content, two blanks, the
/// path; as `sha256sum` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContentHash(String);

const PREFIX: &str = "sha256:";

impl ContentHash {
    /// The hash of these files, in whatever order they come.
    #[must_use]
    pub fn of(files: &[SourceFile]) -> Self {
        let mut lines: Vec<(&str, String)> =
            files.iter().map(|file| (file.path.as_str(), sha256(&file.bytes))).collect();
        lines.sort();
        let list: String = lines.iter().map(|(path, hash)| format!("{hash}  {path}\n")).collect();
        Self(format!("{PREFIX}{}", sha256(list.as_bytes())))
    }

    /// Reads `sha256:` and 64 hexadecimal digits in lower case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.strip_prefix(PREFIX).filter(|digits| is_sha256(digits)).map(|_| Self(text.to_owned()))
    }

    /// `sha256:` and 64 hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Enough of it to tell it from others by eye.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..PREFIX.len() + 12]
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Hexadecimal SHA-256 of some bytes.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether this is a SHA-256 in hexadecimal, in lower case.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), bytes: text.into() }
    }

    #[test]
    fn it_is_what_sha256sum_makes_of_its_own_list() {
        // printf 'a' | sha256sum, and so on.
        let list = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a.py\n\
                    3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b/c.txt\n";
        let hash = ContentHash::of(&[file("b/c.txt", "b"), file("a.py", "a")]);
        assert_eq!(hash.as_str(), format!("sha256:{}", sha256(list.as_bytes())));
        assert_eq!(ContentHash::parse(hash.as_str()), Some(hash));
    }

    #[test]
    fn names_count_as_much_as_contents() {
        let hash = |path, text| ContentHash::of(&[file(path, text)]);
        assert_ne!(hash("a", "x"), hash("b", "x"));
        assert_ne!(hash("a", "x"), hash("a", "y"));
        assert_ne!(hash("a", ""), ContentHash::of(&[]));
    }

    #[test]
    fn other_texts_are_no_hashes() {
        for text in ["", "sha256:", "md5:00", &format!("sha256:{}", "A".repeat(64))] {
            assert_eq!(ContentHash::parse(text), None, "{text}");
        }
    }
}
