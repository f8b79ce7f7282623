//! Keys of `tool-trajectory`.

use evaluator_document::{Field, Fields, NodeKind};
use evaluator_json::Value;

use super::{
    Reader,
    place::Place,
    values::{first, json, non_negative, texts, whole},
};
use crate::{
    files::all,
    model::{ArgsMatch, ExpectedCall, Trajectory, TrajectoryMode},
};

const MODES: [(&str, TrajectoryMode); 5] = [
    ("any_order", TrajectoryMode::AnyOrder),
    ("in_order", TrajectoryMode::InOrder),
    ("exact", TrajectoryMode::Exact),
    ("superset", TrajectoryMode::Superset),
    ("subset", TrajectoryMode::Subset),
];

const MATCHES: [(&str, ArgsMatch); 4] = [
    ("exact", ArgsMatch::Exact),
    ("superset", ArgsMatch::Superset),
    ("subset", ArgsMatch::Subset),
    ("ignore", ArgsMatch::Ignore),
];

pub(super) fn read(
    reader: &Reader<'_>,
    mut fields: Fields<'_>,
    written: &str,
    place: Place<'_>,
) -> Option<Trajectory> {
    let mode = fields.require("mode").and_then(|mode| mode.choice(&MODES));
    let args_match =
        first(&mut fields, &["args_match", "argsMatch"]).and_then(|field| args_match(&field));
    // AgentV 2 compares the given keys only, AgentV 4 all of them.
    let is_old = reader.is_v2() || (written == "tool_trajectory" && place.is_old_key);
    let default = if is_old { ArgsMatch::Superset } else { ArgsMatch::Exact };
    let default = args_match.clone().unwrap_or(default);
    let (minimums, expected) = (fields.take("minimums"), fields.take("expected"));
    let is_counting = matches!(mode, Some(TrajectoryMode::AnyOrder));
    let (needed, unused, key) = match is_counting {
        true => (&minimums, &expected, "minimums"),
        false => (&expected, &minimums, "expected"),
    };
    if mode.is_some() && needed.is_none() {
        fields.missing(key);
    }
    if let Some(field) = unused.filter(|_| mode.is_some()) {
        let message = format!("`{}` has no effect in this mode", field.key);
        field.problems.warn(field.node.span, message);
    }
    fields.finish();
    let minimums = minimums.filter(|_| is_counting).and_then(|field| counts(&field));
    let expected = expected.filter(|_| !is_counting);
    let is_subset = matches!(mode, Some(TrajectoryMode::Subset));
    let expected = expected.and_then(|field| {
        let calls = calls(reader, &field, &default)?;
        if calls.is_empty() && !is_subset {
            let hint = "`mode: subset` with an empty list allows no tool calls";
            return field.add("`expected` is empty, so every output would pass").hint(hint).none();
        }
        Some(calls)
    });
    Some(Trajectory {
        mode: mode?,
        minimums: minimums.unwrap_or_default(),
        expected: expected.unwrap_or_default(),
        default_args: args_match.is_none().then_some(if is_old { "superset" } else { "exact" }),
    })
}

fn counts(field: &Field<'_>) -> Option<Vec<(String, u64)>> {
    field.entries()?;
    let counts = field.named().into_iter().map(|(tool, node)| {
        let count = whole(&node.field(tool, field.problems), 0..=1_000_000)?;
        Some((tool.to_owned(), u64::from(count)))
    });
    let counts: Vec<_> = counts.collect::<Option<_>>()?;
    if counts.iter().all(|(_, count)| *count == 0) {
        return field.add("`minimums` has no number above 0, so every output would pass").none();
    }
    Some(counts)
}

fn calls(reader: &Reader<'_>, field: &Field<'_>, default: &ArgsMatch) -> Option<Vec<ExpectedCall>> {
    all(field.items()?.iter().map(|item| call(reader, item, default)))
}

fn call(reader: &Reader<'_>, field: &Field<'_>, default: &ArgsMatch) -> Option<ExpectedCall> {
    let mut fields = field.fields("this expected call")?;
    let tool = fields.require("tool").and_then(|tool| tool.sentence());
    let args = fields.take("args").and_then(|field| arguments(&field));
    let matching = first(&mut fields, &["args_match", "argsMatch"]);
    let args_match = matching.and_then(|field| args_match(&field));
    let longest = first(&mut fields, &["max_duration_ms", "maxDurationMs"]);
    let longest = longest.filter(|field| {
        if reader.is_v2() {
            let message = format!("`{}` has no effect in AgentV 2", field.key);
            field.problems.warn(field.node.span, message);
        }
        !reader.is_v2()
    });
    let max_duration_ms = longest.and_then(|field| non_negative(&field));
    fields.finish();
    let args_match = args_match.unwrap_or_else(|| default.clone());
    Some(ExpectedCall { tool: tool?, args, args_match, max_duration_ms })
}

/// Reads expected arguments: an object; `None` for `any`.
fn arguments(field: &Field<'_>) -> Option<Value> {
    match &field.node.kind {
        NodeKind::Scalar(Value::String(word)) if word == "any" => None,
        NodeKind::Scalar(Value::Null) => None,
        NodeKind::Mapping(_) => json(field),
        _ => field.expected("a mapping or `any`").none(),
    }
}

fn args_match(field: &Field<'_>) -> Option<ArgsMatch> {
    match &field.node.kind {
        NodeKind::Sequence(_) => texts(field).map(ArgsMatch::Fields),
        _ => field.choice(&MATCHES),
    }
}
