//! Custom metrics of Google's Agent Development Kit.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Converted, DecodeError, EvalInput, EvalResult, JsonObject, Reply, Score, decode};

/// What a custom metric reads: the arguments of its Python signature.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MetricInput {
    document: JsonObject,
}

impl MetricInput {
    /// Names of the arguments.
    pub const PARAMETERS: [&str; 4] =
        ["eval_metric", "actual_invocations", "expected_invocations", "conversation_scenario"];

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

    /// Name of the metric.
    #[must_use]
    pub fn metric_name(&self) -> Option<&str> {
        self.document.get("eval_metric")?.get("metric_name")?.as_str()
    }

    /// What ADK expects of an answer.
    #[must_use]
    pub fn reply(&self) -> Reply {
        Reply::Adk { turns: 0, threshold: None }
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

/// What a custom metric answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EvaluationResult {
    /// The score.
    pub overall_score: Option<f64>,
}

impl EvaluationResult {
    /// A result with this score and nothing else.
    #[must_use]
    pub fn new(score: Score) -> Self {
        Self { overall_score: Some(score.get()) }
    }

    /// What ADK is told of a result.
    #[must_use]
    pub fn from_eval_result(result: EvalResult, _turns: usize, _threshold: Option<f64>) -> Self {
        Self::new(result.score)
    }
}
