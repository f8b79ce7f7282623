//! Reading an entry of that type.

use std::time::Duration;

use super::{
    Grader, LabelModel, Message, OpenAiEvalConfig, Role, TextSimilarity, template::references,
};
use crate::config::{
    fields::{Fields, Problems, choice, text},
    yaml::{Node, NodeKind, Span},
};

/// Time the service may take where nothing is said.
const TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Clone, Copy)]
enum GraderType {
    TextSimilarity,
    LabelModel,
}

const GRADERS: [(&str, GraderType); 2] =
    [("text_similarity", GraderType::TextSimilarity), ("label_model", GraderType::LabelModel)];

/// Keys of the service's own graders that are filled in from elsewhere.
const FILLED_IN: [(&str, &str); 4] = [
    ("name", "the name of the evaluator is used"),
    ("input", "the recorded answer is graded"),
    ("reference", "it is graded against the expected answer of the eval set"),
    ("pass_threshold", "write `threshold` beside `grader`"),
];

/// Reads what follows the name and the type; `None` when it cannot be used.
pub(in crate::config) fn read(
    fields: &mut Fields<'_>,
    entry: Span,
    problems: &mut Problems<'_>,
) -> Option<OpenAiEvalConfig> {
    let threshold = fields.fraction("threshold", problems);
    let given = fields.peek("threshold");
    let timeout = fields.seconds("timeout", problems).unwrap_or(TIMEOUT);
    let Some(node) = fields.take("grader") else {
        let hint = "one of type text_similarity or label_model".to_owned();
        problems.add(entry, "the key `grader` is missing in this evaluator", Some(hint));
        return None;
    };
    let grader = grader(node, problems)?;
    if let (Grader::LabelModel(_), Some(node)) = (&grader, given) {
        let hint = "leave it out; a turn passes by its label".to_owned();
        problems.warn(node.span, "`threshold` has no effect with a label_model", Some(hint));
    }
    Some(OpenAiEvalConfig { threshold: threshold.unwrap_or(0.5), timeout, grader })
}

fn grader(node: &Node, problems: &mut Problems<'_>) -> Option<Grader> {
    let NodeKind::Mapping(entries) = &node.kind else {
        let message = format!("`grader` must be a mapping, not {}", node.noun());
        problems.add(node.span, message, None);
        return None;
    };
    let mut fields = Fields::new("this grader", entries);
    let Some(tag) = fields.take("type") else {
        let hint = "text_similarity or label_model".to_owned();
        problems.add(start_of(node), "the key `type` is missing in this grader", Some(hint));
        return None;
    };
    let grader = match choice("type", tag, &GRADERS, problems)? {
        GraderType::TextSimilarity => {
            text_similarity(&mut fields, node, problems).map(Grader::TextSimilarity)
        }
        GraderType::LabelModel => label_model(&mut fields, node, problems).map(Grader::LabelModel),
    };
    fields.finish(problems);
    grader
}

fn text_similarity(
    fields: &mut Fields<'_>,
    grader: &Node,
    problems: &mut Problems<'_>,
) -> Option<TextSimilarity> {
    for (key, instead) in FILLED_IN {
        refuse(key, instead, fields, problems);
    }
    let node = required("evaluation_metric", fields, grader, problems)?;
    choice("evaluation_metric", node, &TextSimilarity::ALL, problems)
}

fn label_model(
    fields: &mut Fields<'_>,
    grader: &Node,
    problems: &mut Problems<'_>,
) -> Option<LabelModel> {
    refuse("name", FILLED_IN[0].1, fields, problems);
    refuse("pass_threshold", "a turn passes by its label", fields, problems);
    let model = required("model", fields, grader, problems)
        .and_then(|node| text("model", node, problems))
        .map(str::to_owned);
    let input = required("input", fields, grader, problems).and_then(|node| input(node, problems));
    let labels = required("labels", fields, grader, problems);
    let labels = labels.and_then(|node| texts("labels", node, problems));
    let passing_node = required("passing_labels", fields, grader, problems);
    let passing = passing_node.and_then(|node| texts("passing_labels", node, problems));
    if let (Some(labels), Some(passing), Some(node)) = (&labels, &passing, passing_node) {
        let known: Vec<&str> = labels.iter().map(|(label, _)| *label).collect();
        for (label, span) in passing {
            if !known.contains(label) {
                let hint = format!("one of {}", known.join(", "));
                let message = format!("`passing_labels` has `{label}`, which is not in `labels`");
                problems.add(*span, message, Some(hint));
            }
        }
        if known.iter().all(|label| passing.iter().any(|(passing, _)| passing == label)) {
            problems.warn(node.span, "every label passes, so that no turn can fail", None);
        }
    }
    let owned =
        |labels: Vec<(&str, Span)>| labels.into_iter().map(|(it, _)| it.to_owned()).collect();
    Some(LabelModel {
        model: model?,
        input: input?,
        labels: owned(labels?),
        passing_labels: owned(passing?),
    })
}

/// The messages.
fn input(node: &Node, problems: &mut Problems<'_>) -> Option<Vec<Message>> {
    let items = items("input", node, problems)?;
    let before = problems.found.len();
    let mut references = 0;
    let messages: Vec<Message> = items
        .iter()
        .filter_map(|item| {
            let (message, count) = message(item, problems)?;
            references += count;
            Some(message)
        })
        .collect();
    if references == 0 && problems.found.len() == before {
        let hint = "for example {{ item.actual_response }}".to_owned();
        problems.add(node.span, "no message of `input` speaks of the item", Some(hint));
    }
    Some(messages)
}

/// A message and how often it refers to the item.
fn message(node: &Node, problems: &mut Problems<'_>) -> Option<(Message, usize)> {
    let NodeKind::Mapping(entries) = &node.kind else {
        let message = format!(
            "a message of `input` is a mapping with `role` and `content`, not {}",
            node.noun()
        );
        problems.add(node.span, message, None);
        return None;
    };
    let mut fields = Fields::new("this message", entries);
    // The service's own name for what this is; nothing else is possible.
    fields.choice("type", &[("message", ())], problems);
    let role = required_in("message", "role", &mut fields, node, problems)
        .and_then(|node| choice("role", node, &Role::ALL, problems));
    let content = required_in("message", "content", &mut fields, node, problems)
        .and_then(|node| content(node, problems));
    fields.finish(problems);
    let (content, span) = content?;
    match references(content) {
        Ok(count) => Some((Message { role: role?, content: content.to_owned() }, count)),
        Err(mistake) => {
            let message = format!("`content` {}", mistake.message);
            problems.add(span, message, Some(mistake.hint.to_owned()));
            None
        }
    }
}

/// Text, or an object that holds it.
fn content<'n>(node: &'n Node, problems: &mut Problems<'_>) -> Option<(&'n str, Span)> {
    let NodeKind::Mapping(entries) = &node.kind else {
        return text("content", node, problems).map(|text| (text, node.span));
    };
    let mut fields = Fields::new("this content", entries);
    let kinds = [("input_text", ()), ("output_text", ())];
    if let Some(node) = required_in("content", "type", &mut fields, node, problems) {
        choice("type", node, &kinds, problems);
    }
    let found = required_in("content", "text", &mut fields, node, problems)
        .and_then(|node| Some((text("text", node, problems)?, node.span)));
    fields.finish(problems);
    found
}

/// Different texts, with their places; at least one.
fn texts<'n>(
    key: &str,
    node: &'n Node,
    problems: &mut Problems<'_>,
) -> Option<Vec<(&'n str, Span)>> {
    let mut found: Vec<(&str, Span)> = Vec::new();
    for item in items(key, node, problems)? {
        let Some(label) = text(key, item, problems) else { continue };
        if found.iter().any(|(other, _)| *other == label) {
            problems.add(item.span, format!("`{key}` has `{label}` twice"), None);
            continue;
        }
        found.push((label, item.span));
    }
    Some(found)
}

/// The items of a list that has some.
fn items<'n>(key: &str, node: &'n Node, problems: &mut Problems<'_>) -> Option<&'n [Node]> {
    match &node.kind {
        NodeKind::Sequence(items) if !items.is_empty() => Some(items),
        NodeKind::Sequence(_) => {
            problems.add(node.span, format!("`{key}` is empty"), None);
            None
        }
        _ => {
            problems.add(node.span, format!("`{key}` must be a list, not {}", node.noun()), None);
            None
        }
    }
}

fn required<'n>(
    key: &'static str,
    fields: &mut Fields<'n>,
    grader: &Node,
    problems: &mut Problems<'_>,
) -> Option<&'n Node> {
    required_in("grader", key, fields, grader, problems)
}

fn required_in<'n>(
    what: &str,
    key: &'static str,
    fields: &mut Fields<'n>,
    owner: &Node,
    problems: &mut Problems<'_>,
) -> Option<&'n Node> {
    let node = fields.take(key);
    if node.is_none() {
        let message = format!("the key `{key}` is missing in this {what}");
        problems.add(start_of(owner), message, None);
    }
    node
}

fn refuse(key: &'static str, instead: &str, fields: &mut Fields<'_>, problems: &mut Problems<'_>) {
    if let Some((name, _)) = fields.take_replaced(key) {
        let message = format!("`{key}` cannot be set in this grader");
        problems.add(name.span, message, Some(instead.to_owned()));
    }
}

/// The first character: underlining the whole would say nothing.
fn start_of(node: &Node) -> Span {
    Span { start: node.span.start, end: node.span.start + 1 }
}
