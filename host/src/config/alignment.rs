//! `order`, `args` and `tools` of `tool_trajectory_alignment`.
//!
//! ```yaml
//! order: unordered                       # `ordered` if nothing is said
//! args:                                  # by argument; `exact` if nothing is said
//!   request_id: ignore
//!   tags: set
//!   price: {compare: numeric, tolerance: 0.01}
//!   date: {compare: regex, pattern: '\d{4}-\d{2}-\d{2}'}
//! tools:                                 # by tool, and there by argument; goes before `args`
//!   search: {'*': ignore}                # every argument that is not named
//! ```

use super::{
    fields::{Fields, Problems, choice, non_negative, text},
    yaml::{Node, NodeKind},
};
use crate::metric::{AlignmentSettings, Comparator, Comparators, Order, Pattern, Tolerance};

pub(super) const ORDERS: [(&str, Order); 2] =
    [("ordered", Order::Ordered), ("unordered", Order::Unordered)];

const NAMES: [(&str, &str); 6] = {
    let [a, b, c, d, e, f] = Comparator::NAMES;
    [(a, a), (b, b), (c, c), (d, d), (e, e), (f, f)]
};

pub(super) fn read(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> AlignmentSettings {
    let order = fields.choice("order", &ORDERS, problems).unwrap_or_default();
    let args = fields.take("args").map(|node| comparators("args", node, problems));
    let mut settings =
        AlignmentSettings { order, args: args.unwrap_or_default(), ..AlignmentSettings::default() };
    if let Some(node) = fields.take("tools") {
        settings.tools = entries("tools", node, problems)
            .into_iter()
            .map(|(tool, node)| {
                (tool.to_owned(), comparators(&format!("tools.{tool}"), node, problems))
            })
            .collect();
    }
    settings
}

/// The entries of a mapping whose keys are names.
fn entries<'n>(key: &str, node: &'n Node, problems: &mut Problems<'_>) -> Vec<(&'n str, &'n Node)> {
    let NodeKind::Mapping(entries) = &node.kind else {
        problems.add(node.span, format!("`{key}` must be a mapping, not {}", node.noun()), None);
        return Vec::new();
    };
    let mut named = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        match name.as_str() {
            Some(name) => named.push((name, value)),
            // `on` and `no` are booleans, and `1` is a number.
            None => problems.add(
                name.span,
                format!("keys in `{key}` must be text, not {}", name.noun()),
                Some("put it in quotes".to_owned()),
            ),
        }
    }
    named
}

fn comparators(key: &str, node: &Node, problems: &mut Problems<'_>) -> Comparators {
    entries(key, node, problems)
        .into_iter()
        .filter_map(|(argument, node)| {
            let comparator = comparator(&format!("{key}.{argument}"), node, problems)?;
            Some((argument.to_owned(), comparator))
        })
        .collect()
}

/// A name, or a mapping with the name under `compare` and what belongs to it.
fn comparator(key: &str, node: &Node, problems: &mut Problems<'_>) -> Option<Comparator> {
    let NodeKind::Mapping(entries) = &node.kind else {
        let name = choice(key, node, &NAMES, problems)?;
        return of_name(name);
    };
    let mut fields = Fields::new("this comparator", entries);
    let Some(node) = fields.take("compare") else {
        problems.add(
            node.span,
            format!("the key `compare` is missing in `{key}`"),
            Some(format!("one of {}", Comparator::NAMES.join(", "))),
        );
        return None;
    };
    let comparator = of_name(choice("compare", node, &NAMES, problems)?)?;
    let comparator = match comparator {
        Comparator::Numeric(default) => {
            let mut tolerance = |key: &'static str, default: f64| {
                fields.take(key).map_or(Some(default), |node| non_negative(key, node, problems))
            };
            let absolute = tolerance("tolerance", default.absolute);
            let relative = tolerance("relative_tolerance", default.relative);
            absolute
                .zip(relative)
                .map(|(absolute, relative)| Comparator::Numeric(Tolerance { absolute, relative }))
        }
        Comparator::Regex(_) => match fields.take("pattern") {
            Some(node) => pattern(node, problems).map(|pattern| Comparator::Regex(Some(pattern))),
            None => Some(Comparator::Regex(None)),
        },
        other => Some(other),
    };
    fields.finish(problems);
    comparator
}

fn of_name(name: &str) -> Option<Comparator> {
    [
        Comparator::Exact,
        Comparator::Ignore,
        Comparator::Subset,
        Comparator::Set,
        Comparator::Numeric(Tolerance::default()),
        Comparator::Regex(None),
    ]
    .into_iter()
    .find(|comparator| comparator.name() == name)
}

fn pattern(node: &Node, problems: &mut Problems<'_>) -> Option<Pattern> {
    let source = text("pattern", node, problems)?;
    match Pattern::new(source) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            let message = format!("`pattern` is not a regular expression: {error}");
            problems.add(node.span, message, None);
            None
        }
    }
}
