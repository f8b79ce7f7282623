//! What is in a program, for programs.

use evaluator_protocol::{Capability, Description, EvaluatorDescription};

use super::Choice;
use crate::evaluator::Evaluator;

/// The description as a line of JSON.
pub(super) fn text(choice: Choice<'_>) -> serde_json::Result<String> {
    let mut description = Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    description.capabilities = vec![Capability::Stream, Capability::Numbered];
    description.evaluators = choice.all().iter().map(describe).collect();
    description.to_line()
}

fn describe(evaluator: &Evaluator) -> EvaluatorDescription {
    let mut description = EvaluatorDescription::new(evaluator.name(), evaluator.contract());
    description.description = evaluator.description();
    description.strict = evaluator.is_strict();
    description.config_schema = evaluator.config_schema();
    description
}
