//! What a judge answers.

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct};
use serde_json::Value;

use super::message::or_default;
use crate::{IntoScore, JsonObject, Score};

/// What a code judge answers: a score, and what speaks for and against the answer.
///
/// Written as one object in which every version of AgentV finds its rows: `hits` and `misses` (up to 3.4), `assertions` (up to
/// 4.42) and `checks` (5) are made of one list.
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
    /// The score. It alone decides whether the case passes; AgentV's threshold is [`DEFAULT_THRESHOLD`] unless configured.
    pub score: Score,
    /// What was looked at, and what came of it.
    pub assertions: Vec<Assertion>,
    /// Why the score is what it is. Without it, version 5 shows the reason of the first failed assertion.
    pub reasoning: Option<String>,
    /// Whatever else explains the score.
    pub details: Option<JsonObject>,
}

/// The score from which on AgentV counts a case as passed, where nothing else is configured.
pub const DEFAULT_THRESHOLD: f64 = 0.8;

impl CodeJudgeResult {
    /// A result with this score and nothing else.
    #[must_use]
    pub fn new(score: impl IntoScore) -> Self {
        let score = score.into_score();
        Self { score, assertions: Vec::new(), reasoning: None, details: None }
    }

    /// The share of assertions that hold, with the assertions.
    ///
    /// # Panics
    ///
    /// If there are no assertions: what asserts nothing has not judged the answer, and must not pass it.
    #[must_use]
    #[track_caller]
    pub fn of(assertions: impl IntoIterator<Item = Assertion>) -> Self {
        let assertions: Vec<Assertion> = assertions.into_iter().collect();
        assert!(!assertions.is_empty(), "`CodeJudgeResult::of` without assertions judges nothing");
        let passed = assertions.iter().filter(|assertion| assertion.passed).count();
        let score = Score::ratio(passed, assertions.len());
        Self { assertions, ..Self::new(score) }
    }

    /// Adds something good.
    #[must_use]
    pub fn hit(self, text: impl Into<String>) -> Self {
        self.assertion(Assertion::new(text, true))
    }

    /// Adds something bad or missing.
    #[must_use]
    pub fn miss(self, text: impl Into<String>) -> Self {
        self.assertion(Assertion::new(text, false))
    }

    /// Adds several things that are good.
    #[must_use]
    pub fn with_hits<T: Into<String>>(self, texts: impl IntoIterator<Item = T>) -> Self {
        texts.into_iter().fold(self, Self::hit)
    }

    /// Adds several things that are bad or missing.
    #[must_use]
    pub fn with_misses<T: Into<String>>(self, texts: impl IntoIterator<Item = T>) -> Self {
        texts.into_iter().fold(self, Self::miss)
    }

    /// Adds something that was looked at.
    #[must_use]
    pub fn assertion(mut self, assertion: Assertion) -> Self {
        self.assertions.push(assertion);
        self
    }

    /// Sets why the score is what it is.
    #[must_use]
    pub fn reasoning(mut self, reasoning: impl Into<String>) -> Self {
        self.reasoning = Some(reasoning.into());
        self
    }

    /// Adds a detail. AgentV 2.5 writes the names in it in snake_case.
    #[must_use]
    pub fn detail(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// What was good.
    #[must_use]
    pub fn hits(&self) -> Vec<&str> {
        self.texts(true)
    }

    /// What was bad or missing.
    #[must_use]
    pub fn misses(&self) -> Vec<&str> {
        self.texts(false)
    }

    fn texts(&self, passed: bool) -> Vec<&str> {
        let wanted = self.assertions.iter().filter(|assertion| assertion.passed == passed);
        wanted.map(|assertion| assertion.text.as_str()).collect()
    }
}

impl Default for CodeJudgeResult {
    /// Scores 0: a result that nobody filled in must not pass.
    fn default() -> Self {
        Self::new(Score::ZERO)
    }
}

/// Something that was looked at, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Assertion {
    /// What was looked at.
    pub text: String,
    /// Whether it is as it should be.
    pub passed: bool,
    /// What shows it.
    pub evidence: Option<String>,
    /// Why it passed or did not. Only version 5 shows it, and shows nothing without it: the evidence, or else the text, stand
    /// in for it.
    pub reason: Option<String>,
}

impl Assertion {
    /// Something, and whether it is as it should be.
    pub fn new(text: impl Into<String>, passed: bool) -> Self {
        Self { text: text.into(), passed, evidence: None, reason: None }
    }

    /// Sets what shows it.
    #[must_use]
    pub fn evidence(mut self, evidence: impl Into<String>) -> Self {
        self.evidence = Some(evidence.into());
        self
    }

    /// Sets why it passed or did not.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// A row of 3.5 to 4.42.
#[derive(Serialize, Deserialize)]
struct AssertionRow {
    text: String,
    #[serde(default)]
    passed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
}

/// A row of version 5.
#[derive(Serialize, Deserialize)]
struct CheckRow {
    text: String,
    pass: bool,
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
}

impl Serialize for CodeJudgeResult {
    /// Writes the object in which every version finds its rows. `pass` says what AgentV's own threshold makes of the score,
    /// so that it never contradicts the verdict.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let assertions: Vec<AssertionRow> =
            self.assertions.iter().map(AssertionRow::from).collect();
        let checks: Vec<CheckRow> = self.assertions.iter().map(CheckRow::from).collect();
        let mut object = serializer.serialize_struct("CodeJudgeResult", 9)?;
        object.serialize_field("pass", &(self.score.get() >= DEFAULT_THRESHOLD))?;
        object.serialize_field("score", &self.score)?;
        if let Some(reasoning) = &self.reasoning {
            object.serialize_field("reason", reasoning)?;
            object.serialize_field("reasoning", reasoning)?;
        }
        object.serialize_field("hits", &self.hits())?;
        object.serialize_field("misses", &self.misses())?;
        object.serialize_field("assertions", &assertions)?;
        object.serialize_field("checks", &checks)?;
        if let Some(details) = &self.details {
            object.serialize_field("details", details)?;
        }
        object.end()
    }
}

impl From<&Assertion> for AssertionRow {
    fn from(assertion: &Assertion) -> Self {
        let Assertion { text, passed, evidence, .. } = assertion;
        Self { text: text.clone(), passed: *passed, evidence: evidence.clone() }
    }
}

impl From<&Assertion> for CheckRow {
    fn from(assertion: &Assertion) -> Self {
        let Assertion { text, passed, evidence, reason } = assertion;
        let reason = reason.as_ref().or(evidence.as_ref()).unwrap_or(text);
        Self {
            text: text.clone(),
            pass: *passed,
            reason: reason.clone(),
            evidence: evidence.clone(),
        }
    }
}

impl<'de> Deserialize<'de> for CodeJudgeResult {
    /// Reads what judges of any version write, as long as it has a score: the rows are `checks`, else `assertions`, else `hits`
    /// and `misses`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Union {
            score: Score,
            #[serde(default)]
            reason: Option<String>,
            #[serde(default)]
            reasoning: Option<String>,
            #[serde(default, deserialize_with = "or_default")]
            hits: Vec<String>,
            #[serde(default, deserialize_with = "or_default")]
            misses: Vec<String>,
            #[serde(default, deserialize_with = "or_default")]
            assertions: Vec<AssertionRow>,
            #[serde(default, deserialize_with = "or_default")]
            checks: Vec<CheckRow>,
            #[serde(default)]
            details: Option<JsonObject>,
        }
        let union = Union::deserialize(deserializer)?;
        let assertions: Vec<Assertion> = if !union.checks.is_empty() {
            union.checks.into_iter().map(Assertion::from).collect()
        } else if !union.assertions.is_empty() {
            let read = |row: AssertionRow| Assertion {
                evidence: row.evidence,
                ..Assertion::new(row.text, row.passed)
            };
            union.assertions.into_iter().map(read).collect()
        } else {
            let hits = union.hits.into_iter().map(|text| Assertion::new(text, true));
            hits.chain(union.misses.into_iter().map(|text| Assertion::new(text, false))).collect()
        };
        Ok(Self {
            score: union.score,
            assertions,
            reasoning: union.reasoning.or(union.reason),
            details: union.details,
        })
    }
}

impl From<CheckRow> for Assertion {
    fn from(row: CheckRow) -> Self {
        let CheckRow { text, pass, reason, evidence } = row;
        // What only stood in for a reason is none.
        let stands_in = evidence.as_ref().unwrap_or(&text) == &reason;
        Self { passed: pass, evidence, reason: (!stands_in).then_some(reason), text }
    }
}
