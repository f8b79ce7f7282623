//! Replies of judges, read strictly.

use evaluator_json::{Object, Value};

use super::{Item, Scheme, model::HIGHEST};
use crate::judge::{
    Code,
    reply::object::{Verdict, verdict},
};

/// Number of hits, and of misses, that are kept.
const HITS: usize = 4;

/// Number of assertions that are kept.
const ASSERTIONS: usize = 8;

/// Verdict of a judge.
#[derive(Clone, Debug)]
pub enum Grade {
    /// A number.
    Number {
        /// The number, within the range of the scheme.
        number: f64,
        /// Observations of the judge.
        assertions: Vec<Assertion>,
        /// Strengths of the answer.
        hits: Vec<String>,
        /// Weaknesses of the answer.
        misses: Vec<String>,
        /// Reason.
        reasoning: String,
        /// Further data.
        details: Option<Value>,
    },
    /// A check of each item, in the order of the items.
    Checks {
        /// The checks.
        checks: Vec<Check>,
        /// Reason of the whole; empty if there is none.
        reasoning: String,
    },
    /// A choice.
    Choice {
        /// Index of the choice.
        index: usize,
        /// Reason.
        reasoning: String,
    },
}

/// Observation of a judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// The observation.
    pub text: String,
    /// Whether it speaks for the answer.
    pub passed: bool,
    /// Evidence.
    pub evidence: Option<String>,
}

/// Verdict about an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Id of the item.
    pub id: String,
    /// Share of the item that is fulfilled, from 0 to 1.
    pub value: f64,
    /// Whether the item counts as fulfilled: satisfied, or a score of at least 7.
    pub passed: bool,
    /// Reason; empty if there is none.
    pub reasoning: String,
}

/// Reason why a reply cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

/// Value that was read, or the reason why it cannot be read.
pub(super) type Read<T> = Result<T, String>;

impl Grade {
    /// Returns the reason of the verdict as a whole.
    pub fn reasoning(&self) -> &str {
        match self {
            Self::Number { reasoning, .. }
            | Self::Checks { reasoning, .. }
            | Self::Choice { reasoning, .. } => reasoning,
        }
    }
}

impl Scheme {
    /// Reads a reply. If it has the code that the prompt asks for, the object with this code is read, whatever is around it;
    /// else the reply must be one JSON object and nothing else, which may be fenced.
    ///
    /// # Errors
    ///
    /// There is no object of the form that [`reply_format`](Self::reply_format) asks for, or more than one.
    pub fn read(&self, reply: &str, code: Option<&Code>) -> Result<Grade, Unreadable> {
        self.grade(reply, code).map_err(Unreadable)
    }

    fn grade(&self, reply: &str, code: Option<&Code>) -> Read<Grade> {
        let verdict = verdict(reply, code)?;
        match self {
            Self::Number(least, greatest) => number(&verdict, *least, *greatest),
            Self::Rubrics(items) => checks(&verdict, items, self.has_ranges()),
            Self::Choices(choices) => {
                let name = required(&verdict.members, &verdict.key("choice"))?.trim();
                let index = choices.iter().position(|choice| choice.name == name);
                let index = index.ok_or_else(|| format!("{name:?} is not a choice"))?;
                Ok(Grade::Choice { index, reasoning: text(&verdict.members, "reasoning")? })
            }
        }
    }
}

fn number(verdict: &Verdict<'_>, least: f64, greatest: f64) -> Read<Grade> {
    let (members, key) = (&verdict.members, verdict.key("score"));
    let value = members.get(&key).ok_or_else(|| format!("the reply has no `{key}`"))?;
    let number = finite(value).ok_or_else(|| format!("`{key}` is {}", value.kind()))?;
    if !(least..=greatest).contains(&number) {
        return Err(format!("`{key}` is {number}, which is not within {least} and {greatest}"));
    }
    Ok(Grade::Number {
        number,
        assertions: list(members, "assertions", ASSERTIONS, assertion)?,
        hits: texts(members, "hits")?,
        misses: texts(members, "misses")?,
        reasoning: text(members, "reasoning")?,
        details: members.get("details").filter(|value| !value.is_null()).cloned(),
    })
}

/// Returns a number that is not infinite. The negative zero of floating-point numbers is 0.
fn finite(value: &Value) -> Option<f64> {
    match value {
        Value::Int(int) => Some(*int as f64),
        Value::Float(float) => Some(*float + 0.0).filter(|float| float.is_finite()),
        _ => None,
    }
}

fn assertion(value: &Value) -> Read<Option<Assertion>> {
    let members = value.as_object().ok_or("an item of `assertions` is not an object")?;
    let passed = members.get("passed").and_then(Value::as_bool);
    let evidence = text(members, "evidence")?;
    Ok(Some(Assertion {
        text: required(members, "text")?.to_owned(),
        passed: passed.ok_or("an assertion has no truth value `passed`")?,
        evidence: (!evidence.is_empty()).then_some(evidence),
    }))
}

/// Returns the texts of a list that are not blank.
fn texts(members: &Object, key: &str) -> Read<Vec<String>> {
    list(members, key, HITS, |value| {
        let text = value.as_str().ok_or_else(|| format!("`{key}` is not a list of texts"))?;
        Ok(Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned))
    })
}

/// Returns the first items of a list, none if the list is missing. All items are checked.
fn list<T>(
    members: &Object,
    key: &str,
    limit: usize,
    read: impl Fn(&Value) -> Read<Option<T>>,
) -> Read<Vec<T>> {
    let Some(value) = members.get(key).filter(|value| !value.is_null()) else {
        return Ok(Vec::new());
    };
    let items = value.as_array().ok_or_else(|| format!("`{key}` is {}", value.kind()))?;
    let items: Vec<Option<T>> = items.iter().map(read).collect::<Read<_>>()?;
    Ok(items.into_iter().flatten().take(limit).collect())
}

/// Returns an optional text, empty if it is missing.
fn text(members: &Object, key: &str) -> Read<String> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(format!("`{key}` is {}", other.kind())),
    }
}

fn required<'m>(members: &'m Object, key: &str) -> Read<&'m str> {
    let value = members.get(key).ok_or_else(|| format!("the reply has no `{key}`"))?;
    value.as_str().ok_or_else(|| format!("`{key}` is {}", value.kind()))
}

fn checks(verdict: &Verdict<'_>, items: &[Item], has_ranges: bool) -> Read<Grade> {
    let members = &verdict.members;
    verdict.has_only(members, &["checks", "overall_reasoning"])?;
    let value = members.get("checks").ok_or("the reply has no `checks`")?;
    let written = value.as_array().ok_or_else(|| format!("`checks` is {}", value.kind()))?;
    let mut found: Vec<Check> = Vec::new();
    for value in written {
        let check = value.as_object().ok_or("an item of `checks` is not an object")?;
        let check = read_check(check, verdict, has_ranges)?;
        let id = &check.id;
        if !items.iter().any(|item| item.id == *id) {
            return Err(format!("a check has the id {id:?}, which no rubric has"));
        }
        if found.iter().any(|other| other.id == *id) {
            return Err(format!("two checks have the id `{id}`"));
        }
        found.push(check);
    }
    let missing = |item: &&Item| !found.iter().any(|check| check.id == item.id);
    if let Some(Item { id, .. }) = items.iter().find(missing) {
        return Err(format!("no check has the id `{id}`"));
    }
    found.sort_by_key(|check| items.iter().position(|item| item.id == check.id));
    let reasoning = if has_ranges {
        text(members, "overall_reasoning")?
    } else {
        required(members, "overall_reasoning")?.to_owned()
    };
    Ok(Grade::Checks { checks: found, reasoning })
}

fn read_check(check: &Object, verdict: &Verdict<'_>, has_ranges: bool) -> Read<Check> {
    let stated = if has_ranges { "score" } else { "satisfied" };
    verdict.has_only(check, &["id", "reasoning", stated])?;
    let id = required(check, "id")?.to_owned();
    if !has_ranges {
        let key = verdict.key("satisfied");
        let satisfied = check.get(&key).and_then(Value::as_bool);
        let passed = satisfied.ok_or_else(|| format!("`{id}` has no truth value `{key}`"))?;
        let reasoning = required(check, "reasoning")?.to_owned();
        return Ok(Check { id, value: f64::from(u8::from(passed)), passed, reasoning });
    }
    let key = verdict.key("score");
    let score = check.get(&key).and_then(finite);
    let score = score.ok_or_else(|| format!("`{id}` has no number `{key}`"))?;
    if score.fract() != 0.0 || !(0.0..=f64::from(HIGHEST)).contains(&score) {
        return Err(format!(
            "`{id}` has the score {score}, not a whole number from 0 to {HIGHEST}"
        ));
    }
    let value = score / f64::from(HIGHEST);
    Ok(Check { id, value, passed: value >= Check::GOOD, reasoning: text(check, "reasoning")? })
}

impl Check {
    /// Least value of a fulfilled item with score ranges.
    pub(super) const GOOD: f64 = 0.7;
}
