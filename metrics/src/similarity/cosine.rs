//! Cosines: of two vectors such as embeddings, and of the token counts of two texts.

use std::collections::HashMap;

use super::tokens::tokens_13a;

/// Reason why two vectors have no cosine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCosine {
    /// The vectors differ in length.
    #[error("the vectors have {0} and {1} elements")]
    Lengths(usize, usize),
    /// A vector has no direction.
    #[error("a vector has no element but zeros")]
    Zero,
    /// An element is infinite or not a number.
    #[error("a vector has an element that is not a finite number")]
    NotFinite,
}

/// Returns the cosine of the angle between two vectors, about -1 to 1: rounding may exceed the limits a little. A score is
/// the cosine clamped to 0..=1.
///
/// # Errors
///
/// Vectors of different lengths, without a direction, or with elements that are not finite have no cosine.
pub fn cosine(u: &[f64], v: &[f64]) -> Result<f64, NoCosine> {
    if u.len() != v.len() {
        return Err(NoCosine::Lengths(u.len(), v.len()));
    }
    let (u, v) = (scaled(u)?, scaled(v)?);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    Ok(dot(&u, &v) / (dot(&u, &u).sqrt() * dot(&v, &v).sqrt()))
}

/// Divides a vector by its largest element, so that no square overflows.
fn scaled(vector: &[f64]) -> Result<Vec<f64>, NoCosine> {
    if vector.iter().any(|element| !element.is_finite()) {
        return Err(NoCosine::NotFinite);
    }
    let largest = vector.iter().fold(0.0_f64, |largest, element| largest.max(element.abs()));
    if largest == 0.0 {
        return Err(NoCosine::Zero);
    }
    Ok(vector.iter().map(|element| element / largest).collect())
}

/// Returns the cosine of the token counts of two texts; 0 if one has no token.
pub(super) fn of_counts(candidate: &str, reference: &str) -> f64 {
    let mut counts: HashMap<String, [f64; 2]> = HashMap::new();
    let mut order = Vec::new();
    for (side, text) in [candidate, reference].into_iter().enumerate() {
        for token in tokens_13a(&text.to_lowercase()) {
            let count = counts.entry(token.clone()).or_insert_with(|| {
                order.push(token);
                [0.0; 2]
            });
            count[side] += 1.0;
        }
    }
    // In the order of the texts, so that sums are the same in every run.
    let side = |side: usize| order.iter().map(|token| counts[token][side]).collect::<Vec<f64>>();
    cosine(&side(0), &side(1)).unwrap_or(0.0)
}
