//! The answer of a code judge.

use serde_core::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::{
    EvalResult, EvalStatus, IntoScore, JsonObject, MISS_KEYS, REASON_KEYS, Score, agentevals,
    object::{builder, object},
};

/// The answer of a code judge: a score, and what supports and contradicts the agent's answer.
///
/// It is written as one object with the keys that the versions of AgentV read: `hits` and `misses` (up to 3.4), `assertions`
/// (up to 4.42) and `checks` (5) are generated from one list.
///
/// ```
/// use evaluator_protocol::{Score, agentv::CodeJudgeResult};
///
/// let result = CodeJudgeResult::new(Score::ratio(1, 2))
///     .hit("names the city")
///     .miss("does not name the country")
///     .reasoning("half of it is there");
/// assert_eq!(result.hits(), ["names the city"]);
/// assert_eq!(result.misses(), ["does not name the country"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CodeJudgeResult {
    /// The score, which alone decides if the case passes. AgentV's threshold is [`DEFAULT_THRESHOLD`] unless configured.
    pub score: Score,
    /// The checks, and their outcomes.
    pub assertions: Vec<Assertion>,
    /// Explanation of the score. Without it, version 5 shows the reason of the first failed assertion.
    pub reasoning: Option<String>,
    /// Further details.
    pub details: Option<JsonObject>,
}

/// AgentV's threshold, unless another one is configured.
pub const DEFAULT_THRESHOLD: f64 = 0.8;

impl CodeJudgeResult {
    /// Creates a result with this score and nothing else.
    pub fn new(score: impl IntoScore) -> Self {
        let score = score.into_score();
        Self { score, assertions: Vec::new(), reasoning: None, details: None }
    }

    /// Creates a result with the share of assertions that hold, and the assertions.
    ///
    /// # Panics
    ///
    /// If there are no assertions, because such a result would pass an answer that was not judged.
    #[track_caller]
    pub fn of(assertions: impl IntoIterator<Item = Assertion>) -> Self {
        let assertions: Vec<Assertion> = assertions.into_iter().collect();
        assert!(!assertions.is_empty(), "`CodeJudgeResult::of` without assertions judges nothing");
        let passed = assertions.iter().filter(|assertion| assertion.passed).count();
        let score = Score::ratio(passed, assertions.len());
        Self { assertions, ..Self::new(score) }
    }

    /// Adds a positive finding.
    #[must_use]
    pub fn hit(self, text: impl Into<String>) -> Self {
        self.assertion(Assertion::new(text, true))
    }

    /// Adds a negative finding.
    #[must_use]
    pub fn miss(self, text: impl Into<String>) -> Self {
        self.assertion(Assertion::new(text, false))
    }

    /// Adds positive findings.
    #[must_use]
    pub fn with_hits<T: Into<String>>(self, texts: impl IntoIterator<Item = T>) -> Self {
        texts.into_iter().fold(self, Self::hit)
    }

    /// Adds negative findings.
    #[must_use]
    pub fn with_misses<T: Into<String>>(self, texts: impl IntoIterator<Item = T>) -> Self {
        texts.into_iter().fold(self, Self::miss)
    }

    builder! {
        /// Adds an assertion.
        fn assertion(self, assertion: Assertion) { self.assertions.push(assertion); }

        /// Sets the explanation of the score.
        fn reasoning(self, reasoning: impl Into<String>) { self.reasoning = Some(reasoning.into()); }

        /// Adds a detail. AgentV 2.5 writes the names in it in snake_case.
        fn detail(self, key: impl Into<String>, value: impl Into<Value>) {
            self.details.get_or_insert_default().insert(key.into(), value.into());
        }
    }

    /// Returns the positive findings.
    pub fn hits(&self) -> Vec<&str> {
        self.texts(true)
    }

    /// Returns the negative findings.
    pub fn misses(&self) -> Vec<&str> {
        self.texts(false)
    }

    fn texts(&self, passed: bool) -> Vec<&str> {
        let wanted = self.assertions.iter().filter(|assertion| assertion.passed == passed);
        wanted.map(|assertion| assertion.text.as_str()).collect()
    }
}

impl Default for CodeJudgeResult {
    /// Scores 0: a result that was never filled in must not pass.
    fn default() -> Self {
        Self::new(Score::ZERO)
    }
}

/// A check, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Assertion {
    /// Description of the check.
    pub text: String,
    /// Whether it passed.
    pub passed: bool,
    /// Evidence for the outcome.
    pub evidence: Option<String>,
    /// Reason for the outcome. Only version 5 shows it. The evidence, or else the text, is written in place of a missing reason.
    pub reason: Option<String>,
}

impl Assertion {
    /// Creates an assertion without evidence and reason.
    pub fn new(text: impl Into<String>, passed: bool) -> Self {
        Self { text: text.into(), passed, evidence: None, reason: None }
    }

    builder! {
        /// Sets the evidence.
        fn evidence(self, evidence: impl Into<String>) { self.evidence = Some(evidence.into()); }

        /// Sets the reason.
        fn reason(self, reason: impl Into<String>) { self.reason = Some(reason.into()); }
    }
}

object! {
    /// A row of versions 3.5 to 4.42.
    struct AssertionRow: sparse {
        text: String = required,
        passed: bool,
        evidence: Option<String>,
    }
}

object! {
    /// A row of version 5.
    struct CheckRow: sparse {
        text: String = required,
        pass: bool = required,
        reason: String = required,
        evidence: Option<String>,
    }
}

object! {
    /// The answers of all versions in one object, in which each version finds the keys it reads.
    struct AllVersions: sparse {
        pass: Option<bool>,
        score: Score = required(Score::ZERO),
        reason: Option<String>,
        reasoning: Option<String>,
        hits: Vec<String> = nullable,
        misses: Vec<String> = nullable,
        assertions: Vec<AssertionRow> = nullable,
        checks: Vec<CheckRow> = nullable,
        details: Option<JsonObject>,
    }
}

impl Serialize for CodeJudgeResult {
    /// `pass` is the score compared with AgentV's own threshold, so that it never contradicts the verdict.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect();
        let rows = self.assertions.iter().cloned();
        AllVersions {
            pass: Some(self.score.get() >= DEFAULT_THRESHOLD),
            score: self.score,
            reason: self.reasoning.clone(),
            reasoning: self.reasoning.clone(),
            hits: owned(self.hits()),
            misses: owned(self.misses()),
            assertions: rows.clone().map(AssertionRow::from).collect(),
            checks: rows.map(CheckRow::from).collect(),
            details: self.details.clone(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CodeJudgeResult {
    /// Reads the answers of all versions, as long as they have a score: the rows are `checks`, else `assertions`, else `hits`
    /// and `misses`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = AllVersions::deserialize(deserializer)?;
        let assertions: Vec<Assertion> = if !all.checks.is_empty() {
            all.checks.into_iter().map(Assertion::from).collect()
        } else if !all.assertions.is_empty() {
            all.assertions.into_iter().map(Assertion::from).collect()
        } else {
            let hits = all.hits.into_iter().map(|text| Assertion::new(text, true));
            hits.chain(all.misses.into_iter().map(|text| Assertion::new(text, false))).collect()
        };
        Ok(Self {
            score: all.score,
            assertions,
            reasoning: all.reasoning.or(all.reason),
            details: all.details,
        })
    }
}

impl From<Assertion> for AssertionRow {
    fn from(Assertion { text, passed, evidence, .. }: Assertion) -> Self {
        Self { text, passed, evidence }
    }
}

impl From<AssertionRow> for Assertion {
    fn from(AssertionRow { text, passed, evidence }: AssertionRow) -> Self {
        Self { text, passed, evidence, reason: None }
    }
}

impl From<Assertion> for CheckRow {
    fn from(Assertion { text, passed, evidence, reason }: Assertion) -> Self {
        let reason = reason.or_else(|| evidence.clone()).unwrap_or_else(|| text.clone());
        Self { text, pass: passed, reason, evidence }
    }
}

impl From<CheckRow> for Assertion {
    fn from(CheckRow { text, pass, reason, evidence }: CheckRow) -> Self {
        let is_default = evidence.as_ref().unwrap_or(&text) == &reason;
        Self { passed: pass, evidence, reason: (!is_default).then_some(reason), text }
    }
}

/// Details that list positive findings.
const HITS: [&str; 3] = ["hits", "matches", "passed"];

impl CodeJudgeResult {
    /// Converts a result of the default contract: see the [table](super#as-an-answer-of-agentv).
    ///
    /// Results that are not evaluated are not supported: see [`Reply::answer`](crate::Reply::answer).
    pub fn from_eval_result(result: EvalResult) -> Self {
        let EvalResult { score, status, per_invocation_scores, details } = result;
        let mut details = details.unwrap_or_default();
        let mut answer = Self::new(score);
        answer.reasoning =
            REASON_KEYS.iter().find_map(|key| details.get(*key)?.as_str()).map(str::to_owned);
        for (keys, passed) in [(&HITS[..], true), (&MISS_KEYS[..], false)] {
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
            add(&mut details, "status", status.as_str().into());
        }
        if status == Some(EvalStatus::Failed) && score.get() >= agentevals::DEFAULT_THRESHOLD {
            add(&mut details, "score", score.get().into());
            answer.score = Score::ZERO;
        }
        answer.details = (!details.is_empty()).then_some(details);
        answer
    }
}

/// Adds a detail, unless the evaluator has set one of that name.
fn add(details: &mut JsonObject, key: &str, value: Value) {
    details.entry(key).or_insert(value);
}

/// Returns the texts of a detail: itself, or its items. Numbers and booleans are counts and flags, not findings.
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
