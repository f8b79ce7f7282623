//! The contract of agentevals, whose evaluators read the documents of all others as well.

use evaluator_protocol::{
    Answer, Contract as Name, Document, EvalInput, EvalResult, JsonObject, Score,
};

use super::{
    Agentevals, Contract, HasConfig, agentv::read_answer, check_turns, outcome::IntoOutcome, sealed,
};
use crate::failure::{Failure, Rejection};

impl sealed::Sealed for Agentevals {}

impl Contract for Agentevals {
    const NAME: Name = Name::Agentevals;
    type Input = EvalInput;
    type Output = EvalResult;

    fn adopt(mut document: Document, evaluator: &str) -> Result<EvalInput, Rejection> {
        if let Document::AgentV(input) = &mut document {
            read_answer(input)?;
        }
        let contract = document.contract();
        let converted = document.to_eval_input(evaluator)?;
        if !converted.dropped.is_empty() {
            let dropped = converted.dropped.join(", ");
            tracing::debug!("dropped from the document of {contract}: {dropped}");
        }
        Ok(converted.input)
    }

    fn turns(input: &EvalInput) -> Option<usize> {
        Some(input.invocations.len())
    }

    fn check(output: &EvalResult, turns: usize) -> Result<(), Failure> {
        check_turns(output, turns)
    }

    fn scored(score: Score) -> EvalResult {
        EvalResult::new(score)
    }

    fn answer(output: EvalResult) -> Answer {
        Answer::Agentevals(output)
    }
}

#[diagnostic::do_not_recommend]
impl IntoOutcome for EvalResult {
    fn into_outcome(self) -> Result<EvalResult, Failure> {
        Ok(self)
    }
}

impl HasConfig for Agentevals {
    fn config(input: &EvalInput) -> Option<&JsonObject> {
        Some(&input.config)
    }
}
