//! What runs of all other tools are made of.

use std::{collections::BTreeMap, sync::Arc};

use evaluator_json::{Object, Value};

use crate::{
    ALL_EVALUATORS, ConversationReport, EvaluationReport, Report, Status,
    digest::{Digest, Digester},
    run_file::{EvaluatorEntry, FingerprintParts, Golden, Header},
};

/// Score from which on an evaluation passes if the tool does not say.
pub(super) const THRESHOLD: f64 = 0.5;

/// Maximum number of characters of a case that has no name.
const CASE: usize = 80;

/// A run of another tool.
#[derive(Default)]
pub(super) struct ForeignRun {
    pub(super) header: Header,
    pub(super) report: Report,
    pub(super) conversations: Vec<ConversationReport>,
}

/// Evaluators of a run by name, in the order in which they were met.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) names: Vec<String>,
    settings: BTreeMap<String, BTreeMap<String, Digest>>,
}

impl Entries {
    /// Adds an evaluator, unless it is there.
    pub(super) fn meet(&mut self, name: &str) {
        if !self.settings.contains_key(name) {
            self.names.push(name.to_owned());
            self.settings.insert(name.to_owned(), BTreeMap::new());
        }
    }

    /// Sets a part of what an evaluator consists of.
    pub(super) fn set(&mut self, name: &str, key: &str, value: &Value) {
        self.meet(name);
        let settings = self.settings.entry(name.to_owned()).or_default();
        settings.insert(key.to_owned(), digest(value));
    }

    pub(super) fn finish(mut self, kind: &str) -> Vec<EvaluatorEntry> {
        let entry = |name: String| {
            let settings = self.settings.remove(&name).unwrap_or_default();
            let parts = FingerprintParts { settings, ..FingerprintParts::default() };
            EvaluatorEntry {
                name,
                kind: kind.to_owned(),
                threshold: THRESHOLD,
                fingerprint: Some(parts.fingerprint()),
                parts,
                ..EvaluatorEntry::default()
            }
        };
        self.names.into_iter().map(entry).collect()
    }
}

/// Returns the digest of a value. The order of members does not count.
pub(super) fn digest(value: &Value) -> Digest {
    Digester::new("value of another tool").json("value", &serde_json::Value::from(value)).finish()
}

/// Returns the golden cases of a run: what is asked and expected, by the case.
pub(super) fn golden(id: &str, cases: impl IntoIterator<Item = (String, Value)>) -> Golden {
    let cases = cases.into_iter().map(|(case, value)| (case, digest(&value))).collect();
    Golden { id: id.to_owned(), cases, digest: None }
}

/// The report of a conversation of a case.
pub(super) fn conversation(id: &str, case: &str, prompt: Option<&str>) -> ConversationReport {
    ConversationReport {
        eval_case_id: Some(case.into()),
        prompt: prompt.map(ConversationReport::prompt_of),
        turns: 1,
        ..ConversationReport::new(Arc::from(id))
    }
}

/// An evaluation with a score.
pub(super) fn scored(name: &str, score: f64, threshold: f64, passed: bool) -> EvaluationReport {
    EvaluationReport {
        score: Some(score),
        threshold: Some(threshold),
        status: if passed { Status::Passed } else { Status::Failed },
        ..EvaluationReport::new(name)
    }
}

/// An evaluation that broke, with the text of the tool.
pub(super) fn broken(name: &str, error: &str) -> EvaluationReport {
    EvaluationReport {
        threshold: (name != ALL_EVALUATORS).then_some(THRESHOLD),
        error: Some(error.to_owned()),
        error_type: Some("reported"),
        ..EvaluationReport::new(name)
    }
}

/// Details with the reason of a result.
pub(super) fn details(
    members: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> Option<Object> {
    let members = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let details: Object = members.collect();
    (!details.is_empty()).then_some(details)
}

/// Details with a reason alone.
pub(super) fn reason(text: Option<&str>) -> Option<Object> {
    details([("reason", text.map(Value::from))])
}

/// Returns the threshold at the end of this path.
pub(super) fn threshold_at(value: &Value, path: &[&str]) -> f64 {
    let threshold = at(value, path).and_then(number);
    threshold.filter(|it| (0.0..=1.0).contains(it)).unwrap_or(THRESHOLD)
}

/// Returns a score from 0 to 1.
///
/// # Errors
///
/// It is another number.
pub(super) fn unit(name: &str, case: &str, score: f64) -> Result<f64, String> {
    if (0.0..=1.0).contains(&score) {
        return Ok(score);
    }
    Err(format!(
        "`{name}` scores {score} in case `{case}`; only scores from 0 to 1 are compared, and none is rescaled or cut off"
    ))
}

pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(int) => Some(*int as f64),
        Value::Float(float) => Some(*float),
        _ => None,
    }
}

/// Returns the member of an object at the end of this path.
pub(super) fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

pub(super) fn text_at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v str> {
    at(value, path).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

pub(super) fn items_at<'v>(value: &'v Value, path: &[&str]) -> &'v [Value] {
    at(value, path).and_then(Value::as_array).unwrap_or_default()
}

/// Returns a text of at most [`CASE`] characters in one line. One that is cut has a part of its digest.
pub(super) fn short(text: &str) -> String {
    let line = in_one_line(text);
    if line.chars().count() <= CASE { line } else { marked(&line, text) }
}

/// Returns an id as a [`short`] text. One with other white space than is shown has a part of its digest, too, so that it stays
/// different from others.
pub(super) fn short_id(text: &str) -> String {
    let line = in_one_line(text);
    if line == text { short(text) } else { marked(&line, text) }
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the start of a line, and a part of the digest of the text that it stands for.
fn marked(line: &str, text: &str) -> String {
    let digest = digest(&Value::String(text.to_owned())).to_string();
    let start: String = line.chars().take(CASE - 12).collect();
    format!("{start}.. ({})", &digest[..8])
}
