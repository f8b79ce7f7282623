//! Keys of checks of the text and of limits.

use evaluator_document::{Field, Fields};

use super::values::{any_text, first, fraction, non_negative, texts};
use crate::{
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
    let flags = fields.take("flags").map_or(Some(String::new()), |flags| any_text(&flags));
    let value = value?;
    let source = value.text()?;
    match Pattern::new(source, &flags?) {
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
    let mut is_sound = true;
    for (key, other, limit) in keys {
        let field = if key == other { fields.take(key) } else { first(fields, &[key, other]) };
        let Some(field) = field else { continue };
        match non_negative(&field) {
            Some(number) => limits.push(limit(number)),
            None => is_sound = false,
        }
    }
    if kind == "execution-metrics" {
        is_sound &= exploration(fields, &mut limits).is_some();
    }
    if limits.is_empty() && is_sound {
        let keys: Vec<_> = keys.iter().map(|(key, _, _)| format!("`{key}`")).collect();
        let missing = keys.first().map(|key| key.trim_matches('`').to_owned()).unwrap_or_default();
        fields.missing(&missing).hint(format!("it needs a limit: {}", keys.join(", ")));
        return None;
    }
    is_sound.then_some(Limits { limits, share: kind == "execution-metrics" })
}

/// Reads the share of exploring calls. `None` after a problem.
fn exploration(fields: &mut Fields<'_>, limits: &mut Vec<Limit>) -> Option<()> {
    let target = first(fields, &["target_exploration_ratio", "targetExplorationRatio"]);
    let tolerance = first(fields, &["exploration_tolerance", "explorationTolerance"]);
    let given = tolerance.as_ref().map_or(Some(0.2), non_negative);
    match (&target, &tolerance) {
        (Some(target), _) => {
            limits.push(Limit::Exploration { target: fraction(target)?, tolerance: given? });
        }
        (None, Some(tolerance)) if !limits.is_empty() => {
            let message =
                "`exploration_tolerance` has no effect without `target_exploration_ratio`";
            tolerance.problems.warn(tolerance.node.span, message);
        }
        _ => {}
    }
    given.map(|_| ())
}
