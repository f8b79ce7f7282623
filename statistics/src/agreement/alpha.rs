//! Krippendorff's alpha.

use std::collections::BTreeMap;

use crate::{
    refusal::{Refusal, require, require_finite},
    sum::{square, sum},
};

/// What differences of ratings mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Ratings are equal or different.
    Nominal,
    /// Ratings are numbers; a difference counts as its square.
    Interval,
}

/// Agreement of any number of raters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alpha {
    /// Alpha, at most 1; `None` if all ratings are the same.
    pub alpha: Option<f64>,
    /// Number of units with at least two ratings.
    pub units: usize,
    /// Number of their ratings.
    pub values: usize,
}

/// Returns Krippendorff's alpha (2011) of the ratings of each unit: 1 - Do / De. Units with fewer than two ratings say nothing.
///
/// Do is the mean difference of pairs of ratings of the same unit, where each unit of m ratings counts m times, and De that of
/// pairs of all n ratings. With the level `Interval`, both are sums of squares SS about a mean: Do = sum(2 m SS / (m - 1)) / n,
/// De = 2 SS / (n - 1). With `Nominal`, a sum of squares is replaced by (m - sum(m_c^2) / m) / 2 for the numbers m_c of
/// equal ratings.
///
/// # Errors
///
/// No unit has two ratings, or a rating is not finite.
pub fn kripp(units: &[impl AsRef<[f64]>], level: Level) -> Result<Alpha, Refusal> {
    let units: Vec<&[f64]> = units.iter().map(AsRef::as_ref).filter(|it| it.len() > 1).collect();
    require(!units.is_empty(), Refusal::NothingPairable)?;
    units.iter().try_for_each(|unit| require_finite(unit))?;
    let all: Vec<f64> = units.iter().flat_map(|unit| unit.iter().copied()).collect();
    let spread = match level {
        Level::Nominal => nominal,
        Level::Interval => squares,
    };
    let n = all.len() as f64;
    let observed = sum(units.iter().map(|unit| {
        let m = unit.len() as f64;
        2.0 * m * spread(unit) / (m - 1.0)
    }));
    let (observed, expected) = (observed / n, 2.0 * spread(&all) / (n - 1.0));
    let alpha = all.iter().any(|it| *it != all[0]).then(|| 1.0 - observed / expected);
    Ok(Alpha { alpha, units: units.len(), values: all.len() })
}

fn squares(values: &[f64]) -> f64 {
    let mean = sum(values.iter().copied()) / values.len() as f64;
    sum(values.iter().map(|value| (value - mean) * (value - mean)))
}

fn nominal(values: &[f64]) -> f64 {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    // 0.0 and -0.0 are the same rating.
    values.iter().for_each(|value| *counts.entry((value + 0.0).to_bits()).or_default() += 1);
    let m = values.len() as f64;
    (m - sum(counts.values().map(|count| square(*count as f64))) / m) / 2.0
}
