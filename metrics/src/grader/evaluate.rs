//! Grading of conversations.

use evaluator_json::{Object, Value};

use super::{
    Grader,
    item::{Gap, Item},
};
use crate::{
    Metric, MetricInput, Outcome,
    turn_scores::{TurnScore, TurnScores},
};

/// A grader as a metric of that name. The score is the mean of the evaluated turns, each of which has to pass.
#[derive(Clone, Debug)]
pub struct LocalGrader {
    name: String,
    grader: Grader,
}

impl LocalGrader {
    /// Creates a metric.
    #[must_use]
    pub fn new(name: impl Into<String>, grader: Grader) -> Self {
        Self { name: name.into(), grader }
    }
}

impl Metric for LocalGrader {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        "A grader of OpenAI's API, computed here."
    }

    fn compares_golden_turns(&self) -> bool {
        self.grader.compares()
    }

    fn revision(&self) -> Option<&str> {
        Some(crate::REVISION)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Outcome {
        let golden = if self.grader.compares() {
            match input.golden_turns() {
                Ok(golden) => golden,
                Err(not_evaluated) => return not_evaluated,
            }
        } else {
            input.golden.map_or(&[][..], |case| &case.turns)
        };
        // Turns beyond the golden ones have nothing that they could be compared with.
        let compared = if self.grader.compares() { golden.len() } else { usize::MAX };
        let mut scores = TurnScores::default();
        for (index, turn) in input.turns.iter().enumerate().take(compared) {
            let item = Item { turn, expected: golden.get(index) };
            match self.grader.turn_score(&item, input.threshold) {
                Ok(score) => scores.add(score),
                Err(Gap::NotEvaluated(reason)) => scores.add(TurnScore::NotEvaluated(reason)),
                Err(Gap::Unknown(reason)) => return Outcome::not_evaluated(reason),
                Err(Gap::Missing(reason)) => {
                    return Outcome::Failed { reason: format!("turn {}: {reason}", index + 1) };
                }
            }
        }
        let golden = if self.grader.compares() { golden.len() } else { input.turns.len() };
        scores.outcome(input.turns.len(), golden, self.grader.details())
    }
}

impl Grader {
    /// Scores a turn.
    fn turn_score(&self, item: &Item<'_>, threshold: f64) -> Result<TurnScore, Gap> {
        match self {
            Self::StringCheck { input, reference, operation } => {
                let (input, reference) = (input.render(item)?, reference.render(item)?);
                let passed = operation.holds(&input, &reference);
                Ok(TurnScore::Scored { score: f64::from(u8::from(passed)), passed, note: None })
            }
            Self::TextSimilarity { input, reference, measure } => {
                let (input, reference) = (input.render(item)?, reference.render(item)?);
                measure.turn_score(&input, &reference, threshold).map_err(Gap::Missing)
            }
            Self::Multi { graders, formula } => {
                let mut scores = Vec::new();
                for (name, grader) in graders {
                    match grader.turn_score(item, 0.0)? {
                        TurnScore::Scored { score, .. } => scores.push(score),
                        TurnScore::NotEvaluated(reason) => {
                            return Ok(TurnScore::NotEvaluated(format!("{name}: {reason}")));
                        }
                    }
                }
                let value = formula
                    .value(&scores)
                    .map_err(|reason| Gap::Missing(format!("`calculate_output`: {reason}")))?;
                let score = value.clamp(0.0, 1.0);
                let outside = (score - value).abs() > 0.0;
                let clamped = outside.then(|| format!("{value} is not in 0..=1; {score} counts"));
                let parts = graders.iter().zip(&scores);
                let parts: Vec<String> =
                    parts.map(|((name, _), score)| format!("{name} {score:.3}")).collect();
                let note = [Some(parts.join(", ")), clamped].into_iter().flatten();
                let note = Some(note.collect::<Vec<_>>().join("; "));
                Ok(TurnScore::Scored { score, passed: score >= threshold, note })
            }
        }
    }

    fn details(&self) -> Object {
        let mut details = Object::from_iter([("grader".to_owned(), Value::from(self.kind()))]);
        match self {
            Self::StringCheck { .. } => {}
            Self::TextSimilarity { measure, .. } => {
                details.insert("evaluation_metric".to_owned(), Value::from(measure.name()));
            }
            Self::Multi { formula, .. } => {
                details.insert("calculate_output".to_owned(), Value::from(formula.text()));
            }
        }
        details
    }
}
