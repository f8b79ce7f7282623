//! ADK's `EvalConfig`: the JSON file that `adk eval` is given.
//!
//! ```json
//! {
//!   "criteria": {
//!     "response_match_score": 0.5,
//!     "answer_length": {"threshold": 0.8, "min_length": 10}
//!   },
//!   "custom_metrics": {
//!     "answer_length": {"code_config": {"name": "checks/answer_length.rs"}}
//!   }
//! }
//! ```
//!
//! The file is read into the same [`Config`] as a configuration in YAML: a criterion is an entry; a name with an entry in
//! `custom_metrics` is a program, any other name is a built-in metric. `code_config` names a Python function as in ADK,
//! whose module is a file next to the configuration, or a file or a command. Further settings of the program are in the
//! criterion, which in ADK may have any keys. Limits and environment of the program (`limits`, `env`, `inherit_env`, `cwd`)
//! are next to `code_config`.
//!
//! The file is detected by its content and read as strict JSON: YAML reads `1e5` as text. ADK ignores most unknown keys.
//! Here they are problems, as in YAML: a misspelt key would silently change a verdict. Known keys without an effect are
//! reported with `-v`.

mod criterion;
mod custom;

use std::sync::Arc;

use evaluator_document::{Field, JsonDocument, Node, Span, did_you_mean, read_json};

use self::{criterion::MISSING_TURNS_KEYS, custom::Custom};
use super::{
    Config, EvaluatorConfig, EvaluatorKind, MissingTurns, evaluator::MISSING_TURNS, reader::Reader,
};
use crate::{json::ParseError, metric::Metric};

/// Keys of the top level, in both spellings, that no other configuration has.
const KEYS: [&str; 7] = [
    "criteria",
    "custom_metrics",
    "customMetrics",
    "user_simulator_config",
    "userSimulatorConfig",
    "live_model_config",
    "liveModelConfig",
];

/// Required key of configurations that are not ADK's.
const OTHERS: &str = "evaluators";

/// Keys for agents that are run, with the reason why they have no effect.
const ABOUT_RUNNING: [(&str, &str, &str); 2] = [
    (
        "user_simulator_config",
        "userSimulatorConfig",
        "`user_simulator_config` has no effect here: recordings are evaluated, and no user is simulated",
    ),
    (
        "live_model_config",
        "liveModelConfig",
        "`live_model_config` has no effect here: recordings are evaluated, and no agent is run",
    ),
];

/// Parses `text` if its content is a configuration of ADK; `None` for anything else, such as another configuration as JSON.
/// Invalid JSON is recognized by the keys that it mentions.
pub(super) fn recognize(text: &str) -> Option<Result<JsonDocument, ParseError>> {
    let start = text.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
    if !start.starts_with('{') {
        return None;
    }
    match read_json(text) {
        Ok(document) => {
            let has = |key: &str| document.root.get(key).is_some();
            (!has(OTHERS) && KEYS.iter().any(|key| has(key))).then_some(Ok(document))
        }
        Err(error) => {
            let mentions = |key: &&str| text.contains(&format!("\"{key}\""));
            (!text.contains(OTHERS) && KEYS.iter().any(mentions)).then_some(Err(error))
        }
    }
}

/// Reads a configuration that [was recognized](recognize).
pub(super) fn read(
    document: Result<JsonDocument, ParseError>,
    reader: &Reader<'_>,
) -> Option<Config> {
    let problems = &reader.problems;
    let document = match document {
        Ok(document) => document,
        Err(error) => {
            let span = Span { start: error.offset, end: error.offset };
            return problems.add(span, format!("not JSON: {}", error.kind)).none();
        }
    };
    for repeated in &document.repeated {
        let line = problems.place(repeated.first).line;
        let message = format!("`{}` is given twice; the first one is in line {line}", repeated.key);
        problems.add(repeated.again, message).hint("keep one of them");
    }
    let mut fields = document.root.field("", problems).fields("an EvalConfig of ADK")?;
    let criteria = fields.take("criteria");
    if criteria.is_none() {
        let hint = r#"for example {"criteria": {"response_match_score": 0.8}}"#;
        problems.add(document.root.span.start(), "the key `criteria` is missing").hint(hint);
    }
    fields.null_is_absent();
    let customs = fields.take_either("custom_metrics", "customMetrics");
    let customs = customs.and_then(|field| field.entries()).unwrap_or_default();
    let customs: Vec<_> =
        customs.iter().filter_map(|(name, node)| custom::read(name, node, reader)).collect();
    for (key, alias, note) in ABOUT_RUNNING {
        if let Some(field) = fields.take_either(key, alias) {
            problems.note(field.node.span, note);
        }
    }
    fields.finish();
    let entries = criteria?.entries()?;
    if entries.is_empty() {
        return criteria?.add("`criteria` is empty, so nothing would be evaluated").none();
    }
    for custom in &customs {
        if !entries.iter().any(|(name, _)| name.as_str() == Some(custom.name)) {
            let message = format!("`{}` is not in `criteria`, so it is not evaluated", custom.name);
            problems.warn(custom.span, message);
        }
    }
    let evaluators =
        entries.iter().filter_map(|(key, node)| evaluator(key, node, &customs, reader));
    Some(Config { evaluators: evaluators.collect(), ..Config::default() })
}

/// Reads a criterion.
fn evaluator(
    key: &Node,
    node: &Node,
    customs: &[Custom<'_>],
    reader: &Reader<'_>,
) -> Option<EvaluatorConfig> {
    let name = key.as_str()?;
    if name.is_empty() {
        return reader.problems.add(key.span, "a metric needs a name").none();
    }
    let criterion = node.field(name, &reader.problems);
    let kind = match customs.iter().find(|custom| custom.name == name) {
        Some(custom) => EvaluatorKind::Code(custom.read_criterion(criterion, reader)?),
        None => {
            let metric = find_metric(key.field(name, &reader.problems), customs, reader);
            let builtin = criterion::read(criterion, metric.as_ref(), &reader.known.metrics);
            EvaluatorKind::Builtin(builtin?)
        }
    };
    let place = Some(reader.problems.place(key.span));
    let missing_turns = missing_turns(criterion).unwrap_or_default();
    Some(EvaluatorConfig { missing_turns, place, ..EvaluatorConfig::new(name, kind) })
}

fn missing_turns(criterion: Field<'_>) -> Option<MissingTurns> {
    if !criterion.is_mapping() {
        return None;
    }
    let (key, alias) = MISSING_TURNS_KEYS;
    criterion.fields("this criterion")?.take_either(key, alias)?.choice(&MISSING_TURNS)
}

/// Finds the built-in metric that `field` names.
fn find_metric(
    field: Field<'_>,
    customs: &[Custom<'_>],
    reader: &Reader<'_>,
) -> Option<Arc<dyn Metric>> {
    let (name, metrics) = (field.key, &reader.known.metrics);
    let Ok(metric) = metrics.get(name) else {
        let names = metrics.iter().map(|metric| metric.name());
        let names = names.chain(customs.iter().map(|custom| custom.name));
        let hint = did_you_mean(name, names)
            .unwrap_or_else(|| "`evaluator list` shows the built-in ones".to_owned());
        let message = format!("`{name}` is neither in `custom_metrics` nor a built-in metric");
        return field.add(message).hint(hint).none();
    };
    Some(metric)
}

#[cfg(test)]
mod tests;
