//! Two runs over the same cases: p-values of the difference, and what could have been found.

use crate::{
    distribution::{binomial_cdf, normal_quantile},
    random::Random,
    refusal::{Refusal, require, require_confidence, require_finite, require_values},
    sum::sum,
};

/// Number of differences up to which all sign flips are enumerated.
const MOST_EXACT: usize = 20;

/// Number of random flips that are summed at the same time, since each sum is in order and waits for its last addition.
const LANES: usize = 8;

/// Result of a sign flip test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignFlips {
    /// Two-sided p-value.
    pub p: f64,
    /// Number of differences that are not 0. The others say nothing.
    pub nonzero: usize,
    /// Number of drawn flips with a sum at least as extreme; `None` if all flips were enumerated.
    pub hits: Option<u64>,
}

/// Returns the share of all sign flips of the differences whose sum is at least as extreme as theirs (Fisher 1935).
///
/// # Errors
///
/// There are no differences, one is not finite, or more than 20 are not 0.
pub fn signflip_exact(differences: &[f64]) -> Result<SignFlips, Refusal> {
    require_values(differences)?;
    let observed = Observed::new(differences);
    let nonzero = observed.nonzero.len();
    require(nonzero <= MOST_EXACT, Refusal::TooMany)?;
    let Some((first, rest)) = observed.nonzero.split_first() else {
        return Ok(SignFlips { p: 1.0, nonzero, hits: None });
    };
    // The sign of the first difference is fixed: flipping all signs gives a sum of the same size.
    let mut sums = vec![*first];
    for difference in rest {
        for index in 0..sums.len() {
            sums.push(sums[index] - difference);
            sums[index] += difference;
        }
    }
    let hits = sums.iter().filter(|sum| observed.is_reached(**sum)).count();
    Ok(SignFlips { p: hits as f64 / sums.len() as f64, nonzero, hits: None })
}

/// Estimates the p-value of [`signflip_exact`] from this number of random flips: (hits + 1) / (resamples + 1).
///
/// A flip takes one bit for each difference that is not 0 from the words of [`Random`], lowest first, with a new word every
/// 64 differences and for each flip. A set bit negates. Sums are in the order of the differences.
///
/// # Errors
///
/// There are no differences, or one is not finite.
pub fn signflip_mc(differences: &[f64], seed: u64, resamples: u64) -> Result<SignFlips, Refusal> {
    require_values(differences)?;
    let observed = Observed::new(differences);
    let nonzero = observed.nonzero.len();
    if nonzero == 0 {
        return Ok(SignFlips { p: 1.0, nonzero, hits: Some(resamples) });
    }
    let (mut random, mut hits, mut left) = (Random::new(seed), 0, resamples);
    let mut words = vec![[0; LANES]; nonzero.div_ceil(64)];
    while left > 0 {
        let lanes = left.min(LANES as u64);
        for lane in 0..lanes as usize {
            words.iter_mut().for_each(|word| word[lane] = random.next_u64());
        }
        let mut sums = [0.0; LANES];
        for (chunk, word) in observed.nonzero.chunks(64).zip(&words) {
            let mut bits = *word;
            for difference in chunk {
                for lane in 0..LANES {
                    // The sign of a number is its highest bit.
                    sums[lane] += f64::from_bits(difference.to_bits() ^ (bits[lane] << 63));
                    bits[lane] >>= 1;
                }
            }
        }
        let sums = sums.into_iter().take(lanes as usize);
        hits += sums.filter(|sum| observed.is_reached(*sum)).count() as u64;
        left -= lanes;
    }
    let p = (hits as f64 + 1.0) / (resamples as f64 + 1.0);
    Ok(SignFlips { p, nonzero, hits: Some(hits) })
}

/// Differences that are not 0, and the size of their sum.
struct Observed {
    nonzero: Vec<f64>,
    /// Size from which on a sum is as extreme, less what rounding may take.
    size: f64,
}

impl Observed {
    fn new(differences: &[f64]) -> Self {
        let nonzero: Vec<f64> = differences.iter().copied().filter(|it| *it != 0.0).collect();
        let tolerance = 1e-12 * sum(nonzero.iter().map(|it| it.abs()));
        let size = sum(nonzero.iter().copied()).abs() - tolerance;
        Self { nonzero, size }
    }

    fn is_reached(&self, sum: f64) -> bool {
        sum.abs() >= self.size
    }
}

/// Returns the exact two-sided p-value of cases that were fixed and regressed (McNemar 1947): twice the binomial probability
/// of at most min(fixed, regressed) heads in as many tosses of a coin, at most 1. It is [`signflip_exact`] of differences
/// that are all -1, 0 or 1.
pub fn mcnemar(fixed: u64, regressed: u64) -> f64 {
    let n = fixed.saturating_add(regressed);
    (2.0 * binomial_cdf(fixed.min(regressed), n, 0.5)).min(1.0)
}

/// Adjusts p-values for their number (Holm 1979): the r-th smallest of m is multiplied by m - r + 1, at most 1, and is at
/// least as large as those before it.
///
/// # Errors
///
/// A p-value is not finite, or not from 0 to 1.
pub fn holm(p: &[f64]) -> Result<Vec<f64>, Refusal> {
    require_finite(p)?;
    require(p.iter().all(|p| (0.0..=1.0).contains(p)), Refusal::Range)?;
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        let factor = (p.len() - rank) as f64;
        largest = largest.max((factor * p[index]).min(1.0));
        adjusted[index] = largest;
    }
    Ok(adjusted)
}

/// What a mean of paired differences can show, by the normal approximation. With z the sum of the normal quantiles of the
/// confidence (two-sided) and of the power:
///
/// ```text
/// detectable(n) = z sd sqrt(design_effect / n)      needed(d) = (z sd / d)^2 design_effect, rounded up
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PowerOfMean {
    z: f64,
    sd: f64,
    design_effect: f64,
}

impl PowerOfMean {
    /// Creates it for differences with this standard deviation and design effect, 1 for those that are independent. `power`
    /// is the chance with which a difference is to be found.
    ///
    /// # Errors
    ///
    /// The confidence or power is not between 0 and 1, both excluded; the standard deviation or the design effect is
    /// negative or not finite.
    pub fn new(sd: f64, design_effect: f64, confidence: f64, power: f64) -> Result<Self, Refusal> {
        require_confidence(confidence)?;
        require_confidence(power)?;
        let are_sizes = [sd, design_effect].iter().all(|it| it.is_finite() && *it >= 0.0);
        require(are_sizes, Refusal::Range)?;
        let z = normal_quantile(1.0 - (1.0 - confidence) / 2.0) + normal_quantile(power);
        Ok(Self { z, sd, design_effect })
    }

    /// Returns the smallest difference that `n` cases would have shown.
    ///
    /// # Errors
    ///
    /// `n` is 0.
    pub fn detectable(&self, n: usize) -> Result<f64, Refusal> {
        require(n > 0, Refusal::Empty)?;
        Ok(self.z * self.sd * (self.design_effect / n as f64).sqrt())
    }

    /// Returns the number of cases that show this difference.
    ///
    /// # Errors
    ///
    /// The difference is not above 0.
    pub fn needed(&self, difference: f64) -> Result<u64, Refusal> {
        require(difference > 0.0, Refusal::Range)?;
        let ratio = self.z * self.sd / difference;
        Ok((ratio * ratio * self.design_effect - 1e-9).ceil() as u64)
    }
}
