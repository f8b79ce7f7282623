//! `gleu`: n-grams of one to four tokens together, `sentence_gleu` of nltk.

use super::ngrams::{Pair, ratio};

/// Returns the lesser of precision and recall of all n-grams.
pub(super) fn gleu(pair: &Pair) -> f64 {
    let orders = pair.ngrams_up_to::<4>();
    let shared: usize = orders.iter().map(|order| order.shared).sum();
    let candidate: usize = orders.iter().map(|order| order.candidate).sum();
    let reference: usize = orders.iter().map(|order| order.reference).sum();
    match candidate.max(reference) {
        0 => 0.0,
        most => ratio(shared, most),
    }
}
