//! What a custom metric answers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{EvalMetric, EvalStatus};
use crate::{IntoScore, IntoTurnScore, Score};

/// What a custom metric answers.
///
/// A row for each actual invocation, in order, is needed for the statuses [`Passed`](EvalStatus::Passed) and
/// [`Failed`](EvalStatus::Failed): ADK loses the whole run over a wrong number of them, so a result that has one is an error
/// of the evaluator and is not written.
///
/// ```
/// use evaluator_protocol::{Score, adk::{EvalMetric, EvaluationResult}};
///
/// let metric = EvalMetric::new("exact_match").with_threshold(0.8);
/// let result = EvaluationResult::mean_of([Score::ZERO, Score::ONE], &metric);
/// assert_eq!(
///     serde_json::to_string(&result)?,
///     r#"{"overall_score":0.5,"overall_eval_status":2,"per_invocation_results":[{"score":0.0,"eval_status":2},{"score":1.0,"eval_status":1}]}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EvaluationResult {
    /// Overall score.
    #[serde(default)]
    pub overall_score: Option<Score>,
    /// The metric's word on it.
    #[serde(default)]
    pub overall_eval_status: EvalStatus,
    /// A row for each actual invocation, in order.
    #[serde(default)]
    pub per_invocation_results: Vec<PerInvocationResult>,
    /// Scores by rubric. Their rationales are the only place for explanations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall_rubric_scores: Option<Vec<RubricScore>>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall_token_usage_details: Option<TokenUsageDetails>,
    /// Durations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall_duration_details: Option<DurationDetails>,
}

impl EvaluationResult {
    /// A result without rows.
    #[must_use]
    pub fn new(overall_score: impl IntoScore, overall_eval_status: EvalStatus) -> Self {
        Self {
            overall_score: Some(overall_score.into_score()),
            overall_eval_status,
            ..Self::default()
        }
    }

    /// The metric does not judge this conversation. Not a failure, and not a pass either.
    #[must_use]
    pub fn not_evaluated() -> Self {
        Self::default()
    }

    /// The mean of the turns' scores with a row for each turn, all with the status that the metric's threshold gives them. A
    /// turn without a score is not evaluated; nor is a conversation without any.
    #[must_use]
    pub fn mean_of<S: IntoTurnScore>(
        scores: impl IntoIterator<Item = S>,
        metric: &EvalMetric,
    ) -> Self {
        let scores: Vec<Option<Score>> = scores.into_iter().map(S::into_turn_score).collect();
        let result = match Score::mean(scores.iter().copied().flatten()) {
            Some(mean) => Self::new(mean, metric.status_of(mean)),
            None => Self::not_evaluated(),
        };
        result.rows(scores.into_iter().map(|score| match score {
            Some(score) => PerInvocationResult::new(score, metric.status_of(score)),
            None => PerInvocationResult::not_evaluated(),
        }))
    }

    /// Sets the rows.
    #[must_use]
    pub fn rows(mut self, rows: impl IntoIterator<Item = PerInvocationResult>) -> Self {
        self.per_invocation_results = rows.into_iter().collect();
        self
    }

    /// Adds the score of a rubric.
    #[must_use]
    pub fn rubric_score(mut self, score: RubricScore) -> Self {
        self.overall_rubric_scores.get_or_insert_default().push(score);
        self
    }

    /// Whether ADK can use the rows for a conversation of that many turns.
    ///
    /// # Errors
    ///
    /// [`RowCount`]: there is a verdict, and another number of rows.
    pub fn check_rows(&self, turns: usize) -> Result<(), RowCount> {
        let rows = self.per_invocation_results.len();
        if self.overall_eval_status.is_verdict() && rows != turns {
            return Err(RowCount { rows, turns });
        }
        Ok(())
    }
}

/// A result has another number of rows than the conversation has turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCount {
    /// The rows there are.
    pub rows: usize,
    /// The rows there must be.
    pub turns: usize,
}

impl fmt::Display for RowCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, turns } = self;
        write!(
            f,
            "`per_invocation_results` has a length of {rows}, and `actual_invocations` one of {turns}: a result that is PASSED \
             or FAILED has a row for each turn, in order"
        )
    }
}

impl std::error::Error for RowCount {}

/// The row of an invocation.
///
/// It never holds the invocation itself: whoever calls the program has it, and ADK refuses one that was rebuilt with any
/// field that it does not know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PerInvocationResult {
    /// Score of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
    /// The metric's word on it.
    #[serde(default)]
    pub eval_status: EvalStatus,
    /// Scores by rubric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rubric_scores: Option<Vec<RubricScore>>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage_details: Option<TokenUsageDetails>,
    /// Durations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_details: Option<DurationDetails>,
}

impl PerInvocationResult {
    /// The row of a turn that was judged.
    #[must_use]
    pub fn new(score: impl IntoScore, eval_status: EvalStatus) -> Self {
        Self { score: Some(score.into_score()), eval_status, ..Self::default() }
    }

    /// The row of a turn that was not.
    #[must_use]
    pub fn not_evaluated() -> Self {
        Self::default()
    }

    /// Adds the score of a rubric.
    #[must_use]
    pub fn rubric_score(mut self, score: RubricScore) -> Self {
        self.rubric_scores.get_or_insert_default().push(score);
        self
    }
}

/// The score of a rubric, or an explanation without one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RubricScore {
    /// Name of the rubric.
    #[serde(alias = "rubricId")]
    pub rubric_id: String,
    /// Why. ADK prints and stores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// The score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
}

impl RubricScore {
    /// A score without a reason.
    pub fn new(rubric_id: impl Into<String>, score: impl IntoScore) -> Self {
        Self { rubric_id: rubric_id.into(), score: Some(score.into_score()), rationale: None }
    }

    /// An explanation without a score.
    pub fn explanation(rubric_id: impl Into<String>, rationale: impl Into<String>) -> Self {
        Self { rubric_id: rubric_id.into(), score: None, rationale: Some(rationale.into()) }
    }

    /// Adds a reason.
    #[must_use]
    pub fn rationale(mut self, rationale: impl Into<String>) -> Self {
        self.rationale = Some(rationale.into());
        self
    }
}

/// Tokens of a turn, or their mean over the turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TokenUsageDetails {
    /// In and out.
    #[serde(alias = "totalTokens", skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<f64>,
    /// In: read, and results of tools on the model's side.
    #[serde(alias = "inputTokens", skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<f64>,
    /// Read.
    #[serde(alias = "promptTokens", skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<f64>,
    /// Read from a cache.
    #[serde(alias = "cachedTokens", skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<f64>,
    /// Results of tools on the model's side.
    #[serde(alias = "toolUseTokens", skip_serializing_if = "Option::is_none")]
    pub tool_use_tokens: Option<f64>,
    /// Out: written and thought.
    #[serde(alias = "outputTokens", skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<f64>,
    /// Written.
    #[serde(alias = "candidatesTokens", skip_serializing_if = "Option::is_none")]
    pub candidates_tokens: Option<f64>,
    /// Thought.
    #[serde(alias = "reasoningTokens", skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<f64>,
}

/// Durations of a turn in seconds, or their mean over the turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct DurationDetails {
    /// The whole turn.
    #[serde(alias = "totalSeconds", skip_serializing_if = "Option::is_none")]
    pub total_seconds: Option<f64>,
    /// In the model.
    #[serde(alias = "modelSeconds", skip_serializing_if = "Option::is_none")]
    pub model_seconds: Option<f64>,
    /// In tools.
    #[serde(alias = "toolSeconds", skip_serializing_if = "Option::is_none")]
    pub tool_seconds: Option<f64>,
    /// In ADK itself.
    #[serde(alias = "frameworkSeconds", skip_serializing_if = "Option::is_none")]
    pub framework_seconds: Option<f64>,
}
