//! Decides gates.

use std::{fmt, sync::Arc};

use evaluator_statistics::{
    Decision, Estimate, Refusal, Verdict, bounded_mean, clopper_pearson, gate_mean, gate_rate,
};

use super::{
    rule::{Gate, Measure, counted, grouped, needs_recordings},
    running::RunningGate,
    values::{CaseValues, EvaluatorValues, Sample},
};

/// Number of cases that are named.
const NAMED: usize = 10;

/// A gate that was decided, or could not be. As text, it is one line that begins with the gate.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GateResult {
    /// The gate.
    pub gate: Gate,
    /// The verdict.
    pub verdict: Verdict,
    /// The measure with its interval, which decides; `None` if no case has a value.
    pub estimate: Option<Estimate>,
    /// Number of cases after which the gate was decided or the cases ended, and their mean, if it was decided while cases came.
    pub taken: Option<(u64, f64)>,
    /// Reason why the gate is undecided; `None` if it is decided.
    pub undecided: Option<Undecided>,
    /// Evaluations that broke, and conversations that could not be evaluated at all. They are not part of the estimate.
    pub errors: u64,
    /// Evaluations that do not apply. They are not part of the estimate.
    pub not_evaluated: u64,
    /// Evaluations that were not started.
    pub not_run: u64,
    /// Evaluations that failed whatever their score is, and count as 0.
    pub counted_as_zero: u64,
    /// Number of cases with fewer conversations than the measure needs.
    pub left_out: u64,
    /// Ids of the first ten of them.
    pub left_out_cases: Vec<Arc<str>>,
}

/// Reason why a gate is undecided. As text, it is a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undecided {
    /// No case has a value.
    NothingScored,
    /// No case has as many conversations as the measure needs.
    TooFewConversations(u32),
    /// All cases are in one cluster, so nothing is known about others.
    OneCluster,
    /// The limit is within the interval. So many cases that score like these would decide; `None` if no number is known.
    TooFewCases(Option<u64>),
    /// The limit is within the interval. So many cases in clusters like these would decide.
    TooFewClusters {
        /// Number of cases.
        cases: u64,
        /// Number of clusters.
        clusters: u64,
    },
    /// The gate passes, and would not if the errors were failures.
    Errors(u64),
    /// The cases ended before the gate was decided while they came.
    CasesEnded,
}

impl GateResult {
    /// Decides a gate by the values of its evaluator; with `until_decided`, the seed of the run, as the cases came.
    pub(crate) fn new(gate: &Gate, values: &CaseValues, until_decided: Option<u64>) -> Self {
        let none = EvaluatorValues::default();
        let evaluator = values.named(&gate.evaluator).unwrap_or(&none);
        let running = until_decided.and_then(|seed| Some((RunningGate::new(gate)?, seed)));
        if let Some((running, seed)) = running {
            return Self::new(gate, values, None).decided_while_cases_came(
                running,
                seed,
                (values, evaluator),
            );
        }
        let sample = values.sample(evaluator, gate.measure, false);
        let counts = evaluator.counts;
        let left_out = sample.left_out.iter().map(|case| Arc::clone(values.id(*case)));
        let mut result = Self {
            gate: gate.clone(),
            verdict: Verdict::Inconclusive,
            estimate: None,
            taken: None,
            undecided: None,
            errors: counts.errors + values.unevaluated(),
            not_evaluated: counts.not_evaluated,
            not_run: counts.not_run,
            counted_as_zero: counts.failed_regardless,
            left_out: sample.left_out.len() as u64,
            left_out_cases: left_out.take(NAMED).collect(),
        };
        let decision = match decide(gate, &sample) {
            Ok(decision) => decision,
            Err(_) => {
                result.undecided = Some(match gate.measure {
                    Measure::PassHat(k) if result.left_out > 0 => Undecided::TooFewConversations(k),
                    _ => Undecided::NothingScored,
                });
                return result;
            }
        };
        result.estimate = Some(decision.estimate);
        result.verdict = decision.verdict;
        if decision.verdict == Verdict::Inconclusive {
            result.undecided = Some(too_few(&decision));
        } else if decision.verdict == Verdict::Pass && result.errors > 0 {
            let worst = decide(gate, &values.sample(evaluator, gate.measure, true));
            if !worst.is_ok_and(|worst| worst.verdict == Verdict::Pass) {
                result.verdict = Verdict::Inconclusive;
                result.undecided = Some(Undecided::Errors(result.errors));
            }
        }
        result
    }

    /// Replaces the verdict by that of a gate that was decided while cases came.
    fn decided_while_cases_came(
        self,
        running: RunningGate,
        seed: u64,
        (values, evaluator): (&CaseValues, &EvaluatorValues),
    ) -> Self {
        let (verdict, cases, mean) = running.clone().decide(values, evaluator, seed, false);
        let worst = || running.decide(values, evaluator, seed, true).0;
        let (verdict, undecided) = match verdict {
            _ if cases == 0 => (verdict, Some(Undecided::NothingScored)),
            Verdict::Inconclusive => (verdict, Some(Undecided::CasesEnded)),
            Verdict::Pass if self.errors > 0 && worst() != Verdict::Pass => {
                (Verdict::Inconclusive, Some(Undecided::Errors(self.errors)))
            }
            _ => (verdict, None),
        };
        Self { verdict, undecided, estimate: None, taken: Some((cases, mean)), ..self }
    }

    /// Returns the number of cases that would decide, if the gate is undecided and it is known.
    #[must_use]
    pub fn needed(&self) -> Option<u64> {
        match self.undecided {
            Some(Undecided::TooFewCases(needed)) => needed,
            Some(Undecided::TooFewClusters { cases, .. }) => Some(cases),
            _ => None,
        }
    }

    /// Returns the word of the verdict, e.g. `PASS`.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self.verdict {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::Inconclusive => "INCONCLUSIVE",
        }
    }
}

/// Returns why a decision is open.
fn too_few(decision: &Decision) -> Undecided {
    let Estimate { n, units, .. } = decision.estimate;
    match decision.needed {
        None if units == 1 && n > 1 => Undecided::OneCluster,
        Some(cases) if units != n => {
            // As many as there are for each case now.
            let clusters = (cases as f64 * units as f64 / n as f64).ceil() as u64;
            Undecided::TooFewClusters { cases, clusters }
        }
        needed => Undecided::TooFewCases(needed),
    }
}

/// Returns the estimate of a measure.
pub(crate) fn estimate(
    measure: Measure,
    sample: &Sample<'_>,
    confidence: f64,
) -> Result<Estimate, Refusal> {
    match proportion(measure, sample) {
        Some((passed, n)) => clopper_pearson(passed, n, confidence),
        None => bounded_mean(&sample.values, sample.clusters.as_deref(), 0.0..=1.0, confidence),
    }
}

fn decide(gate: &Gate, sample: &Sample<'_>) -> Result<Decision, Refusal> {
    match proportion(gate.measure, sample) {
        Some((passed, n)) => gate_rate(passed, n, gate.limit, gate.confidence),
        None => {
            let clusters = sample.clusters.as_deref();
            gate_mean(&sample.values, clusters, gate.limit, gate.confidence)
        }
    }
}

/// Returns how many of how many passed, if the sample is one of independent passes and failures. Such a proportion has an
/// exact interval.
fn proportion(measure: Measure, sample: &Sample<'_>) -> Option<(usize, usize)> {
    let is_proportion =
        measure == Measure::PassRate && sample.are_single && sample.clusters.is_none();
    is_proportion.then(|| {
        let passed = sample.values.iter().filter(|value| **value == 1.0).count();
        (passed, sample.values.len())
    })
}

impl fmt::Display for GateResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.gate, self.label())?;
        if let Some(Estimate { n, units, mean, interval }) = self.estimate {
            let (mean, lower, upper) = (cut(mean), cut(interval.lower), cut(interval.upper));
            let confidence = percent(self.gate.confidence);
            let cases = counted(n as u64, "case");
            write!(f, ", {mean} ({lower} to {upper} with {confidence} confidence) of {cases}")?;
            if units != n {
                write!(f, " in {}", counted(units as u64, "cluster"))?;
            }
        }
        if let Some((cases, mean)) = self.taken {
            write!(f, ", {} after {}", cut(mean), counted(cases, "case"))?;
        }
        for (count, what) in [
            (self.counted_as_zero, "counted as 0 whatever they score"),
            (self.not_evaluated, "not evaluated"),
            (self.not_run, "not run"),
        ] {
            if count > 0 {
                write!(f, ", {} {what}", grouped(count))?;
            }
        }
        if self.errors > 0 {
            write!(f, ", {}", counted(self.errors, "error"))?;
        }
        if self.left_out > 0 {
            write!(f, ", {} left out", counted(self.left_out, "case"))?;
            let more = if self.left_out > NAMED as u64 { ", .." } else { "" };
            write!(f, " ({}{more})", self.left_out_cases.join(", "))?;
        }
        match self.undecided {
            Some(undecided) => write!(f, "; {undecided}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingScored => f.write_str("nothing was scored"),
            Self::TooFewConversations(k) => f.write_str(&needs_recordings(*k)),
            Self::OneCluster => {
                f.write_str("all cases are in one cluster, and nothing is known about others")
            }
            Self::TooFewCases(None) => f.write_str("the limit is within the interval"),
            Self::TooFewCases(Some(needed)) => {
                write!(f, "about {} cases that score like these would decide", rounded(*needed))
            }
            Self::CasesEnded => f.write_str("the cases ended before it was decided"),
            Self::TooFewClusters { cases, clusters } => write!(
                f,
                "about {} cases in {} clusters that score like these would decide",
                rounded(*cases),
                rounded(*clusters)
            ),
            Self::Errors(errors) => write!(f, "{} could decide", counted(*errors, "error")),
        }
    }
}

/// Returns a number of cases with two digits from 1,000 on, rounded up: the figure is no more precise than that.
fn rounded(number: u64) -> String {
    let mut unit = 1;
    while number >= 1000 && number / unit >= 100 {
        unit *= 10;
    }
    grouped(number.div_ceil(unit) * unit)
}

/// Returns a number with three decimals. The rest is cut off, so an end of an interval never seems to reach a limit that it
/// does not reach.
fn cut(number: f64) -> String {
    format!("{:.3}", (number * 1000.0 + 1e-6).floor() / 1000.0)
}

/// Returns e.g. `95 %`.
fn percent(share: f64) -> String {
    format!("{} %", (share * 1e8).round() / 1e6)
}

#[cfg(test)]
mod tests;
