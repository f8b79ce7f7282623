//! The contract of Agenta.

use std::borrow::Cow;

use evaluator_protocol::{
    Answer, Contract as Name, Document, Score,
    agenta::{EvaluateInput, EvaluateResult},
};
use serde_json::Value;

use super::{Contract, HasParameters, foreign};
use crate::failure::Rejection;

/// The contract of Agenta: the parameters of its Python functions in, [`EvaluateResult`] out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agenta {}

impl Contract for Agenta {
    const NAME: Name = Name::Agenta;
    type Input = EvaluateInput;
    type Output = EvaluateResult;

    fn adopt(document: Document, _evaluator: &str) -> Result<EvaluateInput, Rejection> {
        match document {
            Document::Agenta(input) => Ok(*input),
            other => Err(foreign(&other, Self::NAME)),
        }
    }

    fn scored(score: Score) -> EvaluateResult {
        EvaluateResult::from_eval_result(evaluator_protocol::EvalResult::new(score), 0.5)
    }

    fn answer(output: EvaluateResult) -> Answer {
        Answer::Agenta(Box::new(output))
    }
}

impl HasParameters for Agenta {
    fn parameter<'a>(input: &'a EvaluateInput, name: &str) -> Option<Cow<'a, Value>> {
        input.parameter(name).map(Cow::Borrowed)
    }
}
