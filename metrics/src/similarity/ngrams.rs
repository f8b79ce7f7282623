//! Sequences of tokens that two texts share.

use std::collections::HashMap;

/// Tokens of two texts as numbers: equal tokens have equal numbers.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) candidate: Vec<u32>,
    pub(super) reference: Vec<u32>,
}

impl Pair {
    pub(super) fn new(candidate: &[String], reference: &[String]) -> Self {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut candidate_numbers = Vec::with_capacity(candidate.len());
        let mut reference_numbers = Vec::with_capacity(reference.len());
        let sides = [(candidate, &mut candidate_numbers), (reference, &mut reference_numbers)];
        for (tokens, of_side) in sides {
            for token in tokens {
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                of_side.push(*numbers.entry(token).or_insert(next));
            }
        }
        Self { candidate: candidate_numbers, reference: reference_numbers }
    }

    /// Counts the n-grams of both texts, and those that they share; each as often as both have it.
    pub(super) fn ngrams(&self, n: usize) -> NGrams {
        let mut open: HashMap<&[u32], usize> = HashMap::new();
        for ngram in self.reference.windows(n) {
            *open.entry(ngram).or_default() += 1;
        }
        let mut shared = 0;
        for ngram in self.candidate.windows(n) {
            if let Some(count) = open.get_mut(ngram).filter(|count| **count > 0) {
                *count -= 1;
                shared += 1;
            }
        }
        NGrams {
            shared,
            candidate: (self.candidate.len() + 1).saturating_sub(n),
            reference: (self.reference.len() + 1).saturating_sub(n),
        }
    }
}

/// Numbers of n-grams.
#[derive(Clone, Copy, Debug)]
pub(super) struct NGrams {
    pub(super) shared: usize,
    pub(super) candidate: usize,
    pub(super) reference: usize,
}

/// Returns the harmonic mean of precision and recall, given the number of shared tokens and of all tokens of both sides; 0
/// if nothing is shared.
pub(super) fn f_measure(shared: usize, candidate: usize, reference: usize) -> f64 {
    if shared == 0 {
        return 0.0;
    }
    let (precision, recall) = (ratio(shared, candidate), ratio(shared, reference));
    2.0 * precision * recall / (precision + recall)
}

/// Returns the F-measure of n-grams, ROUGE-N.
pub(crate) fn ngram_f_measure(candidate: &[String], reference: &[String], n: usize) -> f64 {
    let ngrams = Pair::new(candidate, reference).ngrams(n);
    f_measure(ngrams.shared, ngrams.candidate, ngrams.reference)
}

/// Divides two counts.
#[expect(clippy::cast_precision_loss, reason = "no text has 2^53 tokens")]
pub(super) fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
