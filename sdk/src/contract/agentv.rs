//! The contract of AgentV.

use evaluator_protocol::{
    Answer, Contract as Name, Document, JsonObject, Score,
    agentv::{CodeJudgeInput, CodeJudgeResult},
};

use super::{Contract, HasConfig, answer_file::read_answer, foreign};
use crate::failure::Rejection;

/// The contract of AgentV: [`CodeJudgeInput`] in, [`CodeJudgeResult`] out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentV {}

impl Contract for AgentV {
    const NAME: Name = Name::AgentV;
    type Input = CodeJudgeInput;
    type Output = CodeJudgeResult;

    fn adopt(document: Document, _evaluator: &str) -> Result<CodeJudgeInput, Rejection> {
        match document {
            Document::AgentV(mut input) => {
                read_answer(&mut input)?;
                Ok(*input)
            }
            other => Err(foreign(&other, Self::NAME)),
        }
    }

    fn scored(score: Score) -> CodeJudgeResult {
        CodeJudgeResult::new(score)
    }

    fn answer(output: CodeJudgeResult) -> Answer {
        Answer::AgentV(Box::new(output))
    }
}

impl HasConfig for AgentV {
    fn config(input: &CodeJudgeInput) -> Option<&JsonObject> {
        input.config()
    }
}
