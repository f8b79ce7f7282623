//! An entry of `evaluators`.

use std::{collections::HashMap, sync::Arc};

use evaluator_document::{Field, Fields, Node, Span, did_you_mean, keys, schema::text};
use evaluator_engine::work::MissingTurns;
use evaluator_judging::JudgeSettings;
use evaluator_protocol::Contract;
use serde_json::{Value, json};

use super::{
    containment::{self, Defaults},
    gates, library, llm_judge,
    model::{
        BuiltinConfig, CodeConfig, EvaluatorConfig, EvaluatorKind, Isolation, LinkedConfig,
        RemoteConfig,
    },
    mutate, openai_eval,
    paths::PathKind,
    process,
    reader::{MAX_REPEATS, MAX_RETRIES, Reader, is_identifier},
};
use crate::{
    hosts::function_contracts,
    metric::{MatchType, Metric, Metrics},
    report::{Certificate, Gate},
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
    Metric,
}

const TYPES: [(&str, Type); 7] = [
    ("builtin", Type::Builtin),
    ("code", Type::Code),
    ("remote", Type::Remote),
    ("openai_eval", Type::OpenaiEval),
    ("llm_judge", Type::LlmJudge),
    ("linked", Type::Linked),
    ("metric", Type::Metric),
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
const ISOLATIONS: [(&str, Isolation); 2] =
    [("auto", Isolation::Auto), ("process", Isolation::Process)];

/// Values of `missing_turns`.
pub(super) const MISSING_TURNS: [(&str, MissingTurns); 2] =
    [("fail", MissingTurns::Fail), ("ignore", MissingTurns::Ignore)];

/// Keys of an entry that name models.
const MODELS: [&str; 5] = ["judge", "judge_model", "judgeModel", "models", "target"];

/// What to do about a certificate that cannot be used.
const CERTIFY: &str = "`evaluator agree LABELS RUN --certify FILE` writes it";

/// Source of remote evaluators that name none.
const DEFAULT_SOURCE: &str = "github";

/// Pattern of a `ref`. The reader also checks the number of segments and the extension.
const REFERENCE: &str = r"^[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*(/[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*)*$";

/// Positions of the names that were read.
pub(super) type Names = HashMap<String, Span>;

/// Reads an entry.
pub(super) fn read<'n>(
    node: &'n Node,
    names: &mut Names,
    gates: &mut Vec<Gate>,
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
    let name_field = take_name(&mut fields);
    let name = name_field.and_then(|field| read_name(field, names));
    // Which keys are known depends on the type.
    let Some(type_field) = fields.take("type") else {
        return fields.missing("type").hint("builtin, code or remote").none();
    };
    let kind = read_type(&type_field)?;
    let named = (name_field, name);
    let read = read_keys(kind, named, &mut fields, gates, (defaults, reader));
    let models = MODELS.iter().find_map(|key| fields.peek(key));
    let models_place = models.map(|node| reader.problems.place(node.span));
    let place = Some(reader.problems.place(type_field.node.span));
    fields.finish();
    Some(EvaluatorConfig { place, models_place, ..read? })
}

fn take_name<'n>(fields: &mut Fields<'n>) -> Option<Field<'n>> {
    fields.key("name", "Name, unique in the file.").required().field(text())
}

/// Description of `missing_turns`, and the one of judges, whose prompts may show golden turns.
const OF_TURNS: &str = "Effect of golden turns without a recording: fail the evaluation whatever its score is, or ignore them.";
const OF_SHOWN_TURNS: &str = "Effect of golden turns without a recording, if the prompt shows golden turns: fail the evaluation whatever its score is, or \
                              ignore them.";

/// Takes the keys of a type. `name` is the field of the name, and its text if that can be used. The gates are added to `gates`.
fn read_keys<'n>(
    kind: Type,
    name: (Option<Field<'n>>, Option<&str>),
    fields: &mut Fields<'n>,
    gates: &mut Vec<Gate>,
    (defaults, reader): (&Defaults, &'n Reader<'n>),
) -> Option<EvaluatorConfig> {
    let read = match kind {
        Type::Builtin => Some(EvaluatorKind::Builtin(read_builtin(name.0, fields, reader))),
        Type::Code => {
            let path = fields.key("path", "File of the program, relative to this file.").required();
            let path = path.read(text(), |field| reader.paths.read(field, PathKind::File));
            let program = read_program(fields, defaults, reader);
            fields.describe(json!({"title": "A program"}));
            let code = CodeConfig { path: path.unwrap_or_default(), ..program };
            containment::check_source(fields, &code, "the program itself");
            Some(EvaluatorKind::Code(code))
        }
        Type::Metric => {
            let mut code = CodeConfig::default();
            read_limits(fields, &mut code);
            read_process(fields, defaults, reader, &mut code);
            library::read(fields, code, reader).map(EvaluatorKind::Code)
        }
        Type::Remote => read_remote(fields, defaults, reader).map(EvaluatorKind::Remote),
        Type::LlmJudge => {
            llm_judge::read(name.1, fields, reader).map(|it| EvaluatorKind::LlmJudge(Box::new(it)))
        }
        Type::OpenaiEval => openai_eval::read(fields, reader).map(EvaluatorKind::OpenAiEval),
        Type::Linked => {
            let title = "An evaluator that is linked into the program that reads this file";
            fields.describe(json!({"title": title}));
            containment::refuse(fields);
            let CodeConfig { threshold, timeout, config, contract, .. } = read_common(fields);
            Some(EvaluatorKind::Linked(LinkedConfig { threshold, timeout, config, contract }))
        }
    };
    let effect = if let Type::LlmJudge = kind { OF_SHOWN_TURNS } else { OF_TURNS };
    let missing_turns = fields.key("missing_turns", effect).default("fail").choice(&MISSING_TURNS);
    let repeat = "Number of evaluations of each conversation; default: that of the run.";
    let repeat = fields.key("repeat", repeat).whole(1..=MAX_REPEATS);
    let gate = "Claim about all cases of the evaluator, which decides in place of `threshold`.";
    let gate = fields.key("gate", gate).field(gates::schema());
    gates.extend(gate.into_iter().flat_map(|it| gates::read(it, name.1.unwrap_or_default())));
    let certificate = "File of `evaluator agree --certify`, relative to this file: the pass rate is corrected for the errors that \
                       labels of people have shown, as long as the evaluator is the certified one.";
    let certificate = fields
        .key("certificate", certificate)
        .read(text(), |field| read_certificate(field, name.1.unwrap_or_default(), reader));
    let mutate = mutate::read(fields);
    let (missing_turns, entry) =
        (missing_turns.unwrap_or_default(), EvaluatorConfig::new(name.1?, read?));
    Some(EvaluatorConfig { missing_turns, repeat, certificate, mutate, ..entry })
}

/// Reads the certificate of an evaluator. A file that does not exist is reported with the other paths.
fn read_certificate(
    field: Field<'_>,
    evaluator: &str,
    reader: &Reader<'_>,
) -> Option<Arc<Certificate>> {
    let path = reader.paths.read(field, PathKind::File)?;
    if !reader.paths.is_file(&path) {
        if reader.paths.exists(&path) {
            let message = format!("{} is not a file", path.display());
            return field.add(message).hint(CERTIFY).none();
        }
        return None;
    }
    match Certificate::read(&path, evaluator) {
        Ok(certificate) => Some(Arc::new(certificate)),
        Err(error) => field.add(error.to_string()).hint(CERTIFY).none(),
    }
}

/// Returns the JSON Schemas of entries, one for each type.
pub(super) fn schemas<'n>(reader: &'n Reader<'n>) -> Vec<Value> {
    let metrics = || reader.known.metrics.iter();
    let of_type = |(name, kind): (&str, Type)| {
        let mut fields = Fields::describing(&reader.problems);
        take_name(&mut fields);
        fields.key("type", "").required().field(json!({"const": name}));
        let defaults = Defaults::default();
        read_keys(kind, (None, None), &mut fields, &mut Vec::new(), (&defaults, reader));
        let mut schema = fields.schema();
        let keys = &mut schema["properties"];
        if let Type::Builtin = kind {
            keys["name"]["description"] = "Name of the metric, unique in the file.".into();
            keys["name"]["enum"] = metrics().map(|metric| metric.name()).collect();
            for setting in metrics().flat_map(|metric| metric.settings()) {
                keys[setting.key] = serde_json::from_str(setting.schema).unwrap_or_default();
            }
        }
        schema
    };
    TYPES.into_iter().map(of_type).collect()
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
    fields.describe(json!({"title": "A built-in metric"}));
    fields.null_is_absent();
    keys! { fields;
        /// Lowest score that passes. With `max`, the default is 1.
        let threshold = fraction() or 0.5;
    }
    let judge = Box::new(read_judge(fields, reader));
    let Some(metric) = name.and_then(|name| find_metric(name, metrics)) else {
        // Which settings it has is unknown: none of them is one more problem.
        for setting in metrics.iter().flat_map(|metric| metric.settings()) {
            if !fields.has_taken(setting.key) {
                fields.allow(setting.key, setting.alias);
            }
        }
        take_config(fields);
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
        && let Some(field) = take_config(fields)
        && let Some(key) = field.object().and_then(|config| config.keys().next().cloned())
    {
        field.add(format!("`{}` has no setting `config.{key}`", metric.name()));
    }
    let threshold = threshold.unwrap_or(configured.default_threshold());
    BuiltinConfig { threshold, judge, settings }
}

fn take_config<'n>(fields: &mut Fields<'n>) -> Option<Field<'n>> {
    let config = fields.key("config", "Settings of a metric that the host registered.");
    config.field(json!({"type": "object"}))
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
    let mut judge = evaluator_judging::read(fields, &reader.paths).unwrap_or_default();
    keys! { fields;
        /// As in agentevals: the same as `judge: {model: ..}`.
        let judge_model | judgeModel = field(json!({"type": "string"}));
        /// As in agentevals: the same as `judge: {base_url: ..}`.
        let judge_base_url | judgeBaseUrl = text();
        /// As in agentevals: the same as `judge: {credential_ref: ..}`.
        let credential_ref | credentialRef = text();
    }
    // An empty name is the default model, as in agentevals.
    let model = judge_model.filter(|field| field.node.as_str() != Some(""));
    if let Some(model) = model.and_then(|field| field.sentence()) {
        judge.models = vec![model.trim().to_owned()];
    }
    let base_url = judge_base_url.map(str::to_owned);
    judge.credential_ref = credential_ref.map(str::to_owned).or(judge.credential_ref);
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
    let function = |field: Field<'_>| read_function(field, code.contract);
    keys! { fields;
        /// With a contract whose host calls functions: function of a Python file that is called as that host calls it.
        code.function = read(text(), function);
    }
    read_process(fields, defaults, reader, &mut code);
    let functions: Vec<&str> = function_contracts().map(Contract::name).collect();
    let contract = json!({"contract": {"enum": functions}});
    fields.describe(
        json!({"dependentSchemas": {"function": {"properties": contract, "required": ["contract"]}}}),
    );
    code
}

/// Takes the keys about processes of a program.
fn read_process(
    fields: &mut Fields<'_>,
    defaults: &Defaults,
    reader: &Reader<'_>,
    code: &mut CodeConfig,
) {
    keys! { fields;
        /// Number of retries of an evaluation that timed out, was killed from outside or could not be started; default: that of
        /// the run.
        code.retries = whole(0..=MAX_RETRIES);
    }
    code.process = process::read(fields, &reader.paths);
    keys! { fields;
        /// process: every evaluation starts a process of its own. auto: it may also use a warm worker, a fork of an interpreter
        /// that has done its imports, or cached compiled code; results are the same.
        code.isolation ?= choice(&ISOLATIONS) or "auto";
    }
    code.models = evaluator_judging::read_programs(fields);
    defaults.take(fields, &reader.paths, code);
    fields.describe(json!({"not": {"required": ["models", "target"]}}));
}

/// Takes the keys of all evaluators that receive a document.
fn read_common(fields: &mut Fields<'_>) -> CodeConfig {
    let mut code = CodeConfig::default();
    read_limits(fields, &mut code);
    keys! { fields;
        /// Settings sent to the evaluator.
        code.config ?= object();
        /// Contract of the documents that the evaluator reads and writes; agentevals if absent.
        code.contract = choice(&contracts());
    }
    code
}

/// Takes the threshold and the time limit of a program.
fn read_limits(fields: &mut Fields<'_>, code: &mut CodeConfig) {
    keys! { fields;
        /// Lowest score that passes.
        code.threshold ?= fraction() or code.threshold;
        /// Time limit of one evaluation in seconds, without building.
        code.timeout ?= seconds() or code.timeout.as_secs();
    }
}

/// Returns the contracts by name.
fn contracts() -> Vec<(&'static str, Contract)> {
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

fn read_remote<'n>(
    fields: &mut Fields<'n>,
    defaults: &Defaults,
    reader: &Reader<'_>,
) -> Option<RemoteConfig> {
    let known = |field: Field<'n>| match field.text()? {
        "builtin" => {
            let message = "the source `builtin` has nothing to fetch";
            field.add(message).hint("write `type: builtin`").none()
        }
        source => Some(source),
    };
    fields.describe(json!({"title": "A program from a source"}));
    let form = json!({"type": "string", "minLength": 1, "not": {"const": "builtin"}});
    keys! { fields;
        /// Source: github, file, local, or one that a host has registered.
        let source = read(form, known) or DEFAULT_SOURCE;
    }
    let form = json!({"type": "string", "minLength": 1, "maxLength": 512, "pattern": REFERENCE});
    let reference = match fields.key("ref", "Path of the file inside of the source.").field(form) {
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
