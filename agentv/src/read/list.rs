//! Lists of evaluators: entries, texts, includes.

use evaluator_document::{Field, NodeKind};
use evaluator_judging::judge::scheme::{Item, Scheme};

use super::{Reader, entry, judge, place::Place};
use crate::model::Evaluator;

/// Maximum depth of includes.
const MAX_INCLUDES: usize = 3;

/// Reads a list of evaluators. Criteria that are just texts are one evaluator, whose weight is their number.
pub(super) fn read(reader: &Reader<'_>, field: &Field<'_>, place: Place<'_>) -> Vec<Evaluator> {
    let place = Place { is_old_key: field.key == "evaluators", ..place };
    let (mut evaluators, mut texts, mut place_of_texts) = (Vec::new(), Vec::new(), None);
    for item in field.items().unwrap_or_default() {
        match &item.node.kind {
            NodeKind::Mapping(entries) => match included(entries) {
                Some(name) => {
                    let name = name.1.field("include", field.problems);
                    evaluators.extend(include(reader, &name, place).into_iter().flatten());
                }
                None => evaluators.extend(entry::read(reader, &item, place)),
            },
            _ if place.is_member => drop(item.expected("an evaluator")),
            _ => {
                place_of_texts.get_or_insert((evaluators.len(), place.opened.position(item.node)));
                texts.extend(item.text().map(str::to_owned));
            }
        }
    }
    if let Some((at, position)) = place_of_texts {
        #[expect(clippy::cast_precision_loss, reason = "a file has fewer than 2^53 lines")]
        let weight = texts.len() as f64;
        let item = |(number, text): (usize, String)| Item::new(judge::id_of(number), text);
        let scheme = Scheme::Rubrics((1..).zip(texts).map(item).collect());
        let judged = Evaluator::judged("rubrics", "rubrics", position, scheme);
        evaluators.insert(at, Evaluator { weight, ..judged });
    }
    evaluators
}

type Entry = (evaluator_document::Node, evaluator_document::Node);

/// Returns the value of an entry that is only `{include: ..}`.
fn included(entries: &[Entry]) -> Option<&Entry> {
    match entries {
        [entry] if entry.0.as_str() == Some("include") => Some(entry),
        _ => None,
    }
}

/// Reads the evaluators of an included file.
fn include(reader: &Reader<'_>, field: &Field<'_>, place: Place<'_>) -> Option<Vec<Evaluator>> {
    let name = field.text()?;
    let is_name = !name.contains('/') && !name.starts_with('.');
    let found = match is_name {
        true => ["yaml", "yml"].iter().find_map(|extension| {
            reader.places.find(&format!(".agentv/templates/{name}.{extension}"))
        }),
        false => reader.places.find(name),
    };
    let Some(file) = found.and_then(|file| file.canonicalize().ok()).filter(|file| file.is_file())
    else {
        let hint = if is_name {
            "looked for .agentv/templates/NAME.yaml"
        } else {
            "looked for a file of that path"
        };
        return field.add(format!("the template `{name}` does not exist")).hint(hint).none();
    };
    if place.includes.contains(&file) {
        return field.add(format!("the template `{name}` includes itself")).none();
    }
    if place.includes.len() >= MAX_INCLUDES {
        let message = format!("templates include each other more than {MAX_INCLUDES} deep");
        return field.add(message).none();
    }
    let includes: Vec<_> = place.includes.iter().cloned().chain([file.clone()]).collect();
    let evaluators = reader.findings.read(&file, "template", |root, opened| {
        let mut root =
            root.or_else(|| opened.problems.add_to_file("the template is empty").none())?;
        reader.substitute(&mut root, opened);
        let mut fields = root.field("the template", opened.problems).fields("this template")?;
        let list = fields.require("assertions");
        fields.finish();
        Some(read(reader, &list?, Place { opened, includes: &includes, ..place }))
    });
    // The problem is in the other file; without one here, the list would look complete.
    if evaluators.is_none() {
        field.add(format!("the template `{name}` cannot be used"));
    }
    evaluators
}
