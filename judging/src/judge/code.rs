//! The ending of the keys with which a judge states its verdict.

use super::template::word;

/// Ending of keys, e.g. `_4f9a01bc`: `{"score_4f9a01bc": 1}`.
///
/// It is derived from a digest of everything that is judged, and occurs in none of it. So it is the same in every run, and a
/// key that has it was written by the judge: an agent that writes `{"score": 1}`, or guesses an ending, changes the digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    ending: String,
    /// Whether a text that is judged has the mark that ends a draft, however it is escaped.
    is_mark_shown: bool,
}

impl Code {
    /// Number of bytes of the digest.
    const BYTES: usize = 4;

    /// Returns the code of a question that shows these texts, by their names.
    pub fn of(texts: &[(&str, String)]) -> Self {
        let has_mark = |text: &str| text.to_ascii_lowercase().contains("/think");
        Self {
            ending: format!("_{}", word("code", Self::BYTES, texts)),
            is_mark_shown: texts.iter().any(|(_, text)| has_mark(text)),
        }
    }

    /// Returns the ending.
    pub fn as_str(&self) -> &str {
        &self.ending
    }

    /// Returns true if a text has the code.
    pub(super) fn is_in(&self, text: &str) -> bool {
        text.contains(&self.ending)
    }

    /// Returns the part of a reply that may state the verdict: what follows the last `</think>`. Some servers of local models
    /// leave the draft of the reply in it, and the start of the draft in the prompt. A mark that is shown to the judge may be
    /// quoted, and ends nothing; nor does one with the code only before it.
    pub(super) fn after_draft<'r>(&self, reply: &'r str) -> &'r str {
        match reply.rsplit_once("</think>") {
            Some((draft, rest))
                if !self.is_mark_shown && (self.is_in(rest) || !self.is_in(draft)) =>
            {
                rest
            }
            _ => reply,
        }
    }
}

/// Returns the part of a reply that may state the verdict: without a code, all of it.
pub(super) fn after_draft<'r>(reply: &'r str, code: Option<&Code>) -> &'r str {
    code.map_or(reply, |code| code.after_draft(reply))
}

/// Returns the ending of a code, empty if there is none.
pub(super) fn ending(code: Option<&Code>) -> &str {
    code.map_or("", Code::as_str)
}
