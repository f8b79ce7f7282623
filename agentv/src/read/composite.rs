//! Keys of `composite`.

use std::collections::HashSet;

use evaluator_document::{Field, Fields};

use super::{
    Reader, judge,
    place::Place,
    program,
    values::{first, fraction, non_negative},
};
use crate::model::{Aggregator, Composite, Evaluator, Judge, Program, Prompt};

/// Types of aggregators by their names.
const KINDS: [(&str, &str); 8] = [
    ("weighted_average", "weighted_average"),
    ("threshold", "threshold"),
    ("code-grader", "code-grader"),
    ("code_grader", "code-grader"),
    ("code_judge", "code-grader"),
    ("llm-grader", "llm-grader"),
    ("llm_grader", "llm-grader"),
    ("llm_judge", "llm-grader"),
];

/// Takes the list of members.
pub(super) fn members<'f>(fields: &mut Fields<'f>) -> Option<Field<'f>> {
    let list = first(fields, &["assertions", "assert", "evaluators"]);
    list.or_else(|| fields.missing("assertions").none())
}

/// Reads the other keys. `list` is the list of members with the members.
pub(super) fn read(
    reader: &Reader<'_>,
    mut fields: Fields<'_>,
    list: Option<(Field<'_>, Vec<Evaluator>)>,
    place: Place<'_>,
) -> Option<Composite> {
    let aggregator = fields.require("aggregator");
    fields.finish();
    let members = list.and_then(|(list, members)| {
        if members.is_empty() {
            return list.add(format!("`{}` is empty", list.key)).none();
        }
        let mut names = HashSet::new();
        if let Some(member) = members.iter().find(|member| !names.insert(&member.name)) {
            return list.add(format!("two members have the name `{}`", member.name)).none();
        }
        Some((list, members))
    });
    let aggregator = aggregator.and_then(|aggregator| self::aggregator(reader, &aggregator));
    let ((list, members), aggregator) = (members?, aggregator?);
    if let Aggregator::Weighted(weights) = &aggregator {
        for (name, _) in weights {
            if !members.iter().any(|member| member.name == *name) {
                let known = members.iter().map(|member| member.name.as_str());
                let hint = evaluator_document::did_you_mean(name, known);
                let message = format!("no member has the name `{name}`; its weight has no effect");
                let span = list.node.span.start();
                place.opened.problems.warn(span, message).maybe_hint(hint);
            }
        }
    }
    Some(Composite { aggregator, members })
}

fn aggregator(reader: &Reader<'_>, field: &Field<'_>) -> Option<Aggregator> {
    let mut fields = field.fields("this aggregator")?;
    let kind = fields.require("type").and_then(|kind| kind.choice(&KINDS));
    let aggregator = match kind? {
        "weighted_average" => {
            let weights = fields.take("weights").and_then(|field| weights(&field));
            Some(Aggregator::Weighted(weights.unwrap_or_default()))
        }
        "threshold" => {
            let least = fields.require("threshold").and_then(|field| fraction(&field));
            least.map(Aggregator::Threshold)
        }
        "code-grader" => {
            let path = first(&mut fields, &["path", "command", "script"]);
            let directory = reader.directory.to_owned();
            let path = path.or_else(|| fields.missing("path").none());
            path.and_then(|path| program::of_field(&path)).map(|command| {
                Aggregator::Program(Program {
                    command,
                    directory,
                    index: 0,
                    config: None,
                    max_calls: None,
                })
            })
        }
        _ => judging(reader, &mut fields).map(Aggregator::Judge),
    };
    fields.finish();
    aggregator
}

fn judging(reader: &Reader<'_>, fields: &mut Fields<'_>) -> Option<Judge> {
    let prompt = fields.take("prompt");
    let prompt = prompt.map_or(Some(Prompt::Default), |prompt| judge::aggregating(reader, &prompt));
    let target = fields.take("target").and_then(|target| target.sentence());
    let model = fields.take("model").and_then(|model| model.sentence());
    Some(Judge { prompt: prompt?, target, model, ..Judge::new(Judge::NUMBER) })
}

fn weights(field: &Field<'_>) -> Option<Vec<(String, f64)>> {
    field.entries()?;
    let weights = field.named().into_iter().map(|(name, node)| {
        Some((name.to_owned(), non_negative(&node.field(name, field.problems))?))
    });
    weights.collect()
}
