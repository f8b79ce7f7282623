//! The contract of Google's Agent Development Kit.

use std::borrow::Cow;

use evaluator_protocol::{
    Answer, Contract as Name, Document, EvalResult, JsonObject, Score,
    adk::{EvaluationResult, MetricInput},
};
use serde_json::Value;

use super::{
    Contract, HasConfig, HasParameters, check_turns, foreign, outcome::IntoOutcome, sealed,
};
use crate::failure::{CRITERION, Failure, Rejection};

/// The contract of Google's Agent Development Kit: the parameters of its Python functions in, [`EvaluationResult`] out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adk {}

/// The result of an evaluator of this contract.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AdkOutcome {
    /// A result with its own statuses and rows. It is checked, and written as it is.
    Complete(EvaluationResult),
    /// A result without statuses and rows. They are computed from the criterion's threshold and the number of turns, as for
    /// evaluators of the default contract.
    Plain(EvalResult),
}

impl sealed::Sealed for Adk {}

impl Contract for Adk {
    const NAME: Name = Name::Adk;
    type Input = MetricInput;
    type Output = AdkOutcome;

    fn adopt(document: Document, _evaluator: &str) -> Result<MetricInput, Rejection> {
        match document {
            Document::Adk(input) => Ok(*input),
            other => Err(foreign(&other, Self::NAME)),
        }
    }

    fn turns(input: &MetricInput) -> Option<usize> {
        Some(input.actual_invocations.len())
    }

    fn check(output: &AdkOutcome, turns: usize) -> Result<(), Failure> {
        match output {
            AdkOutcome::Plain(result) => check_turns(result, turns),
            // It is checked against the reply, by ADK's own rule.
            AdkOutcome::Complete(_) => Ok(()),
        }
    }

    fn scored(score: Score) -> AdkOutcome {
        AdkOutcome::Plain(EvalResult::new(score))
    }

    fn answer(output: AdkOutcome) -> Answer {
        match output {
            AdkOutcome::Complete(result) => Answer::Adk(Box::new(result)),
            AdkOutcome::Plain(result) => Answer::Agentevals(result),
        }
    }
}

#[diagnostic::do_not_recommend]
impl IntoOutcome<Adk> for EvaluationResult {
    fn into_outcome(self) -> Result<AdkOutcome, Failure> {
        Ok(AdkOutcome::Complete(self))
    }
}

#[diagnostic::do_not_recommend]
impl IntoOutcome<Adk> for EvalResult {
    fn into_outcome(self) -> Result<AdkOutcome, Failure> {
        Ok(AdkOutcome::Plain(self))
    }
}

impl HasParameters for Adk {
    fn parameter<'a>(input: &'a MetricInput, name: &str) -> Option<Cow<'a, Value>> {
        input.parameter(name)
    }
}

/// The keys of the criterion that are the metric's own.
impl HasConfig for Adk {
    const PATH: &'static str = CRITERION;

    fn config(input: &MetricInput) -> Option<&JsonObject> {
        input.eval_metric.extras()
    }
}
