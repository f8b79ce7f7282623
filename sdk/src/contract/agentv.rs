//! The contract of AgentV.

use std::{fs, io, path::Path};

use evaluator_protocol::{
    Answer, Contract as Name, Document, JsonObject, Score,
    agentv::{CodeJudgeInput, CodeJudgeResult},
};

use super::{Contract, HasConfig, foreign, outcome::IntoOutcome, sealed};
use crate::failure::{Failure, Rejection};

/// The contract of AgentV: [`CodeJudgeInput`] in, [`CodeJudgeResult`] out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentV {}

impl sealed::Sealed for AgentV {}

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

#[diagnostic::do_not_recommend]
impl IntoOutcome<AgentV> for CodeJudgeResult {
    fn into_outcome(self) -> Result<CodeJudgeResult, Failure> {
        Ok(self)
    }
}

impl HasConfig for AgentV {
    fn config(input: &CodeJudgeInput) -> Option<&JsonObject> {
        input.config()
    }
}

/// Reads the answer of a document from its file, if it has one. The host removes the file after the evaluator exits.
pub(super) fn read_answer(input: &mut CodeJudgeInput) -> Result<(), Rejection> {
    let Some(path) = input.unread_output() else { return Ok(()) };
    let content = read(Path::new(path)).map_err(|error| {
        let reason = format!(
            "the answer is in the file `{path}`, which cannot be read: {error}{}",
            hint(&error)
        );
        Rejection::new("output_path", reason)
    })?;
    Ok(input.read_output(&content)?)
}

/// Only files: a document must not be able to have an evaluator wait for a pipe.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_file() {
        fs::read(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"))
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => {
            " (AgentV removes it when the judge has ended; in a recorded document, put the answer under `output`)"
        }
        _ => "",
    }
}
