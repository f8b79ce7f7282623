//! The answer of a custom metric.

use std::fmt;

use serde_json::Value;

use super::metric::{EvalMetric, EvalStatus};
use crate::{
    EvalResult, IntoScore, IntoTurnScore, Score,
    object::{builder, object},
};

object! {
    /// The answer of a custom metric.
    ///
    /// The statuses [`Passed`](EvalStatus::Passed) and [`Failed`](EvalStatus::Failed) require one row for each actual
    /// invocation, in order: ADK aborts the whole run if the number differs. Such a result is an error of the evaluator and is not
    /// written.
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
    #[derive(Default)]
    pub struct EvaluationResult: sparse {
        /// Overall score.
        overall_score: Option<Score> = always,
        /// Status of the overall score.
        overall_eval_status: EvalStatus,
        /// A row for each actual invocation, in order.
        per_invocation_results: Vec<PerInvocationResult>,
        /// Scores by rubric. Their rationales are the only field for explanations.
        overall_rubric_scores: Option<Vec<RubricScore>>,
        /// Tokens.
        overall_token_usage_details: Option<TokenUsageDetails>,
        /// Durations.
        overall_duration_details: Option<DurationDetails>,
    }
}

impl EvaluationResult {
    /// Creates a result without rows.
    pub fn new(overall_score: impl IntoScore, overall_eval_status: EvalStatus) -> Self {
        Self {
            overall_score: Some(overall_score.into_score()),
            overall_eval_status,
            ..Self::default()
        }
    }

    /// Creates the result of a metric that does not judge this conversation: neither a pass nor a failure.
    pub fn not_evaluated() -> Self {
        Self::default()
    }

    /// Creates a result with the mean of the turns' scores and a row for each turn, all with the status by the metric's threshold.
    /// Turns without a score, and conversations without any score, are not evaluated.
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

    builder! {
        /// Sets the rows.
        fn rows(self, rows: impl IntoIterator<Item = PerInvocationResult>) {
            self.per_invocation_results = rows.into_iter().collect();
        }

        /// Adds the score of a rubric.
        fn rubric_score(self, score: RubricScore) { self.overall_rubric_scores.get_or_insert_default().push(score); }
    }

    /// Checks that ADK can use the rows for a conversation of `turns` turns.
    ///
    /// # Errors
    ///
    /// [`RowCount`]: the status is a verdict, and the number of rows differs.
    pub fn check_rows(&self, turns: usize) -> Result<(), RowCount> {
        let rows = self.per_invocation_results.len();
        if self.overall_eval_status.is_verdict() && rows != turns {
            return Err(RowCount { rows, turns });
        }
        Ok(())
    }
}

/// Error: the number of rows of a result is not the number of turns of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowCount {
    /// Number of rows.
    pub rows: usize,
    /// Required number of rows.
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

object! {
    /// The row of an actual invocation.
    ///
    /// It does not contain the invocation: the host has it, and ADK refuses an invocation that was rebuilt with any unknown
    /// field.
    #[derive(Default)]
    pub struct PerInvocationResult: sparse {
        /// Score of the turn.
        score: Option<Score>,
        /// Status of the score.
        eval_status: EvalStatus,
        /// Scores by rubric.
        rubric_scores: Option<Vec<RubricScore>>,
        /// Tokens.
        token_usage_details: Option<TokenUsageDetails>,
        /// Durations.
        duration_details: Option<DurationDetails>,
    }
}

impl PerInvocationResult {
    /// Creates the row of a turn that was judged.
    pub fn new(score: impl IntoScore, eval_status: EvalStatus) -> Self {
        Self { score: Some(score.into_score()), eval_status, ..Self::default() }
    }

    /// Creates the row of a turn that was not judged.
    pub fn not_evaluated() -> Self {
        Self::default()
    }

    builder! {
        /// Adds the score of a rubric.
        fn rubric_score(self, score: RubricScore) { self.rubric_scores.get_or_insert_default().push(score); }
    }
}

object! {
    /// The score of a rubric, or an explanation without one.
    #[derive(Default)]
    pub struct RubricScore: sparse {
        /// Id of the rubric.
        rubric_id | "rubricId": String = required,
        /// Explanation, which ADK prints and stores.
        rationale: Option<String>,
        /// The score.
        score: Option<Score>,
    }
}

impl RubricScore {
    /// Creates a score without a reason.
    pub fn new(rubric_id: impl Into<String>, score: impl IntoScore) -> Self {
        Self { rubric_id: rubric_id.into(), score: Some(score.into_score()), rationale: None }
    }

    /// Creates an explanation without a score.
    pub fn explanation(rubric_id: impl Into<String>, rationale: impl Into<String>) -> Self {
        Self { rubric_id: rubric_id.into(), score: None, rationale: Some(rationale.into()) }
    }

    builder! {
        /// Adds a reason.
        fn rationale(self, rationale: impl Into<String>) { self.rationale = Some(rationale.into()); }
    }
}

object! {
    /// Tokens of a turn, or their mean over the turns.
    #[derive(Default)]
    pub struct TokenUsageDetails: sparse {
        /// Input and output tokens.
        total_tokens | "totalTokens": Option<f64>,
        /// Input tokens, including results of tools on the side of the model.
        input_tokens | "inputTokens": Option<f64>,
        /// Input tokens.
        prompt_tokens | "promptTokens": Option<f64>,
        /// Input tokens from a cache.
        cached_tokens | "cachedTokens": Option<f64>,
        /// Tokens of tool results on the side of the model.
        tool_use_tokens | "toolUseTokens": Option<f64>,
        /// Output tokens, including thoughts.
        output_tokens | "outputTokens": Option<f64>,
        /// Output tokens.
        candidates_tokens | "candidatesTokens": Option<f64>,
        /// Tokens of thoughts.
        reasoning_tokens | "reasoningTokens": Option<f64>,
    }
}

object! {
    /// Durations of a turn in seconds, or their mean over the turns.
    #[derive(Default)]
    pub struct DurationDetails: sparse {
        /// The whole turn.
        total_seconds | "totalSeconds": Option<f64>,
        /// In the model.
        model_seconds | "modelSeconds": Option<f64>,
        /// In tools.
        tool_seconds | "toolSeconds": Option<f64>,
        /// In ADK itself.
        framework_seconds | "frameworkSeconds": Option<f64>,
    }
}

impl EvaluationResult {
    /// Converts a result of the default contract for a conversation of `turns` turns: see the
    /// [table](super#as-an-answer-of-adk).
    pub fn from_eval_result(result: EvalResult, turns: usize, threshold: Option<f64>) -> Self {
        let EvalResult { score, status, per_invocation_scores, details } = result;
        let overall = status.map_or_else(|| EvalStatus::of(score, threshold), EvalStatus::from);
        let is_evaluated = overall != EvalStatus::NotEvaluated;
        let looks_passed = |score: Option<Score>| {
            let reached = score.zip(threshold).is_some_and(|(score, least)| score.get() >= least);
            overall == EvalStatus::Failed && reached
        };
        let mean = Score::mean(per_invocation_scores.iter().copied().flatten());
        let fits = per_invocation_scores.len() == turns && !looks_passed(mean);
        let of_all = if looks_passed(Some(score)) { Score::ZERO } else { score };
        let row = |score: Option<Score>| match score {
            // Without a threshold the scores have no status, and the evaluator's overall status applies to its turns.
            Some(score) if threshold.is_none() => PerInvocationResult::new(score, overall),
            Some(score) => PerInvocationResult::new(score, EvalStatus::of(score, threshold)),
            None => PerInvocationResult::not_evaluated(),
        };
        let rows: Vec<PerInvocationResult> = match is_evaluated {
            false => vec![PerInvocationResult::not_evaluated(); turns],
            true if fits => per_invocation_scores.iter().copied().map(row).collect(),
            true => vec![PerInvocationResult::new(of_all, overall); turns],
        };
        let unplaced = (!fits || !is_evaluated) && !per_invocation_scores.is_empty();
        let unplaced = unplaced.then(|| {
            let scores = per_invocation_scores.iter().map(|score| score.map(Score::get).into());
            RubricScore::explanation("per_invocation_scores", text(Value::Array(scores.collect())))
        });
        let explanations = details
            .into_iter()
            .flatten()
            .map(|(key, value)| RubricScore::explanation(key, text(value)));
        let explanations: Vec<RubricScore> = explanations.chain(unplaced).collect();
        Self {
            overall_score: is_evaluated.then_some(score),
            overall_eval_status: overall,
            per_invocation_results: rows,
            overall_rubric_scores: (!explanations.is_empty()).then_some(explanations),
            ..Self::default()
        }
    }
}

fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
