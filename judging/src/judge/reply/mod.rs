//! Reading what a judge replied. A reply that cannot be read is never a verdict.

mod label;
pub(crate) mod object;
mod rubric;
mod sentences;
mod word;

pub use label::{Label, UnknownWord, match_label, user_label};
pub use rubric::{RubricBlock, normalize_rubric, rubric_verdicts};
pub use sentences::{
    SentenceLabel, answer_sentences, sentence_labels, sentence_verdicts, sentences,
};

/// White space as Python's `str.isspace` defines it, for use inside a character class.
const BLANK: &str =
    r"\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}";

/// Compiles a pattern in which `~` stands for [`BLANK`].
fn pattern(text: &str) -> regex_lite::Regex {
    regex_lite::Regex::new(&text.replace('~', BLANK)).expect("built-in patterns are valid")
}
