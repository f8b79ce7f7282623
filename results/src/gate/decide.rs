//! Decides gates.

use std::{fmt, sync::Arc};

use evaluator_statistics::{
    Decision, Estimate, GateVerdict, JudgeRates, Refusal, bounded_mean, clopper_pearson, gate_mean,
    gate_rate,
};

use super::{
    rule::{Gate, Measure, counted, grouped, needs_recordings},
    running::RunningGate,
    values::{CaseValues, EvaluatorValues, Sample},
};
use crate::{Tally, certificate::Certificate};

/// Number of cases that are named.
const NAMED: usize = 10;

/// A gate that was decided, or could not be. As text, it is one line that begins with the gate.
#[derive(Clone, Debug, PartialEq)]
pub struct GateResult {
    /// The gate.
    pub gate: Gate,
    /// The verdict.
    pub verdict: GateVerdict,
    /// The measure with its interval, which decides; `None` if no case has a value. If the gate decides by a corrected pass rate,
    /// it is that one.
    pub estimate: Option<Estimate>,
    /// The pass rate before it was corrected; `None` if the gate does not correct it.
    pub raw: Option<Estimate>,
    /// Number of cases after which the gate was decided or the cases ended, and their mean, if it was decided while cases came.
    pub taken: Option<(u64, f64)>,
    /// Reason why the gate is undecided; `None` if it is decided.
    pub undecided: Option<Undecided>,
    /// Number of evaluations; conversations that could not be evaluated at all are errors. Only those that passed or failed are part
    /// of the estimate.
    pub tally: Tally,
    /// Evaluations that failed whatever their score is, and count as 0.
    pub counted_as_zero: u64,
    /// Number of cases with fewer conversations than the measure needs.
    pub left_out: u64,
    /// Ids of the first ten of them.
    pub left_out_cases: Vec<Arc<str>>,
}

/// Reason why a gate is undecided. As text, it is a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// The evaluator has no certificate that holds, for this reason.
    NotCertified(String),
    /// The limit is within the interval, and no number of cases decides, but more labels may.
    TooFewLabels,
}

impl Undecided {
    /// Returns true if no number of evaluations would decide, so that the gate stays undecided whatever undecided ones mean.
    pub fn is_hopeless(&self) -> bool {
        matches!(self, Self::TooFewConversations(_) | Self::NotCertified(_))
    }
}

/// Certificate of the evaluator of a gate, or the reason why it does not hold; `None` if there is none.
pub(crate) type CertificateOf<'c> = Option<Result<&'c Certificate, String>>;

/// Returns what people have shown about the evaluator of a gate that has to be certified; `None` for another gate.
fn rates(gate: &Gate, certified: &CertificateOf<'_>) -> Result<Option<JudgeRates>, String> {
    if !gate.certified {
        return Ok(None);
    }
    let without =
        || "the evaluator has no certificate (`certificate: FILE` in its entry)".to_owned();
    let certificate = certified.clone().ok_or_else(without)??;
    let rates = certificate.rates(gate.confidence)?;
    Ok(gate.is_corrected().then_some(rates))
}

impl GateResult {
    /// Decides a gate by the values of its evaluator; with `until_decided`, the seed of the run, as the cases came.
    pub(crate) fn new(
        gate: &Gate,
        certified: &CertificateOf<'_>,
        values: &CaseValues,
        until_decided: Option<u64>,
    ) -> Self {
        let none = EvaluatorValues::default();
        let evaluator = values.named(&gate.evaluator).unwrap_or(&none);
        let running = until_decided.and_then(|seed| Some((RunningGate::new(gate)?, seed)));
        if let Some((running, seed)) = running {
            return Self::new(gate, certified, values, None).decided_while_cases_came(
                running,
                seed,
                (values, evaluator),
            );
        }
        let sample = values.sample(evaluator, gate.measure, false);
        let errored = evaluator.tally.errored + values.unevaluated();
        let left_out = sample.left_out.iter().map(|case| values.cases.id(*case).into());
        let undecided = Self {
            gate: gate.clone(),
            verdict: GateVerdict::Inconclusive,
            estimate: None,
            raw: None,
            taken: None,
            undecided: None,
            tally: Tally { errored, ..evaluator.tally },
            counted_as_zero: evaluator.counted_as_zero,
            left_out: sample.left_out.len() as u64,
            left_out_cases: left_out.take(NAMED).collect(),
        };
        let raw = estimate(gate.measure, &sample, gate.confidence).ok();
        match rates(gate, certified) {
            Ok(rates) => Self { raw: raw.filter(|_| rates.is_some()), ..undecided }.decided(
                rates.as_ref(),
                &sample,
                || values.sample(evaluator, gate.measure, true),
            ),
            Err(reason) => {
                let reason = Some(Undecided::NotCertified(reason));
                Self { estimate: raw, undecided: reason, ..undecided }
            }
        }
    }

    /// Decides by a sample. `worst` returns the one in which errors are failures.
    fn decided<'v>(
        mut self,
        rates: Option<&JudgeRates>,
        sample: &Sample<'_>,
        worst: impl FnOnce() -> Sample<'v>,
    ) -> Self {
        let decision = match decide(&self.gate, rates, sample) {
            Ok(decision) => decision,
            Err(refusal) => {
                self.undecided = Some(match (refusal, self.gate.measure) {
                    (Refusal::UnlikeLabels, _) => Undecided::NotCertified(refusal.to_string()),
                    (_, Measure::PassHat(k)) if self.left_out > 0 => {
                        Undecided::TooFewConversations(k)
                    }
                    _ => Undecided::NothingScored,
                });
                return self;
            }
        };
        self.estimate = Some(decision.estimate);
        self.verdict = decision.verdict;
        if decision.verdict == GateVerdict::Inconclusive {
            self.undecided = Some(match (too_few(&decision), rates) {
                (Undecided::TooFewCases(None), Some(_)) if decision.estimate.units > 1 => {
                    Undecided::TooFewLabels
                }
                (undecided, _) => undecided,
            });
        } else if decision.verdict == GateVerdict::Pass && self.tally.errored > 0 {
            let worst = decide(&self.gate, rates, &worst());
            if !worst.is_ok_and(|worst| worst.verdict == GateVerdict::Pass) {
                self.verdict = GateVerdict::Inconclusive;
                self.undecided = Some(Undecided::Errors(self.tally.errored));
            }
        }
        self
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
            GateVerdict::Inconclusive => (verdict, Some(Undecided::CasesEnded)),
            GateVerdict::Pass if self.tally.errored > 0 && worst() != GateVerdict::Pass => {
                (GateVerdict::Inconclusive, Some(Undecided::Errors(self.tally.errored)))
            }
            _ => (verdict, None),
        };
        Self { verdict, undecided, estimate: None, taken: Some((cases, mean)), ..self }
    }

    /// Returns the number of cases that would decide, if the gate is undecided and it is known.
    pub fn needed(&self) -> Option<u64> {
        match &self.undecided {
            Some(Undecided::TooFewCases(needed)) => *needed,
            Some(Undecided::TooFewClusters { cases, .. }) => Some(*cases),
            _ => None,
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

/// Decides a gate, by the corrected pass rate if there are rates of its evaluator.
fn decide(
    gate: &Gate,
    rates: Option<&JudgeRates>,
    sample: &Sample<'_>,
) -> Result<Decision, Refusal> {
    let Gate { limit, confidence, .. } = *gate;
    let (values, clusters) = (&sample.values, sample.clusters.as_deref());
    match (proportion(gate.measure, sample), rates) {
        (Some((passed, n)), None) => gate_rate(passed, n, limit, confidence),
        (Some((passed, n)), Some(rates)) => rates.gate_rate(passed, n, limit, confidence),
        (None, None) => gate_mean(values, clusters, limit, confidence),
        (None, Some(rates)) => rates.gate_mean(values, clusters, limit, confidence),
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
        write!(f, "{}: {}", self.gate, self.verdict.label())?;
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
            (self.tally.not_evaluated, "not evaluated"),
            (self.tally.not_run, "not run"),
        ] {
            if count > 0 {
                write!(f, ", {} {what}", grouped(count))?;
            }
        }
        if self.tally.errored > 0 {
            write!(f, ", {}", counted(self.tally.errored, "error"))?;
        }
        if self.left_out > 0 {
            write!(f, ", {} left out", counted(self.left_out, "case"))?;
            let more = if self.left_out > NAMED as u64 { ", .." } else { "" };
            write!(f, " ({}{more})", self.left_out_cases.join(", "))?;
        }
        if let Some(Estimate { mean, .. }) = self.raw {
            let what = if self.estimate.is_some() { "corrected from" } else { "not corrected:" };
            write!(f, ", {what} {}", cut(mean))?;
        }
        match &self.undecided {
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
            Self::NotCertified(reason) => f.write_str(reason),
            Self::TooFewLabels => f.write_str(
                "the limit is within the interval, which more cases do not narrow enough; more labels may",
            ),
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
