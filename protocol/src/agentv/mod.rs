//! AgentV's code judges.

use serde::{Deserialize, Serialize};

use crate::{Converted, DecodeError, EvalInput, EvalResult, JsonObject, Score, decode};

/// What a code judge reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CodeJudgeInput {
    /// Settings of the judge from the host's configuration.
    #[serde(default)]
    pub config: Option<JsonObject>,
}

impl CodeJudgeInput {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: it is not one.
    pub fn from_json(document: &[u8]) -> Result<Self, DecodeError> {
        decode(document)
    }

    /// The document as one of agentevals.
    ///
    /// # Errors
    ///
    /// [`DecodeError`].
    pub fn to_eval_input(self, name: &str) -> Result<Converted, DecodeError> {
        Ok(Converted::new(EvalInput::new(name), Vec::new()))
    }
}

/// What a code judge answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CodeJudgeResult {
    /// The score.
    pub score: Score,
}

impl CodeJudgeResult {
    /// A result with this score and nothing else.
    #[must_use]
    pub fn new(score: Score) -> Self {
        Self { score }
    }

    /// What AgentV is told of a result.
    #[must_use]
    pub fn from_eval_result(result: EvalResult) -> Self {
        Self::new(result.score)
    }
}
