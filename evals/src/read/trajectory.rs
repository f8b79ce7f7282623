//! Keys of `tool-trajectory`.

use evaluator_document::{Field, Fields, NodeKind};
use evaluator_json::Value;

use super::{
    Reader,
    list::Place,
    values::{first, json, non_negative, texts, whole},
};
use crate::{
    files::all,
    model::{ArgsMatch, ExpectedCall, Trajectory, TrajectoryMode},
};

#[derive(Clone, Copy)]
enum Mode {
    AnyOrder,
    InOrder,
    Exact,
    Superset,
    Subset,
}

const MODES: [(&str, Mode); 5] = [
    ("any_order", Mode::AnyOrder),
    ("in_order", Mode::InOrder),
    ("exact", Mode::Exact),
    ("superset", Mode::Superset),
    ("subset", Mode::Subset),
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
    let unused = |field: &Option<Field<'_>>| {
        if let Some(field) = field {
            let message = format!("`{}` has no effect in this mode", field.key);
            field.problems.warn(field.node.span, message);
        }
    };
    let mode = match mode {
        Some(Mode::AnyOrder) => {
            unused(&expected);
            let given = minimums.or_else(|| missing(&fields, "minimums"));
            given.and_then(|field| counts(&field)).map(TrajectoryMode::AnyOrder)
        }
        Some(mode) => {
            unused(&minimums);
            let given = expected.or_else(|| missing(&fields, "expected"));
            given.and_then(|field| calls(reader, &field, &default)).map(|calls| match mode {
                Mode::InOrder | Mode::AnyOrder => TrajectoryMode::InOrder(calls),
                Mode::Exact => TrajectoryMode::Exact(calls),
                Mode::Superset => TrajectoryMode::Superset(calls),
                Mode::Subset => TrajectoryMode::Subset(calls),
            })
        }
        None => None,
    };
    fields.finish();
    let default_args = args_match.is_none().then_some(if is_old { "superset" } else { "exact" });
    Some(Trajectory { mode: mode?, default_args })
}

fn missing<'n>(fields: &Fields<'n>, key: &str) -> Option<Field<'n>> {
    fields.missing(key).none()
}

fn counts(field: &Field<'_>) -> Option<Vec<(String, u64)>> {
    field.entries()?;
    let counts = field.named().into_iter().map(|(tool, node)| {
        let count = whole(&node.field(tool, field.problems), 0..=1_000_000)?;
        Some((tool.to_owned(), u64::from(count)))
    });
    counts.collect()
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
