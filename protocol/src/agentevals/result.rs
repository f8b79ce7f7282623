//! What an evaluator writes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{JsonObject, Score};

/// The document an evaluator writes.
///
/// All four fields are always written, the absent ones as `null`, as the contract's Python SDK does.
///
/// ```
/// use evaluator_protocol::{EvalResult, Score};
/// let result = EvalResult::new(Score::ratio(1, 2)).detail("issues", vec!["no answer to the second question"]);
/// assert_eq!(result.score, Score::ratio(1, 2));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EvalResult {
    /// Overall score.
    pub score: Score,
    /// Outcome, when the evaluator wants to decide it itself; `None` lets the host compare score and threshold.
    #[serde(default)]
    pub status: Option<EvalStatus>,
    /// Score of each turn, in the order of the input; `None` for a turn that was not scored.
    #[serde(default)]
    pub per_invocation_scores: Vec<Option<Score>>,
    /// Anything that explains the score.
    #[serde(default)]
    pub details: Option<JsonObject>,
}

impl EvalResult {
    /// A result with this score and nothing else.
    #[must_use]
    pub fn new(score: Score) -> Self {
        Self { score, status: None, per_invocation_scores: Vec::new(), details: None }
    }

    /// The mean of the turns' scores, with the scores themselves. Without any turn there is nothing to judge:
    /// [`EvalResult::not_evaluated`].
    #[must_use]
    pub fn mean_of(per_invocation_scores: impl IntoIterator<Item = Score>) -> Self {
        let scores: Vec<Score> = per_invocation_scores.into_iter().collect();
        match Score::mean(scores.iter().copied()) {
            Some(mean) => Self::new(mean).per_invocation_scores(scores),
            None => Self::not_evaluated("the conversation has no turns"),
        }
    }

    /// The evaluator does not judge this conversation. Not a failure, and not a pass either.
    ///
    /// The contract asks for a number all the same, so `score` is 0; hosts show the status.
    pub fn not_evaluated(reason: impl Into<String>) -> Self {
        Self::new(Score::ZERO).status(EvalStatus::NotEvaluated).detail("reason", reason.into())
    }

    /// Sets the outcome, whatever the threshold is.
    #[must_use]
    pub fn status(mut self, status: EvalStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets the score of each turn.
    #[must_use]
    pub fn per_invocation_scores<S: Into<Option<Score>>>(
        mut self,
        scores: impl IntoIterator<Item = S>,
    ) -> Self {
        self.per_invocation_scores = scores.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a detail.
    #[must_use]
    pub fn detail(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.get_or_insert_default().insert(key.into(), value.into());
        self
    }
}

impl Default for EvalResult {
    /// Scores 0: a result that nobody filled in must not pass.
    fn default() -> Self {
        Self::new(Score::ZERO)
    }
}

/// Outcome of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EvalStatus {
    /// The agent did well enough.
    Passed,
    /// It did not.
    Failed,
    /// Nothing was judged.
    NotEvaluated,
}
