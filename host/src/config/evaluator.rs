//! An entry of `evaluators`.

use std::{collections::HashMap, sync::Arc};

use evaluator_document::{Field, Fields, Node, Span, did_you_mean};
use evaluator_judging::{JudgeSettings, ProgramModels};
use evaluator_protocol::Contract;

use super::{
    containment::{self, Defaults},
    gates, llm_judge,
    model::{
        BuiltinConfig, CodeConfig, EvaluatorConfig, EvaluatorKind, Isolation, LinkedConfig,
        MissingTurns, RemoteConfig,
    },
    openai_eval,
    paths::PathKind,
    process,
    reader::{MAX_RETRIES, Reader},
};
use crate::{
    hosts::function_contracts,
    metric::{MatchType, Metric, Metrics},
    report::Gate,
    runtime::Runtimes,
    source::{Reference, Wanted},
};

#[derive(Clone, Copy)]
enum Type {
    Builtin,
    Code,
    Remote,
    OpenaiEval,
    LlmJudge,
    Linked,
}

const TYPES: [(&str, Type); 6] = [
    ("builtin", Type::Builtin),
    ("code", Type::Code),
    ("remote", Type::Remote),
    ("openai_eval", Type::OpenaiEval),
    ("llm_judge", Type::LlmJudge),
    ("linked", Type::Linked),
];

/// Types of evaluators in eval files of AgentV, with `-` for `_`, and what to write instead.
const EVAL_FILE_TYPES: [(&str, &str); 5] = [
    (
        "code-grader code-judge script",
        "write `type: code` with `path: FILE`, and `contract: agentv` if the program reads AgentV's documents",
    ),
    (
        "llm-grader llm-judge llm-rubric rubric rubrics",
        "write `type: llm_judge` with `prompt`, `rubrics` or `criteria`",
    ),
    (
        "tool-trajectory",
        "write `type: builtin` with `name: tool_trajectory_avg_score` or `name: tool_trajectory_alignment`",
    ),
    (
        "contains icontains equals",
        "write `type: openai_eval` with `grader: {type: string_check, operation: like, reference: TEXT}`; `ilike` ignores case, \
         `eq` compares the whole answer",
    ),
    (
        "contains-any contains-all icontains-any icontains-all starts-with ends-with regex is-json latency cost \
         token-usage execution-metrics field-accuracy composite",
        "write it as a program with `type: code`, or give the eval file to `evaluator run`",
    ),
];

/// Values of `isolation`.
pub(super) const ISOLATIONS: [(&str, Isolation); 2] =
    [("auto", Isolation::Auto), ("process", Isolation::Process)];

/// Values of `missing_turns`.
pub(super) const MISSING_TURNS: [(&str, MissingTurns); 2] =
    [("fail", MissingTurns::Fail), ("ignore", MissingTurns::Ignore)];

/// Keys of an entry that name models.
const MODELS: [&str; 5] = ["judge", "judge_model", "judgeModel", "models", "target"];

/// Source of remote evaluators that name none.
pub(super) const DEFAULT_SOURCE: &str = "github";

/// Positions of the names that were read.
pub(super) type Names = HashMap<String, Span>;

/// Reads an entry.
pub(super) fn read<'n>(
    node: &'n Node,
    names: &mut Names,
    found_gates: &mut Vec<Gate>,
    defaults: &Defaults,
    reader: &'n Reader<'n>,
) -> Option<EvaluatorConfig> {
    let entry = node.field("evaluators", &reader.problems);
    if !entry.is_mapping() {
        let noun = node.noun();
        return entry
            .add(format!("an evaluator is a mapping with `name` and `type`, not {noun}"))
            .hint("write `- name: NAME` with `type:` below it")
            .none();
    }
    let mut fields = entry.fields("this evaluator")?;
    let name_field = fields.require("name");
    let name = name_field.and_then(|field| read_name(field, names));
    // Which keys are known depends on the type.
    let Some(type_field) = fields.take("type") else {
        return fields.missing("type").hint("builtin, code or remote").none();
    };
    let kind = match read_type(&type_field)? {
        Type::Builtin => {
            let builtin = read_builtin(name_field, &mut fields, reader);
            Some(EvaluatorKind::Builtin(builtin))
        }
        Type::Code => {
            let path = fields.require("path");
            let path = path.and_then(|field| reader.paths.read(field, PathKind::File));
            let program = read_program(&mut fields, defaults, reader);
            let code = CodeConfig { path: path.unwrap_or_default(), ..program };
            containment::check_source(&fields, &code, "the program itself");
            Some(EvaluatorKind::Code(code))
        }
        Type::Remote => read_remote(&mut fields, defaults, reader).map(EvaluatorKind::Remote),
        Type::LlmJudge => llm_judge::read(name, &mut fields, reader)
            .map(|it| EvaluatorKind::LlmJudge(Box::new(it))),
        Type::OpenaiEval => openai_eval::read(&mut fields, reader).map(EvaluatorKind::OpenAiEval),
        Type::Linked => {
            containment::refuse(&mut fields);
            let CodeConfig { threshold, timeout, config, contract, .. } = read_common(&mut fields);
            Some(EvaluatorKind::Linked(LinkedConfig { threshold, timeout, config, contract }))
        }
    };
    let models = MODELS.iter().find_map(|key| fields.peek(key));
    let models_place = models.map(|node| reader.problems.place(node.span));
    let missing_turns = fields.take("missing_turns");
    let missing_turns = missing_turns.and_then(|field| field.choice(&MISSING_TURNS));
    if let Some(field) = fields.take("gate") {
        found_gates.extend(gates::read(field, name.unwrap_or_default()));
    }
    fields.finish();
    Some(EvaluatorConfig {
        missing_turns: missing_turns.unwrap_or_default(),
        place: Some(reader.problems.place(type_field.node.span)),
        models_place,
        ..EvaluatorConfig::new(name?, kind?)
    })
}

/// Reads the type of an entry.
fn read_type(field: &Field<'_>) -> Option<Type> {
    let written = field.node.as_str().unwrap_or_default();
    let normal = written.replace('_', "-");
    let is_known = TYPES.iter().any(|(name, _)| *name == written);
    let of_eval_files =
        EVAL_FILE_TYPES.iter().find(|(names, _)| names.split(' ').any(|it| it == normal));
    match of_eval_files.filter(|_| !is_known) {
        Some((_, instead)) => field
            .add(format!("`{written}` is a type of eval files of AgentV, not of a configuration"))
            .hint(*instead)
            .none(),
        None => field.choice(&TYPES),
    }
}

fn read_name<'n>(field: Field<'n>, names: &mut Names) -> Option<&'n str> {
    let name = field.text()?;
    if let Some(first) = names.insert(name.to_owned(), field.node.span) {
        let line = field.problems.place(first).line;
        field.add(format!("two evaluators are called `{name}`; the first one is in line {line}"));
    }
    Some(name)
}

fn read_builtin(
    name: Option<Field<'_>>,
    fields: &mut Fields<'_>,
    reader: &Reader<'_>,
) -> BuiltinConfig {
    let metrics = &reader.known.metrics;
    fields.null_is_absent();
    let threshold = fields.take("threshold").and_then(|field| field.fraction());
    let judge = Box::new(read_judge(fields, reader));
    let Some(metric) = name.and_then(|name| find_metric(name, metrics)) else {
        // Which settings it has is unknown: none of them is one more problem.
        for setting in metrics.iter().flat_map(|metric| metric.settings()) {
            if !fields.has_taken(setting.key) {
                fields.allow(setting.key, setting.alias);
            }
        }
        fields.allow("config", None);
        return BuiltinConfig::default();
    };
    if let (false, Some(node)) = (metric.asks_judge(), fields.peek("judge")) {
        let message = format!("`{}` asks no model, so `judge` has no effect", metric.name());
        fields.problems().warn(node.span, message);
    }
    // agentevals accepts this key for every metric.
    if !metric.settings().iter().any(|setting| setting.key == MatchType::KEY) {
        MatchType::take(fields);
    }
    let position = fields.position();
    let configured = metrics.configure(&metric, fields);
    let settings = fields.taken_since(position);
    if !fields.has_taken("config")
        && let Some(field) = fields.take("config")
        && let Some(key) = field.object().and_then(|config| config.keys().next().cloned())
    {
        field.add(format!("`{}` has no setting `config.{key}`", metric.name()));
    }
    let threshold = threshold.unwrap_or(configured.default_threshold());
    BuiltinConfig { threshold, judge, settings }
}

/// Finds the metric that `name` names. Problems with a name that is not text are reported elsewhere.
fn find_metric(name: Field<'_>, metrics: &Metrics) -> Option<Arc<dyn Metric>> {
    let text = name.node.as_str().filter(|text| !text.is_empty())?;
    let Ok(metric) = metrics.get(text) else {
        let hint = did_you_mean(text, metrics.iter().map(|metric| metric.name()))
            .unwrap_or_else(|| "`evaluator list -s builtin` shows them".to_owned());
        return name.add(format!("there is no built-in metric `{text}`")).hint(hint).none();
    };
    Some(metric)
}

/// Takes `judge`, and the keys of agentevals that win over it.
fn read_judge(fields: &mut Fields<'_>, reader: &Reader<'_>) -> JudgeSettings {
    let judge = fields.take("judge").map(|field| evaluator_judging::read(field, &reader.paths));
    let mut judge = judge.unwrap_or_default();
    // An empty name is the default model, as in agentevals.
    let model = fields.take_either("judge_model", "judgeModel");
    let model = model.filter(|field| field.node.as_str() != Some(""));
    if let Some(model) = model.and_then(|field| field.sentence()) {
        judge.models = vec![model.trim().to_owned()];
    }
    let mut text = |key: &'static str, alias: &'static str| {
        fields.take_either(key, alias)?.text().map(str::to_owned)
    };
    let base_url = text("judge_base_url", "judgeBaseUrl");
    judge.credential_ref = text("credential_ref", "credentialRef").or(judge.credential_ref);
    if let (Some(_), None, Some(node)) = (
        &base_url,
        &judge.credential_ref,
        fields.peek("judge_base_url").or_else(|| fields.peek("judgeBaseUrl")),
    ) {
        let note = "`judge_base_url` is used; agentevals ignores it without `credential_ref`";
        fields.problems().note(node.span, note);
    }
    judge.base_url = base_url.or(judge.base_url);
    judge
}

/// Takes the keys of a program, wherever its file is.
fn read_program(fields: &mut Fields<'_>, defaults: &Defaults, reader: &Reader<'_>) -> CodeConfig {
    let mut code = read_common(fields);
    let function = fields.take("function");
    code.function = function.and_then(|field| read_function(field, code.contract));
    code.retries = fields.take("retries").and_then(|field| field.whole(0..=MAX_RETRIES));
    code.process = process::read(fields, &reader.paths);
    let isolation = fields.take("isolation").and_then(|field| field.choice(&ISOLATIONS));
    code.isolation = isolation.unwrap_or_default();
    code.models = read_models(fields);
    defaults.take(fields, &reader.paths, &mut code);
    code
}

/// Takes the models that a program may ask.
fn read_models(fields: &mut Fields<'_>) -> Option<ProgramModels> {
    let (models, target) = (fields.take("models"), fields.take("target"));
    if let (Some(_), Some(target)) = (&models, &target) {
        let hint = "give the limits of `target` to `models`";
        return target.add("`target` and `models` exclude each other").hint(hint).none();
    }
    models
        .and_then(evaluator_judging::read_models)
        .or_else(|| target.and_then(evaluator_judging::read_target))
}

/// Takes the keys of all evaluators that receive a document.
fn read_common(fields: &mut Fields<'_>) -> CodeConfig {
    let default = CodeConfig::default();
    let threshold = fields.take("threshold").and_then(|field| field.fraction());
    let timeout = fields.take("timeout").and_then(|field| field.seconds());
    let config = fields.take("config").and_then(|field| field.object());
    CodeConfig {
        threshold: threshold.unwrap_or(default.threshold),
        timeout: timeout.unwrap_or(default.timeout),
        config: config.unwrap_or_default(),
        contract: fields.take("contract").and_then(|field| field.choice(&contracts())),
        ..default
    }
}

/// Returns the contracts by name.
pub(super) fn contracts() -> Vec<(&'static str, Contract)> {
    Contract::ALL.iter().map(|contract| (contract.name(), *contract)).collect()
}

/// Reads the name of the function to call. Only the hosts of some contracts call functions.
fn read_function(field: Field<'_>, contract: Option<Contract>) -> Option<String> {
    let function = field.text()?;
    if !contract.is_some_and(|contract| function_contracts().any(|it| it == contract)) {
        let contracts = function_contracts().map(|it| format!("`contract: {}`", it.name()));
        let contracts = contracts.collect::<Vec<_>>().join(" and ");
        let message = format!("`function` belongs to {contracts}, whose hosts call functions");
        return field.add(message).hint("add one of them, or leave `function` out").none();
    }
    if !function.split('.').all(is_identifier) {
        let message = format!("`function` must be the name of a Python function, not `{function}`");
        return field.add(message).none();
    }
    Some(function.to_owned())
}

/// Returns true if `name` is an identifier in Python.
pub(super) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c == '_' || c.is_alphabetic())
        && name.chars().all(|c| c == '_' || c.is_alphanumeric())
}

fn read_remote(
    fields: &mut Fields<'_>,
    defaults: &Defaults,
    reader: &Reader<'_>,
) -> Option<RemoteConfig> {
    let source = fields.take("source");
    let source = source.and_then(|field| match field.text()? {
        "builtin" => {
            let message = "the source `builtin` has nothing to fetch";
            field.add(message).hint("write `type: builtin`").none()
        }
        source => Some(source),
    });
    let reference = match fields.take("ref") {
        Some(field) => read_reference(field, &reader.known.runtimes),
        None => fields.missing("ref").hint("e.g. evaluators/NAME/NAME.py").none(),
    };
    let program = read_program(fields, defaults, reader);
    let source = source.unwrap_or(DEFAULT_SOURCE).to_owned();
    Some(RemoteConfig { wanted: Wanted { source, reference: reference? }, program })
}

fn read_reference(field: Field<'_>, runtimes: &Runtimes) -> Option<Reference> {
    let reference = match Reference::parse(field.text()?) {
        Ok(reference) => reference,
        Err(error) => return field.add(format!("`ref` {error}")).none(),
    };
    let extensions: Vec<&str> = runtimes.extensions().collect();
    let extension = reference.extension();
    if extensions.contains(&extension.as_str()) {
        return Some(reference);
    }
    let known = extensions.join(", ");
    if extension.is_empty() {
        let message = format!("`ref` must name a file with the extension of a language ({known})");
        return field.add(message).none();
    }
    field
        .add(format!("no runtime runs `{extension}` files ({known} are known)"))
        .maybe_hint(did_you_mean(&extension, extensions))
        .none()
}
