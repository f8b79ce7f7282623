//! `bleu`: precision of n-grams of one to four tokens, `sentence_bleu` of nltk, and its relatives.

use libm::{exp, log};

use super::{
    ngrams::{NGrams, Pair, ratio},
    tokens::{is_space, spaced, split},
};

/// Longest n-gram.
const ORDERS: usize = 4;

/// What is done for texts with fewer tokens than the longest n-gram, or without a common n-gram of some length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Smoothing {
    /// nltk's method 4; texts of fewer than four tokens are compared by shorter n-grams only.
    Reweighed,
    /// nltk's method 4, always with four orders.
    Azure,
}

/// Returns the score of the tokens.
pub(super) fn bleu(pair: &Pair, smoothing: Smoothing) -> f64 {
    let length = pair.candidate.len();
    let ngrams = pair.ngrams_up_to::<ORDERS>();
    if ngrams[0].shared == 0 {
        return 0.0;
    }
    let orders = match smoothing {
        Smoothing::Reweighed => ORDERS.min(length),
        Smoothing::Azure => ORDERS,
    };
    let mut halved = 1.0;
    let mut logarithms = 0.0;
    for (NGrams { shared, candidate, .. }, n) in ngrams.into_iter().zip(1..) {
        let total = candidate.max(1);
        let mut precision = ratio(shared, total);
        if shared == 0 && length > 1 {
            halved *= 2.0;
            precision = log(ratio(length, 1)) / (halved * 5.0 * ratio(total, 1));
        }
        if n <= orders && precision > 0.0 {
            logarithms += log(precision) / ratio(orders, 1);
        }
    }
    brevity(pair) * exp(logarithms)
}

/// Returns the score of sacrebleu: exponential smoothing, and orders up to the length of the text.
pub(super) fn sacrebleu(candidate: &str, reference: &str) -> f64 {
    let candidate = spaced(candidate.trim_end_matches(is_space));
    let reference = spaced(reference.trim_end_matches(is_space));
    let pair = Pair::new(split(&candidate), split(&reference));
    let (mut halved, mut logarithms, mut orders, mut any) = (1.0, 0.0, 0, false);
    for (ngrams, n) in pair.ngrams_up_to::<ORDERS>().into_iter().zip(1..) {
        if ngrams.candidate == 0 {
            break;
        }
        orders = n;
        any |= ngrams.shared > 0;
        logarithms += if ngrams.shared == 0 {
            halved *= 2.0;
            log(1.0 / (halved * ratio(ngrams.candidate, 1)))
        } else {
            log(ratio(ngrams.shared, ngrams.candidate))
        };
    }
    if any { brevity(&pair) * exp(logarithms / ratio(orders, 1)) } else { 0.0 }
}

/// Returns the factor for texts that are shorter than the reference.
fn brevity(pair: &Pair) -> f64 {
    let (candidate, reference) = (pair.candidate.len(), pair.reference.len());
    if candidate >= reference { 1.0 } else { exp(1.0 - ratio(reference, candidate)) }
}
