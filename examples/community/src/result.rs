//! The form of results that all these evaluators have.

use evaluator_sdk::{EvalResult, InvocationData, Score};

/// The mean of the turns' scores, with an explanation for every turn that lost points under `key`, if there are any.
///
/// Unlike [`EvalResult::mean_of`], a conversation without turns scores 0: the originals of these evaluators do so.
#[must_use]
pub fn scored(scores: Vec<Score>, key: &str, issues: Vec<String>) -> EvalResult {
    let mean = Score::mean(scores.iter().copied()).unwrap_or(Score::ZERO);
    let result = EvalResult::new(mean).per_invocation_scores(scores);
    if issues.is_empty() { result } else { result.detail(key, issues) }
}

/// Scores 1 for every turn without an issue and 0 for the others, whose issues are explained under `key`.
#[must_use]
pub fn without_issues(
    turns: &[InvocationData],
    key: &str,
    issues: Vec<Option<String>>,
) -> EvalResult {
    let scores = issues.iter().map(|issue| Score::from(issue.is_none())).collect();
    let explained = turns.iter().zip(issues).filter_map(|(turn, issue)| {
        let id = &turn.invocation_id;
        issue.map(|issue| format!("{id}: {issue}"))
    });
    scored(scores, key, explained.collect())
}

/// Nothing was judged, in none of the turns.
#[must_use]
pub fn not_evaluated(turns: &[InvocationData], reason: &str) -> EvalResult {
    EvalResult::not_evaluated(reason).per_invocation_scores(vec![None::<Score>; turns.len()])
}

/// The agent's answer; no answer is an empty one.
#[must_use]
pub fn answer(turn: &InvocationData) -> &str {
    turn.final_response.as_deref().unwrap_or_default()
}
