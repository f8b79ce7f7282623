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

    /// Counts the n-grams of `n` tokens, from 1 to 5, see [`ngrams_up_to`](Self::ngrams_up_to).
    pub(super) fn ngrams(&self, n: usize) -> NGrams {
        match n {
            1 => self.ngrams_up_to::<1>()[0],
            2 => self.ngrams_up_to::<2>()[1],
            3 => self.ngrams_up_to::<3>()[2],
            4 => self.ngrams_up_to::<4>()[3],
            _ => self.ngrams_up_to::<5>()[4],
        }
    }

    /// Counts the n-grams of 1 to `N` tokens, at most 5, of both texts, and those that they share; each as often as both have
    /// it.
    pub(super) fn ngrams_up_to<const N: usize>(&self) -> [NGrams; N] {
        let (candidate, reference) = (sorted::<N>(&self.candidate), sorted::<N>(&self.reference));
        let mut order = 0;
        shared::<N>(&candidate, &reference).map(|shared| {
            let number = |ngrams: &[u128]| ngrams.len().saturating_sub(order);
            let (candidate, reference) = (number(&candidate), number(&reference));
            order += 1;
            NGrams { shared, candidate, reference }
        })
    }
}

/// Returns the longest n-grams that start at each token, of up to `N` tokens, as sorted numbers. In this order n-grams of
/// every length are sorted.
fn sorted<const N: usize>(tokens: &[u32]) -> Vec<u128> {
    // Each n-gram is that of the next token, which it precedes. 0 stands for the end of the text.
    let mut next = 0;
    let packed = tokens.iter().rev().map(|token| {
        next = (u128::from(*token) << (BITS * (N - 1))) | (next >> BITS);
        next
    });
    let mut ngrams: Vec<u128> = packed.collect();
    ngrams.sort_unstable();
    ngrams
}

/// Returns the numbers of n-grams of 1 to `N` tokens that both lists have. Both are walked through once, in the order of the
/// n-grams; each n-gram is compared with the one before it.
fn shared<const N: usize>(candidate: &[u128], reference: &[u128]) -> [usize; N] {
    let (mut shared, mut surplus) = ([0_u32; N], [0_i32; N]);
    let (mut at, mut other) = (0, 0);
    let mut previous = 0;
    for _ in 0..candidate.len() + reference.len() {
        let ngrams = (
            candidate.get(at).copied().unwrap_or(u128::MAX),
            reference.get(other).copied().unwrap_or(u128::MAX),
        );
        let is_candidate = ngrams.0 <= ngrams.1;
        let ngram = if is_candidate { ngrams.0 } else { ngrams.1 };
        at += usize::from(is_candidate);
        other += usize::from(!is_candidate);
        // Tokens that are equal in both n-grams, and tokens of this one.
        let equal = ((previous ^ ngram).leading_zeros() as usize + BITS * N - 128) / BITS;
        let tokens = N - ngram.trailing_zeros() as usize / BITS;
        let sign = if is_candidate { 1 } else { -1 };
        for n in 0..N {
            // What the candidate has more often than the reference, of equal n-grams so far.
            let before = if n < equal { surplus[n] } else { 0 };
            shared[n] += u32::from(before * sign < 0 && n < tokens);
            surplus[n] = before + sign;
        }
        previous = ngram;
    }
    shared.map(|number| number as usize)
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
