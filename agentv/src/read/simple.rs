//! Keys of checks of the text and of limits.

use evaluator_document::{Field, Fields};

use super::values::{first, fraction, non_negative, texts};
use crate::{
    files::any_text,
    model::{Check, Limit, Limits, TextCheck},
    pattern::Pattern,
};

/// Reads the keys of a type, in the spelling of AgentV 4.
pub(super) fn read(mut fields: Fields<'_>, kind: &str) -> Option<Check> {
    let check = match kind {
        "is-json" => Some(Check::Text(TextCheck::IsJson)),
        "regex" => pattern(&mut fields).map(|pattern| Check::Text(TextCheck::Matches(pattern))),
        "latency" | "cost" | "token-usage" | "execution-metrics" => {
            limits(&mut fields, kind).map(Check::Limits)
        }
        _ => fields.require("value").and_then(|value| text(&value, kind)).map(Check::Text),
    };
    fields.finish();
    check
}

fn text(value: &Field<'_>, kind: &str) -> Option<TextCheck> {
    let one = || value.text().map(str::to_owned);
    let contains = |values, all| {
        let ignore_case = kind.starts_with('i');
        TextCheck::Contains { values, all, ignore_case }
    };
    match kind {
        "contains" | "icontains" => one().map(|text| contains(vec![text], true)),
        "contains-any" | "icontains-any" => texts(value).map(|values| contains(values, false)),
        "contains-all" | "icontains-all" => texts(value).map(|values| contains(values, true)),
        "starts-with" => one().map(TextCheck::StartsWith),
        "ends-with" => one().map(TextCheck::EndsWith),
        // An empty answer may be what is wanted.
        _ => any_text(value).map(TextCheck::Equals),
    }
}

fn pattern(fields: &mut Fields<'_>) -> Option<Pattern> {
    let value = fields.require("value");
    let flags = fields.take("flags").and_then(|flags| any_text(&flags)).unwrap_or_default();
    let value = value?;
    let source = value.text()?;
    match Pattern::new(source, &flags) {
        Ok(pattern) => Some(pattern),
        Err(reason) => {
            value.add(format!("not a regular expression of JavaScript: {reason}")).none()
        }
    }
}

/// A key, its other spelling, and the limit that it sets.
type Key = (&'static str, &'static str, fn(f64) -> Limit);

const LATENCY: [Key; 1] = [("threshold", "threshold", Limit::Duration)];
const COST: [Key; 1] = [("budget", "budget", Limit::Cost)];
const TOKENS: [Key; 3] = [
    ("max_total", "maxTotal", Limit::TotalTokens),
    ("max_input", "maxInput", Limit::InputTokens),
    ("max_output", "maxOutput", Limit::OutputTokens),
];
const EXECUTION: [Key; 5] = [
    ("max_tool_calls", "maxToolCalls", Limit::ToolCalls),
    ("max_llm_calls", "maxLlmCalls", Limit::ModelCalls),
    ("max_tokens", "maxTokens", Limit::Tokens),
    ("max_cost_usd", "maxCostUsd", Limit::Cost),
    ("max_duration_ms", "maxDurationMs", Limit::Duration),
];

fn limits(fields: &mut Fields<'_>, kind: &str) -> Option<Limits> {
    let keys: &[Key] = match kind {
        "latency" => &LATENCY,
        "cost" => &COST,
        "token-usage" => &TOKENS,
        _ => &EXECUTION,
    };
    let mut limits = Vec::new();
    let mut is_missing = true;
    for (key, other, limit) in keys {
        let field = if key == other { fields.take(key) } else { first(fields, &[key, other]) };
        is_missing &= field.is_none();
        limits.extend(field.and_then(|field| non_negative(&field)).map(limit));
    }
    if kind == "execution-metrics" {
        is_missing &= !exploration(fields, &mut limits);
    }
    if is_missing {
        let names: Vec<_> = keys.iter().map(|(key, _, _)| format!("`{key}`")).collect();
        let missing = keys.first().map_or("", |(key, _, _)| key);
        fields.missing(missing).hint(format!("it needs a limit: {}", names.join(", ")));
    }
    Some(Limits { limits, share: kind == "execution-metrics" })
}

/// Reads the share of exploring calls. Returns true if it is given.
fn exploration(fields: &mut Fields<'_>, limits: &mut Vec<Limit>) -> bool {
    let target = first(fields, &["target_exploration_ratio", "targetExplorationRatio"]);
    let given = first(fields, &["exploration_tolerance", "explorationTolerance"]);
    let tolerance = given.as_ref().and_then(non_negative).unwrap_or(0.2);
    match (&target, &given) {
        (Some(target), _) => {
            let target = fraction(target);
            limits.extend(target.map(|target| Limit::Exploration { target, tolerance }));
        }
        (None, Some(given)) if !limits.is_empty() => {
            let message =
                "`exploration_tolerance` has no effect without `target_exploration_ratio`";
            given.problems.warn(given.node.span, message);
        }
        _ => {}
    }
    target.is_some()
}
