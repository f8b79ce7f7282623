//! The top level of a configuration file.

use std::path::Path;

use evaluator_document::{
    self as document, ConfigError, Field, Fields, Node, NodeKind, Problem, Problems, Span, Syntax,
    read_yaml,
};

use super::{
    Config, EvaluatorConfig, EvaluatorKind, OutputFormat, SourcePaths, adk,
    containment::Defaults,
    evaluator,
    paths::{MissingPath, PathKind, Paths},
};
use crate::{
    conversation::GroupBy,
    metric::{Metrics, judge::Judge as _},
    runtime::Runtimes,
    trace::TraceFormats,
};

pub(super) const GROUPINGS: [(&str, GroupBy); 3] =
    [("auto", GroupBy::Auto), ("trace", GroupBy::Trace), ("conversation", GroupBy::Conversation)];

/// Maximum number of retries.
pub(super) const MAX_RETRIES: u32 = 100;

/// Keys of an older version of the format, and their replacements.
const REPLACED: [(&str, &str); 5] = [
    ("metrics", "list them under `evaluators` with `type: builtin`"),
    ("custom_evaluators", "list them under `evaluators` with `type: code`"),
    ("judge_model", "give it to the evaluator that uses it"),
    ("threshold", "give it to the evaluator that uses it"),
    ("trajectory_match_type", "give it to the evaluator that uses it"),
];

/// Names that a configuration may use.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Runtimes, which determine the languages of programs.
    pub runtimes: &'a Runtimes,
    /// Metrics.
    pub metrics: &'a Metrics,
    /// Trace formats.
    pub trace_formats: &'a TraceFormats,
}

/// State of reading a configuration.
pub(super) struct Reader<'a> {
    pub(super) problems: Problems<'a>,
    pub(super) paths: Paths,
    pub(super) known: Known<'a>,
}

impl Config {
    /// Reads and checks a configuration file: YAML, or the JSON of ADK's `EvalConfig`. The name of the file is irrelevant.
    /// Resolves relative paths, which are relative to the file. The configuration may name what the default registries
    /// have; use [`Runner::load_config`](crate::run::Runner::load_config) after registering more.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the position of every problem.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let (runtimes, metrics) = (Runtimes::default(), Metrics::default());
        let trace_formats = &TraceFormats::default();
        Self::load_for(file, Known { runtimes: &runtimes, metrics: &metrics, trace_formats })
    }

    /// Reads and checks a configuration file that may name what is `known`.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_for(file: &Path, known: Known<'_>) -> Result<Self, ConfigError> {
        read(&document::load(file, "configuration")?, file, Paths::of(file), known)
    }

    /// Checks the text of a configuration; `file` is its name in messages. Does not resolve paths.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the position of every problem.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigError> {
        let (runtimes, metrics) = (Runtimes::default(), Metrics::default());
        let trace_formats = &TraceFormats::default();
        Self::parse_for(text, file, Known { runtimes: &runtimes, metrics: &metrics, trace_formats })
    }

    /// Checks the text of a configuration that may name what is `known`.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn parse_for(text: &str, file: &Path, known: Known<'_>) -> Result<Self, ConfigError> {
        read(text, file, Paths::default(), known)
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
        if problems.is_empty() {
            return Ok(());
        }
        let file = self.file.as_deref().unwrap_or(Path::new(""));
        Err(ConfigError::with(file, &self.source_text, problems))
    }
}

fn read(text: &str, file: &Path, paths: Paths, known: Known<'_>) -> Result<Config, ConfigError> {
    let adk = adk::recognize(text);
    let syntax = if adk.is_some() { Syntax::Json } else { Syntax::Yaml };
    let reader = Reader { problems: Problems::new(text, syntax), paths, known };
    let config = match adk {
        Some(document) => adk::read(document, &reader),
        None => match read_yaml(text) {
            Ok(root) => read_root(root.as_ref(), &reader),
            Err(error) => reader.problems.add(error.span, error.message).none(),
        },
    };
    let missing = reader.paths.finish(&reader.problems);
    if let Some(error) = reader.problems.error(file) {
        return Err(error);
    }
    let (mut warnings, notes) = reader.problems.remarks();
    let config = config.unwrap_or_default();
    warnings.extend(useless_swaps(&config, reader.known.metrics));
    Ok(Config {
        file: Some(file.to_owned()),
        source_text: text.to_owned(),
        warnings,
        notes,
        missing,
        ..config
    })
}

/// Returns a warning for each evaluator whose judge has nothing to show in two orders although `swap` is set.
fn useless_swaps(config: &Config, metrics: &Metrics) -> Vec<Problem> {
    let warning = |evaluator: &EvaluatorConfig| {
        let own = evaluator.judge()?.swap;
        let can_swap = match &evaluator.kind {
            EvaluatorKind::Builtin(_) => metrics.get(&evaluator.name).ok()?.judge()?.0.can_swap(),
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

fn read_root<'n>(root: Option<&'n Node>, reader: &'n Reader<'n>) -> Option<Config> {
    let problems = &reader.problems;
    let Some(node @ Node { kind: NodeKind::Mapping(_), span }) = root else {
        let message = |noun: &str| {
            format!("a configuration is a mapping with the key `evaluators`, not {noun}")
        };
        return match root {
            Some(node) => problems.add(node.span, message(node.noun())).none(),
            None => problems.add_to_file(message("nothing")).none(),
        };
    };
    let mut config = Config::default();
    let mut fields = node.field("", problems).fields("the configuration")?;
    let defaults = fields.take("defaults").filter(|field| !field.node.is_null());
    let defaults = defaults.map(|field| Defaults::read(field, &reader.paths)).unwrap_or_default();
    match fields.take("evaluators") {
        Some(field) => {
            let items = field.items().unwrap_or_default();
            if items.is_empty() && matches!(field.node.kind, NodeKind::Sequence(_)) {
                field.add("`evaluators` is empty");
            }
            let mut names = evaluator::Names::default();
            let read = |item: Field<'n>| evaluator::read(item.node, &mut names, &defaults, reader);
            config.evaluators = items.into_iter().filter_map(read).collect();
            defaults.check_used(&config.evaluators, problems);
        }
        None => {
            let start = Span { start: span.start, end: span.start };
            problems.add(start, "the key `evaluators` is missing");
        }
    }
    fields.null_is_absent();
    let eval_set = fields.take("eval_set");
    config.eval_set = eval_set.and_then(|field| reader.paths.read(field, PathKind::File));
    let formats = reader.known.trace_formats;
    let named: Vec<_> = formats.names().iter().map(|name| (*name, *name)).collect();
    let format = fields.take("trace_format").and_then(|field| field.choice(&named));
    config.trace_format = format.and_then(|name| formats.find(name).ok());
    config.group_by = fields.take("group_by").and_then(|field| field.choice(&GROUPINGS));
    read_policy(&mut config, &mut fields);
    let output = fields.take_either("output_format", "output");
    let outputs: Vec<_> = OutputFormat::ALL.iter().map(|format| (format.name(), *format)).collect();
    config.output = output.and_then(|field| field.choice(&outputs));
    if let Some(field) = fields.take("judge") {
        config.judge_place = Some(problems.place(field.node.span));
        config.judge = evaluator_judges::read(field, &reader.paths);
    }
    let sources = fields.take("sources").and_then(|field| read_sources(field, &reader.paths));
    config.sources = sources.unwrap_or_default();
    for (key, instead) in REPLACED {
        fields.refuse(key, format!("`{key}` is no longer a key of the configuration"), instead);
    }
    fields.finish();
    Some(config)
}

/// Takes the keys that decide about failures and errors.
fn read_policy(config: &mut Config, fields: &mut Fields<'_>) {
    if let Some(field) = fields.take("require_evaluated") {
        // A share, of which 0 requires nothing, or a flag.
        let share = field.number().and_then(|_| field.fraction());
        config.required_share = share.unwrap_or_default();
        config.require_evaluated = match field.number() {
            Some(_) => config.required_share > 0.0,
            None => field.flag().unwrap_or_default(),
        };
    }
    let mut flag = |key| fields.take(key).and_then(|field| field.flag()).unwrap_or_default();
    config.require_all_cases = flag("require_all_cases");
    config.strict_matching = flag("strict_matching");
    config.fail_fast = flag("fail_fast");
    config.allow_unevaluated = flag("allow_unevaluated");
    let rate = fields.take("max_error_rate").and_then(|field| field.fraction());
    config.max_error_rate = rate.unwrap_or_default();
    if let (true, true, Some(node)) =
        (config.require_evaluated, config.allow_unevaluated, fields.peek("allow_unevaluated"))
    {
        let message = "`allow_unevaluated` and `require_evaluated` contradict each other";
        fields.problems().add(node.span, message).hint("keep one of them");
    }
    let retries = fields.take("retries").and_then(|field| field.whole(0..=MAX_RETRIES));
    config.retries = retries.unwrap_or_default();
}

fn read_sources(field: Field<'_>, paths: &Paths) -> Option<SourcePaths> {
    if !field.is_mapping() {
        let hint = "write `sources: {file: PATH}` or `{local: PATH}`";
        return field.expected("a mapping").hint(hint).none();
    }
    let mut fields = field.fields("`sources`")?;
    let mut path = |key, kind| fields.take(key).and_then(|field| paths.read(field, kind));
    let (file, local) = (path("file", PathKind::File), path("local", PathKind::Directory));
    fields.finish();
    Some(SourcePaths { file, local })
}
