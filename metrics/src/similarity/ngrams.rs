//! Sequences of tokens that two texts share.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Tokens of two texts as numbers: equal tokens have equal numbers.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) candidate: Vec<u32>,
    pub(super) reference: Vec<u32>,
}

impl Pair {
    pub(super) fn new<T: AsRef<str>>(candidate: &[T], reference: &[T]) -> Self {
        let capacity = candidate.len() + reference.len();
        let mut numbers = HashMap::with_capacity_and_hasher(capacity, RandomState::default());
        let mut number = |token| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(token).or_insert(next)
        };
        Self {
            candidate: candidate.iter().map(|token| number(token.as_ref())).collect(),
            reference: reference.iter().map(|token| number(token.as_ref())).collect(),
        }
    }

    /// Counts the n-grams of both texts, and those that they share; each as often as both have it.
    pub(super) fn ngrams(&self, n: usize) -> NGrams {
        let sorted = |tokens: &'_ [u32]| -> Vec<u128> {
            let mut ngrams: Vec<u128> = tokens.windows(n).map(packed).collect();
            ngrams.sort_unstable();
            ngrams
        };
        let (candidate, reference) = (sorted(&self.candidate), sorted(&self.reference));
        let (mut shared, mut at) = (0, 0);
        for ngram in &candidate {
            at += reference[at..].iter().take_while(|other| *other < ngram).count();
            if reference.get(at) == Some(ngram) {
                shared += 1;
                at += 1;
            }
        }
        NGrams { shared, candidate: candidate.len(), reference: reference.len() }
    }
}

/// Packs up to five tokens into a number. Texts have fewer than 2^25 different tokens, so that no two n-grams have the same.
fn packed(ngram: &[u32]) -> u128 {
    ngram.iter().fold(0, |packed, token| (packed << 25) | u128::from(*token))
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
pub(crate) fn ngram_f_measure<T: AsRef<str>>(candidate: &[T], reference: &[T], n: usize) -> f64 {
    let ngrams = Pair::new(candidate, reference).ngrams(n);
    f_measure(ngrams.shared, ngrams.candidate, ngrams.reference)
}

/// Divides two counts.
#[expect(clippy::cast_precision_loss, reason = "no text has 2^53 tokens")]
pub(super) fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
