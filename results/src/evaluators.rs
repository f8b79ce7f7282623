//! Sums by evaluator, and the gates that are decided by them.

use std::io;

use evaluator_statistics::Estimate;

use super::{
    ALL_EVALUATORS, Report,
    gate::{CaseValues, GateResult, Measure, estimate},
};

/// What an evaluator measured over all cases.
///
/// A case is a golden case with all its conversations; a conversation without one is a case of its own. Conversations that
/// could not be evaluated at all are errors of [`ALL_EVALUATORS`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
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
    /// Gates of the evaluator.
    pub gates: Vec<GateResult>,
}

impl Report {
    /// Returns the sums of all evaluators that evaluated something, in the order of the configuration, then those of
    /// conversations that could not be evaluated at all, if there are any. Intervals have this confidence (see [`Gate::CONFIDENCE`](super::Gate::CONFIDENCE)).
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub fn evaluators(&self, confidence: f64) -> io::Result<Vec<EvaluatorSums>> {
        let values = self.case_values()?;
        let sums = values.by_evaluator().iter().map(|evaluator| {
            let counts = evaluator.counts;
            // The only input without a result is an empty one.
            let estimated = |measure| {
                estimate(measure, &values.sample(evaluator, measure, false), confidence).ok()
            };
            let own = self.gates.iter().filter(|gate| gate.evaluator == evaluator.name);
            EvaluatorSums {
                name: evaluator.name.clone(),
                cases: evaluator.cases(),
                passed: counts.passed,
                failed: counts.failed,
                counted_as_zero: counts.failed_regardless,
                not_evaluated: counts.not_evaluated,
                errors: counts.errors,
                not_run: counts.not_run,
                mean: estimated(Measure::Mean),
                pass_rate: estimated(Measure::PassRate),
                gates: own.map(|gate| GateResult::new(gate, values)).collect(),
            }
        });
        let errors = values.unevaluated();
        let of_none = (errors > 0).then(|| EvaluatorSums {
            name: ALL_EVALUATORS.to_owned(),
            errors,
            ..EvaluatorSums::default()
        });
        Ok(sums.chain(of_none).collect())
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
        Ok(self.gates.iter().map(|gate| GateResult::new(gate, values)).collect())
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
    #[must_use]
    pub fn is_judged_as_a_whole(&self, evaluator: &str, case: &str) -> bool {
        self.has_gate(evaluator)
            || self
                .comparison
                .as_ref()
                .is_some_and(|it| it.known_failures(evaluator).contains(case))
    }

    /// Returns the number of failed evaluations that fail nothing by themselves, see
    /// [`is_judged_as_a_whole`](Self::is_judged_as_a_whole).
    #[must_use]
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
