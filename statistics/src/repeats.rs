//! Repeats of an evaluation, and several conversations of a case.

use crate::{
    refusal::{Refusal, require, require_finite},
    sum::{square, sum},
};

/// Chances of a case in `k` conversations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassK {
    /// pass@k: chance that at least one of them passes.
    pub at_least_one: f64,
    /// pass^k: chance that all of them pass.
    pub all: f64,
}

/// Parts of a variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    /// Mean square between cases.
    pub mean_square_between: f64,
    /// Mean square within cases.
    pub mean_square_within: f64,
    /// Number of repeats of a case, which stands for their different numbers.
    pub repeats: f64,
    /// Variance between cases, at least 0.
    pub between: f64,
    /// Variance within cases: what a single repeat adds.
    pub within: f64,
    /// Intraclass correlation of single repeats; `None` if nothing varies.
    pub correlation: Option<f64>,
    /// Intraclass correlation of the means of cases; `None` if these do not differ.
    pub correlation_of_means: Option<f64>,
    /// Standard error of the mean of the means of cases.
    pub se: f64,
}

/// Returns the chances that of `k` conversations, drawn from the `n` of a case without replacement, one or all pass, if
/// `passed` of the `n` did: 1 - C(n-passed, k) / C(n, k) and C(passed, k) / C(n, k) (Chen et al. 2021; Yao et al. 2024).
///
/// # Errors
///
/// `n` is 0, `passed` is above `n`, or `k` is not from 1 to `n`.
pub fn pass_at_k(passed: u64, n: u64, k: u64) -> Result<PassK, Refusal> {
    require(n > 0 && passed <= n, Refusal::Range)?;
    require((1..=n).contains(&k), Refusal::TooFewSamples)?;
    Ok(PassK {
        at_least_one: 1.0 - chance_of_all(n - passed, n, k),
        all: chance_of_all(passed, n, k),
    })
}

/// Returns C(c, k) / C(n, k) as a product of ratios, since the coefficients themselves overflow.
fn chance_of_all(c: u64, n: u64, k: u64) -> f64 {
    if c < k {
        return 0.0;
    }
    (0..k).map(|drawn| (c - drawn) as f64 / (n - drawn) as f64).product()
}

/// Returns the share of pairs of different outcomes among `n` outcomes of a case, of which `passed` passed:
/// 2 passed (n - passed) / (n (n - 1)). `None` for fewer than two.
///
/// # Errors
///
/// `n` is 0, or `passed` is above `n`.
pub fn disagreement(passed: u64, n: u64) -> Result<Option<f64>, Refusal> {
    require(n > 0 && passed <= n, Refusal::Range)?;
    let (c, size) = (passed as f64, n as f64);
    Ok((n > 1).then(|| 2.0 * c * (size - c) / (size * (size - 1.0))))
}

/// Divides the variance of repeated values into that between cases and that within them: one-way analysis of variance with
/// random effects, by the method of moments (Searle 1971). Cases may differ in their number of repeats.
///
/// With N values in a cases of n_i: n0 = (N - sum n_i^2 / N) / (a - 1), between = max(0, (MSB - MSW) / n0), within = MSW.
///
/// # Errors
///
/// There are fewer than two cases, a value is not finite, a case has no value, or no case has more than one.
pub fn anova(cases: &[impl AsRef<[f64]>]) -> Result<Variance, Refusal> {
    require(cases.len() >= 2, Refusal::TooFewCases)?;
    let cases: Vec<&[f64]> = cases.iter().map(AsRef::as_ref).collect();
    cases.iter().try_for_each(|case| require_finite(case))?;
    require(cases.iter().all(|case| !case.is_empty()), Refusal::Empty)?;
    let values: usize = cases.iter().map(|case| case.len()).sum();
    require(values > cases.len(), Refusal::NoRepeats)?;
    let (a, all) = (cases.len() as f64, values as f64);
    let mean = sum(cases.iter().flat_map(|case| case.iter().copied())) / all;
    let means: Vec<f64> =
        cases.iter().map(|case| sum(case.iter().copied()) / case.len() as f64).collect();
    let each = || cases.iter().zip(&means);
    let between = sum(each().map(|(case, own)| case.len() as f64 * (own - mean) * (own - mean)));
    let within =
        sum(each().flat_map(|(case, own)| case.iter().map(move |x| (x - own) * (x - own))));
    let (between, within) = (between / (a - 1.0), within / (all - a));
    let squares = sum(cases.iter().map(|case| square(case.len() as f64)));
    let repeats = (all - squares / all) / (a - 1.0);
    let whole = between + (repeats - 1.0) * within;
    let middle = sum(means.iter().copied()) / a;
    let spread = sum(means.iter().map(|own| (own - middle) * (own - middle)));
    Ok(Variance {
        mean_square_between: between,
        mean_square_within: within,
        repeats,
        between: ((between - within) / repeats).max(0.0),
        within,
        correlation: (whole != 0.0).then(|| (between - within) / whole),
        correlation_of_means: (between != 0.0).then(|| (between - within) / between),
        se: (spread / (a - 1.0) / a).sqrt(),
    })
}
