//! The top level of a configuration file.

use std::path::Path;

use evaluator_document::{
    self as document, ConfigError, Field, Fields, Node, NodeKind, Problem, Problems, Syntax, keys,
    read_yaml,
    schema::{one_of, text},
};
use evaluator_judging::Paths as _;
use serde_json::{Value, json};

use super::{
    Config, EvaluatorConfig, EvaluatorKind, OutputFormat, SourcePaths, Transcripts, adk,
    containment::{self, Defaults},
    evaluator,
    paths::{MissingPath, PathKind, Paths},
    reader::{MAX_REPEATS, MAX_RETRIES, Reader},
    shared::{self, Base, Origin},
};
use crate::{
    conversation::GroupBy,
    judging::judge::{Judge as _, JudgeMetric},
    metric::Metrics,
    registries::Registries,
};

const GROUPINGS: [(&str, GroupBy); 3] =
    [("auto", GroupBy::Auto), ("trace", GroupBy::Trace), ("conversation", GroupBy::Conversation)];

/// Keys of an older version of the format, and their replacements.
const REPLACED: [(&str, &str); 5] = [
    ("metrics", "list them under `evaluators` with `type: builtin`"),
    ("custom_evaluators", "list them under `evaluators` with `type: code`"),
    ("judge_model", "give it to the evaluator that uses it"),
    ("threshold", "give it to the evaluator that uses it"),
    ("trajectory_match_type", "give it to the evaluator that uses it"),
];

impl Config {
    /// Reads and checks a configuration file: YAML, or the JSON of ADK's `EvalConfig`. The name of the file is irrelevant.
    /// Resolves relative paths, which are relative to the file. The configuration may name what the default registries
    /// have; use [`Runner::load_config`](crate::run::Runner::load_config) after registering more.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the position of every problem.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        Self::load_for(file, &Registries::default())
    }

    /// Reads and checks a configuration file that may name what is `known`.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_for(file: &Path, known: &Registries) -> Result<Self, ConfigError> {
        let text = document::load_named(file, "configuration")?;
        let origin = Origin { file, extended_by: None };
        Ok(read(&text, origin, Paths::of(file), known)?.config)
    }

    /// Checks the text of a configuration; `file` is its name in messages. Does not resolve paths.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the position of every problem.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigError> {
        Self::parse_for(text, file, &Registries::default())
    }

    /// Checks the text of a configuration that may name what is `known`.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn parse_for(text: &str, file: &Path, known: &Registries) -> Result<Self, ConfigError> {
        let origin = Origin { file, extended_by: None };
        Ok(read(text, origin, Paths::default(), known)?.config)
    }

    /// Checks that every file that the configuration names exists and that this version can run every evaluator. Call it
    /// before a run, after all overrides.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the position of every path that does not exist and every entry that cannot be run.
    pub fn ensure_runnable(&self) -> Result<(), ConfigError> {
        // An eval set that was overridden is not read.
        let is_used = |missing: &&MissingPath| {
            !missing.is_eval_set || self.eval_set.as_ref() == Some(&missing.path)
        };
        let missing = self.missing.iter().filter(is_used);
        let mut problems: Vec<Problem> = missing.map(|missing| missing.problem.clone()).collect();
        for evaluator in &self.evaluators {
            let EvaluatorKind::OpenAiEval(openai) = &evaluator.kind else { continue };
            let name = &evaluator.name;
            let mut add = |message: String, hint: &str| {
                problems.push(Problem::new(message, evaluator.place, Some(hint.to_owned())));
            };
            if openai.grader.compares() && self.eval_set.is_none() {
                let message =
                    format!("`{name}` compares with expected answers, and there is no eval set");
                add(message, "give one, as `eval_set` or on the command line");
            }
        }
        problems.extend(containment::changeable_paths(&self.evaluators));
        if problems.is_empty() {
            return Ok(());
        }
        let file = self.file.as_deref().unwrap_or(Path::new(""));
        Err(ConfigError::with(file, &self.source_text, problems))
    }
}

/// Reads a configuration and those that it extends.
fn read(
    text: &str,
    origin: Origin<'_>,
    paths: Paths,
    known: &Registries,
) -> Result<Base, ConfigError> {
    let adk = adk::recognize(text);
    let syntax = if adk.is_some() { Syntax::Json } else { Syntax::Yaml };
    let reader = Reader { problems: Problems::new(text, syntax), paths, known };
    let read = match adk {
        Some(document) => adk::read(document, &reader)
            .map(|config| Base { config, defaults: Defaults::default() }),
        None => match read_yaml(text) {
            Ok(root) => read_root(root.as_ref(), &reader, origin)?,
            Err(error) => reader.problems.add(error.span, error.message).none(),
        },
    };
    let named = reader.paths.take_named();
    let missing = reader.paths.finish(&reader.problems);
    if let Some(error) = reader.problems.error(origin.file) {
        return Err(error);
    }
    let (warnings, notes) = reader.problems.remarks();
    let Base { mut config, defaults } = read.unwrap_or_default();
    config.missing.extend(missing);
    config.named.extend(named);
    config.warnings.extend(warnings);
    config.notes.extend(notes);
    if origin.extended_by.is_none() {
        config.warnings.extend(useless_swaps(&config, &reader.known.metrics));
    }
    let (file, source_text) = (Some(origin.file.to_owned()), text.to_owned());
    Ok(Base { config: Config { file, source_text, ..config }, defaults })
}

/// Returns a warning for each evaluator whose judge has nothing to show in two orders although `swap` is set.
fn useless_swaps(config: &Config, metrics: &Metrics) -> Vec<Problem> {
    let warning = |evaluator: &EvaluatorConfig| {
        let own = evaluator.judge()?.swap;
        let can_swap = match &evaluator.kind {
            EvaluatorKind::Builtin(_) => {
                let metric = metrics.get(&evaluator.name).ok()?;
                JudgeMetric::judge_of(&*metric)?.0.can_swap()
            }
            EvaluatorKind::LlmJudge(llm_judge) => llm_judge.judged_by.can_swap(),
            _ => false,
        };
        if can_swap || own.or(config.judge.swap) != Some(true) {
            return None;
        }
        let message = format!(
            "`swap` has no effect on `{}`, which shows nothing in two orders",
            evaluator.name
        );
        let hint = match own {
            Some(_) => "leave it out",
            None => "write `judge: {swap: false}` in its entry",
        };
        Some(Problem::new(message, evaluator.place, Some(hint.to_owned())))
    };
    config.evaluators.iter().filter_map(warning).collect()
}

fn read_root<'n>(
    root: Option<&'n Node>,
    reader: &'n Reader<'n>,
    origin: Origin<'_>,
) -> Result<Option<Base>, ConfigError> {
    let problems = &reader.problems;
    let Some(node @ Node { kind: NodeKind::Mapping(_), .. }) = root else {
        let message = |noun: &str| {
            format!("a configuration is a mapping with the key `evaluators`, not {noun}")
        };
        return Ok(match root {
            Some(node) => problems.add(node.span, message(node.noun())).none(),
            None => problems.add_to_file(message("nothing")).none(),
        });
    };
    if !shared::check_version(node, problems) {
        return Ok(None);
    }
    let base = shared::read_base(node, reader, origin, read)?.unwrap_or_default();
    Ok(read_keys(node, base, reader, origin))
}

/// Reads the keys of a configuration. What they do not say is that of `base`.
fn read_keys<'n>(
    node: &'n Node,
    base: Base,
    reader: &'n Reader<'n>,
    origin: Origin<'_>,
) -> Option<Base> {
    let problems = &reader.problems;
    let mut fields = node.field("", problems).fields("the configuration")?;
    let read = take_keys(&mut fields, base, reader, origin);
    fields.finish();
    Some(read)
}

/// Takes the keys of a configuration from its fields.
pub(super) fn take_keys<'n>(
    fields: &mut Fields<'n>,
    base: Base,
    reader: &'n Reader<'n>,
    origin: Origin<'_>,
) -> Base {
    let Base { mut config, defaults } = base;
    let defaults = Defaults::read(fields, &reader.paths, defaults);
    let entries = match fields.is_describing() {
        true => json!({"type": "object", "oneOf": evaluator::schemas(reader)}),
        false => Value::Null,
    };
    let evaluators = fields
        .key("evaluators", "Evaluators, in the order of the report.")
        .field(json!({"type": "array", "items": entries, "minItems": 1}));
    fields.null_is_absent();
    match evaluators {
        Some(field) => read_evaluators(&mut config, field, &defaults, reader),
        None => {
            // Without a file, the configuration that this one extends is not read.
            let is_read = reader.paths.directory().is_some() || fields.peek("extends").is_none();
            if config.evaluators.is_empty() && origin.extended_by.is_none() && is_read {
                fields.add_at_start("the key `evaluators` is missing");
            }
        }
    }
    read_input(&mut config, fields, reader);
    read_policy(&mut config, fields);
    if let (true, [gate, ..], Some(node)) =
        (config.fail_fast, &config.gates[..], fields.peek("fail_fast"))
    {
        let message = format!(
            "`fail_fast` and the gate `{gate}` exclude each other: a gate is decided by all cases"
        );
        reader.problems.add(node.span, message).hint("leave one of them out");
    }
    let output = read_output(fields);
    config.output = output.or(config.output);
    if let Some(node) = fields.peek("judge") {
        config.judge_place = Some(reader.problems.place(node.span));
    }
    if let Some(judge) = evaluator_judging::read(fields, &reader.paths) {
        config.judge = judge.over_same_layer(&config.judge);
    }
    read_sources(&mut config.sources, fields, &reader.paths);
    for (key, instead) in REPLACED {
        fields.refuse(key, format!("`{key}` is no longer a key of the configuration"), instead);
    }
    // They are read in `shared`.
    keys! { fields;
        /// Versions of the command that can read this file, as cargo writes requirements. Another version reports only this.
        requires: field(text());
        /// Configuration that this one extends, relative to this file. Its evaluators come first; `defaults`, `judge` and
        /// `sources` are combined key by key; every other key counts unless this file has it. It may lack `evaluators`.
        extends: field(text());
    }
    Base { config, defaults }
}

/// Takes the keys that decide what is evaluated.
fn read_input(config: &mut Config, fields: &mut Fields<'_>, reader: &Reader<'_>) {
    let formats = &reader.known.trace_formats;
    let named: Vec<_> = formats.names().iter().map(|name| (*name, *name)).collect();
    keys! { fields;
        /// File with golden conversations.
        config.eval_set ?= read(text(), |field| reader.paths.read(field, PathKind::File));
        /// Run file that every run is compared with. `run --update-baseline` writes it.
        config.baseline ?= read(text(), |field| reader.paths.written(field));
        /// Format of all trace files; detected if absent.
        let trace_format = choice(&named);
        /// Grouping of traces into conversations.
        config.group_by ?= choice(&GROUPINGS);
        /// Attribute of spans or resources that identifies a case, e.g. the id of a dataset's item, where a conversation has no
        /// golden case.
        config.case_key ?= read(text(), read_name);
        /// Attribute of spans or resources, e.g. a customer: cases with the same value are not independent, and count as one unit
        /// in intervals.
        config.cluster ?= read(text(), read_name);
        /// Attributes of spans or resources, e.g. `gen_ai.request.model`: the report has the sums for each of their values.
        config.by ?= read(one_or_more(), read_names);
        /// Conversations whose transcripts the run file keeps; `failed` are those with an evaluation that failed or broke.
        config.transcripts ?= choice(Transcripts::ALL) or "none";
    }
    if let Some(name) = trace_format {
        config.trace_format = formats.find(name).ok();
    }
}

/// Returns the schema of a text, or a list of texts.
fn one_or_more() -> Value {
    json!({"oneOf": [text(), {"type": "array", "items": text()}]})
}

fn read_name(field: Field<'_>) -> Option<String> {
    field.text().map(str::to_owned)
}

fn read_names(field: Field<'_>) -> Option<Vec<String>> {
    match field.node.kind {
        NodeKind::Sequence(_) => field.items()?.into_iter().map(read_name).collect(),
        _ => read_name(field).map(|name| vec![name]),
    }
}

/// Reads the evaluators, which follow those of the configuration that this one extends.
fn read_evaluators<'n>(
    config: &mut Config,
    field: Field<'n>,
    defaults: &Defaults,
    reader: &'n Reader<'n>,
) {
    let items = field.items().unwrap_or_default();
    if items.is_empty() && matches!(field.node.kind, NodeKind::Sequence(_)) {
        field.add("`evaluators` is empty");
    }
    let inherited = config.evaluators.len();
    let mut names = evaluator::Names::default();
    for item in items {
        let read = evaluator::read(item.node, &mut names, &mut config.gates, defaults, reader);
        let Some(evaluator) = read else { continue };
        let name = &evaluator.name;
        if config.evaluators[..inherited].iter().any(|other| other.name == *name) {
            let message = format!("`{name}` is the name of an evaluator that `extends` brings");
            item.add(message).hint("give this one another name");
        }
        config.evaluators.push(evaluator);
    }
    defaults.check_used(&config.evaluators, &reader.problems);
}

/// Takes the format of the report: `output_format`, else `output`, as agentevals does.
fn read_output(fields: &mut Fields<'_>) -> Option<OutputFormat> {
    let formats: Vec<_> = OutputFormat::ALL.iter().map(|format| (format.name(), *format)).collect();
    keys! { fields;
        /// Format of the report.
        let output_format = field(one_of(&formats));
    }
    let other = fields.take_unlisted("output");
    if let Some(other) = other {
        let message = "`output` is `output_format` by another name, which agentevals has, too";
        fields.problems().warn(other.node.span, message).hint("write `output_format`");
    }
    let other = other.map(|field| Field { key: "output_format", ..field });
    output_format.or(other)?.choice(&formats)
}

/// Takes the keys that decide about failures and errors.
fn read_policy(config: &mut Config, fields: &mut Fields<'_>) {
    let share = json!({"type": ["boolean", "number"], "minimum": 0, "maximum": 1});
    keys! { fields;
        /// Fail unless every evaluator has scored at least one conversation, or this share of its conversations, and every
        /// golden case has a recording.
        let require_evaluated = field(share) or false;
        /// Fail unless every golden case has a recording.
        config.require_all_cases ?= flag() or false;
        /// Pair the only golden case and the only conversation only if their prompts are equal.
        config.strict_matching ?= flag() or false;
        /// Stop after the first failure or error.
        config.fail_fast ?= flag() or false;
        /// Pass although nothing was scored, instead of failing.
        config.allow_unevaluated ?= flag() or false;
        /// Refuse to run, check or serve this file, and those that extend it, unless every program is contained, as `--contain`
        /// does. A file that extends this one cannot switch it off.
        let contain = flag() or false;
        /// Tolerated share of errors: evaluations that break, and unusable trace files.
        config.max_error_rate ?= fraction() or 0;
        /// Number of retries of an evaluation that timed out, was killed from outside or could not be started.
        config.retries ?= whole(0..=MAX_RETRIES) or 0;
        /// Number of evaluations of each conversation, which shows how much the evaluators themselves vary. Metrics that ask no
        /// model are computed once.
        config.repeat ?= whole(1..=MAX_REPEATS) or 1;
    }
    if let Some(field) = require_evaluated {
        // A share, of which 0 requires nothing, or a flag.
        let share = field.number().and_then(|_| field.fraction());
        config.required_share = share.unwrap_or_default();
        config.require_evaluated = match field.number() {
            Some(_) => config.required_share > 0.0,
            None => field.flag().unwrap_or_default(),
        };
    }
    if let (true, Some(false), Some(node)) = (config.contain, contain, fields.peek("contain")) {
        let message = "`contain: false` contradicts the configuration that this one extends, which demands `contain: true`";
        fields.problems().add(node.span, message).hint("leave it out");
    }
    config.contain |= contain.unwrap_or_default();
    let last = fields.peek("allow_unevaluated").or_else(|| fields.peek("require_evaluated"));
    if let (true, true, Some(node)) = (config.require_evaluated, config.allow_unevaluated, last) {
        let message = "`allow_unevaluated` and `require_evaluated` contradict each other";
        fields.problems().add(node.span, message).hint("keep one of them");
    }
}

/// Takes the key `sources`.
fn read_sources(sources: &mut SourcePaths, fields: &mut Fields<'_>, paths: &Paths) {
    let hint = "write `sources: {file: PATH}` or `{local: PATH}`";
    keys! { fields;
        /// Paths of the sources on this machine, relative to this file.
        sources: mapping(hint, |fields| {
            keys! { fields;
                /// Index of the source `file`, or a directory with an index.yaml.
                sources.file ?= read(text(), |field| paths.read(field, PathKind::File));
                /// Directory of the source `local`.
                sources.local ?= read(text(), |field| paths.read(field, PathKind::Directory));
            }
        });
    }
}
