//! Conversions of values that are stricter than those of configurations: AgentV coerces nothing.

use std::ops::RangeInclusive;

use evaluator_document::{Field, Fields, Node, NodeKind};
use evaluator_json::Value;

use crate::{files::all, json_text::finite};

/// Keys under which tests are listed.
pub(super) const TESTS: [&str; 3] = ["tests", "eval_cases", "evalcases"];

/// Takes the first of several keys that mean the same. The others have no effect, which is a warning.
pub(super) fn first<'n>(fields: &mut Fields<'n>, keys: &[&'static str]) -> Option<Field<'n>> {
    let mut found: Option<Field<'n>> = None;
    for key in keys {
        let Some(field) = fields.take(key).filter(|field| !field.node.is_null()) else { continue };
        match &found {
            None => found = Some(field),
            Some(first) => {
                let message = format!("`{key}` has no effect next to `{}`", first.key);
                field.problems.warn(field.node.span, message);
            }
        }
    }
    found
}

/// Returns true if a mapping has one of the keys.
pub(super) fn has_any(node: &Node, keys: &[&str]) -> bool {
    keys.iter().any(|key| node.get(key).is_some())
}

/// Returns a finite number in a range.
pub(super) fn number_in(field: &Field<'_>, range: RangeInclusive<f64>) -> Option<f64> {
    let (low, high) = (range.start(), range.end());
    let what = match high.is_finite() {
        true => format!("a number from {low} to {high}"),
        false => format!("a number that is at least {low}"),
    };
    let number = match &field.node.kind {
        NodeKind::Scalar(value) => finite(value),
        _ => None,
    };
    match number {
        Some(number) if range.contains(&number) => Some(number),
        Some(number) => field.add(format!("`{}` must be {what}, not {number}", field.key)).none(),
        None => field.expected(&what).none(),
    }
}

/// Returns a finite number that is at least 0.
pub(super) fn non_negative(field: &Field<'_>) -> Option<f64> {
    number_in(field, 0.0..=f64::INFINITY)
}

/// Returns a number from 0 to 1.
pub(super) fn fraction(field: &Field<'_>) -> Option<f64> {
    number_in(field, 0.0..=1.0)
}

/// Returns a minimum of a score. One of 0 would always hold; AgentV ignores it.
pub(super) fn minimum(field: &Field<'_>) -> Option<f64> {
    let minimum = fraction(field)?;
    if minimum <= 0.0 {
        let message = format!("`{}` must be more than 0: every score would do", field.key);
        return field.add(message).hint("remove it, or give the least score").none();
    }
    Some(minimum)
}

/// Returns a whole number in a range.
pub(super) fn whole(field: &Field<'_>, range: RangeInclusive<u32>) -> Option<u32> {
    let number = number_in(field, f64::from(*range.start())..=f64::from(*range.end()))?;
    if number.fract() != 0.0 {
        return field.add(format!("`{}` must be a whole number, not {number}", field.key)).none();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is in the range"
    )]
    Some(number as u32)
}

/// Returns `true` or `false`.
pub(super) fn flag(field: &Field<'_>) -> Option<bool> {
    match &field.node.kind {
        NodeKind::Scalar(Value::Bool(flag)) => Some(*flag),
        _ => field.expected("true or false").none(),
    }
}

/// Returns a list of texts that are not empty; at least one.
pub(super) fn texts(field: &Field<'_>) -> Option<Vec<String>> {
    all(field.non_empty_items()?.iter().map(|item| item.text().map(str::to_owned)))
}

/// Returns a value as JSON.
pub(super) fn json(field: &Field<'_>) -> Option<Value> {
    field
        .node
        .to_json()
        .map_err(|span| {
            let message = format!("keys in `{}` must be text, as in JSON", field.key);
            field.problems.add(span, message).hint("put it in quotes");
        })
        .ok()
}
