//! `type: openai_eval`: graders of OpenAI's evaluation service. They are checked, but cannot be run yet.

use evaluator_document::{Field, Fields};

const EXAMPLE: &str = "for example {{ item.actual_response }}";

/// A grader of OpenAI's evaluation service.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenAiEvalConfig {
    /// Lowest score with which a turn passes; 0.5 by default. A [`Grader::LabelModel`] passes by its labels instead.
    pub threshold: f64,
    /// Method.
    pub grader: Grader,
}

/// Method of grading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grader {
    /// Comparison with the expected answer by a measure such as `rouge_l`; needs an eval set.
    TextSimilarity,
    /// A model that labels answers.
    LabelModel,
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
    let score = threshold.and_then(|field| field.fraction()).unwrap_or(0.5);
    fields.take("timeout").and_then(|field| field.seconds());
    let Some(grader) = fields.take("grader") else {
        return fields.missing("grader").hint("one of type text_similarity or label_model").none();
    };
    let grader = read_grader(grader)?;
    if let (Grader::LabelModel, Some(field)) = (grader, threshold) {
        field
            .problems
            .warn(field.node.span, "`threshold` has no effect with a label_model")
            .hint("leave it out; a turn passes by its label");
    }
    Some(OpenAiEvalConfig { threshold: score, grader })
}

fn read_grader(field: Field<'_>) -> Option<Grader> {
    let mut fields = field.fields("this grader")?;
    let Some(kind) = fields.take("type") else {
        return fields.missing("type").hint("text_similarity or label_model").none();
    };
    let kinds = [("text_similarity", Grader::TextSimilarity), ("label_model", Grader::LabelModel)];
    let grader = kind.choice(&kinds)?;
    match grader {
        Grader::TextSimilarity => {
            for (key, instead) in FILLED_IN {
                fields.refuse(key, format!("`{key}` cannot be set in this grader"), instead);
            }
            let measure = fields.require("evaluation_metric");
            measure.and_then(|field| field.choice(&SIMILARITIES.map(|name| (name, ()))));
        }
        Grader::LabelModel => check_label_model(&mut fields),
    }
    fields.finish();
    Some(grader)
}

/// Checks a model that labels every answer: its prompt, the possible labels, and those with which a turn passes.
fn check_label_model(fields: &mut Fields<'_>) {
    for (key, instead) in [FILLED_IN[0], ("pass_threshold", "a turn passes by its label")] {
        fields.refuse(key, format!("`{key}` cannot be set in this grader"), instead);
    }
    fields.require("model").and_then(|field| field.text());
    fields.require("input").and_then(check_input);
    let labels = fields.require("labels").and_then(read_labels);
    let passing_field = fields.require("passing_labels");
    let passing = passing_field.and_then(read_labels);
    let (Some(labels), Some(passing), Some(field)) = (labels, passing, passing_field) else {
        return;
    };
    let known: Vec<&str> = labels.iter().map(|(label, _)| *label).collect();
    for (label, item) in passing.iter().filter(|(label, _)| !known.contains(label)) {
        item.add(format!("`passing_labels` has `{label}`, which is not in `labels`"))
            .hint(format!("one of {}", known.join(", ")));
    }
    if known.iter().all(|label| passing.iter().any(|(passing, _)| passing == label)) {
        field.problems.warn(field.node.span, "every label passes, so that no turn can fail");
    }
}

/// Checks a prompt: a list of messages, at least one of which refers to the item.
fn check_input(field: Field<'_>) -> Option<()> {
    let before = field.problems.count();
    let count: usize = non_empty(field)?.into_iter().filter_map(check_message).sum();
    if count == 0 && field.problems.count() == before {
        field.add("no message of `input` refers to the item").hint(EXAMPLE);
    }
    Some(())
}

/// Checks a message and counts its references to the item.
fn check_message(field: Field<'_>) -> Option<usize> {
    if !field.is_mapping() {
        let noun = field.noun();
        let message =
            format!("a message of `input` is a mapping with `role` and `content`, not {noun}");
        return field.add(message).none();
    }
    let mut fields = field.fields("this message")?;
    // The only type in the API.
    fields.take("type").and_then(|field| field.choice(&[("message", ())]));
    fields.require("role").and_then(|field| field.choice(&ROLES.map(|name| (name, ()))));
    let content = fields.require("content").and_then(read_content);
    fields.finish();
    let content = content?;
    match references(content.text()?) {
        Ok(count) => Some(count),
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
