//! Graders that ask a model.

use std::ops::RangeInclusive;

use evaluator_document::{Field, Fields, NodeKind};

use super::template::template;
use crate::{
    json::Value,
    judging::grader::{LabelModel, MessageTemplate, Part, ScoreModel},
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

fn read_input(field: Field<'_>) -> Option<Vec<MessageTemplate>> {
    let before = field.problems.count();
    let messages: Vec<MessageTemplate> =
        non_empty(field)?.into_iter().filter_map(read_message).collect();
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
    // The only type in the API.
    fields.take("type").and_then(|field| field.choice(&[("message", ())]));
    let role = fields.require("role").and_then(|field| field.choice(&ROLES));
    let content = fields.require("content").map(|field| match field.node.kind {
        NodeKind::Sequence(_) => non_empty(field)?.into_iter().map(read_part).collect(),
        _ => read_part(field).map(|part| vec![part]),
    });
    fields.finish();
    Some(MessageTemplate { role: role?, parts: content?? })
}

/// Reads a part of a message: text, or a mapping with text, an image or audio.
fn read_part(field: Field<'_>) -> Option<Part> {
    if !field.is_mapping() {
        field.text()?;
        return template(field).map(Part::Text);
    }
    let mut fields = field.fields("this content")?;
    type Read = fn(&mut Fields<'_>) -> Option<Part>;
    let types: [(&str, Read); 4] = [
        ("input_text", read_text),
        ("output_text", read_text),
        ("input_image", read_image),
        ("input_audio", read_audio),
    ];
    let read = fields.require("type")?.choice(&types)?;
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
    let pass_threshold = fields.take("pass_threshold").and_then(|field| {
        let number = field.number().filter(|number| number.is_finite());
        if number.is_none() {
            field.expected("a number");
        }
        number
    });
    let params = match fields.take("sampling_params") {
        Some(field) => read_params(field),
        None => Some(Params::default()),
    };
    let range = range.map_or(Some((0.0, 1.0)), |(_, range)| range);
    Some(ScoreModel {
        model: model?.to_owned(),
        input: input?,
        range: range?,
        pass_threshold,
        params: params?,
    })
}

/// Reads the parameters of requests, which have the names of the API.
fn read_params(field: Field<'_>) -> Option<Params> {
    let before = field.problems.count();
    let mut fields = field.fields("`sampling_params`")?;
    let mut number = |key, range: RangeInclusive<f64>| {
        let field: Field<'_> = fields.take(key)?;
        let number = field.number().filter(|number| range.contains(number));
        if number.is_none() {
            let (least, greatest) = (range.start(), range.end());
            field.expected(&format!("a number in {least}..={greatest}"));
        }
        number
    };
    let (temperature, top_p) = (number("temperature", 0.0..=2.0), number("top_p", 0.0..=1.0));
    let seed = fields.take("seed").and_then(|field| match field.node.kind {
        NodeKind::Scalar(Value::Int(seed)) => Some(seed),
        _ => field.expected("a whole number").none(),
    });
    let most = "a whole number of tokens, at least 1";
    // The name of the API has this plural.
    let max_tokens = fields.take("max_completions_tokens");
    let max_output_tokens = max_tokens.and_then(|field| field.at_least(1, most, "1024"));
    let effort = fields.take("reasoning_effort");
    let reasoning_effort = effort.and_then(|field| field.choice(&EFFORTS.map(|name| (name, name))));
    fields.finish_leniently(&[]);
    let reasoning_effort = reasoning_effort.map(str::to_owned);
    let params = Params {
        seed,
        temperature,
        top_p,
        max_output_tokens,
        reasoning_effort,
        ..Params::default()
    };
    (field.problems.count() == before).then_some(params)
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
