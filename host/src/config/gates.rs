//! Gates of a configuration and of the command line.

use evaluator_document::did_you_mean;

use crate::report::{Gate, Inconclusive};

/// Gates that are given in addition to those of a configuration or a saved run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct GateOverrides {
    /// Gates. Each replaces one of the same evaluator and measure.
    pub gates: Vec<Gate>,
    /// Confidence of all gates; `None` leaves it.
    pub confidence: Option<f64>,
    /// What undecided gates mean; `None` leaves it.
    pub inconclusive: Option<Inconclusive>,
}

impl GateOverrides {
    /// Creates it from options.
    #[must_use]
    pub fn new(
        gates: Vec<Gate>,
        confidence: Option<f64>,
        inconclusive: Option<Inconclusive>,
    ) -> Self {
        Self { gates, confidence, inconclusive }
    }

    /// Applies them to gates of these evaluators.
    ///
    /// # Errors
    ///
    /// Returns a message if a gate names no evaluator, or if two are about the same measure of one.
    pub fn apply(
        self,
        gates: &mut Vec<Gate>,
        inconclusive: &mut Inconclusive,
        evaluators: &[&str],
    ) -> Result<(), String> {
        for (index, gate) in self.gates.iter().enumerate() {
            let name = &gate.evaluator;
            if !evaluators.contains(&name.as_str()) {
                let hint = did_you_mean(name, evaluators.iter().copied())
                    .unwrap_or_else(|| format!("evaluators: {}", evaluators.join(", ")));
                return Err(format!("the gate `{gate}` names no evaluator of the run; {hint}"));
            }
            if let Some(first) = self.gates[..index].iter().find(|it| is_about_the_same(it, gate)) {
                return Err(format!(
                    "the gates `{first}` and `{gate}` are about the same measure; keep one of them"
                ));
            }
        }
        for gate in self.gates {
            match gates.iter_mut().find(|other| is_about_the_same(other, &gate)) {
                Some(other) => *other = gate,
                None => gates.push(gate),
            }
        }
        for gate in gates {
            gate.confidence = self.confidence.unwrap_or(gate.confidence);
        }
        *inconclusive = self.inconclusive.unwrap_or(*inconclusive);
        Ok(())
    }
}

fn is_about_the_same(one: &Gate, other: &Gate) -> bool {
    (&one.evaluator, one.measure) == (&other.evaluator, other.measure)
}
