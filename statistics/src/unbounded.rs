//! Intervals of means of values without bounds, e.g. latencies and costs. They are shown, and decide nothing.

use crate::{
    bounded::Interval,
    distribution::student_quantile,
    refusal::{Refusal, require_confidence, require_values},
    sum::{square, sum},
    units::groups,
};

/// A mean with Student's interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// Number of values.
    pub n: usize,
    /// The mean.
    pub mean: f64,
    /// Standard deviation of the values; `None` for one value, like all below.
    pub sd: Option<f64>,
    /// Standard error of the mean.
    pub se: Option<f64>,
    /// The interval.
    pub interval: Option<Interval>,
}

/// Mean of clustered values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusteredMean {
    /// Number of values.
    pub n: usize,
    /// Number of clusters.
    pub clusters: usize,
    /// The mean.
    pub mean: f64,
    /// Standard error of the mean; `None` for one cluster, like all below.
    pub se: Option<f64>,
    /// The interval.
    pub interval: Option<Interval>,
    /// Design effect: the squared ratio of the standard error to that of independent values. `None` also if all values are
    /// equal.
    pub design_effect: Option<f64>,
    /// Number of independent values that would tell as much. `None` also if the design effect is 0.
    pub effective_n: Option<f64>,
}

/// Returns the mean of values with Student's interval: mean -+ t(n-1) sd / sqrt(n).
///
/// # Errors
///
/// There are no values, a value is not finite, or the confidence is not between 0 and 1.
pub fn mean_t(values: &[f64], confidence: f64) -> Result<Mean, Refusal> {
    require_values(values)?;
    require_confidence(confidence)?;
    let (n, size) = (values.len(), values.len() as f64);
    let mean = sum(values.iter().copied()) / size;
    if n == 1 {
        return Ok(Mean { n, mean, sd: None, se: None, interval: None });
    }
    let squares = sum(values.iter().map(|value| (value - mean) * (value - mean)));
    let sd = (squares / (size - 1.0)).sqrt();
    let se = sd / size.sqrt();
    let interval = student_interval(mean, se, size - 1.0, confidence);
    Ok(Mean { n, mean, sd: Some(sd), se: Some(se), interval: Some(interval) })
}

/// Returns the mean of clustered values with Student's interval.
///
/// The standard error is that of Liang and Zeger (1986) with the correction C/(C-1) for C clusters: the square root of the
/// sum of squared cluster residuals, over n. The interval has C-1 degrees of freedom.
///
/// # Errors
///
/// There are no values, a value is not finite, the confidence is not between 0 and 1, there is not one cluster per value, or
/// a value has no cluster.
pub fn mean_clustered(
    values: &[f64],
    clusters: &[Option<&str>],
    confidence: f64,
) -> Result<ClusteredMean, Refusal> {
    let Mean { n, mean, se: independent, .. } = mean_t(values, confidence)?;
    let groups = groups(values, clusters)?;
    let count = groups.len() as f64;
    let mut result = ClusteredMean {
        n,
        clusters: groups.len(),
        mean,
        se: None,
        interval: None,
        design_effect: None,
        effective_n: None,
    };
    if groups.len() > 1 {
        let residuals = groups.iter().map(|values| sum(values.iter().map(|value| value - mean)));
        let squares = sum(residuals.map(|residual| residual * residual));
        let se = (squares * count / (count - 1.0)).sqrt() / n as f64;
        result.se = Some(se);
        result.interval = Some(student_interval(mean, se, count - 1.0, confidence));
        let independent = independent.filter(|independent| *independent > 0.0);
        result.design_effect = independent.map(|independent| square(se / independent));
        let effect = result.design_effect.filter(|effect| *effect > 0.0);
        result.effective_n = effect.map(|effect| n as f64 / effect);
    }
    Ok(result)
}

fn student_interval(mean: f64, se: f64, df: f64, confidence: f64) -> Interval {
    let half = student_quantile(1.0 - (1.0 - confidence) / 2.0, df) * se;
    Interval { lower: mean - half, upper: mean + half }
}
