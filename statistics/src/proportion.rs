//! The interval of a proportion.

use crate::{
    bounded::{Estimate, Interval},
    distribution::beta_quantile,
    refusal::{Refusal, require, require_confidence},
};

/// Returns the proportion of `k` in `n` with its exact interval (Clopper and Pearson 1934).
///
/// With a = 1 - confidence, its ends are the quantiles of Beta(k, n-k+1) at a/2 and of Beta(k+1, n-k) at 1 - a/2; 0 where
/// `k` is 0, and 1 where `k` is `n`.
///
/// # Errors
///
/// `n` is 0, `k` is above `n`, or the confidence is not between 0 and 1.
pub fn clopper_pearson(k: usize, n: usize, confidence: f64) -> Result<Estimate, Refusal> {
    require_confidence(confidence)?;
    require(n > 0, Refusal::Empty)?;
    require(k <= n, Refusal::Range)?;
    let (k, size) = (k as f64, n as f64);
    let interval = proportion_interval(k, size, confidence);
    Ok(Estimate { n, units: n, mean: k / size, interval })
}

/// Returns the interval of `k` in `n`, which need not be whole.
pub(crate) fn proportion_interval(k: f64, n: f64, confidence: f64) -> Interval {
    let tail = (1.0 - confidence) / 2.0;
    Interval {
        lower: if k > 0.0 { beta_quantile(tail, k, n - k + 1.0) } else { 0.0 },
        upper: if k < n { beta_quantile(1.0 - tail, k + 1.0, n - k) } else { 1.0 },
    }
}
