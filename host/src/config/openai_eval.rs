//! `type: openai_eval`: graders of OpenAI's evaluation service. They are read and checked, but cannot be run yet.

use std::time::Duration;

use evaluator_document::{Field, Fields};

/// Default time limit.
const TIMEOUT: Duration = Duration::from_secs(120);

const EXAMPLE: &str = "for example {{ item.actual_response }}";

/// A grader of OpenAI's evaluation service.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenAiEvalConfig {
    /// Lowest score with which a turn passes; 0.5 by default. A [`Grader::LabelModel`] passes by its labels instead.
    pub threshold: f64,
    /// Time limit for all turns of a conversation; 120 s by default.
    pub timeout: Duration,
    /// Method.
    pub grader: Grader,
}

/// Method of grading.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grader {
    /// Comparison with the expected answer by a measure such as `rouge_l`; needs an eval set.
    TextSimilarity(&'static str),
    /// A model that labels answers.
    LabelModel(LabelModel),
}

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

/// Measures of the similarity of two texts, by their names in the API.
const SIMILARITIES: [&str; 11] = [
    "fuzzy_match",
    "bleu",
    "gleu",
    "meteor",
    "cosine",
    "rouge_1",
    "rouge_2",
    "rouge_3",
    "rouge_4",
    "rouge_5",
    "rouge_l",
];

/// Senders of messages, by their names in the API.
const ROLES: [&str; 4] = ["user", "assistant", "system", "developer"];

/// Keys of the service's own graders whose values come from elsewhere.
const FILLED_IN: [(&str, &str); 4] = [
    ("name", "the name of the evaluator is used"),
    ("input", "the recorded answer is graded"),
    ("reference", "it is graded against the expected answer of the eval set"),
    ("pass_threshold", "write `threshold` next to `grader`"),
];

/// Takes the settings from an entry; `None` after a problem.
pub(super) fn read(fields: &mut Fields<'_>) -> Option<OpenAiEvalConfig> {
    let threshold = fields.take("threshold");
    let timeout = fields.take("timeout").and_then(|field| field.seconds()).unwrap_or(TIMEOUT);
    let score = threshold.and_then(|field| field.fraction()).unwrap_or(0.5);
    let Some(grader) = fields.take("grader") else {
        return fields.missing("grader").hint("one of type text_similarity or label_model").none();
    };
    let grader = read_grader(grader)?;
    if let (Grader::LabelModel(_), Some(field)) = (&grader, threshold) {
        field
            .problems
            .warn(field.node.span, "`threshold` has no effect with a label_model")
            .hint("leave it out; a turn passes by its label");
    }
    Some(OpenAiEvalConfig { threshold: score, timeout, grader })
}

fn read_grader(field: Field<'_>) -> Option<Grader> {
    let mut fields = field.fields("this grader")?;
    let Some(kind) = fields.take("type") else {
        return fields.missing("type").hint("text_similarity or label_model").none();
    };
    let is_similarity = kind.choice(&[("text_similarity", true), ("label_model", false)])?;
    let grader = if is_similarity {
        for (key, instead) in FILLED_IN {
            fields.refuse(key, format!("`{key}` cannot be set in this grader"), instead);
        }
        let metric = fields.require("evaluation_metric");
        metric
            .and_then(|field| field.choice(&SIMILARITIES.map(|name| (name, name))))
            .map(Grader::TextSimilarity)
    } else {
        read_label_model(&mut fields).map(Grader::LabelModel)
    };
    fields.finish();
    grader
}

fn read_label_model(fields: &mut Fields<'_>) -> Option<LabelModel> {
    for (key, instead) in [FILLED_IN[0], ("pass_threshold", "a turn passes by its label")] {
        fields.refuse(key, format!("`{key}` cannot be set in this grader"), instead);
    }
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

/// Reads a message and counts its references to the item.
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
    match references(text) {
        Ok(count) => Some((Message { role: role?, content: text.to_owned() }, count)),
        Err((message, hint)) => content.add(format!("`content` {message}")).hint(hint).none(),
    }
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

/// Counts the references of a template.
///
/// # Errors
///
/// Message and hint about the first text in braces that is not a reference.
fn references(text: &str) -> Result<usize, (String, &'static str)> {
    let mut count = 0;
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let Some(length) = rest[start..].find("}}") else {
            return Err(("has a `{{` without its `}}`".to_owned(), EXAMPLE));
        };
        let reference = &rest[start..start + length + 2];
        let path = reference[2..length].trim();
        if path == "sample" || path.starts_with("sample.") {
            let message = format!("refers to `{reference}`, but nothing is sampled");
            return Err((message, "the recorded answer is {{ item.actual_response }}"));
        }
        let mut names = path.split('.');
        if names.next() != Some("item") || !path.contains('.') || !names.all(is_name) {
            let message = format!("refers to `{reference}`, which is not a field of `item`");
            return Err((message, EXAMPLE));
        }
        count += 1;
        rest = &rest[start + length + 2..];
    }
    Ok(count)
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::references;

    #[test]
    fn references_are_counted() {
        for (text, expected) in [
            ("", 0),
            ("no { braces } here", 0),
            ("{{item.actual_response}}", 1),
            ("Is {{ item.actual_response }} as good as {{  item.expected_response }}?", 2),
            ("{{ item.a.b_1 }}", 1),
        ] {
            assert_eq!(references(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_reference_is_a_mistake() {
        for (text, expected) in [
            ("{{ item.x", "without its"),
            ("{{ item }}", "`{{ item }}`, which is not a field"),
            ("{{}}", "not a field"),
            ("{{ item. }}", "not a field"),
            ("{{ item.1 }}", "not a field"),
            ("{{ itme.x }}", "not a field"),
            ("{{ item.x | upper }}", "not a field"),
            ("{{ sample.output_text }}", "nothing is sampled"),
            ("{{ item.x }} {{ item.é y }}", "`{{ item.é y }}`"),
        ] {
            let mistake = references(text).unwrap_err();
            assert!(mistake.0.contains(expected), "{text}: {mistake:?}");
        }
    }
}
