//! The ending of the keys with which a judge states its verdict.

use super::template::word;

/// Ending of keys, e.g. `_4f9a01bc`: `{"score_4f9a01bc": 1}`.
///
/// It is derived from a digest of everything that is judged, and occurs in none of it. So it is the same in every run, and a
/// key that has it was written by the judge: an agent that writes `{"score": 1}`, or guesses an ending, changes the digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code(String);

impl Code {
    /// Number of bytes of the digest.
    const BYTES: usize = 4;

    /// Returns the code of a question that shows these texts, by their names.
    #[must_use]
    pub fn of(texts: &[(&str, String)]) -> Self {
        Self(format!("_{}", word("code", Self::BYTES, texts)))
    }

    /// Returns the ending.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if a text has the code.
    #[must_use]
    pub(super) fn is_in(&self, text: &str) -> bool {
        text.contains(&self.0)
    }
}

/// Returns the ending of a code, empty if there is none.
pub(super) fn ending(code: Option<&Code>) -> &str {
    code.map_or("", Code::as_str)
}
