//! `rubrics` of a metric that asks a judge.

use super::{
    Rubric,
    fields::{Fields, Problems, text},
    yaml::{Node, NodeKind},
};

/// Only metrics whose names begin so read rubrics.
const READERS: &str = "rubric_based_";

/// Reads a list whose items are texts, or mappings with `id` and `text`.
pub(super) fn read(metric: Option<&str>, node: &Node, problems: &mut Problems<'_>) -> Vec<Rubric> {
    if let Some(metric) = metric.filter(|metric| !metric.starts_with(READERS)) {
        let hint = format!("only metrics called `{READERS}...` do");
        problems.add(node.span, format!("`{metric}` reads no `rubrics`"), Some(hint));
    }
    let NodeKind::Sequence(items) = &node.kind else {
        problems.add(node.span, format!("`rubrics` must be a list, not {}", node.noun()), None);
        return Vec::new();
    };
    let mut rubrics: Vec<Rubric> = Vec::new();
    for item in items {
        let Some(rubric) = rubric(item, problems) else { continue };
        if rubric.id.is_some() && rubrics.iter().any(|other| other.id == rubric.id) {
            let id = rubric.id.as_deref().unwrap_or_default();
            problems.add(item.span, format!("two rubrics have the id `{id}`"), None);
        }
        rubrics.push(rubric);
    }
    rubrics
}

fn rubric(item: &Node, problems: &mut Problems<'_>) -> Option<Rubric> {
    let NodeKind::Mapping(entries) = &item.kind else {
        let text = sentence("rubrics[]", item, problems)?;
        return Some(Rubric { id: None, text });
    };
    let mut fields = Fields::new("this rubric", entries);
    let mut required = |key: &'static str| match fields.take(key) {
        Some(node) => sentence(key, node, problems),
        None => {
            problems.add(item.span, format!("the key `{key}` is missing in this rubric"), None);
            None
        }
    };
    let (id, text) = (required("id"), required("text"));
    fields.finish(problems);
    Some(Rubric { id: Some(id?), text: text? })
}

/// Text that is not blank.
fn sentence(key: &str, node: &Node, problems: &mut Problems<'_>) -> Option<String> {
    let text = text(key, node, problems)?;
    if text.trim().is_empty() {
        problems.add(node.span, format!("`{key}` is blank"), None);
        return None;
    }
    Some(text.to_owned())
}
