//! Scalars as pydantic reads them, and what they are called.

use crate::{
    config::{
        fields::Problems,
        yaml::{Node, NodeKind},
    },
    json::Value,
    json::parse_float,
};

/// A number: numeric text and truth values count.
pub(super) fn number(node: &Node) -> Option<f64> {
    let NodeKind::Scalar(scalar) = &node.kind else { return None };
    match scalar {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Int(number) => Some(*number as f64),
        Value::BigInt(digits) => digits.parse().ok(),
        Value::Float(number) => Some(*number),
        Value::String(text) => parse_float(text),
        _ => None,
    }
}

/// A threshold: a number in `0..=1`, since that is where scores are here.
pub(super) fn threshold(
    name: &str,
    node: &Node,
    counts: bool,
    problems: &mut Problems<'_>,
) -> Option<f64> {
    let Some(threshold) = number(node) else {
        let message = format!("the threshold of `{name}` must be a number, not {}", noun(node));
        problems.add(node.span, message, None);
        return None;
    };
    if !(0.0..=1.0).contains(&threshold) {
        let hint = if counts {
            r#"a budget is `max`, for example {"threshold": 1, "max": 5}"#
        } else {
            "here scores are in 0..=1, whatever they are in ADK"
        };
        let message = format!("the threshold of `{name}` must be in 0..=1, not {threshold}");
        problems.add(node.span, message, Some(hint.to_owned()));
        return None;
    }
    Some(threshold)
}

/// What this kind of value is called in JSON.
pub(super) fn noun(node: &Node) -> &'static str {
    match &node.kind {
        NodeKind::Scalar(Value::Null) => "null",
        NodeKind::Scalar(_) => node.noun(),
        NodeKind::Sequence(_) => "an array",
        NodeKind::Mapping(_) => "an object",
    }
}

/// The members of an object.
pub(super) fn members<'n>(
    what: &str,
    node: &'n Node,
    problems: &mut Problems<'_>,
) -> Option<&'n [(Node, Node)]> {
    if let NodeKind::Mapping(entries) = &node.kind {
        return Some(entries);
    }
    problems.add(node.span, format!("{what} must be an object, not {}", noun(node)), None);
    None
}
