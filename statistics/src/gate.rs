//! Decisions between "passes", "fails" and "not enough is known".

use libm::log;
use serde::Serialize;

use crate::{
    bounded::{BoundedSample, Estimate, Interval},
    proportion::{clopper_pearson, proportion_interval},
    refusal::{Refusal, require, require_confidence, require_finite},
};

/// Number of cases beyond which none is named as sufficient.
pub const MOST_CASES: u64 = 1_000_000;

/// Outcome of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GateVerdict {
    /// The whole interval is at or above the limit.
    Pass,
    /// The whole interval is below the limit.
    Fail,
    /// The limit is within the interval.
    Inconclusive,
}

/// Decision of a gate, with what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The estimate. Its interval is the one that decides.
    pub estimate: Estimate,
    /// The verdict.
    pub verdict: GateVerdict,
    /// The least number of cases at which the same sample, repeated, would decide. `None` if the gate has decided, with one
    /// unit, if the estimate is at the limit, and beyond [`MOST_CASES`].
    pub needed: Option<u64>,
}

/// What a gate is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GateKind {
    /// A mean of values from 0 to 1, by [`gate_mean`].
    Mean,
    /// A proportion, by [`gate_rate`].
    Rate,
}

impl GateVerdict {
    /// Returns the word for data: `pass`, `fail` or `inconclusive`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// Returns the word for text: `PASS`, `FAIL` or `INCONCLUSIVE`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Inconclusive => "INCONCLUSIVE",
        }
    }

    fn of(interval: Interval, limit: f64) -> Self {
        if interval.lower >= limit {
            Self::Pass
        } else if interval.upper < limit {
            Self::Fail
        } else {
            Self::Inconclusive
        }
    }
}

/// Decides whether the mean of values from 0 to 1 is at least `limit`, by the interval of [`bounded_mean`](crate::bounded_mean).
///
/// # Errors
///
/// Those of [`bounded_mean`](crate::bounded_mean), and a limit that is not between 0 and 1, both excluded.
pub fn gate_mean(
    values: &[f64],
    clusters: Option<&[Option<&str>]>,
    limit: f64,
    confidence: f64,
) -> Result<Decision, Refusal> {
    let sample = BoundedSample::new(values, clusters, 0.0..=1.0, confidence)?;
    require_limit(limit)?;
    Ok(decide_mean(&sample, limit))
}

/// Decides whether the probability of passing is at least `limit`, by the interval of [`clopper_pearson`].
///
/// # Errors
///
/// Those of [`clopper_pearson`], and a limit that is not between 0 and 1, both excluded.
pub fn gate_rate(
    passed: usize,
    n: usize,
    limit: f64,
    confidence: f64,
) -> Result<Decision, Refusal> {
    let estimate = clopper_pearson(passed, n, confidence)?;
    require_limit(limit)?;
    let (passed, size) = (passed as f64, n as f64);
    let interval = |times| proportion_interval(passed * times, size * times, confidence);
    Ok(decide(estimate, limit, interval))
}

/// Decides whether the mean of `new` is no worse than that of `base` by more than `margin`, case by case.
///
/// The interval is that of [`bounded_mean`](crate::bounded_mean) for the differences new - base, in -1..=1; the limit is -`margin`.
///
/// # Errors
///
/// There are no values, not as many in both, a value is not finite or not from 0 to 1, the margin is not from 0 to 1
/// (excluded), and those of [`bounded_mean`](crate::bounded_mean).
pub fn noninferiority(
    base: &[f64],
    new: &[f64],
    clusters: Option<&[Option<&str>]>,
    margin: f64,
    confidence: f64,
) -> Result<Decision, Refusal> {
    require(base.len() == new.len(), Refusal::Length)?;
    require(!base.is_empty(), Refusal::Empty)?;
    require_finite(base)?;
    require_finite(new)?;
    require_confidence(confidence)?;
    let are_scores = base.iter().chain(new).all(|value| (0.0..=1.0).contains(value));
    require(are_scores && (0.0..1.0).contains(&margin), Refusal::Range)?;
    let differences: Vec<f64> = base.iter().zip(new).map(|(base, new)| new - base).collect();
    let sample = BoundedSample::new(&differences, clusters, -1.0..=1.0, confidence)?;
    Ok(decide_mean(&sample, -margin))
}

/// Returns the least number of cases with which a gate can pass at all, because every case scores 1; `None` beyond
/// [`MOST_CASES`].
///
/// For a rate it is the least n with limit^n <= (1 - confidence) / 2.
///
/// # Errors
///
/// The confidence or the limit is not between 0 and 1, both excluded.
pub fn min_cases(kind: GateKind, limit: f64, confidence: f64) -> Result<Option<u64>, Refusal> {
    require_confidence(confidence)?;
    require_limit(limit)?;
    if kind == GateKind::Rate {
        let n = (log((1.0 - confidence) / 2.0) / log(limit) - 1e-12).ceil();
        return Ok((n <= MOST_CASES as f64).then_some(n as u64));
    }
    let clean = BoundedSample::new(&[1.0], None, 0.0..=1.0, confidence)?;
    // One unit decides nothing.
    Ok(least(1, |n| clean.interval(n as f64).lower >= limit))
}

pub(crate) fn require_limit(limit: f64) -> Result<(), Refusal> {
    require(limit > 0.0 && limit < 1.0, Refusal::Range)
}

fn decide_mean(sample: &BoundedSample<'_>, limit: f64) -> Decision {
    let estimate = sample.estimate();
    decide(estimate, limit, |times| sample.interval(times))
}

/// Decides, and searches for a number of cases that would. `interval` returns the interval of a sample that was seen so many
/// times.
pub(crate) fn decide(
    estimate: Estimate,
    limit: f64,
    interval: impl Fn(f64) -> Interval,
) -> Decision {
    let verdict = GateVerdict::of(estimate.interval, limit);
    let is_open = verdict == GateVerdict::Inconclusive && estimate.units > 1;
    let decides = |cases: u64| {
        let times = cases as f64 / estimate.n as f64;
        GateVerdict::of(interval(times), limit) != GateVerdict::Inconclusive
    };
    let needed = is_open.then(|| least(estimate.n as u64, decides)).flatten();
    Decision { estimate, verdict, needed }
}

/// Returns the least number above `bottom` for which the condition holds. It does not hold for `bottom`, and holds for all
/// numbers above the least one.
fn least(mut bottom: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let mut top = bottom * 2;
    while top <= MOST_CASES && !holds(top) {
        (bottom, top) = (top, top * 2);
    }
    if top > MOST_CASES {
        return None;
    }
    while top - bottom > 1 {
        let middle = bottom + (top - bottom) / 2;
        if holds(middle) {
            top = middle;
        } else {
            bottom = middle;
        }
    }
    Some(top)
}
