//! ROUGE-1: how many words two texts share.

mod stem;
mod tokens;

use std::collections::HashMap;

use tokens::tokens;

/// The F-measure of the words of `candidate` and `reference`, in 0..=1; 0 when either has no words.
///
/// Words are compared without case and, if English letters, by their stem. Scripts written without spaces count each
/// character, or each letter with its marks, as a word.
#[must_use]
pub fn rouge_1(candidate: &str, reference: &str) -> f64 {
    let candidate = tokens(candidate);
    let reference = tokens(reference);
    let mut open: HashMap<&str, usize> = HashMap::new();
    for token in &reference {
        *open.entry(token).or_default() += 1;
    }
    let shared = candidate
        .iter()
        .filter(|token| match open.get_mut(token.as_str()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        })
        .count();
    if shared == 0 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "no text has 2^53 words")]
    let share = |of: usize| shared as f64 / of as f64;
    let (precision, recall) = (share(candidate.len()), share(reference.len()));
    2.0 * precision * recall / (precision + recall)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_reference_implementation() {
        let vectors = include_str!("../../../tests/data/rouge/rouge1.jsonl");
        for line in vectors.lines() {
            let (candidate, reference, _, _, expected): (String, String, f64, f64, f64) =
                serde_json::from_str(line).unwrap();
            let score = rouge_1(&candidate, &reference);
            assert!((score - expected).abs() < 1e-9, "{score} instead of {expected}: {line}");
        }
    }

    #[test]
    fn a_word_counts_as_often_as_both_have_it() {
        assert!((rouge_1("a a a b", "a a c c") - 0.5).abs() < 1e-12);
        assert!(rouge_1("", "") == 0.0);
        assert!(rouge_1("...", "word") == 0.0);
    }
}
