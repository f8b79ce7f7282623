//! Correlation of two ratings on scales.

use serde::Serialize;

use super::ranks::ranks;
use crate::{
    refusal::{Refusal, require, require_finite},
    sum::sum,
};

/// Coefficients of correlation, each from -1 to 1; `None` if one of both never varies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Correlation {
    /// Pearson's, of the values.
    pub pearson: Option<f64>,
    /// Spearman's, of their ranks.
    pub spearman: Option<f64>,
    /// Kendall's tau-b: pairs in the same order less those in opposite orders, corrected for ties.
    pub kendall_tau_b: Option<f64>,
}

/// Returns the correlation of pairs of values: Pearson (1895), Spearman (1904), and Kendall's tau-b (1945) by the method of
/// Knight (1966).
///
/// # Errors
///
/// The numbers of values differ, there are fewer than two pairs, or a value is not finite.
pub fn correlation(x: &[f64], y: &[f64]) -> Result<Correlation, Refusal> {
    require_finite(x)?;
    require_finite(y)?;
    require(x.len() == y.len(), Refusal::Length)?;
    require(x.len() > 1, Refusal::TooFewSamples)?;
    let varies = |values: &[f64]| values.iter().any(|value| *value != values[0]);
    if !varies(x) || !varies(y) {
        return Ok(Correlation::default());
    }
    Ok(Correlation {
        pearson: Some(pearson(x, y)),
        spearman: Some(pearson(&ranks(x), &ranks(y))),
        kendall_tau_b: Some(kendall(x, y)),
    })
}

fn pearson(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len() as f64;
    let mean = |values: &[f64]| sum(values.iter().copied()) / n;
    let (mx, my) = (mean(x), mean(y));
    let product = |a: &[f64], ma: f64, b: &[f64], mb: f64| {
        sum(a.iter().zip(b).map(|(a, b)| (a - ma) * (b - mb)))
    };
    let scale = product(x, mx, x, mx).sqrt() * product(y, my, y, my).sqrt();
    (product(x, mx, y, my) / scale).clamp(-1.0, 1.0)
}

fn kendall(x: &[f64], y: &[f64]) -> f64 {
    let mut pairs: Vec<(f64, f64)> = x.iter().copied().zip(y.iter().copied()).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let of = |size: usize| size as u64 * (size as u64 - 1) / 2;
    let tied_x: u64 = pairs.chunk_by(|a, b| a.0 == b.0).map(|tied| of(tied.len())).sum();
    let tied_both: u64 = pairs.chunk_by(|a, b| a == b).map(|tied| of(tied.len())).sum();
    let mut values: Vec<f64> = pairs.into_iter().map(|(_, y)| y).collect();
    let discordant = sort(&mut values);
    let tied_y: u64 = values.chunk_by(|a, b| a == b).map(|tied| of(tied.len())).sum();
    let all = of(values.len());
    let concordant = all + tied_both - tied_x - tied_y - discordant;
    let scale = ((all - tied_x) as f64).sqrt() * ((all - tied_y) as f64).sqrt();
    (concordant as f64 - discordant as f64) / scale
}

/// Sorts values by merging, and returns the number of pairs that were in the wrong order.
fn sort(values: &mut [f64]) -> u64 {
    if values.len() < 2 {
        return 0;
    }
    let middle = values.len() / 2;
    let (left, right) = values.split_at_mut(middle);
    let mut swapped = sort(left) + sort(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        if right[j] < left[i] {
            swapped += (left.len() - i) as u64;
            merged.push(right[j]);
            j += 1;
        } else {
            merged.push(left[i]);
            i += 1;
        }
    }
    merged.extend_from_slice(&left[i..]);
    merged.extend_from_slice(&right[j..]);
    values.copy_from_slice(&merged);
    swapped
}
