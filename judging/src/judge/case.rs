//! Conversations that are judged.

use super::{Criterion, JudgedTurn, Refusal, Scenario};

/// A conversation that is judged.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// Turns of the conversation.
    pub actual: &'a [JudgedTurn],
    /// Golden turns, if any.
    pub expected: Option<&'a [JudgedTurn]>,
    /// Scenario of the simulated user, if the user was simulated.
    pub scenario: Option<&'a Scenario>,
    /// Criterion of the judgement.
    pub criterion: &'a Criterion,
}

impl<'a> Case<'a> {
    /// Creates a case without golden turns.
    pub fn new(actual: &'a [JudgedTurn], criterion: &'a Criterion) -> Self {
        Self { actual, expected: None, scenario: None, criterion }
    }

    /// Adds golden turns.
    #[must_use]
    pub fn expecting(self, expected: &'a [JudgedTurn]) -> Self {
        Self { expected: Some(expected), ..self }
    }

    /// Adds a scenario.
    #[must_use]
    pub fn with_scenario(self, scenario: &'a Scenario) -> Self {
        Self { scenario: Some(scenario), ..self }
    }

    /// Checks that half of the samples can be asked in another order, if they should.
    pub(super) fn check_samples(&self) -> Result<(), Refusal> {
        let Criterion { samples, swap, .. } = *self.criterion;
        if samples == 0 || (swap && samples % 2 == 1) {
            let even = if swap { "an even number" } else { "at least one" };
            return Err(Refusal::Failed(format!("{samples} samples: {even} is needed")));
        }
        Ok(())
    }

    /// Returns the golden turns, of which there must be as many as turns.
    pub(super) fn golden_turns(&self) -> Result<Option<&'a [JudgedTurn]>, Refusal> {
        let Some(expected) = self.expected else { return Ok(None) };
        if expected.len() != self.actual.len() {
            let (actual, expected) = (self.actual.len(), expected.len());
            return Err(Refusal::Failed(format!(
                "the conversation has {actual} turns, the golden case {expected}; the metric needs the same number, \
                 whatever `missing_turns` says"
            )));
        }
        Ok(Some(expected))
    }
}
