//! Results of evaluators of the default contract, in the terms of AgentV.

use serde_json::Value;

use super::{Assertion, CodeJudgeResult};
use crate::{EvalResult, EvalStatus, JsonObject, Score, agentevals::half};

/// Details that list what is wrong.
const MISSES: [&str; 8] =
    ["misses", "issues", "problems", "errors", "failures", "missing", "mismatches", "differences"];
/// Details that list what is right.
const HITS: [&str; 3] = ["hits", "matches", "passed"];
/// Details that say why.
const REASONS: [&str; 5] = ["reasoning", "reason", "rationale", "explanation", "message"];

impl CodeJudgeResult {
    /// What AgentV is told of a result: see the [table](super#as-an-answer-of-agentv).
    ///
    /// A result that is not evaluated has no place here: see [`Reply::answer`](crate::Reply::answer).
    #[must_use]
    pub fn from_eval_result(result: EvalResult) -> Self {
        let EvalResult { score, status, per_invocation_scores, details } = result;
        let mut details = details.unwrap_or_default();
        let mut answer = Self::new(score);
        answer.reasoning =
            REASONS.iter().find_map(|key| details.get(*key)?.as_str()).map(str::to_owned);
        for (keys, passed) in [(&HITS[..], true), (&MISSES[..], false)] {
            let texts = keys.iter().flat_map(|key| texts(details.get(*key)));
            answer.assertions.extend(texts.map(|text| Assertion::new(text, passed)));
        }
        answer.assertions.extend(assertions(details.get("assertions")));
        if per_invocation_scores.len() > 1 {
            for (number, score) in (1..).zip(&per_invocation_scores) {
                if let Some(score) = score {
                    let text = format!("turn {number} scores {score}");
                    answer.assertions.push(Assertion::new(text, *score == Score::ONE));
                }
            }
        }
        if !per_invocation_scores.is_empty() {
            let scores = per_invocation_scores
                .iter()
                .map(|score| score.map_or(Value::Null, |score| score.get().into()));
            add(&mut details, "per_invocation_scores", scores.collect());
        }
        if let Some(status) = status {
            add(&mut details, "status", word(status).into());
        }
        if status == Some(EvalStatus::Failed) && score.get() >= half() {
            add(&mut details, "score", score.get().into());
            answer.score = Score::ZERO;
        }
        answer.details = (!details.is_empty()).then_some(details);
        answer
    }
}

/// Adds a detail, unless the evaluator has one of that name.
fn add(details: &mut JsonObject, key: &str, value: Value) {
    details.entry(key).or_insert(value);
}

fn word(status: EvalStatus) -> &'static str {
    match status {
        EvalStatus::Passed => "PASSED",
        EvalStatus::Failed => "FAILED",
        EvalStatus::NotEvaluated => "NOT_EVALUATED",
    }
}

/// The texts of a detail: itself, or its items. Numbers and booleans are counts and flags, no rows.
fn texts(detail: Option<&Value>) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    };
    let texts: Vec<String> = match detail {
        Some(Value::Array(items)) => items.iter().filter_map(text).collect(),
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Object(object)) => object
            .iter()
            .filter_map(|(key, value)| Some(format!("{key}: {}", text(value)?)))
            .collect(),
        _ => Vec::new(),
    };
    texts.into_iter().filter(|text| !text.trim().is_empty()).collect()
}

fn assertions(detail: Option<&Value>) -> impl Iterator<Item = Assertion> {
    let rows = detail.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    rows.iter().filter_map(|row| {
        let text = |key: &str| row.get(key)?.as_str().map(str::to_owned);
        Some(Assertion {
            evidence: text("evidence"),
            reason: text("reason"),
            ..Assertion::new(text("text")?, row.get("passed")?.as_bool()?)
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn details_become_rows_and_stay_details() {
        let result = EvalResult::mean_of([Score::ONE, Score::ratio(1, 2)])
            .detail("issues", json!(["turn 2: too short", {"code": 7}, null, " "]))
            .detail("hits", "polite")
            .detail("missing", json!({"city": ["Paris"]}))
            .detail("errors", 3)
            .detail(
                "assertions",
                json!([{"text": "a", "passed": true, "evidence": "e"}, {"text": "no verdict"}, 5]),
            )
            .detail("reason", "because");
        let answer = CodeJudgeResult::from_eval_result(result);
        assert_eq!(answer.hits(), ["polite", "a", "turn 1 scores 1"]);
        assert_eq!(
            answer.misses(),
            ["turn 2: too short", "{\"code\":7}", "city: [\"Paris\"]", "turn 2 scores 0.5"]
        );
        assert_eq!(answer.reasoning.as_deref(), Some("because"));
        let details = answer.details.unwrap();
        assert_eq!(details["per_invocation_scores"], json!([1.0, 0.5]));
        assert_eq!(details["issues"][0], "turn 2: too short");
        assert_eq!(answer.score, Score::ratio(3, 4));
    }

    #[test]
    fn a_failure_is_never_recorded_as_a_pass() {
        let failed = |score| {
            let result = EvalResult::new(Score::new(score).unwrap()).status(EvalStatus::Failed);
            CodeJudgeResult::from_eval_result(result)
        };
        let answer = failed(0.9);
        assert_eq!(answer.score, Score::ZERO);
        assert_eq!(json!(answer.details), json!({"status": "FAILED", "score": 0.9}));
        assert_eq!(failed(0.3).score, Score::new(0.3).unwrap());
    }

    #[test]
    fn nothing_is_added_to_a_plain_score() {
        let answer = CodeJudgeResult::from_eval_result(EvalResult::new(Score::ONE));
        assert_eq!(answer, CodeJudgeResult::new(Score::ONE));
        let one_turn = CodeJudgeResult::from_eval_result(EvalResult::mean_of([Score::ONE]));
        assert_eq!(
            (one_turn.assertions.len(), json!(one_turn.details)),
            (0, json!({"per_invocation_scores": [1.0]}))
        );
    }
}
