//! `fuzzy_match`: edit distance of two texts, `fuzz.ratio` of rapidfuzz.

use super::{
    ngrams::{Pair, ratio},
    subsequence::common_subsequence,
};

/// Number of ASCII characters.
const ASCII: usize = 128;

/// Returns the share of characters that need not be inserted or deleted to make one text the other; 1 for two empty texts.
pub(super) fn fuzzy_match(candidate: &str, reference: &str) -> f64 {
    if candidate.is_ascii() && reference.is_ascii() {
        let (candidate, reference) = (candidate.as_bytes(), reference.as_bytes());
        let common = common_subsequence(candidate, reference, ASCII);
        return share(common, candidate.len() + reference.len());
    }
    let pair = Pair::new(candidate.chars(), reference.chars());
    share(pair.common_subsequence(), pair.candidate.len() + pair.reference.len())
}

fn share(common: usize, characters: usize) -> f64 {
    if characters == 0 { 1.0 } else { ratio(2 * common, characters) }
}
