//! Results of the default contract in the terms of ADK.

use serde_json::Value;

use super::{EvalStatus, EvaluationResult, PerInvocationResult, RubricScore};
use crate::{EvalResult, Score};

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
