//! `tool_trajectory_alignment`.

mod compare;
mod expectation;
mod pairing;
mod report;
mod settings;
mod turn;

use std::sync::Arc;

use evaluator_document::Fields;

use self::turn::{Alignment, Calls};
use super::{Metric, MetricInput, Outcome, Scored, Setting, turns::mean};
use evaluator_traces::conversation::TurnPart;

pub use settings::ToolTrajectoryAlignment;

const SETTINGS: [Setting; 3] = [
    Setting::new(
        "order",
        r#"{"description": "tool_trajectory_alignment: whether the order of calls counts.",
            "enum": ["ordered", "unordered"]}"#,
        "order: ordered  # or unordered: calls may come in any order\n",
    ),
    Setting::new(
        "args",
        r#"{"description": "tool_trajectory_alignment: how arguments are compared, by name.", "type": "object"}"#,
        r"# Comparators of arguments by name; the default is `exact`.
args:
  request_id: ignore
  tags: set  # the same items in any order
  filter: subset  # the expected members are there, maybe more
  price: {compare: numeric, tolerance: 0.01}  # or relative_tolerance: 0.05
  date: {compare: regex, pattern: '\d{4}-\d{2}-\d{2}'}  # without a pattern: the expected text is one
",
    ),
    Setting::new(
        "tools",
        r#"{"description": "tool_trajectory_alignment: the same for single tools.", "type": "object"}"#,
        "# Comparators of arguments by tool; they precede `args`. `*` is every argument that is not named.\n\
         tools:\n  search: {query: ignore}\n",
    ),
];

impl Metric for ToolTrajectoryAlignment {
    fn name(&self) -> &str {
        "tool_trajectory_alignment"
    }

    fn description(&self) -> &str {
        "How well the tool calls of each turn fit the expected ones, with partial credit."
    }

    fn settings(&self) -> &'static [Setting] {
        &SETTINGS
    }

    fn configure(&self, fields: &mut Fields<'_>) -> Option<Arc<dyn Metric>> {
        Some(Arc::new(Self::read(fields)))
    }

    fn revision(&self) -> Option<&str> {
        Some(crate::REVISION)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Outcome {
        let expected = match input.comparable_turns(&[TurnPart::ToolCalls, TurnPart::Arguments]) {
            Ok(expected) => expected,
            Err(not_evaluated) => return not_evaluated,
        };
        if input.turns.is_empty() || expected.is_empty() {
            return Outcome::not_evaluated("no turns to compare");
        }
        let calls: Vec<Calls<'_>> = (0..input.turns.len().max(expected.len()))
            .map(|index| Calls::new(input.turns.get(index), expected.get(index)))
            .collect();
        let mut turns = Vec::with_capacity(calls.len());
        for (index, calls) in calls.iter().enumerate() {
            match Alignment::new(calls, self) {
                Ok(alignment) => turns.push(alignment),
                Err(error) => {
                    let reason = format!("{}: turn {}: {error}", self.name(), index + 1);
                    return Outcome::Failed { reason };
                }
            }
        }
        let scores: Vec<f64> = turns.iter().map(|turn| turn.score).collect();
        Outcome::Scored(Scored {
            // Missing turns are not turns of the conversation.
            per_turn: scores.iter().take(input.turns.len()).copied().map(Some).collect(),
            details: Some(report::details(&turns, self.order)),
            ..Scored::new(mean(&scores))
        })
    }
}

#[cfg(test)]
mod tests;
