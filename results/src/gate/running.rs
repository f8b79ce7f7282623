//! Gates that are decided while cases come.

use evaluator_statistics::{Betting, GateVerdict, Random};

use super::{
    rule::{Gate, Measure},
    values::{CaseValues, EvaluatorValues},
};
use crate::EvaluationReport;

/// Returns the order in which cases are looked at, by their numbers: those of the input, shuffled by the seed.
pub fn case_order(seed: u64, cases: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cases).collect();
    Random::new(seed).shuffle(&mut order);
    order
}

/// A gate that takes the value of one case after the other. Its verdict may be looked at after each of them, and does not
/// change any more once there is one.
#[derive(Clone, Debug)]
pub struct RunningGate {
    measure: Measure,
    betting: Betting,
    sum: f64,
    cases: u64,
}

impl RunningGate {
    /// Starts a gate; `None` for a measure that cannot be decided case by case, and if the evaluator has to be certified.
    pub fn new(gate: &Gate) -> Option<Self> {
        if gate.certified || matches!(gate.measure, Measure::PassHat(_)) {
            return None;
        }
        let betting = Betting::new(gate.limit, gate.confidence).ok()?;
        Some(Self { measure: gate.measure, betting, sum: 0.0, cases: 0 })
    }

    /// Takes the evaluations of all conversations of the next case. A case without a value decides nothing.
    pub fn take(&mut self, evaluations: &[&EvaluationReport]) {
        let mut values = EvaluatorValues::default();
        evaluations.iter().for_each(|evaluation| values.add(0, evaluation));
        if let Some(Ok(value)) = values.measured(0, self.measure, 0) {
            self.observe(value);
        }
    }

    /// Returns true if no further case changes the verdict.
    pub fn is_decided(&self) -> bool {
        self.betting.verdict() != GateVerdict::Inconclusive
    }

    fn observe(&mut self, value: f64) {
        // Values of cases are from 0 to 1.
        if !self.is_decided() && self.betting.observe(value).is_ok() {
            self.sum += value;
            self.cases += 1;
        }
    }

    /// Decides by the cases of a run that was shuffled by a seed. Returns the verdict, the number of cases that it took and their
    /// mean. With `errors_are_failures`, every error is a conversation with a value of 0.
    pub(crate) fn decide(
        mut self,
        values: &CaseValues,
        evaluator: &EvaluatorValues,
        seed: u64,
        errors_are_failures: bool,
    ) -> (GateVerdict, u64, f64) {
        for case in case_order(seed, values.cases.len()) {
            let errors = if errors_are_failures { values.errors(evaluator, case) } else { 0 };
            if let Some(Ok(value)) = evaluator.measured(case, self.measure, errors) {
                self.observe(value);
            }
        }
        (self.betting.verdict(), self.cases, self.sum / self.cases.max(1) as f64)
    }
}
