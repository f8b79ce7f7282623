//! Sequences of tokens that two texts share.

use std::{collections::HashMap, hash::Hash};

use foldhash::fast::RandomState;

use super::subsequence::common_subsequence;

/// Bits of a token in an n-gram. Texts have fewer different tokens than that.
const BITS: usize = 25;

/// Tokens of two texts as numbers from 1: equal tokens have equal numbers.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) candidate: Vec<u32>,
    pub(super) reference: Vec<u32>,
    /// Number of different tokens.
    different: usize,
}

impl Pair {
    pub(super) fn new<T: Eq + Hash>(
        candidate: impl Iterator<Item = T>,
        reference: impl Iterator<Item = T>,
    ) -> Self {
        let mut numbers = HashMap::with_capacity_and_hasher(64, RandomState::default());
        let mut number = |token| {
            let next = u32::try_from(numbers.len() + 1).unwrap_or(u32::MAX);
            *numbers.entry(token).or_insert(next)
        };
        let candidate = candidate.map(&mut number).collect();
        let reference = reference.map(&mut number).collect();
        Self { candidate, reference, different: numbers.len() }
    }

    /// Returns the length of the longest common subsequence.
    pub(super) fn common_subsequence(&self) -> usize {
        common_subsequence(&self.candidate, &self.reference, self.different + 1)
    }

    /// Counts the n-grams of both texts, and those that they share; each as often as both have it.
    pub(super) fn ngrams(&self, n: usize) -> NGrams {
        self.ngrams_up_to(n).count(n)
    }

    /// Sorts the n-grams of up to this many tokens, at most five.
    pub(super) fn ngrams_up_to(&self, longest: usize) -> Sorted {
        let sorted = |tokens: &[u32]| -> Vec<u128> {
            let starts = (0..tokens.len()).map(|start| {
                let end = tokens.len().min(start + longest);
                let ngram = &tokens[start..end];
                let packed =
                    ngram.iter().fold(0, |packed, token| (packed << BITS) | u128::from(*token));
                // 0 stands for the end of the text.
                packed << (BITS * (longest - ngram.len()))
            });
            let mut ngrams: Vec<u128> = starts.collect();
            ngrams.sort_unstable();
            ngrams
        };
        let (candidate, reference) = (sorted(&self.candidate), sorted(&self.reference));
        Sorted { longest, candidate, reference }
    }
}

/// The longest n-grams of both texts that start at each token, as numbers. In this order n-grams of every length are
/// sorted.
#[derive(Debug)]
pub(super) struct Sorted {
    longest: usize,
    candidate: Vec<u128>,
    reference: Vec<u128>,
}

impl Sorted {
    /// Counts n-grams of this length, see [`Pair::ngrams`].
    pub(super) fn count(&self, n: usize) -> NGrams {
        let shift = BITS * (self.longest - n);
        let complete =
            |packed: &u128| Some(packed >> shift).filter(|ngram| ngram & ((1 << BITS) - 1) != 0);
        let mut others = self.reference.iter().filter_map(complete).peekable();
        let mut shared = 0;
        for ngram in self.candidate.iter().filter_map(complete) {
            while others.next_if(|other| *other < ngram).is_some() {}
            shared += usize::from(others.next_if_eq(&ngram).is_some());
        }
        let number = |tokens: usize| (tokens + 1).saturating_sub(n);
        let (candidate, reference) = (number(self.candidate.len()), number(self.reference.len()));
        NGrams { shared, candidate, reference }
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
pub(crate) fn ngram_f_measure<T: AsRef<str>>(candidate: &[T], reference: &[T], n: usize) -> f64 {
    let ngrams =
        Pair::new(candidate.iter().map(AsRef::as_ref), reference.iter().map(AsRef::as_ref))
            .ngrams(n);
    f_measure(ngrams.shared, ngrams.candidate, ngrams.reference)
}

/// Divides two counts.
#[expect(clippy::cast_precision_loss, reason = "no text has 2^53 tokens")]
pub(super) fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
