//! Lists of evaluators: entries, texts, includes.

use evaluator_document::{Field, NodeKind};
use evaluator_metrics::judge::scheme::{Item, Scheme};

use super::{Reader, entry, judge};
use crate::{files::Opened, model::Evaluator};

/// Maximum depth of includes.
const MAX_INCLUDES: usize = 3;

/// Place of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p> {
    /// File.
    pub(super) opened: Opened<'p>,
    /// Whether the entries are members of a composite.
    pub(super) is_member: bool,
    /// Whether the key of the list is the one of AgentV 2, `evaluators`.
    pub(super) is_old_key: bool,
    /// Files that include this one.
    pub(super) includes: &'p [std::path::PathBuf],
}

impl<'p> Place<'p> {
    pub(super) fn new(opened: Opened<'p>) -> Self {
        Self { opened, is_member: false, is_old_key: false, includes: &[] }
    }
}

/// Reads a list of evaluators. `None` after a problem. Criteria that are just texts are one evaluator, whose weight is their
/// number.
pub(super) fn read(
    reader: &Reader<'_>,
    field: &Field<'_>,
    place: Place<'_>,
) -> Option<Vec<Evaluator>> {
    let (mut evaluators, mut texts, mut place_of_texts) = (Some(Vec::new()), Vec::new(), None);
    for item in field.items()? {
        let read = match &item.node.kind {
            NodeKind::Mapping(entries) => match included(entries) {
                Some(name) => include(reader, &name.1.field("include", field.problems), place),
                None => entry::read(reader, &item, place).map(|evaluator| vec![evaluator]),
            },
            _ if place.is_member => item.expected("an evaluator").none(),
            _ => {
                let at = evaluators.as_ref().map_or(0, Vec::len);
                place_of_texts.get_or_insert((at, place.opened.position(item.node)));
                texts.extend(item.text().map(str::to_owned));
                continue;
            }
        };
        match (read, &mut evaluators) {
            (Some(read), Some(evaluators)) => evaluators.extend(read),
            _ => evaluators = None,
        }
    }
    let mut evaluators = evaluators?;
    if let Some((at, position)) = place_of_texts {
        #[expect(clippy::cast_precision_loss, reason = "a file has fewer than 2^53 lines")]
        let weight = texts.len() as f64;
        let item = |(number, text): (usize, String)| Item::new(judge::id_of(number), text);
        let scheme = Scheme::Rubrics((1..).zip(texts).map(item).collect());
        let judged = Evaluator::judged("rubrics", "rubrics", position, scheme);
        evaluators.insert(at, Evaluator { weight, ..judged });
    }
    Some(evaluators)
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
        reader.substitute(&mut root);
        let mut fields = root.field("the template", opened.problems).fields("this template")?;
        let list = fields.require("assertions");
        fields.finish();
        let inside = Place { opened, includes: &includes, ..place };
        read(reader, &list?, inside)
    });
    // The problem is in the other file; without one here, the list would look complete.
    if evaluators.is_none() {
        field.add(format!("the template `{name}` cannot be used"));
    }
    evaluators
}
