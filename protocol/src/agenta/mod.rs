//! Agenta's custom evaluators, webhooks and remote workflows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Converted, DecodeError, EvalInput, EvalResult, JsonObject, Reply, Score, decode};

/// What an evaluator of Agenta reads.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EvaluateInput {
    document: JsonObject,
}

impl EvaluateInput {
    /// Names of the arguments.
    pub const PARAMETERS: [&str; 8] = [
        "app_params",
        "inputs",
        "output",
        "correct_answer",
        "outputs",
        "trace",
        "parameters",
        "testcase",
    ];

    /// Reads a document.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: it is not one.
    pub fn from_json(document: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self { document: decode(document)? })
    }

    /// An argument; `None` when the document does not have it.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&Value> {
        self.document.get(name)
    }

    /// What Agenta expects of an answer.
    #[must_use]
    pub fn reply(&self) -> Reply {
        Reply::Agenta { threshold: 0.5 }
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

/// What an evaluator of Agenta answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EvaluateResult {
    /// The score.
    pub score: Score,
    /// Whether that is enough.
    pub success: bool,
}

impl EvaluateResult {
    /// What Agenta is told of a result.
    #[must_use]
    pub fn from_eval_result(result: EvalResult, threshold: f64) -> Self {
        Self { score: result.score, success: result.score.get() >= threshold }
    }
}
