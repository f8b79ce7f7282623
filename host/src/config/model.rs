//! A configuration that has been checked.

use std::{path::PathBuf, sync::Arc, time::Duration};

use evaluator_protocol::Contract;

use super::{OpenAiEvalConfig, Place, Problem, ProcessConfig, paths::MissingPath};
use crate::{
    conversation::GroupBy,
    json::Object,
    metric::{AlignmentSettings, MatchType},
    source::{Reference, Wanted},
    trace::TraceFormat,
};

/// What to run, over what, and how to report it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Config {
    /// The file it was read from, `None` when it was made otherwise.
    pub file: Option<PathBuf>,
    /// Evaluators in the order of the file; names are unique.
    pub evaluators: Vec<EvaluatorConfig>,
    /// Eval set to compare with.
    pub eval_set: Option<PathBuf>,
    /// Format of all trace files; detected from their content when `None`.
    pub trace_format: Option<Arc<dyn TraceFormat>>,
    /// Output format.
    pub output: Option<OutputFormat>,
    /// How traces become conversations.
    pub group_by: Option<GroupBy>,
    /// Whether a run fails in which some evaluator has scored nothing, or some golden case has no recording; no by
    /// default.
    pub require_evaluated: bool,
    /// Whether a run fails in which some golden case has no recording; no by default.
    pub require_all_cases: bool,
    /// Whether a run may pass in which nothing was scored; no by default.
    pub allow_unevaluated: bool,
    /// Whether the only golden case and the only conversation belong together only if their prompts are equal; no by
    /// default.
    pub strict_matching: bool,
    /// The share of errors (evaluations that broke, and trace files that could not be used) up to which they are
    /// tolerated, in 0..=1; none by default.
    pub max_error_rate: f64,
    /// Whether nothing new begins after the first failure or error; no by default.
    pub fail_fast: bool,
    /// How often an evaluation is tried again whose verdict may be transient, for evaluators that do not say so
    /// themselves; never by default.
    pub retries: u32,
    /// Where the sources `file` and `local` are.
    pub sources: SourcePaths,
    /// What is in the file and probably not meant so.
    pub warnings: Vec<Problem>,
    /// What is in the file and has no effect here, as it should be.
    pub notes: Vec<Problem>,
    /// The text of the file, for showing places in it.
    pub source_text: String,
    /// Paths in it that do not exist.
    pub(crate) missing: Vec<MissingPath>,
}

/// Where the sources on this machine are; paths as given. Variables of the environment say so where nothing is said here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourcePaths {
    /// Index of the source `file`, or a folder with an `index.yaml`.
    pub file: Option<PathBuf>,
    /// Folder of the source `local`.
    pub local: Option<PathBuf>,
}

/// Form of the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputFormat {
    /// A table per conversation.
    #[default]
    Table,
    /// One JSON document.
    Json,
    /// A line per metric.
    Summary,
    /// JUnit XML.
    Junit,
    /// A Markdown table.
    Markdown,
    /// GitHub workflow commands.
    Github,
}

/// One evaluator of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EvaluatorConfig {
    /// Name, unique in the run; sent to the evaluator as `metric_name`.
    pub name: String,
    /// What it is.
    pub kind: EvaluatorKind,
    /// What becomes of an evaluation where golden turns are not recorded.
    pub missing_turns: MissingTurns,
    /// Where the file says what it is; `None` when no file does.
    pub place: Option<Place>,
}

/// What becomes of an evaluation where the golden case has more turns than the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MissingTurns {
    /// It fails, whatever its score is.
    #[default]
    Fail,
    /// Its score decides.
    Ignore,
}

/// What an evaluator is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EvaluatorKind {
    /// A metric of this crate; its name is the evaluator's.
    Builtin(BuiltinConfig),
    /// A program.
    Code(CodeConfig),
    /// A grader of OpenAI's evaluation service. It can be read, and not be run: see [`Config::ensure_runnable`].
    OpenAiEval(OpenAiEvalConfig),
    /// A program that is fetched from a source.
    Remote(RemoteConfig),
    /// A function of this program, see [`linked`](crate::linked); its name is the evaluator's.
    Linked(LinkedConfig),
}

impl EvaluatorConfig {
    /// The built-in metric of that name with default settings.
    pub fn builtin(name: impl Into<String>) -> Self {
        Self::new(name, EvaluatorKind::Builtin(BuiltinConfig::default()))
    }

    /// The program at `path` with default settings.
    pub fn code(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        let code = CodeConfig { path: path.into(), ..CodeConfig::default() };
        Self::new(name, EvaluatorKind::Code(code))
    }

    /// The evaluator of that name that is linked into this program, with default settings.
    pub fn linked(name: impl Into<String>) -> Self {
        Self::new(name, EvaluatorKind::Linked(LinkedConfig::default()))
    }

    /// An evaluator that no file speaks of.
    pub(super) fn new(name: impl Into<String>, kind: EvaluatorKind) -> Self {
        Self { name: name.into(), kind, missing_turns: MissingTurns::default(), place: None }
    }

    /// Score from which on an evaluation passes.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        match &self.kind {
            EvaluatorKind::Builtin(builtin) => builtin.threshold,
            EvaluatorKind::Code(code) => code.threshold,
            EvaluatorKind::OpenAiEval(openai) => openai.threshold,
            EvaluatorKind::Remote(remote) => remote.threshold,
            EvaluatorKind::Linked(linked) => linked.threshold,
        }
    }
}

/// Settings of a built-in metric.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BuiltinConfig {
    /// Score from which on an evaluation passes; 0.5 by default, and in a file that gives a `max`, 1.
    pub threshold: f64,
    /// How tool calls are compared; `Exact` when `None`.
    pub match_type: Option<MatchType>,
    /// Whether only the names of tools are compared; no by default.
    pub ignore_args: bool,
    /// The most a turn may take, in the unit of the metric; at least 0. `None` only measures.
    pub max: Option<f64>,
    /// How `tool_trajectory_alignment` compares.
    pub alignment: AlignmentSettings,
    /// Model that judges.
    pub judge_model: Option<String>,
    /// Base URL of the judge's API.
    pub judge_base_url: Option<String>,
    /// Name of the credential the judge uses.
    pub credential_ref: Option<String>,
    /// What the judge judges by; ids are unique.
    pub rubrics: Vec<Rubric>,
    /// Settings of a metric that was registered; empty by default.
    pub config: Object,
}

impl Default for BuiltinConfig {
    fn default() -> Self {
        Self {
            threshold: 0.5,
            match_type: None,
            ignore_args: false,
            max: None,
            alignment: AlignmentSettings::default(),
            judge_model: None,
            judge_base_url: None,
            credential_ref: None,
            rubrics: Vec::new(),
            config: Object::default(),
        }
    }
}

/// Something a judge checks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rubric {
    /// Name that results are reported under; `None` where only the text was given.
    pub id: Option<String>,
    /// What has to be true; never blank.
    pub text: String,
}

/// Settings of a program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CodeConfig {
    /// The file, as given: relative to the working directory, and if it is not there, to the configuration file.
    pub path: PathBuf,
    /// Whether `path` may also be the name of a command, to be found on `PATH`; no by default.
    pub command: bool,
    /// Arguments of the program; none by default.
    pub args: Vec<String>,
    /// Score from which on an evaluation passes; 0.5 by default.
    pub threshold: f64,
    /// Time one evaluation may take; 30 s by default. Building is not part of it.
    pub timeout: Duration,
    /// How often an evaluation is tried again whose verdict may be transient; as often as the run says by default.
    pub retries: Option<u32>,
    /// Settings sent to the evaluator; empty by default.
    pub config: Object,
    /// The contract it is written for; where none is named, the default one, and answers of other hosts are errors.
    pub contract: Option<Contract>,
    /// The function of a Python file that is called, for contracts whose hosts call functions.
    pub function: Option<String>,
    /// Name of the executor; `local` by default.
    pub executor: String,
    /// What its process may use and see.
    pub process: ProcessConfig,
    /// What evaluations may share; whatever changes no result, by default.
    pub isolation: Isolation,
    /// Whether the file was fetched from a source of evaluators, so that less of it is trusted; no by default.
    pub fetched: bool,
    /// What its author says of it, where the file has a place for that.
    pub info: Option<MetricInfo>,
}

/// Settings of an evaluator that is linked into this program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkedConfig {
    /// Score from which on an evaluation passes; 0.5 by default.
    pub threshold: f64,
    /// Time after which nobody waits for an evaluation any more; 30 s by default.
    pub timeout: Duration,
    /// Settings sent to the evaluator; empty by default.
    pub config: Object,
    /// The contract in whose terms it is asked; the default one if `None`.
    pub contract: Option<Contract>,
}

impl Default for LinkedConfig {
    fn default() -> Self {
        let CodeConfig { threshold, timeout, config, contract, .. } = CodeConfig::default();
        Self { threshold, timeout, config, contract }
    }
}

/// What evaluations of one program may have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// What makes them fast and changes no result: a process that stays for the next document, if the program says that it
    /// can, one that is forked from an interpreter that has done its imports, or one that finds what an earlier one has compiled.
    #[default]
    Auto,
    /// Nothing: every evaluation is a process that is started for it alone.
    Process,
}

/// What the author of a metric says of it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MetricInfo {
    /// What it scores.
    pub description: Option<String>,
    /// The scores it may give. Here they are in 0..=1 whatever is said.
    pub interval: Option<Interval>,
}

/// A range of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Interval {
    /// The smaller end; may be infinite.
    pub min: f64,
    /// Whether `min` itself is outside of it.
    pub open_at_min: bool,
    /// The larger end; may be infinite.
    pub max: f64,
    /// Whether `max` itself is outside of it.
    pub open_at_max: bool,
}

impl Interval {
    /// Whether no number is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.min > self.max || (self.min == self.max && (self.open_at_min || self.open_at_max))
    }
}

impl Default for CodeConfig {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            command: false,
            args: Vec::new(),
            threshold: 0.5,
            timeout: Duration::from_secs(30),
            retries: None,
            config: Object::default(),
            contract: None,
            function: None,
            executor: "local".to_owned(),
            process: ProcessConfig::default(),
            isolation: Isolation::default(),
            fetched: false,
            info: None,
        }
    }
}

/// Settings of a program that is fetched from a source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RemoteConfig {
    /// Which evaluator of which source; of `github` by default.
    pub wanted: Wanted,
    /// Score from which on an evaluation passes; 0.5 by default.
    pub threshold: f64,
    /// Time one evaluation may take; 30 s by default. Fetching and building are not part of it.
    pub timeout: Duration,
    /// How often an evaluation is tried again whose verdict may be transient; as often as the run says by default.
    pub retries: Option<u32>,
    /// Settings sent to the evaluator; empty by default.
    pub config: Object,
    /// The contract it is written for; where none is named, the default one, and answers of other hosts are errors.
    pub contract: Option<Contract>,
    /// The function of a Python file that is called, for contracts whose hosts call functions.
    pub function: Option<String>,
    /// Name of the executor; `local` by default.
    pub executor: String,
    /// What its process may use and see; of the environment less than that of other programs.
    pub process: ProcessConfig,
    /// What evaluations may share; whatever changes no result, by default.
    pub isolation: Isolation,
}

impl RemoteConfig {
    /// Default settings.
    #[must_use]
    pub fn new(source: impl Into<String>, reference: Reference) -> Self {
        let wanted = Wanted { source: source.into(), reference };
        Self::of_program(wanted, CodeConfig::default())
    }

    /// The settings of a program that is fetched.
    pub(super) fn of_program(wanted: Wanted, program: CodeConfig) -> Self {
        Self {
            wanted,
            threshold: program.threshold,
            timeout: program.timeout,
            retries: program.retries,
            config: program.config,
            contract: program.contract,
            function: program.function,
            executor: program.executor,
            process: program.process,
            isolation: program.isolation,
        }
    }

    /// The same program once it is here.
    #[must_use]
    pub fn at(&self, path: impl Into<PathBuf>) -> CodeConfig {
        CodeConfig {
            path: path.into(),
            threshold: self.threshold,
            timeout: self.timeout,
            retries: self.retries,
            config: self.config.clone(),
            contract: self.contract,
            function: self.function.clone(),
            executor: self.executor.clone(),
            process: self.process.clone(),
            isolation: self.isolation,
            fetched: true,
            ..CodeConfig::default()
        }
    }
}
