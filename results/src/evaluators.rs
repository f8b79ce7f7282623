//! Sums by evaluator, and the gates that are decided by them.

use std::{fmt, io};

use evaluator_statistics::{Estimate, mean_clustered};

use super::{
    ALL_EVALUATORS, Certificate, Gate, Report,
    gate::{CaseValues, CertificateOf, GateResult, Measure, counted, estimate},
};

/// What an evaluator measured over all cases.
///
/// Cases are those of [`Cases`](super::Cases). Conversations that could not be evaluated at all are errors of
/// [`ALL_EVALUATORS`].
#[derive(Clone, Debug, Default)]
pub struct EvaluatorSums {
    /// Name of the evaluator.
    pub name: String,
    /// Number of cases with a value: at least one evaluation that passed or failed.
    pub cases: u64,
    /// Evaluations that passed.
    pub passed: u64,
    /// Evaluations that failed.
    pub failed: u64,
    /// Those of `failed` that fail whatever their score is, and count as 0 in the mean.
    pub counted_as_zero: u64,
    /// Evaluations that do not apply.
    pub not_evaluated: u64,
    /// Evaluations that broke.
    pub errors: u64,
    /// Evaluations that were not started.
    pub not_run: u64,
    /// Mean score of the cases, with its interval; `None` if no case has a value.
    pub mean: Option<Estimate>,
    /// Share that passed, with its interval; `None` if no case has a value.
    pub pass_rate: Option<Estimate>,
    /// The pass rate corrected for the errors of the evaluator, with its interval; `None` without a certificate that holds, and if
    /// [`uncorrected`](Self::uncorrected) has the reason.
    pub corrected_pass_rate: Option<Estimate>,
    /// Reason why the pass rate is not corrected although the evaluator has a certificate.
    pub uncorrected: Option<String>,
    /// What clusters leave of the number of cases; `None` without clusters, or if no case has a value.
    pub clustering: Option<ClusterEffect>,
    /// Gates of the evaluator.
    pub gates: Vec<GateResult>,
}

/// Number of clusters below which their likeness is not known well enough to say that they hardly matter.
const FEW_CLUSTERS: u64 = 10;

/// What clusters leave of a number of cases. As text, a clause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterEffect {
    /// Number of cases with a value.
    pub cases: u64,
    /// Number of clusters that they are in.
    pub clusters: u64,
    /// Number of independent cases that would tell as much about the mean, at most `cases`; `None` if that cannot be
    /// estimated, because there is one cluster or all scores are equal, or if it would be more than the number of fewer than ten clusters.
    pub worth: Option<f64>,
}

impl fmt::Display for ClusterEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, clusters, worth } = *self;
        write!(f, "{} in {}", counted(cases, "case"), counted(clusters, "cluster"))?;
        match worth {
            Some(worth) => write!(f, " are worth about {:.0}", worth.max(1.0)),
            None if clusters == 1 && cases > 1 => {
                f.write_str(", which tells nothing about other clusters")
            }
            None if clusters < FEW_CLUSTERS && cases > clusters => {
                f.write_str(", too few to tell what they are worth")
            }
            None => Ok(()),
        }
    }
}

impl EvaluatorSums {
    /// Sums up the values of each evaluator. `until_decided` is the seed of a run whose gates were decided while cases came.
    pub(crate) fn of<'c>(
        values: &CaseValues,
        (gates, until_decided): (&[Gate], Option<u64>),
        confidence: f64,
        certified: impl Fn(&str) -> CertificateOf<'c>,
    ) -> Vec<Self> {
        let sums = values.by_evaluator().iter().map(|evaluator| {
            let counts = evaluator.counts;
            let own = gates.iter().filter(|gate| gate.evaluator == evaluator.name);
            let sample = |measure| values.sample(evaluator, measure, false);
            // The only input without a result is an empty one.
            let (mean, clustered) = {
                let sample = sample(Measure::Mean);
                let clusters = sample.clusters.as_deref();
                let clustered =
                    clusters.and_then(|it| mean_clustered(&sample.values, it, confidence).ok());
                (estimate(Measure::Mean, &sample, confidence).ok(), clustered)
            };
            let pass_rate =
                estimate(Measure::PassRate, &sample(Measure::PassRate), confidence).ok();
            let certified = certified(&evaluator.name);
            let corrected = pass_rate.and_then(|rate| corrected(rate, &certified, confidence));
            Self {
                name: evaluator.name.clone(),
                cases: evaluator.cases(),
                passed: counts.passed,
                failed: counts.failed,
                counted_as_zero: counts.failed_regardless,
                not_evaluated: counts.not_evaluated,
                errors: counts.errors,
                not_run: counts.not_run,
                mean,
                pass_rate,
                uncorrected: corrected.as_ref().and_then(|it| it.clone().err()),
                corrected_pass_rate: corrected.and_then(Result::ok),
                clustering: clustered.map(|it| ClusterEffect {
                    cases: it.n as u64,
                    clusters: it.clusters as u64,
                    // Few clusters that happen to be alike do not show that others are.
                    worth: it.effective_n.map(|worth| worth.min(it.n as f64)).filter(|worth| {
                        it.clusters as u64 >= FEW_CLUSTERS || *worth <= it.clusters as f64
                    }),
                }),
                gates: own
                    .map(|gate| GateResult::new(gate, &certified, values, until_decided))
                    .collect(),
            }
        });
        let errors = values.unevaluated();
        let of_none = (errors > 0).then(|| Self {
            name: ALL_EVALUATORS.to_owned(),
            errors,
            ..Self::default()
        });
        sums.chain(of_none).collect()
    }
}

/// Returns the corrected pass rate, or the reason why there is none; `None` without a certificate.
fn corrected(
    rate: Estimate,
    certified: &CertificateOf<'_>,
    confidence: f64,
) -> Option<Result<Estimate, String>> {
    let correct = |certificate: &Certificate| {
        let rates = certificate.rates(confidence)?;
        rates.correct(rate).map_err(|refusal| refusal.to_string())
    };
    Some(certified.clone()?.and_then(correct))
}

impl Report {
    /// Returns the sums of all evaluators that evaluated something, in the order of the configuration, then those of
    /// conversations that could not be evaluated at all, if there are any. Intervals have this confidence (see
    /// [`Gate::CONFIDENCE`](super::Gate::CONFIDENCE)).
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub fn evaluators(&self, confidence: f64) -> io::Result<Vec<EvaluatorSums>> {
        let gates = (&*self.gates, self.until_decided);
        Ok(EvaluatorSums::of(self.case_values()?, gates, confidence, |name| self.certified(name)))
    }

    /// Decides all gates, in their order.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub fn decide_gates(&self) -> io::Result<Vec<GateResult>> {
        if self.gates.is_empty() {
            return Ok(Vec::new());
        }
        let values = self.case_values()?;
        let decided = |gate: &Gate| {
            GateResult::new(gate, &self.certified(&gate.evaluator), values, self.until_decided)
        };
        Ok(self.gates.iter().map(decided).collect())
    }

    /// Returns the certificate of an evaluator, or the reason why it does not hold; `None` if there is none.
    fn certified(&self, evaluator: &str) -> CertificateOf<'_> {
        let entries = &self.header.as_ref()?.evaluators;
        entries.iter().find(|entry| entry.name == evaluator)?.certified()
    }

    /// Returns the values of all cases. The first call reads all conversations; the values are kept.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub fn case_values(&self) -> io::Result<&CaseValues> {
        self.conversations.case_values()
    }

    /// Returns true if a failed evaluation of this case fails nothing by itself, because a gate or the comparison with a
    /// baseline judges the evaluator.
    pub fn is_judged_as_a_whole(&self, evaluator: &str, case: &str) -> bool {
        self.has_gate(evaluator)
            || self
                .comparison
                .as_ref()
                .is_some_and(|it| it.known_failures(evaluator).contains(case))
    }

    /// Returns the number of failed evaluations that fail nothing by themselves, see
    /// [`is_judged_as_a_whole`](Self::is_judged_as_a_whole).
    pub fn gated_failures(&self) -> u64 {
        if self.gates.is_empty() && self.comparison.is_none() {
            return 0;
        }
        let Ok(values) = self.case_values() else { return 0 };
        let failures = values.by_evaluator().iter().map(|evaluator| {
            let name = evaluator.name.as_str();
            match &self.comparison {
                _ if self.has_gate(name) => evaluator.counts.failed,
                Some(comparison) => values.failed_of(name, comparison.known_failures(name)),
                None => 0,
            }
        });
        failures.sum()
    }

    fn has_gate(&self, evaluator: &str) -> bool {
        self.gates.iter().any(|gate| gate.evaluator == evaluator)
    }
}
