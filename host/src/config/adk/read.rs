//! The top level: `criteria`, each with its metric.

use super::{
    criterion,
    custom::{self, Custom},
    numbers::members,
    program,
};
use crate::{
    config::{
        Config, EvaluatorConfig, EvaluatorKind, Known, MissingTurns,
        evaluator::{MISSING_TURNS, UNSUITABLE},
        fields::{Fields, Problems, choice, did_you_mean},
        json::Document,
        problem::Place,
        yaml::{Node, NodeKind, Span},
    },
    json::ParseError,
    metric::Metrics,
};

/// Keys that are about agents that still have to run.
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

/// A key of criteria that decides for programs and built-in metrics alike, in both spellings.
pub(super) const MISSING_TURNS_KEYS: (&str, &str) = ("missing_turns", "missingTurns");

/// Reads a configuration that [was recognized](super::recognize).
pub(in crate::config) fn read(
    document: Result<Document, ParseError>,
    known: Known<'_>,
    problems: &mut Problems<'_>,
) -> Config {
    let mut config = Config::default();
    let document = match document {
        Ok(document) => document,
        Err(error) => {
            let span = Span { start: error.offset, end: error.offset };
            problems.add(span, format!("not JSON: {}", error.kind), None);
            return config;
        }
    };
    for repeated in &document.repeated {
        let line = Place::new(problems.text, repeated.first).line;
        let message = format!("`{}` is given twice; the first one is in line {line}", repeated.key);
        problems.add(repeated.again, message, Some("keep one of them".to_owned()));
    }
    let Some(entries) = members("an EvalConfig", &document.root, problems) else { return config };
    let mut fields = Fields::new("an EvalConfig of ADK", entries);
    let criteria = fields.take("criteria");
    fields.null_is_absent();
    let customs = match fields.take_either("custom_metrics", "customMetrics", problems) {
        Some(node) => custom::read_all(node, problems),
        None => Vec::new(),
    };
    for (key, alias, note) in ABOUT_RUNNING {
        if let Some(node) = fields.take_either(key, alias, problems) {
            problems.note(node.span, note);
        }
    }
    fields.finish(problems);
    match criteria.map(|node| (node, members("`criteria`", node, problems))) {
        None => {
            let start = document.root.span.start;
            let hint = r#"for example {"criteria": {"response_match_score": 0.8}}"#.to_owned();
            problems.add(
                Span { start, end: start + 1 },
                "the key `criteria` is missing",
                Some(hint),
            );
        }
        Some((node, Some([]))) => {
            problems.add(node.span, "`criteria` is empty, so nothing would be evaluated", None);
        }
        Some((_, None)) => {}
        Some((_, Some(entries))) => {
            config.evaluators = entries
                .iter()
                .filter_map(|(name, criterion)| {
                    evaluator(name, criterion, &customs, known, problems)
                })
                .collect();
            unused(&customs, entries, problems);
        }
    }
    config
}

/// A criterion and its metric.
fn evaluator(
    key: &Node,
    criterion: &Node,
    customs: &[Custom<'_>],
    known: Known<'_>,
    problems: &mut Problems<'_>,
) -> Option<EvaluatorConfig> {
    let name = key.as_str()?;
    if name.is_empty() {
        problems.add(key.span, "a metric needs a name", None);
        return None;
    }
    let kind = match customs.iter().find(|custom| custom.name == name) {
        Some(custom) => {
            EvaluatorKind::Code(program::read(custom, criterion, known.runtimes, problems)?)
        }
        None => {
            // What else is wrong with it is said all the same.
            let usable = is_usable(name, key, customs, known.metrics, problems);
            let builtin = criterion::read(name, criterion, usable, problems);
            EvaluatorKind::Builtin(builtin.filter(|_| usable)?)
        }
    };
    let place = Some(Place::new(problems.text, key.span));
    let missing_turns = missing_turns(criterion, problems);
    Some(EvaluatorConfig { missing_turns, place, ..EvaluatorConfig::new(name, kind) })
}

/// The key `missing_turns` of a criterion.
fn missing_turns(criterion: &Node, problems: &mut Problems<'_>) -> MissingTurns {
    let NodeKind::Mapping(entries) = &criterion.kind else { return MissingTurns::default() };
    let mut fields = Fields::new("this criterion", entries);
    let (key, alias) = MISSING_TURNS_KEYS;
    let given = fields.take_either(key, alias, problems);
    let chosen = given.and_then(|node| choice(key, node, &MISSING_TURNS, problems));
    chosen.unwrap_or_default()
}

/// Whether there is such a built-in metric.
fn is_usable(
    name: &str,
    key: &Node,
    customs: &[Custom<'_>],
    metrics: &Metrics,
    problems: &mut Problems<'_>,
) -> bool {
    if let Some((_, why)) = UNSUITABLE.iter().find(|(known, _)| *known == name) {
        problems.add(key.span, format!("`{name}` cannot be used here: {why}"), None);
        return false;
    }
    if metrics.get(name).is_ok() {
        return true;
    }
    let known =
        metrics.iter().map(|metric| metric.name()).chain(customs.iter().map(|custom| custom.name));
    let hint = did_you_mean(name, known)
        .or_else(|| Some("`evaluator list` shows the built-in ones".to_owned()));
    let message = format!("`{name}` is neither in `custom_metrics` nor a built-in metric");
    problems.add(key.span, message, hint);
    false
}

/// Warns of metrics that nothing asks for.
fn unused(customs: &[Custom<'_>], criteria: &[(Node, Node)], problems: &mut Problems<'_>) {
    for custom in customs {
        if !criteria.iter().any(|(name, _)| name.as_str() == Some(custom.name)) {
            let message = format!("`{}` is not in `criteria`, so it is not evaluated", custom.name);
            problems.warn(custom.place, message, None);
        }
    }
}
