//! Whether two parts are of one run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{EvaluatorEntry, Header, part::Part};
use crate::Report;

/// The first difference between two parts; `None` if they are of one run.
pub(super) fn difference(first: &Header, second: &Header) -> Option<String> {
    if let Some(difference) = other_policies(first, second) {
        return Some(difference);
    }
    if first.seed.is_some() || second.seed.is_some() {
        // Which cases it has depends on their results, so no gate may count them with others.
        return Some(
            "one of them ends as soon as its gates are decided (`until_decided`)".to_owned(),
        );
    }
    // A plan is only a digest of what it stands for, and a changed part may have that of another one.
    let by = |of: fn(&Header) -> Value| differing("", &of(first), &of(second)).map(in_words);
    let of_plan = || match names(first).eq(names(second)) {
        true => by(|header| json!({"plan": header.plan})),
        false => Some("their evaluators are not in the same order".to_owned()),
    };
    // Of a threshold, the settings have only the digest.
    if let Some(found) = by(thresholds).or_else(|| by(measured)).or_else(of_plan) {
        return Some(found);
    }
    let is_shard = matches!(first.part, Some(Part::Shard(_)));
    let inputs = |header: &Header| (header.inputs, header.conversations);
    if is_shard && inputs(first) != inputs(second) {
        return Some(
            "they are shards of other traces, or of the same traces in another order (`inputs`)"
                .to_owned(),
        );
    }
    None
}

/// The first difference in what decides about the run as a whole: the kind of the parts, gates, and policies. No plan contains
/// all of it, and the part of an empty stream has nothing else.
pub(super) fn other_policies(first: &Header, second: &Header) -> Option<String> {
    if let Some(difference) = other_kind(first.part, second.part) {
        return Some(difference);
    }
    let only = |ours: &Header, others: &Header, which: &str| {
        let gate = ours.gates.iter().find(|gate| !others.gates.contains(gate))?;
        Some(format!("their gates differ: `{gate}` is only in the {which}"))
    };
    let gates = only(first, second, "first").or_else(|| only(second, first, "second"));
    if gates.is_some() {
        return gates;
    }
    if first.gates != second.gates {
        return Some("their gates differ: they are not in the same order".to_owned());
    }
    differing("", &policies(&first.report), &policies(&second.report)).map(in_words)
}

/// What decides which results a run may have to pass, by the names of the keys in a configuration.
pub(super) fn policies(report: &Report) -> Value {
    json!({
        "allow_unevaluated": report.allow_unevaluated, "inconclusive": report.inconclusive,
        "max_error_rate": report.max_error_rate, "require_all_cases": report.require_all_cases,
        "require_evaluated": report.require_evaluated, "required_share": report.required_share,
    })
}

fn in_words((path, first, second): (String, Value, Value)) -> String {
    let is_digest = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    // A value that is not set is left out of the file.
    let shown = |value: &Value| match value.is_object() || is_digest(value) {
        true => String::new(),
        false => format!(" ({value})"),
    };
    match (&first, &second) {
        (value, Value::Null) => format!("`{path}` is only in the first{}", shown(value)),
        (Value::Null, value) => format!("`{path}` is only in the second{}", shown(value)),
        _ if is_digest(&first) && is_digest(&second) => format!("`{path}` is another one"),
        _ => format!("`{path}` is {first} in the first and {second} in the second"),
    }
}

/// The difference between two parts that are not of one kind.
fn other_kind(first: Option<Part>, second: Option<Part>) -> Option<String> {
    let shown = |part: Option<Part>| match part {
        None => "a whole run",
        Some(Part::Shard(_)) => "a shard",
        Some(Part::Pipe { .. }) => "a part of `pipe`",
    };
    match (first, second) {
        (Some(Part::Shard(first)), Some(Part::Shard(second))) if first.of != second.of => {
            Some(format!("one is a shard of {}, the other of {}", first.of, second.of))
        }
        _ if shown(first) == shown(second) => None,
        _ => Some(format!("the first is {}, the second is {}", shown(first), shown(second))),
    }
}

fn names(header: &Header) -> impl Iterator<Item = &str> {
    header.evaluators.iter().map(|it| &*it.name)
}

fn thresholds(header: &Header) -> Value {
    let threshold = |it: &EvaluatorEntry| (it.name.clone(), json!({"threshold": it.threshold}));
    json!({"evaluators": header.evaluators.iter().map(threshold).collect::<BTreeMap<_, _>>()})
}

/// What a run measures.
fn measured(header: &Header) -> Value {
    let Header { encoding, tool, settings, golden, evaluators, .. } = header;
    let evaluators: BTreeMap<_, _> =
        evaluators.iter().map(|it| (it.name.clone(), it.planned())).collect();
    json!({
        "encoding": encoding, "tool": tool, "settings": settings, "golden": golden,
        "evaluators": evaluators,
    })
}

/// Path and values of the first difference of two documents. A missing member is `null`.
fn differing(path: &str, first: &Value, second: &Value) -> Option<(String, Value, Value)> {
    match (first, second) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            let in_both =
                |key: &str| differing(&format!("{path}.{key}"), &first[key], &second[key]);
            keys.into_iter().find_map(|key| in_both(key))
        }
        _ if first == second => None,
        _ => Some((path.trim_start_matches('.').to_owned(), first.clone(), second.clone())),
    }
}

/// What differs between the machines that parts were evaluated on.
#[derive(Debug, Default)]
pub(super) struct Environments {
    /// Names of what differs, by evaluator.
    differing: BTreeMap<String, BTreeSet<String>>,
    /// Evaluators whose changes would not be noticed.
    unnoticed: BTreeSet<String>,
}

impl Environments {
    /// Adds a part of the same plan as the first one.
    pub(super) fn add(&mut self, first: &Header, part: &Header) {
        for (one, other) in first.evaluators.iter().zip(&part.evaluators) {
            let is_noticed = |it: &EvaluatorEntry| it.fingerprint.is_some();
            if !is_noticed(one) || !is_noticed(other) {
                self.unnoticed.insert(one.name.clone());
            }
            let (ours, theirs) = (&one.parts.environment, &other.parts.environment);
            let names = ours.keys().chain(theirs.keys());
            let names = names.filter(|name| ours.get(*name) != theirs.get(*name)).cloned();
            let names: Vec<String> = names.collect();
            if !names.is_empty() {
                self.differing.entry(one.name.clone()).or_default().extend(names);
            }
        }
    }

    /// Warnings, each a sentence.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> {
        let differing = self.differing.iter().map(|(evaluator, names)| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!(
                "{evaluator} was not in the same environment in all parts: {} differs",
                names.join(", ")
            )
        });
        let unnoticed = self.unnoticed.iter().map(|evaluator| {
            format!(
                "{evaluator} may not be the same in all parts: changes of it would not be noticed"
            )
        });
        differing.chain(unnoticed)
    }
}
