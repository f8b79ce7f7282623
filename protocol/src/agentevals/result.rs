//! What an evaluator writes.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{IntoScore, IntoTurnScore, JsonObject, Score};

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
    /// Score of each turn, in the order of the input; `None` for a turn that was not scored. Either empty or as long as
    /// the conversation: an answer of any other length is an error, since its scores belong to no turn for certain.
    #[serde(default)]
    pub per_invocation_scores: Vec<Option<Score>>,
    /// Anything that explains the score.
    #[serde(default)]
    pub details: Option<JsonObject>,
}

impl EvalResult {
    /// A result with this score and nothing else.
    #[must_use]
    pub fn new(score: impl IntoScore) -> Self {
        let score = score.into_score();
        Self { score, status: None, per_invocation_scores: Vec::new(), details: None }
    }

    /// The mean of the turns' scores, with the scores themselves.
    ///
    /// Takes an item for each turn: a [`Score`], or an `Option<Score>` that is `None` for a turn that is not scored. Such a
    /// turn keeps its place as `null` and does not count in the mean. If no turn is scored, there is nothing to judge:
    /// [`EvalResult::not_evaluated`].
    ///
    /// ```
    /// use evaluator_protocol::{EvalResult, Score};
    /// let result = EvalResult::mean_of([Some(Score::ONE), None, Some(Score::ZERO)]);
    /// assert_eq!(result.score, Score::ratio(1, 2));
    /// assert_eq!(result.per_invocation_scores, [Some(Score::ONE), None, Some(Score::ZERO)]);
    /// ```
    #[must_use]
    pub fn mean_of<S: IntoTurnScore>(per_invocation_scores: impl IntoIterator<Item = S>) -> Self {
        let scores: Vec<Option<Score>> =
            per_invocation_scores.into_iter().map(S::into_turn_score).collect();
        match Score::mean(scores.iter().copied().flatten()) {
            Some(mean) => Self::new(mean).per_invocation_scores(scores),
            None if scores.is_empty() => Self::not_evaluated("the conversation has no turns"),
            None => Self::not_evaluated("no turn was scored").per_invocation_scores(scores),
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
    pub fn per_invocation_scores<S: IntoTurnScore>(
        mut self,
        scores: impl IntoIterator<Item = S>,
    ) -> Self {
        self.per_invocation_scores = scores.into_iter().map(S::into_turn_score).collect();
        self
    }

    /// Adds a detail.
    #[must_use]
    pub fn detail(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// Checks that there is a score for each of that many turns, or none at all.
    ///
    /// # Errors
    ///
    /// [`ScoreCount`]: there is another number of scores.
    pub fn check_turns(&self, turns: usize) -> Result<(), ScoreCount> {
        ScoreCount::check(self.per_invocation_scores.len(), turns)
    }
}

/// A result has another number of scores than the conversation has turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScoreCount {
    /// Number of scores.
    pub scores: usize,
    /// Number of turns.
    pub turns: usize,
}

impl ScoreCount {
    /// Checks that there are as many scores as turns, or none.
    ///
    /// # Errors
    ///
    /// The two numbers, if they do not fit together.
    pub fn check(scores: usize, turns: usize) -> Result<(), Self> {
        if scores == 0 || scores == turns { Ok(()) } else { Err(Self { scores, turns }) }
    }
}

impl fmt::Display for ScoreCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let Self { scores, turns } = *self;
        write!(
            f,
            "{scores} score{} for a conversation of {turns} turn{}; give one for each turn, in order, null for a turn that \
             is not scored, or none at all",
            plural(scores),
            plural(turns)
        )
    }
}

impl std::error::Error for ScoreCount {}

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
