//! The contract of Google's Agent Development Kit.

use evaluator_protocol::{
    Answer, Contract as Name, Document, Score,
    adk::{EvaluationResult, MetricInput},
};
use serde_json::Value;

use super::{Contract, HasParameters, foreign};
use crate::failure::Rejection;

/// The contract of Google's Agent Development Kit: the parameters of its Python functions in, [`EvaluationResult`] out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adk {}

impl Contract for Adk {
    const NAME: Name = Name::Adk;
    type Input = MetricInput;
    type Output = EvaluationResult;

    fn adopt(document: Document, _evaluator: &str) -> Result<MetricInput, Rejection> {
        match document {
            Document::Adk(input) => Ok(*input),
            other => Err(foreign(&other, Self::NAME)),
        }
    }

    fn scored(score: Score) -> EvaluationResult {
        EvaluationResult::new(score)
    }

    fn answer(output: EvaluationResult) -> Answer {
        Answer::Adk(Box::new(output))
    }
}

impl HasParameters for Adk {
    fn parameter<'a>(input: &'a MetricInput, name: &str) -> Option<&'a Value> {
        input.parameter(name)
    }
}
