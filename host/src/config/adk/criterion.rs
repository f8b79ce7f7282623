//! The criterion of a built-in metric.

use std::sync::Arc;

use evaluator_document::{Field, Fields, NodeKind, did_you_mean};
use evaluator_judging::{JudgeSettings, read_model_options, read_pydantic_number as number};

use super::super::BuiltinConfig;
use crate::{
    json::{Object, Value},
    metric::{MatchType, Metric, Metrics},
};

/// Key of the criteria of programs and built-in metrics, in both spellings.
pub(super) const MISSING_TURNS_KEYS: (&str, &str) = ("missing_turns", "missingTurns");

/// A key that every criterion may have, in both spellings.
const INTERMEDIATE: (&str, &str) =
    ("include_intermediate_responses_in_final", "includeIntermediateResponsesInFinal");

/// Reads a number, or an object with `threshold` and the settings of the metric. Without a `metric`, only checks the
/// threshold.
pub(super) fn read(
    field: Field<'_>,
    metric: Option<&Arc<dyn Metric>>,
    metrics: &Metrics,
) -> Option<BuiltinConfig> {
    let has = |key| {
        metric.is_some_and(|metric| metric.settings().iter().any(|setting| setting.key == key))
    };
    if !field.is_mapping() {
        let threshold = plain(field, has("max"))?;
        return metric.map(|_| BuiltinConfig { threshold, ..BuiltinConfig::default() });
    }
    let mut fields = field.fields("this criterion")?;
    let threshold = required_threshold(field, has("max"), &mut fields);
    let metric = metric?;
    let judged = metric.asks_judge();
    let (settings, judge) = if judged {
        read_judge(&**metric, &mut fields)
    } else {
        let match_type = has(MatchType::KEY).then(|| fields.take_either("match_type", "matchType"));
        let match_type = match_type.flatten().and_then(read_match_type);
        let position = fields.position();
        metrics.configure(metric, &mut fields);
        let mut settings = fields.taken_since(position);
        if let Some(match_type) = match_type {
            settings.insert(MatchType::KEY.to_owned(), match_type.as_str().into());
        }
        (settings, JudgeSettings::default())
    };
    // Read separately, as the criteria of programs have it, too.
    fields.allow(MISSING_TURNS_KEYS.0, Some(MISSING_TURNS_KEYS.1));
    if !(judged && has(INTERMEDIATE.0))
        && let Some(field) = fields.take_either(INTERMEDIATE.0, INTERMEDIATE.1)
        && field.flag() == Some(true)
    {
        let message = format!("`{}` has an effect on judged metrics only", INTERMEDIATE.0);
        field.problems.note(field.node.span, message);
    }
    fields.finish();
    Some(BuiltinConfig { threshold: threshold?, settings, judge: Box::new(judge) })
}

/// Reads a criterion that is only a threshold; `has_budget` if the metric has a setting `max`.
pub(super) fn plain(field: Field<'_>, has_budget: bool) -> Option<f64> {
    if matches!(field.node.kind, NodeKind::Sequence(_)) || field.node.is_null() {
        let (name, noun) = (field.key, field.noun());
        return field
            .add(format!("the criterion of `{name}` must be a number or an object, not {noun}"))
            .hint(r#"for example 0.8 or {"threshold": 0.8}"#)
            .none();
    }
    read_threshold(field.key, field, has_budget)
}

/// Takes the threshold from a criterion.
pub(super) fn required_threshold(
    criterion: Field<'_>,
    has_budget: bool,
    fields: &mut Fields<'_>,
) -> Option<f64> {
    let name = criterion.key;
    let Some(threshold) = fields.take("threshold") else {
        let message = format!("the key `threshold` is missing in the criterion of `{name}`");
        return criterion.problems.add(criterion.node.span.start(), message).none();
    };
    read_threshold(name, threshold, has_budget)
}

fn read_threshold(name: &str, field: Field<'_>, has_budget: bool) -> Option<f64> {
    let Some(threshold) = number(field) else {
        let noun = field.noun();
        return field.add(format!("the threshold of `{name}` must be a number, not {noun}")).none();
    };
    if !(0.0..=1.0).contains(&threshold) {
        let hint = if has_budget {
            r#"a budget is `max`, for example {"threshold": 1, "max": 5}"#
        } else {
            "here scores are in 0..=1, whatever they are in ADK"
        };
        let message = format!("the threshold of `{name}` must be in 0..=1, not {threshold}");
        return field.add(message).hint(hint).none();
    }
    Some(threshold)
}

/// Reads a name, in any case and with any separator, or ADK's number for the match type.
fn read_match_type(field: Field<'_>) -> Option<MatchType> {
    let word = field.node.as_str().map(|word| word.trim().to_uppercase().replace(['-', ' '], "_"));
    let found = match &word {
        Some(word) => MatchType::named(word),
        None => {
            let numbered = [0.0, 1.0, 2.0].into_iter().zip(MatchType::ALL);
            let value = number(field);
            numbered.into_iter().find(|(n, _)| Some(*n) == value).map(|(_, found)| found)
        }
    };
    if found.is_none() {
        let names = MatchType::ALL.map(MatchType::as_str);
        let message = format!("`match_type` must be one of {} (or 0, 1, 2)", names.join(", "));
        field.add(message).maybe_hint(word.and_then(|word| did_you_mean(&word, names)));
    }
    found
}

/// Takes the settings of a metric that a model judges, with the keys that the metric has in YAML.
fn read_judge(metric: &dyn Metric, fields: &mut Fields<'_>) -> (Object, JudgeSettings) {
    let options = fields.take_either("judge_model_options", "judgeModelOptions");
    let judge = options.map(read_model_options).unwrap_or_default();
    let mut settings = Object::default();
    for setting in metric.settings() {
        let field = match setting.alias {
            Some(alias) => fields.take_either(setting.key, alias),
            None => fields.take(setting.key),
        };
        let value = field.and_then(|field| match setting.key {
            "rubrics" => Some(Value::Array(read_rubrics(field))),
            "stop_signal" => field.sentence().map(Value::String),
            _ => field.flag().map(Value::Bool),
        });
        settings.extend(value.map(|value| (setting.key.to_owned(), value)));
    }
    (settings, judge)
}

/// Reads rubrics and returns them as the setting `rubrics` has them in YAML.
fn read_rubrics(field: Field<'_>) -> Vec<Value> {
    let mut rubrics: Vec<(String, String)> = Vec::new();
    for item in field.items().unwrap_or_default() {
        let Some(rubric) = read_rubric(Field { key: "rubrics[]", ..item }) else { continue };
        if rubrics.iter().any(|(id, _)| *id == rubric.0) {
            item.add(format!("two rubrics have the id `{}`", rubric.0));
        }
        rubrics.push(rubric);
    }
    let value = |(id, text): (String, String)| {
        let members = [("id".to_owned(), id.into()), ("text".to_owned(), text.into())];
        Value::Object(Object::from_iter(members))
    };
    rubrics.into_iter().map(value).collect()
}

fn read_rubric(item: Field<'_>) -> Option<(String, String)> {
    let mut fields = item.fields("this rubric")?;
    let id = fields.require_either("rubric_id", "rubricId").and_then(|field| field.sentence());
    let text = fields.require_either("rubric_content", "rubricContent").and_then(|content| {
        let mut fields = content.fields("`rubric_content`")?;
        let text = fields.require_either("text_property", "textProperty");
        fields.finish();
        text?.sentence()
    });
    fields.null_is_absent();
    for key in ["description", "type"] {
        fields.take(key).and_then(|field| field.sentence());
    }
    fields.finish();
    Some((id?, text?))
}
