//! `rouge_1` to `rouge_5` and `rouge_l`: F-measures of the package rouge-score.

use std::borrow::Cow;

use super::{
    ngrams::{Pair, f_measure, ngram_f_measure},
    tokens::characters,
};
use crate::stem::stem;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rouge {
    /// N-grams of this many tokens.
    N(usize),
    /// The longest common subsequence.
    L,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// Runs of ASCII letters and digits.
    Plain,
    /// The same, by their stems.
    Stemmed,
    /// Characters.
    Characters,
}

impl Rouge {
    pub(super) fn score(self, candidate: &str, reference: &str, words: Words) -> f64 {
        let (candidate, reference) = (candidate.to_lowercase(), reference.to_lowercase());
        let (candidate, reference) = (words.tokens(&candidate), words.tokens(&reference));
        match self {
            Self::N(n) => ngram_f_measure(&candidate, &reference, n),
            Self::L => {
                let shared = Pair::new(candidate.iter(), reference.iter()).common_subsequence();
                f_measure(shared, candidate.len(), reference.len())
            }
        }
    }
}

impl Words {
    /// Returns the tokens of a text in lower case.
    pub(super) fn tokens(self, text: &str) -> Vec<Cow<'_, str>> {
        if self == Self::Characters {
            return characters(text).map(|it| Cow::Owned(it.to_string())).collect();
        }
        text.split(|character: char| !character.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(|word| match self {
                Self::Stemmed if word.len() > 3 => Cow::Owned(stem(word)),
                _ => Cow::Borrowed(word),
            })
            .collect()
    }
}
