//! The criterion of a built-in metric.

use super::{
    judge,
    numbers::{noun, threshold},
    read::MISSING_TURNS_KEYS,
};
use crate::{
    config::{
        BuiltinConfig,
        evaluator::{has_budget, read_own},
        fields::{Fields, Problems, did_you_mean},
        yaml::{Node, NodeKind, Span},
    },
    json::Value,
    metric::{MatchType, Metrics},
};

/// A key that every criterion may have, in both spellings.
const INTERMEDIATE: (&str, &str) =
    ("include_intermediate_responses_in_final", "includeIntermediateResponsesInFinal");

/// Reads a number, or an object with `threshold` and, of a metric that is `known`, its settings.
pub(super) fn read(
    name: &str,
    node: &Node,
    known: bool,
    problems: &mut Problems<'_>,
) -> Option<BuiltinConfig> {
    let mut builtin = BuiltinConfig::default();
    let counts = has_budget(name);
    let NodeKind::Mapping(entries) = &node.kind else {
        builtin.threshold = plain(name, node, counts, problems)?;
        return Some(builtin);
    };
    let mut fields = Fields::new("this criterion", entries);
    let threshold = required_threshold(name, node, counts, &mut fields, problems);
    if !known {
        return None;
    }
    if name == "tool_trajectory_avg_score" {
        let node = fields.take_either("match_type", "matchType", problems);
        builtin.match_type = node.and_then(|node| match_type(node, problems));
    }
    let judged = Metrics::default().get(name).is_ok_and(|metric| metric.unavailable().is_some());
    if judged {
        judge::read(name, &mut builtin, &mut fields, problems);
    }
    read_own(Some(name), &mut builtin, &mut fields, problems);
    // The key is read together with that of programs.
    let (key, alias) = MISSING_TURNS_KEYS;
    fields.take(key);
    fields.take_replaced(alias);
    let (key, alias) = INTERMEDIATE;
    let given = fields.peek(key).or(fields.peek(alias));
    if let (Some(node), Some(true), false) = (given, fields.flag(key, alias, problems), judged) {
        problems.note(node.span, format!("`{key}` has an effect on judged metrics only"));
    }
    fields.finish(problems);
    builtin.threshold = threshold?;
    Some(builtin)
}

/// A criterion that is only a threshold.
pub(super) fn plain(
    name: &str,
    node: &Node,
    counts: bool,
    problems: &mut Problems<'_>,
) -> Option<f64> {
    match &node.kind {
        NodeKind::Sequence(_) | NodeKind::Scalar(Value::Null) => {
            let hint = r#"for example 0.8 or {"threshold": 0.8}"#.to_owned();
            let message = format!(
                "the criterion of `{name}` must be a number or an object, not {}",
                noun(node)
            );
            problems.add(node.span, message, Some(hint));
            None
        }
        _ => threshold(name, node, counts, problems),
    }
}

/// The threshold in the criterion at `node`.
pub(super) fn required_threshold(
    name: &str,
    node: &Node,
    counts: bool,
    fields: &mut Fields<'_>,
    problems: &mut Problems<'_>,
) -> Option<f64> {
    let Some(given) = fields.take("threshold") else {
        let start = node.span.start;
        let message = format!("the key `threshold` is missing in the criterion of `{name}`");
        problems.add(Span { start, end: start + 1 }, message, None);
        return None;
    };
    threshold(name, given, counts, problems)
}

/// A name however it is written, or the number that ADK has for it.
fn match_type(node: &Node, problems: &mut Problems<'_>) -> Option<MatchType> {
    let number = match &node.kind {
        NodeKind::Scalar(Value::Bool(flag)) => Some(f64::from(u8::from(*flag))),
        NodeKind::Scalar(Value::Int(number)) => Some(*number as f64),
        NodeKind::Scalar(Value::Float(number)) => Some(*number),
        _ => None,
    };
    let word = node.as_str().map(|word| word.trim().to_uppercase().replace(['-', ' '], "_"));
    let numbered = [0.0, 1.0, 2.0].into_iter().zip(MatchType::ALL);
    let found = match &word {
        Some(word) => word.parse().ok(),
        None => numbered.into_iter().find(|(n, _)| Some(*n) == number).map(|(_, found)| found),
    };
    if found.is_none() {
        let names = MatchType::ALL.map(MatchType::as_str);
        let hint = word.and_then(|word| did_you_mean(&word, names));
        let message = format!("`match_type` must be one of {} (or 0, 1, 2)", names.join(", "));
        problems.add(node.span, message, hint);
    }
    found
}
