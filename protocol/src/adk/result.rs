//! The answer of a custom metric.

use std::fmt;

use serde_core::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use super::EvalMetric;
use crate::{
    EvalResult, IntoScore, IntoTurnScore, Score,
    object::{Field, builder, object},
};

object! {
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
    #[derive(Default)]
    pub struct EvaluationResult: sparse {
        /// Overall score.
        overall_score: Option<Score> = always,
        /// The metric's word on it.
        overall_eval_status: EvalStatus,
        /// A row for each actual invocation, in order.
        per_invocation_results: Vec<PerInvocationResult>,
        /// Scores by rubric. Their rationales are the only place for explanations.
        overall_rubric_scores: Option<Vec<RubricScore>>,
        /// Tokens.
        overall_token_usage_details: Option<TokenUsageDetails>,
        /// Durations.
        overall_duration_details: Option<DurationDetails>,
    }
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

    builder! {
        /// Sets the rows.
        fn rows(self, rows: impl IntoIterator<Item = PerInvocationResult>) {
            self.per_invocation_results = rows.into_iter().collect();
        }

        /// Adds the score of a rubric.
        fn rubric_score(self, score: RubricScore) { self.overall_rubric_scores.get_or_insert_default().push(score); }
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

object! {
    /// The row of an invocation.
    ///
    /// It never holds the invocation itself: whoever calls the program has it, and ADK refuses one that was rebuilt with any
    /// field that it does not know.
    #[derive(Default)]
    pub struct PerInvocationResult: sparse {
        /// Score of the turn.
        score: Option<Score>,
        /// The metric's word on it.
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

    builder! {
        /// Adds the score of a rubric.
        fn rubric_score(self, score: RubricScore) { self.rubric_scores.get_or_insert_default().push(score); }
    }
}

object! {
    /// The score of a rubric, or an explanation without one.
    #[derive(Default)]
    pub struct RubricScore: sparse {
        /// Name of the rubric.
        rubric_id | "rubricId": String = required,
        /// Why. ADK prints and stores it.
        rationale: Option<String>,
        /// The score.
        score: Option<Score>,
    }
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

    builder! {
        /// Adds a reason.
        fn rationale(self, rationale: impl Into<String>) { self.rationale = Some(rationale.into()); }
    }
}

object! {
    /// Tokens of a turn, or their mean over the turns.
    #[derive(Default)]
    pub struct TokenUsageDetails: sparse {
        /// In and out.
        total_tokens | "totalTokens": Option<f64>,
        /// In: read, and results of tools on the model's side.
        input_tokens | "inputTokens": Option<f64>,
        /// Read.
        prompt_tokens | "promptTokens": Option<f64>,
        /// Read from a cache.
        cached_tokens | "cachedTokens": Option<f64>,
        /// Results of tools on the model's side.
        tool_use_tokens | "toolUseTokens": Option<f64>,
        /// Out: written and thought.
        output_tokens | "outputTokens": Option<f64>,
        /// Written.
        candidates_tokens | "candidatesTokens": Option<f64>,
        /// Thought.
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

/// What a metric says of a score. In ADK this word decides, and not the score: it is never compared with a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EvalStatus {
    /// 1: the agent did well enough.
    Passed,
    /// 2: it did not.
    Failed,
    /// 3: nothing was judged. It neither passes nor fails a case.
    #[default]
    NotEvaluated,
    /// 4: a score that nothing depends on.
    Informational,
}

impl EvalStatus {
    const ALL: [Self; 4] = [Self::Passed, Self::Failed, Self::NotEvaluated, Self::Informational];

    /// Whether a score reaches a threshold; without one it is for information.
    #[must_use]
    pub fn of(score: Score, threshold: Option<f64>) -> Self {
        match threshold {
            Some(threshold) if score.get() >= threshold => Self::Passed,
            Some(_) => Self::Failed,
            None => Self::Informational,
        }
    }

    /// The number that stands for it in documents.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Passed => 1,
            Self::Failed => 2,
            Self::NotEvaluated => 3,
            Self::Informational => 4,
        }
    }

    /// Whether it is a verdict, for which ADK insists on a row for each turn.
    #[must_use]
    pub fn is_verdict(self) -> bool {
        matches!(self, Self::Passed | Self::Failed)
    }
}

impl Field for EvalStatus {}

impl From<crate::EvalStatus> for EvalStatus {
    fn from(status: crate::EvalStatus) -> Self {
        match status {
            crate::EvalStatus::Passed => Self::Passed,
            crate::EvalStatus::Failed => Self::Failed,
            crate::EvalStatus::NotEvaluated => Self::NotEvaluated,
        }
    }
}

impl fmt::Display for EvalStatus {
    /// By the name it has in Python.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::NotEvaluated => "NOT_EVALUATED",
            Self::Informational => "INFORMATIONAL",
        })
    }
}

impl Serialize for EvalStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

impl<'de> Deserialize<'de> for EvalStatus {
    /// Reads what ADK reads: the number, also as `1.0` and `true`; no names and no text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = EvalStatus;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("1 (PASSED), 2 (FAILED), 3 (NOT_EVALUATED) or 4 (INFORMATIONAL)")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<EvalStatus, E> {
                let mut all = EvalStatus::ALL.into_iter();
                all.find(|status| f64::from(status.number()) == value)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Float(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<EvalStatus, E> {
                let mut all = EvalStatus::ALL.into_iter();
                all.find(|status| u64::from(status.number()) == value)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<EvalStatus, E> {
                match value {
                    true => Ok(EvalStatus::Passed),
                    false => Err(E::invalid_value(de::Unexpected::Bool(value), &self)),
                }
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

impl EvaluationResult {
    /// What ADK is told of a result of the default contract, for a conversation of that many turns: see the
    /// [table](super#as-an-answer-of-adk).
    #[must_use]
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
            // Without a threshold a score says nothing, and the evaluator's word holds for its turns, too.
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
