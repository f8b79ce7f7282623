//! The pass rate of a judge, corrected for the errors that labels of people have shown.

use crate::{
    bounded::{BoundedSample, Estimate, Interval},
    distribution::bisect,
    gate::{Decision, decide, require_limit},
    proportion::{clopper_pearson, proportion_interval},
    refusal::{Refusal, require, require_confidence},
    sum::square,
};

/// Least number of labels of a class from which errors are corrected.
pub const LEAST_LABELS: usize = 20;

/// What a judge said about cases that people have labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LabelCounts {
    /// Cases that people call good.
    pub good: usize,
    /// Those of them that the judge passed.
    pub good_passed: usize,
    /// Cases that people call bad.
    pub bad: usize,
    /// Those of them that the judge failed.
    pub bad_failed: usize,
}

/// Rates of a judge, each with its exact interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeRates {
    /// Share of the good cases that it passes: the true positive rate.
    pub tpr: Estimate,
    /// Share of the bad cases that it fails: the true negative rate.
    pub tnr: Estimate,
}

impl LabelCounts {
    /// Returns the rates of the judge, with the intervals of [`clopper_pearson`].
    ///
    /// # Errors
    ///
    /// A class has fewer than [`LEAST_LABELS`] labels, more verdicts than labels, or the confidence is not between 0 and 1.
    /// [`Refusal::AtChance`]: the labels do not show that the judge passes good cases more often than bad ones: with their
    /// lower ends l, (TPR + TNR - 1)^2 <= (TPR - l_TPR)^2 + (TNR - l_TNR)^2, or TPR + TNR <= 1.
    pub fn rates(&self, confidence: f64) -> Result<JudgeRates, Refusal> {
        let Self { good, good_passed, bad, bad_failed } = *self;
        require_confidence(confidence)?;
        require(good_passed <= good && bad_failed <= bad, Refusal::Range)?;
        require(good.min(bad) >= LEAST_LABELS, Refusal::TooFewLabels)?;
        let tpr = clopper_pearson(good_passed, good, confidence)?;
        let tnr = clopper_pearson(bad_failed, bad, confidence)?;
        let below = |it: Estimate| it.mean - it.interval.lower;
        let reach = (square(below(tpr)) + square(below(tnr))).sqrt();
        require(tpr.mean + tnr.mean - 1.0 > reach, Refusal::AtChance)?;
        Ok(JudgeRates { tpr, tnr })
    }
}

impl JudgeRates {
    /// Returns the share of good cases among those of which the judge passed the share `raw` (Rogan and Gladen 1978), cut to
    /// 0..=1, with an interval that allows for the sampling of the cases and of the labels.
    ///
    /// ```text
    /// estimate = (p + TNR - 1) / (TPR + TNR - 1)
    /// ```
    ///
    /// A share x is in the interval if the interval of p - x TPR - (1 - x) (1 - TNR) has 0 in it. That is the interval of a sum
    /// of independent proportions whose own intervals are known (Zou and Donner 2008): its ends are
    ///
    /// ```text
    /// lower: p - x TPR - (1 - x) (1 - TNR) - sqrt((p - l_p)^2 + x^2 (u_TPR - TPR)^2 + (1 - x)^2 (TNR - l_TNR)^2)
    /// upper: p - x TPR - (1 - x) (1 - TNR) + sqrt((u_p - p)^2 + x^2 (TPR - l_TPR)^2 + (1 - x)^2 (u_TNR - TNR)^2)
    /// ```
    ///
    /// `raw` has an interval of the same confidence, e.g. of [`clopper_pearson`], or with clusters of
    /// [`bounded_mean`](crate::bounded_mean).
    ///
    /// # Errors
    ///
    /// [`Refusal::UnlikeLabels`]: no share is in the interval. The judge passes more than if all cases were good, or fewer than
    /// if all were bad, so its rates are others than on the labelled cases.
    pub fn correct(&self, raw: Estimate) -> Result<Estimate, Refusal> {
        let interval = self.interval(raw.mean, raw.interval)?;
        let Self { tpr, tnr } = self;
        let mean = (raw.mean + tnr.mean - 1.0) / (tpr.mean + tnr.mean - 1.0);
        Ok(Estimate { mean: mean.clamp(interval.lower, interval.upper), interval, ..raw })
    }

    /// Returns the interval of the share of good cases.
    fn interval(&self, p: f64, raw: Interval) -> Result<Interval, Refusal> {
        let Self { tpr, tnr } = self;
        let middle = |x: f64| p - x * tpr.mean - (1.0 - x) * (1.0 - tnr.mean);
        let reach = |x: f64, p: f64, tpr: f64, tnr: f64| {
            (square(p) + square(x * tpr) + square((1.0 - x) * tnr)).sqrt()
        };
        // Ends of the interval that has 0 in it if x is possible. Both fall from x = 0 to 1 where they cross 0.
        let lower = |x: f64| {
            let (tpr_above, tnr_below) =
                (tpr.interval.upper - tpr.mean, tnr.mean - tnr.interval.lower);
            middle(x) - reach(x, p - raw.lower, tpr_above, tnr_below)
        };
        let upper = |x: f64| {
            let (tpr_below, tnr_above) =
                (tpr.mean - tpr.interval.lower, tnr.interval.upper - tnr.mean);
            middle(x) + reach(x, raw.upper - p, tpr_below, tnr_above)
        };
        require(lower(1.0) <= 0.0 && upper(0.0) >= 0.0, Refusal::UnlikeLabels)?;
        Ok(Interval {
            lower: if lower(0.0) > 0.0 { bisect(0.0, 1.0, |x| lower(x) > 0.0) } else { 0.0 },
            upper: if upper(1.0) < 0.0 { bisect(0.0, 1.0, |x| upper(x) >= 0.0) } else { 1.0 },
        })
    }

    /// Decides whether the corrected share of `passed` in `n` is at least `limit`, by the interval of [`correct`](Self::correct).
    /// The confidence is that of the rates.
    ///
    /// # Errors
    ///
    /// Those of [`clopper_pearson`] and of [`correct`](Self::correct), and a limit that is not between 0 and 1, both excluded.
    pub fn gate_rate(
        &self,
        passed: usize,
        n: usize,
        limit: f64,
        confidence: f64,
    ) -> Result<Decision, Refusal> {
        let raw = clopper_pearson(passed, n, confidence)?;
        let (passed, size) = (passed as f64, n as f64);
        let interval = |times| proportion_interval(passed * times, size * times, confidence);
        self.gate(raw, limit, interval)
    }

    /// Decides whether the corrected mean of pass rates of cases is at least `limit`, as [`gate_rate`](Self::gate_rate) does,
    /// with the interval of [`bounded_mean`](crate::bounded_mean).
    ///
    /// # Errors
    ///
    /// Those of [`bounded_mean`](crate::bounded_mean) and of [`correct`](Self::correct), and a limit that is not between 0 and 1,
    /// both excluded.
    pub fn gate_mean(
        &self,
        values: &[f64],
        clusters: Option<&[Option<&str>]>,
        limit: f64,
        confidence: f64,
    ) -> Result<Decision, Refusal> {
        let sample = BoundedSample::new(values, clusters, 0.0..=1.0, confidence)?;
        self.gate(sample.estimate(), limit, |times| sample.interval(times))
    }

    /// Decides by a raw estimate, and by its interval if the sample had been seen so many times.
    fn gate(
        &self,
        raw: Estimate,
        limit: f64,
        interval: impl Fn(f64) -> Interval,
    ) -> Result<Decision, Refusal> {
        require_limit(limit)?;
        let estimate = self.correct(raw)?;
        // More cases like these may show that the rates do not fit, which decides nothing.
        let everything = Interval { lower: 0.0, upper: 1.0 };
        let corrected = |times| self.interval(raw.mean, interval(times)).unwrap_or(everything);
        Ok(decide(estimate, limit, corrected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the probabilities of 0 to n successes.
    fn binomial(n: usize, p: f64) -> Vec<f64> {
        let mut mass = vec![1.0];
        for _ in 0..n {
            let mut next = vec![0.0; mass.len() + 1];
            for (k, probability) in mass.iter().enumerate() {
                next[k] += probability * (1.0 - p);
                next[k + 1] += probability * p;
            }
            mass = next;
        }
        mass
    }

    fn estimates(n: usize) -> Vec<Estimate> {
        (0..=n).map(|k| clopper_pearson(k, n, 0.95).unwrap()).collect()
    }

    /// Probabilities that an interval is above and below the truth.
    fn false_claims(tables: [&[Estimate]; 3], [tpr, tnr, truth]: [f64; 3]) -> (f64, f64) {
        let [cases, good, bad] = tables;
        let raw = binomial(cases.len() - 1, truth * tpr + (1.0 - truth) * (1.0 - tnr));
        let (of_good, of_bad) = (binomial(good.len() - 1, tpr), binomial(bad.len() - 1, tnr));
        let (mut above, mut below) = (0.0, 0.0);
        for (good, tpr) in of_good.iter().zip(good) {
            for (bad, tnr) in of_bad.iter().zip(bad).filter(|(bad, _)| *bad * good > 1e-6) {
                let rates = JudgeRates { tpr: *tpr, tnr: *tnr };
                for (raw, case) in raw.iter().zip(cases).filter(|(raw, _)| **raw > 1e-4) {
                    // What is refused claims nothing.
                    let Ok(interval) = rates.interval(case.mean, case.interval) else { continue };
                    let probability = raw * good * bad;
                    above += if interval.lower > truth { probability } else { 0.0 };
                    below += if interval.upper < truth { probability } else { 0.0 };
                }
            }
        }
        (above, below)
    }

    /// All outcomes with their probabilities, instead of a simulation.
    #[test]
    fn claims_are_wrong_in_at_most_2_and_a_half_percent() {
        let tables = [20, 25, 30].map(estimates);
        for n in [30, 100] {
            let cases = estimates(n);
            for (good, bad) in [(1, 1), (0, 2), (2, 0)] {
                let tables = [&cases, &tables[good], &tables[bad]].map(Vec::as_slice);
                for tpr in [0.75, 0.92, 0.98] {
                    for tnr in [0.75, 0.98] {
                        for truth in [0.7, 0.9, 0.99] {
                            let (above, below) = false_claims(tables, [tpr, tnr, truth]);
                            let place = (n, good, bad, tpr, tnr, truth);
                            assert!(above < 0.0255 && below < 0.0255, "{place:?}: {above} {below}");
                            assert!(1.0 - above - below > 0.95, "{place:?}: {above} {below}");
                        }
                    }
                }
            }
        }
    }
}
