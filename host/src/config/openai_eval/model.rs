//! Graders that ask a model.

use std::ops::RangeInclusive;

use evaluator_document::{
    Field, Fields, NodeKind, keys,
    schema::{one_of, text},
};
use serde_json::{Value, json};

use super::template::template;
use crate::{
    json,
    judging::grader::{Grader, LabelModel, MessageTemplate, Part, ScoreModel},
    models::{Params, Role},
};

const EXAMPLE: &str = "for example {{ item.actual_response }}";

/// Senders of messages, by their names in the API.
const ROLES: [(&str, Role); 4] = [
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("system", Role::System),
    ("developer", Role::Developer),
];

/// Efforts of reasoning models.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

type ReadPart = fn(&mut Fields<'_>) -> Option<Part>;

/// Parts of messages, by their types in the API.
const PARTS: [(&str, ReadPart); 4] = [
    ("input_text", read_text),
    ("output_text", read_text),
    ("input_image", read_image),
    ("input_audio", read_audio),
];

pub(super) fn read_label_model(fields: &mut Fields<'_>) -> Option<Grader> {
    fields.describe(json!({"title": "Has a model put a label on every answer"}));
    let message = "`pass_threshold` cannot be set in this grader";
    fields.refuse("pass_threshold", message, "a turn passes by its label");
    let names = json!({"type": "array", "items": text(), "minItems": 1, "uniqueItems": true});
    let messages = messages(fields);
    keys! { fields;
        let model! = text();
        let input! = read(messages, read_input);
        let labels! = read(names.clone(), read_labels);
        let passing_labels! = field(names);
    }
    let passing_field = passing_labels;
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
    Some(Grader::LabelModel(LabelModel {
        model: model?.to_owned(),
        input: input?,
        labels: owned(labels?),
        passing_labels: owned(passing?),
    }))
}

/// Returns the JSON Schema of messages.
fn messages(fields: &Fields<'_>) -> Value {
    json!({"type": "array", "items": fields.schema_of(take_message), "minItems": 1})
}

fn read_input(field: Field<'_>) -> Option<Vec<MessageTemplate>> {
    let before = field.problems.count();
    let messages: Vec<MessageTemplate> =
        field.non_empty_items()?.into_iter().filter_map(read_message).collect();
    if field.problems.count() > before {
        return None;
    }
    if !messages
        .iter()
        .flat_map(MessageTemplate::templates)
        .any(|template| template.has_references())
    {
        return field.add("no message of `input` refers to the item").hint(EXAMPLE).none();
    }
    Some(messages)
}

fn read_message(field: Field<'_>) -> Option<MessageTemplate> {
    if !field.is_mapping() {
        let noun = field.noun();
        let message =
            format!("a message of `input` is a mapping with `role` and `content`, not {noun}");
        return field.add(message).none();
    }
    let mut fields = field.fields("this message")?;
    let message = take_message(&mut fields);
    fields.finish();
    message
}

/// Takes the keys of a message.
fn take_message(fields: &mut Fields<'_>) -> Option<MessageTemplate> {
    let types = one_of(&PARTS);
    let part = json!({"type": "object", "properties": {"type": types}, "required": ["type"]});
    let parts = json!({"type": "array", "items": {"anyOf": [text(), part]}, "minItems": 1});
    let read_parts = |field: Field<'_>| match field.node.kind {
        NodeKind::Sequence(_) => field.non_empty_items()?.into_iter().map(read_part).collect(),
        _ => read_part(field).map(|part| vec![part]),
    };
    // The only type in the API.
    fields.key("type", "").choice(&[("message", ())]);
    keys! { fields;
        let role! = choice(&ROLES);
        /// Text; {{ item.actual_response }} is replaced by the graded answer.
        let content! = read(json!({"anyOf": [text(), part, parts]}), read_parts);
    }
    Some(MessageTemplate { role: role?, parts: content? })
}

/// Reads a part of a message: text, or a mapping with text, an image or audio.
fn read_part(field: Field<'_>) -> Option<Part> {
    if !field.is_mapping() {
        field.text()?;
        return template(field).map(Part::Text);
    }
    let mut fields = field.fields("this content")?;
    let read = fields.require("type")?.choice(&PARTS)?;
    let part = read(&mut fields);
    fields.finish();
    part
}

fn read_text(fields: &mut Fields<'_>) -> Option<Part> {
    let field = fields.require("text")?;
    field.text()?;
    template(field).map(Part::Text)
}

fn read_image(fields: &mut Fields<'_>) -> Option<Part> {
    let url = fields.require("image_url");
    let details = ["auto", "low", "high"].map(|name| (name, name));
    let detail = match fields.take("detail") {
        Some(field) => Some(field.choice(&details)?),
        None => None,
    };
    let url = url?;
    url.text()?;
    Some(Part::Image { url: template(url)?, detail })
}

fn read_audio(fields: &mut Fields<'_>) -> Option<Part> {
    let audio = fields.require("input_audio")?;
    let mut fields = audio.fields("`input_audio`")?;
    let data = fields.require("data").and_then(|field| field.text());
    let formats = ["mp3", "wav"].map(|name| (name, name));
    let format = fields.require("format").and_then(|field| field.choice(&formats));
    fields.finish();
    Some(Part::Audio { data: data?.to_owned(), format: format? })
}

/// Reads unique texts.
fn read_labels(field: Field<'_>) -> Option<Vec<(&str, Field<'_>)>> {
    let mut found: Vec<(&str, Field<'_>)> = Vec::new();
    for item in field.non_empty_items()? {
        let Some(label) = item.text() else { continue };
        if found.iter().any(|(other, _)| *other == label) {
            item.add(format!("`{}` has `{label}` twice", field.key));
            continue;
        }
        found.push((label, item));
    }
    Some(found)
}

pub(super) fn read_score_model(fields: &mut Fields<'_>) -> Option<Grader> {
    fields.describe(json!({"title": "Has a model give every answer a number"}));
    let messages = messages(fields);
    let finite = |field: Field<'_>| {
        let number = field.number().filter(|number| number.is_finite());
        number.or_else(|| field.expected("a number").none())
    };
    let limits =
        json!({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2});
    let params = fields.schema_of(take_params);
    keys! { fields;
        let model! = text();
        let input! = read(messages, read_input);
        let range = read(limits, |field| Some(read_range(field)));
        let pass_threshold = read(json!({"type": "number"}), finite);
        let sampling_params = read(params, |field| Some(read_params(field)));
    }
    Some(Grader::ScoreModel(ScoreModel {
        model: model?.to_owned(),
        input: input?,
        range: range.unwrap_or(Some((0.0, 1.0)))?,
        pass_threshold,
        params: sampling_params.unwrap_or(Some(Params::default()))?,
    }))
}

/// Reads the parameters of requests, which have the names of the API.
fn read_params(field: Field<'_>) -> Option<Params> {
    let before = field.problems.count();
    let mut fields = field.fields("`sampling_params`")?;
    let params = take_params(&mut fields);
    fields.finish_leniently(&[]);
    (field.problems.count() == before).then_some(params)
}

fn take_params(fields: &mut Fields<'_>) -> Params {
    fields.describe(json!({"additionalProperties": true}));
    let mut params = Params::default();
    let number = |field: Field<'_>, range: RangeInclusive<f64>| {
        let number = field.number().filter(|number| range.contains(number));
        let what = || format!("a number in {}..={}", range.start(), range.end());
        number.or_else(|| field.expected(&what()).none())
    };
    let seed = |field: Field<'_>| match field.node.kind {
        NodeKind::Scalar(json::Value::Int(seed)) => Some(seed),
        _ => field.expected("a whole number").none(),
    };
    keys! { fields;
        params.temperature = read(json!({"type": "number", "minimum": 0, "maximum": 2}), |field| number(field, 0.0..=2.0));
        params.top_p = read(json!({"type": "number", "minimum": 0, "maximum": 1}), |field| number(field, 0.0..=1.0));
        params.seed = read(json!({"type": "integer"}), seed);
        // The name of the API has this plural.
        let max_completions_tokens = at_least(1, "a whole number of tokens, at least 1", "1024");
        let reasoning_effort = choice(&EFFORTS.map(|name| (name, name)));
    }
    params.max_output_tokens = max_completions_tokens;
    params.reasoning_effort = reasoning_effort.map(str::to_owned);
    params
}

fn read_range(field: Field<'_>) -> Option<(f64, f64)> {
    let limits: Vec<Option<f64>> = field.items()?.iter().map(|item| item.number()).collect();
    match limits[..] {
        [Some(least), Some(greatest)]
            if least < greatest && least.is_finite() && greatest.is_finite() =>
        {
            Some((least, greatest))
        }
        _ => field
            .add("`range` must be two numbers, the lesser one first")
            .hint("e.g. [0, 10]")
            .none(),
    }
}
