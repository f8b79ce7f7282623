//! What criteria of metrics that ask a judge have beside their threshold.
//!
//! None of these metrics can be computed here, and each says so itself. What stands in their criteria is read all the same:
//! a mistake in it should not have to wait for the day when they can.

use super::numbers::{members, noun, number};
use crate::config::{
    BuiltinConfig, Rubric,
    fields::{Fields, Problems},
    yaml::{Node, NodeKind, Span},
};

pub(super) fn read(
    metric: &str,
    builtin: &mut BuiltinConfig,
    fields: &mut Fields<'_>,
    problems: &mut Problems<'_>,
) {
    let options = fields.take_either("judge_model_options", "judgeModelOptions", problems);
    builtin.judge_model = options.and_then(|node| judge_model(node, problems));
    if metric.starts_with("rubric_based_") {
        builtin.rubrics =
            fields.take("rubrics").map(|node| rubrics(node, problems)).unwrap_or_default();
    }
    if metric == "hallucinations_v1" {
        fields.flag(
            "evaluate_intermediate_nl_responses",
            "evaluateIntermediateNlResponses",
            problems,
        );
    }
}

fn judge_model(node: &Node, problems: &mut Problems<'_>) -> Option<String> {
    let entries = members("`judge_model_options`", node, problems)?;
    let mut fields = Fields::new("`judge_model_options`", entries);
    let model = fields.take_either("judge_model", "judgeModel", problems);
    let model = model.and_then(|node| words("judge_model", node, problems));
    if let Some(config) = fields.take_either("judge_model_config", "judgeModelConfig", problems)
        && !config.is_null()
    {
        members("`judge_model_config`", config, problems);
    }
    for (key, alias) in [("num_samples", "numSamples"), ("parallelism_limit", "parallelismLimit")] {
        let Some(node) = fields.take_either(key, alias, problems) else { continue };
        if !number(node).is_some_and(|count| count >= 1.0 && count.fract() == 0.0) {
            let message = format!("`{key}` must be a whole number, at least 1");
            problems.add(node.span, message, None);
        }
    }
    fields.finish(problems);
    model
}

fn rubrics(node: &Node, problems: &mut Problems<'_>) -> Vec<Rubric> {
    let NodeKind::Sequence(items) = &node.kind else {
        problems.add(node.span, format!("`rubrics` must be an array, not {}", noun(node)), None);
        return Vec::new();
    };
    let mut rubrics: Vec<Rubric> = Vec::new();
    for item in items {
        let Some(rubric) = rubric(item, problems) else { continue };
        if rubrics.iter().any(|other| other.id == rubric.id) {
            let id = rubric.id.as_deref().unwrap_or_default();
            problems.add(item.span, format!("two rubrics have the id `{id}`"), None);
        }
        rubrics.push(rubric);
    }
    rubrics
}

fn rubric(node: &Node, problems: &mut Problems<'_>) -> Option<Rubric> {
    let mut fields = Fields::new("this rubric", members("a rubric", node, problems)?);
    let id = required("rubric_id", "rubricId", node, &mut fields, problems);
    let id = id.and_then(|node| words("rubric_id", node, problems));
    let content = required("rubric_content", "rubricContent", node, &mut fields, problems);
    let text = content.and_then(|content| {
        let entries = members("`rubric_content`", content, problems)?;
        let mut fields = Fields::new("`rubric_content`", entries);
        let text = required("text_property", "textProperty", content, &mut fields, problems);
        fields.finish(problems);
        words("text_property", text?, problems)
    });
    fields.null_is_absent();
    for key in ["description", "type"] {
        if let Some(node) = fields.take(key) {
            words(key, node, problems);
        }
    }
    fields.finish(problems);
    Some(Rubric { id: Some(id?), text: text? })
}

fn required<'n>(
    key: &'static str,
    alias: &'static str,
    owner: &Node,
    fields: &mut Fields<'n>,
    problems: &mut Problems<'_>,
) -> Option<&'n Node> {
    let node = fields.take_either(key, alias, problems);
    if node.is_none() {
        let start = owner.span.start;
        let message = format!("the key `{key}` is missing in this rubric");
        problems.add(Span { start, end: start + 1 }, message, None);
    }
    node
}

/// Text that is not blank.
fn words(key: &str, node: &Node, problems: &mut Problems<'_>) -> Option<String> {
    let text = node.as_str().filter(|text| !text.trim().is_empty());
    if text.is_none() {
        let found = if node.as_str().is_some() { "blank" } else { noun(node) };
        problems.add(node.span, format!("`{key}` must be text, not {found}"), None);
    }
    text.map(str::to_owned)
}
