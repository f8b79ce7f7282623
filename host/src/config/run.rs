//! The top level of a configuration file.

use std::path::{Path, PathBuf};

use super::{
    Config, ConfigError, OutputFormat, Problem, SourcePaths, adk, document,
    evaluator::{self, Names},
    fields::{Fields, Problems, choice, text, truth},
    paths::{Leads, Paths},
    problem::Place,
    yaml::{self, Node, NodeKind},
};
use crate::{conversation::GroupBy, metric::Metrics, runtime::Runtimes, trace::TraceFormats};

pub(super) const GROUPINGS: [(&str, GroupBy); 3] =
    [("auto", GroupBy::Auto), ("trace", GroupBy::Trace), ("conversation", GroupBy::Conversation)];
pub(super) const OUTPUTS: [(&str, OutputFormat); 6] = [
    ("table", OutputFormat::Table),
    ("json", OutputFormat::Json),
    ("summary", OutputFormat::Summary),
    ("junit", OutputFormat::Junit),
    ("markdown", OutputFormat::Markdown),
    ("github", OutputFormat::Github),
];

/// What fails so often does not fail by chance.
pub(super) const MAX_RETRIES: u32 = 100;

/// Keys of an older form of the file, and what replaced them.
const REPLACED: [(&str, &str); 5] = [
    ("metrics", "list them under `evaluators` with `type: builtin`"),
    ("custom_evaluators", "list them under `evaluators` with `type: code`"),
    ("judge_model", "give it to the evaluator that uses it"),
    ("threshold", "give it to the evaluator that uses it"),
    ("trajectory_match_type", "give it to the evaluator that uses it"),
];

/// What a configuration may name: what is registered with the runner that it is for.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Runtimes, which decide what a program may be written in.
    pub runtimes: &'a Runtimes,
    /// Metrics.
    pub metrics: &'a Metrics,
    /// Trace formats.
    pub trace_formats: &'a TraceFormats,
}

impl Config {
    /// Reads and checks a configuration file: YAML, or the JSON of ADK's `EvalConfig`, whatever the file is called.
    /// Relative paths in it are resolved: they are relative to the file. Nothing else is looked at. What the
    /// configuration names must be in the default registries; use
    /// [`Runner::load_config`](crate::run::Runner::load_config) if something was registered.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with every problem found and its place.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let (runtimes, metrics) = (Runtimes::default(), Metrics::default());
        let trace_formats = TraceFormats::default();
        Self::load_for(
            file,
            Known { runtimes: &runtimes, metrics: &metrics, trace_formats: &trace_formats },
        )
    }

    /// The same for a host with runtimes and metrics of its own.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_for(file: &Path, known: Known<'_>) -> Result<Self, ConfigError> {
        read(&document::load(file, "configuration")?, file, Paths::of(file), known)
    }

    /// Checks the text of a configuration; `file` is what messages call it. Paths are left as they are.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with every problem found and its place.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigError> {
        let (runtimes, metrics) = (Runtimes::default(), Metrics::default());
        let trace_formats = TraceFormats::default();
        Self::parse_for(
            text,
            file,
            Known { runtimes: &runtimes, metrics: &metrics, trace_formats: &trace_formats },
        )
    }

    /// The same for a host with runtimes and metrics of its own.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn parse_for(text: &str, file: &Path, known: Known<'_>) -> Result<Self, ConfigError> {
        read(text, file, Paths::default(), known)
    }
}

fn read(text: &str, file: &Path, paths: Paths, known: Known<'_>) -> Result<Config, ConfigError> {
    let mut problems = Problems { paths, ..Problems::new(text) };
    let config = match adk::recognize(text) {
        Some(document) => adk::read(document, known, &mut problems),
        None => match yaml::read(text) {
            Ok(root) => read_root(root.as_ref(), known, &mut problems),
            Err(error) => {
                problems.add(error.span, error.message, None);
                Config::default()
            }
        },
    };
    let missing = problems.finish_paths();
    match document::error(&mut problems, file) {
        Some(error) => Err(error),
        None => Ok(Config {
            file: Some(file.to_owned()),
            source_text: text.to_owned(),
            warnings: problems.warnings,
            notes: problems.notes,
            missing,
            ..config
        }),
    }
}

fn read_root(root: Option<&Node>, known: Known<'_>, problems: &mut Problems<'_>) -> Config {
    let mut config = Config::default();
    let Some(Node { kind: NodeKind::Mapping(entries), span }) = root else {
        let found = root.map_or("nothing", Node::noun);
        let place = root.map(|node| Place::new(problems.text, node.span));
        problems.found.push(Problem {
            message: format!("a configuration is a mapping with the key `evaluators`, not {found}"),
            place,
            hint: None,
        });
        return config;
    };
    let mut fields = Fields::new("the configuration", entries);
    match fields.take("evaluators").map(|node| (node, &node.kind)) {
        Some((_, NodeKind::Sequence(items))) if !items.is_empty() => {
            let mut names = Names::default();
            config.evaluators = items
                .iter()
                .filter_map(|item| evaluator::read(item, &mut names, known, problems))
                .collect();
        }
        Some((node, NodeKind::Sequence(_))) => {
            problems.add(node.span, "`evaluators` is empty", None)
        }
        Some((node, _)) => problems.add(
            node.span,
            format!("`evaluators` must be a list, not {}", node.noun()),
            None,
        ),
        None => problems.add(
            yaml::Span { start: span.start, end: span.start },
            "the key `evaluators` is missing",
            None,
        ),
    }
    fields.null_is_absent();
    config.eval_set = path("eval_set", Leads::File, &mut fields, problems);
    let formats: Vec<_> = known.trace_formats.names().iter().map(|name| (*name, *name)).collect();
    config.trace_format = fields
        .choice("trace_format", &formats, problems)
        .and_then(|name| known.trace_formats.find(name).ok());
    config.group_by = fields.choice("group_by", &GROUPINGS, problems);
    let mut switch = |key| {
        let node = fields.take(key);
        node.and_then(|node| truth(key, node, problems)).unwrap_or_default()
    };
    config.require_evaluated = switch("require_evaluated");
    config.require_all_cases = switch("require_all_cases");
    config.strict_matching = switch("strict_matching");
    config.fail_fast = switch("fail_fast");
    config.allow_unevaluated = switch("allow_unevaluated");
    config.max_error_rate = fields.fraction("max_error_rate", problems).unwrap_or_default();
    if let (true, Some(node)) = (config.require_evaluated, fields.peek("allow_unevaluated"))
        && config.allow_unevaluated
    {
        let message = "`allow_unevaluated` and `require_evaluated` contradict each other";
        problems.add(node.span, message, Some("keep one of them".to_owned()));
    }
    config.retries = fields.whole("retries", 0..=MAX_RETRIES, problems).unwrap_or_default();
    let output = fields.take_either("output_format", "output", problems);
    if let Some(node) = fields.take("sources") {
        config.sources = read_sources(node, problems);
    }
    config.output = output.and_then(|node| choice("output_format", node, &OUTPUTS, problems));
    for (key, instead) in REPLACED {
        if let Some((name, _)) = fields.take_replaced(key) {
            problems.add(
                name.span,
                format!("`{key}` is no longer a key of the configuration"),
                Some(instead.to_owned()),
            );
        }
    }
    fields.finish(problems);
    config
}

fn path(
    key: &'static str,
    leads: Leads,
    fields: &mut Fields<'_>,
    problems: &mut Problems<'_>,
) -> Option<PathBuf> {
    let node = fields.take(key)?;
    let text = text(key, node, problems)?;
    Some(problems.locate(key, text, node.span, leads))
}

fn read_sources(node: &Node, problems: &mut Problems<'_>) -> SourcePaths {
    let NodeKind::Mapping(entries) = &node.kind else {
        let hint = "write `sources: {file: PATH}` or `{local: PATH}`".to_owned();
        let message = format!("`sources` must be a mapping, not {}", node.noun());
        problems.add(node.span, message, Some(hint));
        return SourcePaths::default();
    };
    let mut fields = Fields::new("`sources`", entries);
    let paths = SourcePaths {
        file: path("file", Leads::File, &mut fields, problems),
        local: path("local", Leads::Directory, &mut fields, problems),
    };
    fields.finish(problems);
    paths
}
