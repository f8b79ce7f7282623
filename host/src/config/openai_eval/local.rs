//! Graders that compare texts, call a function, or calculate.

use evaluator_document::{
    Fields, keys,
    schema::{one_of, text},
};
use serde_json::json;

use super::template::template;
use crate::{
    judging::grader::{Grader, ItemTemplate, Operation},
    metric::{Measure, NO_WORDNET, SIMILARITIES, find_wordnet, read_wordnet},
};

/// Model of embeddings unless the grader names another one.
const EMBEDDING_MODEL: &str = "text-embedding-3-large";

/// Most bytes of a Python source, as in the API.
const MAX_SOURCE: usize = 256_000;

/// What graders compare without `input` and `reference`.
const DEFAULTS: [&str; 2] = ["{{ item.actual_response }}", "{{ item.expected_response }}"];

pub(super) fn read_text_similarity(fields: &mut Fields<'_>) -> Option<Grader> {
    let title = "Measures the similarity of answers to the expected ones; needs an eval set";
    fields.describe(json!({"title": title}));
    let texts = read_texts(fields);
    let names: Vec<_> = SIMILARITIES.iter().map(|name| (*name, *name)).collect();
    keys! { fields;
        let evaluation_metric! = field(one_of(&names));
        /// Absolute path of WordNet 3.0 for meteor. Default: EVALUATOR_WORDNET, then /usr/share/wordnet.
        let wordnet = read(text(), |field| Some((field, read_wordnet(field))));
        /// Model of cosine. Default: text-embedding-3-large.
        let embedding_model = field(text());
    }
    let (field, embedding) = (evaluation_metric?, embedding_model);
    let name = field.choice(&names)?;
    if name == "cosine" {
        let model = match embedding {
            Some(field) => field.text()?,
            None => EMBEDDING_MODEL,
        };
        let (input, reference) = texts?;
        return Some(Grader::Cosine { input, reference, model: model.to_owned() });
    }
    if let Some(field) = embedding {
        return field.add("`embedding_model` belongs to `evaluation_metric: cosine`").none();
    }
    if let Some((field, _)) = &wordnet
        && name != "meteor"
    {
        return field.add("`wordnet` belongs to `evaluation_metric: meteor`").none();
    }
    let directory = match wordnet {
        Some((_, directory)) => Some(directory?),
        None if name == "meteor" => find_wordnet(None).ok().map(|(directory, _)| directory),
        None => None,
    };
    let Some(measure) = Measure::named(name, directory) else {
        return field.add(format!("`{name}` {NO_WORDNET}")).none();
    };
    let (input, reference) = texts?;
    Some(Grader::TextSimilarity { input, reference, measure })
}

pub(super) fn read_string_check(fields: &mut Fields<'_>) -> Option<Grader> {
    fields.describe(json!({"title": "Compares two texts"}));
    let message = "`pass_threshold` cannot be set in this grader";
    fields.refuse("pass_threshold", message, "a turn passes if the check holds");
    let texts = read_texts(fields);
    let literal = fields.peek("reference").filter(|node| node.as_str() == Some(""));
    keys! { fields;
        /// Equal, not equal, input contains reference, the same without case.
        let operation! = field(one_of(&Operation::ALL));
    }
    let operation = operation?;
    let problems = operation.problems;
    if operation.node.as_str() == Some("neq") {
        // The API's guide has this name; the closest one is its opposite.
        return operation.add("`operation` is `ne`, not `neq`").hint("write `ne`").none();
    }
    let operation = operation.choice(&Operation::ALL)?;
    if let (Some(node), Operation::Like | Operation::Ilike) = (literal, operation) {
        let message = "`reference` is empty, and every text contains an empty text";
        return problems.add(node.span, message).none();
    }
    let (input, reference) = texts?;
    Some(Grader::StringCheck { input, reference, operation })
}

/// Reads the two texts that are compared.
fn read_texts(fields: &mut Fields<'_>) -> Option<(ItemTemplate, ItemTemplate)> {
    let text = json!({"type": "string"});
    keys! { fields;
        /// Text; default: {{ item.actual_response }}.
        let input = field(text.clone());
        /// Text; default: {{ item.expected_response }}.
        let reference = field(text);
    }
    let [input, reference] =
        [(input, DEFAULTS[0]), (reference, DEFAULTS[1])].map(|(field, default)| match field {
            Some(field) => template(field).map(|template| (template, Some(field))),
            None => ItemTemplate::parse(default).ok().map(|template| (template, None)),
        });
    let ((input, field), (reference, _)) = (input?, reference?);
    if let Some(field) = field
        && !input.has_references()
        && !reference.has_references()
    {
        return field
            .add("neither `input` nor `reference` refers to the turn")
            .hint("for example {{ item.actual_response }}")
            .none();
    }
    Some((input, reference))
}

pub(super) fn read_python(fields: &mut Fields<'_>) -> Option<Grader> {
    fields.describe(json!({"title": "Calls a Python function"}));
    keys! { fields;
        image_tag: text();
        let source! = field(text());
    }
    let field = source?;
    let source = field.text()?;
    if source.len() > MAX_SOURCE {
        return field.add(format!("`source` has more than {MAX_SOURCE} bytes")).none();
    }
    if !source.contains("grade") {
        let hint = "for example def grade(sample, item): return 1.0";
        return field.add("`source` does not define `grade`").hint(hint).none();
    }
    Some(Grader::Python { source: source.to_owned() })
}
