//! Graders that ask a model. They are read and checked, but no model can be asked yet.

use evaluator_document::{Field, Fields};

use crate::json::Object;

const EXAMPLE: &str = "for example {{ item.actual_response }}";

/// Senders of messages, by their names in the API.
const ROLES: [&str; 4] = ["user", "assistant", "system", "developer"];

/// A model that labels every answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LabelModel {
    /// Name of the model.
    pub model: String,
    /// Prompt; at least one message refers to the item.
    pub input: Vec<Message>,
    /// Possible labels, unique; at least one.
    pub labels: Vec<String>,
    /// Labels with which a turn passes; at least one.
    pub passing_labels: Vec<String>,
}

/// A message to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// Role of the sender: `user`, `assistant`, `system` or `developer`.
    pub role: &'static str,
    /// Text with references such as `{{ item.actual_response }}`.
    pub content: String,
}

/// A model that gives every answer a number.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScoreModel {
    /// Name of the model.
    pub model: String,
    /// Prompt; at least one message refers to the item.
    pub input: Vec<Message>,
    /// Least and greatest number; 0 and 1 by default.
    pub range: (f64, f64),
    /// Least number of the range with which a turn passes; the threshold of the entry decides if `None`.
    pub pass_threshold: Option<f64>,
    /// Parameters of the request.
    pub sampling_params: Object,
}

pub(super) fn read_label_model(fields: &mut Fields<'_>) -> Option<LabelModel> {
    let message = "`pass_threshold` cannot be set in this grader";
    fields.refuse("pass_threshold", message, "a turn passes by its label");
    let model = fields.require("model").and_then(|field| field.text());
    let input = fields.require("input").and_then(read_input);
    let labels = fields.require("labels").and_then(read_labels);
    let passing_field = fields.require("passing_labels");
    let passing = passing_field.and_then(read_labels);
    if let (Some(labels), Some(passing), Some(field)) = (&labels, &passing, passing_field) {
        let known: Vec<&str> = labels.iter().map(|(label, _)| *label).collect();
        for (label, item) in passing.iter().filter(|(label, _)| !known.contains(label)) {
            item.add(format!("`passing_labels` has `{label}`, which is not in `labels`"))
                .hint(format!("one of {}", known.join(", ")));
        }
        if known.iter().all(|label| passing.iter().any(|(passing, _)| passing == label)) {
            let message = "every label passes, so that no turn can fail";
            field.problems.warn(field.node.span, message);
        }
    }
    let owned = |labels: Vec<(&str, _)>| labels.into_iter().map(|(it, _)| it.to_owned()).collect();
    Some(LabelModel {
        model: model?.to_owned(),
        input: input?,
        labels: owned(labels?),
        passing_labels: owned(passing?),
    })
}

fn read_input(field: Field<'_>) -> Option<Vec<Message>> {
    let before = field.problems.count();
    let read: Vec<(Message, usize)> =
        non_empty(field)?.into_iter().filter_map(read_message).collect();
    let count: usize = read.iter().map(|(_, references)| references).sum();
    if count == 0 && field.problems.count() == before {
        field.add("no message of `input` refers to the item").hint(EXAMPLE);
    }
    Some(read.into_iter().map(|(message, _)| message).collect())
}

/// Reads a message, and 1 if it refers to the turn.
fn read_message(field: Field<'_>) -> Option<(Message, usize)> {
    if !field.is_mapping() {
        let noun = field.noun();
        let message =
            format!("a message of `input` is a mapping with `role` and `content`, not {noun}");
        return field.add(message).none();
    }
    let mut fields = field.fields("this message")?;
    // The only type in the API.
    fields.take("type").and_then(|field| field.choice(&[("message", ())]));
    let role =
        fields.require("role").and_then(|field| field.choice(&ROLES.map(|name| (name, name))));
    let content = fields.require("content").and_then(read_content);
    fields.finish();
    let content = content?;
    let text = content.text()?;
    let template = super::template(content)?;
    let count = usize::from(template.has_references());
    Some((Message { role: role?, content: text.to_owned() }, count))
}

/// Reads text, or a mapping with text.
fn read_content(field: Field<'_>) -> Option<Field<'_>> {
    if !field.is_mapping() {
        return Some(field);
    }
    let mut fields = field.fields("this content")?;
    if let Some(kind) = fields.require("type") {
        kind.choice(&[("input_text", ()), ("output_text", ())]);
    }
    let text = fields.require("text");
    fields.finish();
    text
}

/// Reads unique texts.
fn read_labels(field: Field<'_>) -> Option<Vec<(&str, Field<'_>)>> {
    let mut found: Vec<(&str, Field<'_>)> = Vec::new();
    for item in non_empty(field)? {
        let Some(label) = item.text() else { continue };
        if found.iter().any(|(other, _)| *other == label) {
            item.add(format!("`{}` has `{label}` twice", field.key));
            continue;
        }
        found.push((label, item));
    }
    Some(found)
}

/// Returns the items of a list that is not empty.
fn non_empty(field: Field<'_>) -> Option<Vec<Field<'_>>> {
    let items = field.items()?;
    if items.is_empty() {
        return field.add(format!("`{}` is empty", field.key)).none();
    }
    Some(items)
}

pub(super) fn read_score_model(fields: &mut Fields<'_>) -> Option<ScoreModel> {
    let model = fields.require("model").and_then(|field| field.text());
    let input = fields.require("input").and_then(read_input);
    let range = fields.take("range").map(|field| (field, read_range(field)));
    let pass_threshold = fields.take("pass_threshold").and_then(|field| match field.number() {
        Some(number) => Some(number),
        None => field.expected("a number").none(),
    });
    let sampling_params = fields.take("sampling_params").and_then(|field| field.object());
    Some(ScoreModel {
        model: model?.to_owned(),
        input: input?,
        range: range.map_or(Some((0.0, 1.0)), |(_, range)| range)?,
        pass_threshold,
        sampling_params: sampling_params.unwrap_or_default(),
    })
}

fn read_range(field: Field<'_>) -> Option<(f64, f64)> {
    let limits: Vec<f64> = field.items()?.iter().filter_map(|item| item.number()).collect();
    match limits[..] {
        [least, greatest] if least < greatest => Some((least, greatest)),
        _ => field
            .add("`range` must be two numbers, the lesser one first")
            .hint("e.g. [0, 10]")
            .none(),
    }
}
