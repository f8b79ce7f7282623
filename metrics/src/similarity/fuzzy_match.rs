//! `fuzzy_match`: edit distance of two texts, `fuzz.ratio` of rapidfuzz.

/// Returns the share of characters that need not be inserted or deleted to make one text the other; 1 for two empty texts.
pub(super) fn fuzzy_match(candidate: &str, reference: &str) -> f64 {
    if candidate.is_ascii() && reference.is_ascii() {
        return rapidfuzz::fuzz::ratio(candidate.bytes(), reference.bytes());
    }
    rapidfuzz::fuzz::ratio(candidate.chars(), reference.chars())
}
