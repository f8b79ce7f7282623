//! An entry of `evaluators`.

use std::{collections::HashMap, path::PathBuf};

use evaluator_protocol::Contract;

use super::{
    BuiltinConfig, CodeConfig, EvaluatorConfig, EvaluatorKind, Isolation, Known, MissingTurns,
    alignment,
    fields::{Fields, Problems, choice, non_negative, text},
    linked, openai_eval,
    paths::Leads,
    problem::Place,
    process, remote, rubrics,
    run::MAX_RETRIES,
    yaml::{Node, NodeKind, Span},
};
use crate::metric::{MatchType, Metrics};

#[derive(Clone, Copy)]
enum Type {
    Builtin,
    Code,
    Remote,
    OpenaiEval,
    Linked,
}

const TYPES: [(&str, Type); 5] = [
    ("builtin", Type::Builtin),
    ("code", Type::Code),
    ("remote", Type::Remote),
    ("openai_eval", Type::OpenaiEval),
    ("linked", Type::Linked),
];

/// What evaluations may share, in words.
pub(super) const ISOLATIONS: [(&str, Isolation); 2] =
    [("auto", Isolation::Auto), ("process", Isolation::Process)];

/// What becomes of evaluations without some golden turns, in words.
pub(super) const MISSING_TURNS: [(&str, MissingTurns); 2] =
    [("fail", MissingTurns::Fail), ("ignore", MissingTurns::Ignore)];

/// Built-in metrics that no recording can be judged by, and why.
pub(super) const UNSUITABLE: [(&str, &str); 1] = [(
    "per_turn_user_simulator_quality_v1",
    "it judges a simulated user, and a recording has none",
)];

/// Settings that only some built-in metrics have.
#[derive(Clone, Copy)]
enum Own {
    IgnoreArgs,
    Max,
    Alignment,
}

/// Their keys, and the metrics that have them.
const OWN_SETTINGS: [(Own, &[&str], &[&str]); 3] = [
    (Own::IgnoreArgs, &["ignore_args", "ignoreArgs"], &["tool_trajectory_avg_score"]),
    (
        Own::Max,
        &["max"],
        &[
            "tool_call_count_v1",
            "inference_call_count_v1",
            "token_usage_v1",
            "invocation_duration_v1",
        ],
    ),
    (Own::Alignment, &["order", "args", "tools"], &["tool_trajectory_alignment"]),
];

/// Whether a metric counts something that a budget can be set for.
pub(super) fn has_budget(metric: &str) -> bool {
    OWN_SETTINGS
        .iter()
        .any(|(own, _, metrics)| matches!(own, Own::Max) && metrics.contains(&metric))
}

/// Names seen so far and where.
#[derive(Default)]
pub(super) struct Names {
    seen: HashMap<String, Span>,
}

/// Reads an entry.
pub(super) fn read(
    node: &Node,
    names: &mut Names,
    known: Known<'_>,
    problems: &mut Problems<'_>,
) -> Option<EvaluatorConfig> {
    let NodeKind::Mapping(entries) = &node.kind else {
        let hint = Some("write `- name: NAME` with `type:` below it".to_owned());
        problems.add(
            node.span,
            format!("an evaluator is a mapping with `name` and `type`, not {}", node.noun()),
            hint,
        );
        return None;
    };
    let mut fields = Fields::new("this evaluator", entries);
    let name = read_name(&mut fields, node, names, problems);
    let kind = match fields.take("type") {
        // The tag is read first: which keys are known depends on it.
        Some(node) => choice("type", node, &TYPES, problems).map(|kind| (kind, node.span)),
        None => {
            problems.add(
                start_of(node),
                "the key `type` is missing in this evaluator",
                Some("builtin, code or remote".to_owned()),
            );
            None
        }
    };
    let (kind, span) = kind?;
    let place = Place::new(problems.text, span);
    let kind = match (kind, span) {
        (Type::Builtin, span) => {
            if let Some((name, why)) =
                UNSUITABLE.iter().find(|(known, _)| Some(*known) == name.as_deref())
            {
                problems.add(span, format!("`{name}` cannot be used here: {why}"), None);
            }
            let builtin = read_builtin(name.as_deref(), span, known.metrics, &mut fields, problems);
            EvaluatorKind::Builtin(builtin)
        }
        (Type::Code, _) => EvaluatorKind::Code(read_code(&mut fields, node, problems)),
        (Type::OpenaiEval, _) => {
            let Some(openai) = openai_eval::read(&mut fields, start_of(node), problems) else {
                fields.take("missing_turns");
                fields.finish(problems);
                return None;
            };
            EvaluatorKind::OpenAiEval(openai)
        }
        (Type::Linked, _) => EvaluatorKind::Linked(linked::read(&mut fields, problems)),
        (Type::Remote, _) => {
            let extensions: Vec<&str> = known.runtimes.extensions().collect();
            EvaluatorKind::Remote(remote::read(&mut fields, node, &extensions, problems))
        }
    };
    let missing_turns = fields.choice("missing_turns", &MISSING_TURNS, problems);
    fields.finish(problems);
    let missing_turns = missing_turns.unwrap_or_default();
    Some(EvaluatorConfig { missing_turns, place: Some(place), ..EvaluatorConfig::new(name?, kind) })
}

fn read_name(
    fields: &mut Fields<'_>,
    entry: &Node,
    names: &mut Names,
    problems: &mut Problems<'_>,
) -> Option<String> {
    let Some(node) = fields.take("name") else {
        problems.add(start_of(entry), "the key `name` is missing in this evaluator", None);
        return None;
    };
    let name = text("name", node, problems)?;
    if let Some(first) = names.seen.insert(name.to_owned(), node.span) {
        let line = Place::new(problems.text, first).line;
        problems.add(
            node.span,
            format!("two evaluators are called `{name}`; the first one is in line {line}"),
            None,
        );
    }
    Some(name.to_owned())
}

/// A match type in any case, as on the command line.
fn read_match_type(node: &Node, problems: &mut Problems<'_>) -> Option<MatchType> {
    let key = "trajectory_match_type";
    let word = text(key, node, problems)?;
    let choices = MatchType::ALL.map(|known| (known.as_str(), known));
    word.parse().ok().or_else(|| choice(key, node, &choices, problems))
}

fn read_builtin(
    name: Option<&str>,
    span: Span,
    metrics: &Metrics,
    fields: &mut Fields<'_>,
    problems: &mut Problems<'_>,
) -> BuiltinConfig {
    let mut builtin = BuiltinConfig::default();
    fields.null_is_absent();
    let threshold = fields.fraction("threshold", problems);
    let match_type = fields.take_either("trajectory_match_type", "trajectoryMatchType", problems);
    builtin.match_type = match_type.and_then(|node| read_match_type(node, problems));
    let mut optional_text = |key: &'static str, alias: &'static str| {
        let node = fields.take_either(key, alias, problems)?;
        text(key, node, problems).map(str::to_owned)
    };
    builtin.judge_model = optional_text("judge_model", "judgeModel");
    builtin.judge_base_url = optional_text("judge_base_url", "judgeBaseUrl");
    builtin.credential_ref = optional_text("credential_ref", "credentialRef");
    if let Some(node) = fields.take("rubrics") {
        builtin.rubrics = rubrics::read(name, node, problems);
    }
    read_own(name, &mut builtin, fields, problems);
    let span = fields.peek("config").map_or(span, |node| node.span);
    builtin.config = fields.object("config", problems).unwrap_or_default();
    // A metric that does not exist is an error of its own.
    if let Some(Ok(metric)) = name.map(|name| metrics.get(name))
        && let Err(problem) = metric.check_config(&builtin.config)
    {
        problems.add(span, problem, None);
    }
    // Half as good as the budget allows is not what a limit is understood to be.
    let default = if builtin.max.is_some() { 1.0 } else { builtin.threshold };
    builtin.threshold = threshold.unwrap_or(default);
    builtin
}

/// Reads the settings that only some metrics have, and refuses them in the entries of others.
pub(super) fn read_own(
    name: Option<&str>,
    builtin: &mut BuiltinConfig,
    fields: &mut Fields<'_>,
    problems: &mut Problems<'_>,
) {
    for (own, keys, metrics) in OWN_SETTINGS {
        if name.is_some_and(|name| metrics.contains(&name)) {
            match own {
                Own::IgnoreArgs => {
                    let flag = fields.flag("ignore_args", "ignoreArgs", problems);
                    builtin.ignore_args = flag.unwrap_or_default();
                }
                Own::Max => {
                    let node = fields.take("max");
                    builtin.max = node.and_then(|node| non_negative("max", node, problems));
                }
                Own::Alignment => builtin.alignment = alignment::read(fields, problems),
            }
            continue;
        }
        for key in keys {
            let given = fields.take_replaced(key);
            // An entry without a name is refused for that alone.
            if let (Some((key_node, _)), Some(name)) = (given, name) {
                let hint = format!("it belongs to {}", metrics.join(", "));
                problems.add(key_node.span, format!("`{name}` has no setting `{key}`"), Some(hint));
            }
        }
    }
}

fn read_code(fields: &mut Fields<'_>, entry: &Node, problems: &mut Problems<'_>) -> CodeConfig {
    let path = match fields.take("path") {
        Some(node) => match text("path", node, problems) {
            Some(path) => problems.locate("path", path, node.span, Leads::File),
            None => PathBuf::new(),
        },
        None => {
            problems.add(start_of(entry), "the key `path` is missing in this evaluator", None);
            PathBuf::new()
        }
    };
    CodeConfig { path, ..read_program(fields, problems) }
}

/// The settings that all programs have, wherever they are.
pub(super) fn read_program(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> CodeConfig {
    let mut code = read_judgement(fields, problems);
    code.function = read_function(code.contract, fields, problems);
    code.retries = fields.whole("retries", 0..=MAX_RETRIES, problems);
    if let Some(executor) = fields.text("executor", problems) {
        code.executor = executor.to_owned();
    }
    code.process = process::read(fields, problems);
    code.isolation = fields.choice("isolation", &ISOLATIONS, problems).unwrap_or_default();
    code
}

/// The settings that all evaluators have that are given a document.
pub(super) fn read_judgement(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> CodeConfig {
    let mut code = CodeConfig::default();
    if let Some(threshold) = fields.fraction("threshold", problems) {
        code.threshold = threshold;
    }
    if let Some(timeout) = fields.seconds("timeout", problems) {
        code.timeout = timeout;
    }
    if let Some(config) = fields.object("config", problems) {
        code.config = config;
    }
    code.contract = fields.choice("contract", &contracts(), problems);
    code
}

/// The contracts, by name.
pub(super) fn contracts() -> [(&'static str, Contract); 4] {
    Contract::ALL.map(|contract| (contract.name(), contract))
}

/// The function to call, where the host of the contract calls functions.
fn read_function(
    contract: Option<Contract>,
    fields: &mut Fields<'_>,
    problems: &mut Problems<'_>,
) -> Option<String> {
    let node = fields.take("function")?;
    let function = text("function", node, problems)?;
    if !matches!(contract, Some(Contract::Adk | Contract::Agenta)) {
        let message = "`function` belongs to `contract: adk` and `contract: agenta`, whose hosts call functions";
        problems.add(
            node.span,
            message,
            Some("add one of them, or leave `function` out".to_owned()),
        );
        return None;
    }
    let is_name = |part: &str| {
        part.starts_with(|c: char| c == '_' || c.is_alphabetic())
            && part.chars().all(|c| c == '_' || c.is_alphanumeric())
    };
    if !function.split('.').all(is_name) {
        let message = format!("`function` must be the name of a Python function, not `{function}`");
        problems.add(node.span, message, None);
        return None;
    }
    Some(function.to_owned())
}

/// The first character: underlining a whole entry would say nothing.
pub(super) fn start_of(node: &Node) -> Span {
    Span { start: node.span.start, end: node.span.start + 1 }
}
