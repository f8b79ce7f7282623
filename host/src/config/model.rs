//! Types of a configuration.

use std::{env, path::PathBuf, sync::Arc, time::Duration};

use evaluator_document::{Place, Problem};
use evaluator_engine::{transcripts::Transcripts, work::MissingTurns};
use evaluator_judging::{JudgeSettings, ProgramModels};
use evaluator_mutation::Expectations;
use evaluator_protocol::Contract;
use serde::Serialize;

use super::{
    LlmJudgeConfig, OpenAiEvalConfig, OutputFormat, ProcessConfig,
    paths::{MissingPath, NamedPath},
};
use crate::{
    conversation::GroupBy,
    executor::{Containment, Local},
    hosts::library::LibraryMetric,
    json::Object,
    models::Secret,
    report::{Certificate, Gate, Inconclusive},
    runtime::{Entrypoint, Environment},
    source::{Reference, Wanted},
    trace::TraceFormat,
};

/// Configuration of a run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Config {
    /// File that the configuration was read from; `None` if it was created otherwise.
    pub file: Option<PathBuf>,
    /// Evaluators in the order of the file, with unique names.
    pub evaluators: Vec<EvaluatorConfig>,
    /// Eval set with the golden cases.
    pub eval_set: Option<PathBuf>,
    /// Format of all trace files; detected if `None`.
    pub trace_format: Option<Arc<dyn TraceFormat>>,
    /// Output format.
    pub output: Option<OutputFormat>,
    /// Conversations whose transcripts the run file keeps; `None` is [`Transcripts::None`].
    pub transcripts: Option<Transcripts>,
    /// Grouping of traces into conversations.
    pub group_by: Option<GroupBy>,
    /// Attribute of spans or resources that identifies a case where a conversation has no golden case.
    pub case_key: Option<String>,
    /// Attribute of spans or resources with the same value in cases that are not independent.
    pub cluster: Option<String>,
    /// Attributes of spans or resources by whose values the report is sliced.
    pub by: Vec<String>,
    /// Whether the run fails if an evaluator has scored nothing, or a golden case has no recording; default: `false`.
    pub require_evaluated: bool,
    /// Share of its conversations that every evaluator has to score if `require_evaluated` is set, in 0..=1; 0, the default,
    /// stands for one conversation.
    pub required_share: f64,
    /// Whether the run fails if a golden case has no recording; default: `false`.
    pub require_all_cases: bool,
    /// Whether the run may pass if nothing was scored; default: `false`.
    pub allow_unevaluated: bool,
    /// Whether the only golden case and the only conversation are paired only if their prompts are equal; default:
    /// `false`.
    pub strict_matching: bool,
    /// Tolerated share of errors (evaluations that broke, and unusable trace files), in 0..=1; default: 0.
    pub max_error_rate: f64,
    /// Gates of evaluators. They do not go together with `fail_fast`.
    pub gates: Vec<Gate>,
    /// What undecided gates mean.
    pub inconclusive: Inconclusive,
    /// Run file that runs are compared with; default: none.
    pub baseline: Option<PathBuf>,
    /// Whether the run stops after the first failure or error; default: `false`.
    pub fail_fast: bool,
    /// Whether evaluators that run code and are not [contained](crate::run::Runner::uncontained) are errors instead of being
    /// run; default: `false`.
    pub contain: bool,
    /// Number of retries of an evaluation whose verdict may be transient, for evaluators without a number of their own;
    /// default: 0.
    pub retries: u32,
    /// Number of evaluations of each conversation, for evaluators without a number of their own; default: 1. What is
    /// computed without a model or a program is computed once.
    pub repeat: Option<u32>,
    /// Whether the run ends as soon as all gates are decided, which they are case by case; default: `false`. Every evaluator
    /// needs a gate then, of its mean or pass rate, and `fail_fast` excludes it.
    pub until_decided: bool,
    /// Seed of random numbers; default: 0.
    pub seed: u64,
    /// Settings of judges, for all evaluators that ask models.
    pub judge: JudgeSettings,
    /// Position of these settings in the file, if it has them.
    pub(crate) judge_place: Option<Place>,
    /// Paths of the sources `file` and `local`.
    pub sources: SourcePaths,
    /// Probable mistakes in the file.
    pub warnings: Vec<Problem>,
    /// Entries of the file that have no effect, as expected.
    pub notes: Vec<Problem>,
    /// Text of the file, for showing excerpts.
    pub source_text: String,
    /// Existing files and directories that the file names, as they are opened, with those that it extends; and files that a
    /// run would write and reads if they exist.
    pub named: Vec<NamedPath>,
    /// Paths that do not exist.
    pub(crate) missing: Vec<MissingPath>,
}

impl Config {
    /// Returns the variables of this process. Those that the configuration names as keys of models are secrets.
    pub(crate) fn environment(&self) -> Environment {
        Environment::inherited().with_secrets(self.key_variables())
    }

    /// Returns the values of these keys, which no report contains.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = Secret> {
        self.key_variables().filter_map(|name| Some(Secret::new(name, &env::var(name).ok()?)))
    }

    fn key_variables(&self) -> impl Iterator<Item = &str> {
        let judges = self.evaluators.iter().filter_map(EvaluatorConfig::judge);
        let offered = self.evaluators.iter().filter_map(EvaluatorConfig::models);
        let offered = offered.flat_map(|it| it.models.iter().map(|(_, settings)| settings));
        judges.chain(offered).chain([&self.judge]).flat_map(JudgeSettings::key_variables)
    }
}

/// Paths of the sources on this machine, as given. Environment variables replace those that are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourcePaths {
    /// Index of the source `file`, or a directory with an `index.yaml`.
    pub file: Option<PathBuf>,
    /// Directory of the source `local`.
    pub local: Option<PathBuf>,
}

/// One evaluator of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EvaluatorConfig {
    /// Name, unique in the run; sent to the evaluator as `metric_name`.
    pub name: String,
    /// Type of the evaluator, with its settings.
    pub kind: EvaluatorKind,
    /// Effect of golden turns without a recording.
    pub missing_turns: MissingTurns,
    /// Number of evaluations of each conversation; default: that of the run.
    pub repeat: Option<u32>,
    /// What labels of people have shown about it; default: none.
    pub certificate: Option<Arc<Certificate>>,
    /// What it has to notice when conversations are damaged. It does not matter to a run.
    pub mutate: Expectations,
    /// Position of its type in the file; `None` if it is not from a file.
    pub place: Option<Place>,
    /// Position of the models that it asks, if the entry names them.
    pub(crate) models_place: Option<Place>,
}

/// Type of an evaluator.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EvaluatorKind {
    /// A built-in metric of the same name.
    Builtin(BuiltinConfig),
    /// A program.
    Code(CodeConfig),
    /// A grader of OpenAI's API.
    OpenAiEval(OpenAiEvalConfig),
    /// A judge with a prompt, rubrics or criteria of the user.
    LlmJudge(Box<LlmJudgeConfig>),
    /// A program that is fetched from a source.
    Remote(RemoteConfig),
    /// A function of this program of the same name, see [`linked`](crate::linked).
    Linked(LinkedConfig),
}

impl EvaluatorConfig {
    /// Creates an evaluator that is the built-in metric of that name with default settings.
    pub fn builtin(name: impl Into<String>) -> Self {
        Self::new(name, EvaluatorKind::Builtin(BuiltinConfig::default()))
    }

    /// Creates an evaluator that is the program at `path` with default settings.
    pub fn code(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        let code = CodeConfig { path: path.into(), ..CodeConfig::default() };
        Self::new(name, EvaluatorKind::Code(code))
    }

    /// Creates an evaluator that is linked into this program, with default settings.
    pub fn linked(name: impl Into<String>) -> Self {
        Self::new(name, EvaluatorKind::Linked(LinkedConfig::default()))
    }

    /// Creates an evaluator that is not from a file.
    pub(super) fn new(name: impl Into<String>, kind: EvaluatorKind) -> Self {
        let (missing_turns, place, models_place) = (MissingTurns::default(), None, None);
        let (repeat, certificate, mutate) = (None, None, Expectations::default());
        let name = name.into();
        Self { name, kind, missing_turns, repeat, certificate, mutate, place, models_place }
    }

    /// Returns the models that the program of the entry may ask; `None` if there are none.
    pub fn models(&self) -> Option<&ProgramModels> {
        self.program()?.models.as_ref()
    }

    /// Returns the settings of the program of the entry; `None` if it starts none of its own.
    pub(crate) fn program(&self) -> Option<&CodeConfig> {
        match &self.kind {
            EvaluatorKind::Code(code) => Some(code),
            EvaluatorKind::Remote(remote) => Some(&remote.program),
            _ => None,
        }
    }

    /// Returns the settings of the judge of the entry; `None` if it asks no model.
    pub fn judge(&self) -> Option<&JudgeSettings> {
        match &self.kind {
            EvaluatorKind::Builtin(builtin) => Some(&builtin.judge),
            EvaluatorKind::LlmJudge(llm_judge) => Some(&llm_judge.judge),
            EvaluatorKind::OpenAiEval(openai) => openai.judge.as_deref(),
            _ => None,
        }
    }

    /// Returns the settings of the judge of the entry, to change them.
    pub fn judge_mut(&mut self) -> Option<&mut JudgeSettings> {
        match &mut self.kind {
            EvaluatorKind::Builtin(builtin) => Some(&mut builtin.judge),
            EvaluatorKind::LlmJudge(llm_judge) => Some(&mut llm_judge.judge),
            EvaluatorKind::OpenAiEval(openai) => openai.judge.as_deref_mut(),
            _ => None,
        }
    }

    /// Returns the lowest score that passes.
    pub fn threshold(&self) -> f64 {
        match &self.kind {
            EvaluatorKind::Builtin(builtin) => builtin.threshold,
            EvaluatorKind::Code(code) => code.threshold,
            EvaluatorKind::OpenAiEval(openai) => openai.threshold,
            EvaluatorKind::LlmJudge(llm_judge) => llm_judge.threshold,
            EvaluatorKind::Remote(remote) => remote.program.threshold,
            EvaluatorKind::Linked(linked) => linked.threshold,
        }
    }

    /// Sets the lowest score that passes.
    pub fn set_threshold(&mut self, threshold: f64) {
        *match &mut self.kind {
            EvaluatorKind::Builtin(builtin) => &mut builtin.threshold,
            EvaluatorKind::Code(code) => &mut code.threshold,
            EvaluatorKind::OpenAiEval(openai) => &mut openai.threshold,
            EvaluatorKind::LlmJudge(llm_judge) => &mut llm_judge.threshold,
            EvaluatorKind::Remote(remote) => &mut remote.program.threshold,
            EvaluatorKind::Linked(linked) => &mut linked.threshold,
        } = threshold;
    }
}

/// Settings of a built-in metric.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct BuiltinConfig {
    /// Lowest score that passes; default: that of the metric, which is 0.5 for most.
    pub threshold: f64,
    /// Settings of the metric, see [`Metric::configure`](crate::metric::Metric::configure).
    pub settings: Object,
    /// Settings of the judge, for metrics that have one.
    #[serde(skip)]
    pub judge: Box<JudgeSettings>,
}

impl Default for BuiltinConfig {
    fn default() -> Self {
        Self { threshold: 0.5, settings: Object::default(), judge: Box::default() }
    }
}

/// Settings of a program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CodeConfig {
    /// File of the program; empty for a remote program that was not fetched yet.
    pub path: PathBuf,
    /// Whether `path`, if it is a single name, is a command on `PATH` even if there is a file of this name; default: `false`.
    pub command: bool,
    /// Arguments of the program; default: none.
    pub args: Vec<String>,
    /// Lowest score that passes; default: 0.5.
    pub threshold: f64,
    /// Time limit of one evaluation, without fetching and building; default: 30 s.
    pub timeout: Duration,
    /// Number of retries of an evaluation whose verdict may be transient; default: that of the run.
    pub retries: Option<u32>,
    /// Settings sent to the evaluator; default: empty.
    pub config: Object,
    /// Contract of the evaluator. If `None`, the default one, and answers in the terms of another one are errors.
    pub contract: Option<Contract>,
    /// Function of a Python file to call, for contracts whose hosts call functions.
    pub function: Option<String>,
    /// Name of the executor; default: `local`.
    pub executor: String,
    /// What it may use in an executor that contains programs.
    pub containment: Arc<Containment>,
    /// Limits and environment of the process.
    pub process: ProcessConfig,
    /// State that evaluations may share.
    pub isolation: Isolation,
    /// Models that the program may ask through a proxy; default: none.
    pub models: Option<ProgramModels>,
    /// The metric of a library that the program calls; default: none.
    pub library: Option<Arc<LibraryMetric>>,
    /// Whether the file was fetched from a source and is therefore trusted less; default: `false`.
    pub fetched: bool,
}

impl CodeConfig {
    /// Returns what a runtime has to know to prepare the program at `path`. `contained` tells whether its executor contains
    /// programs.
    pub(crate) fn entrypoint(&self, path: PathBuf, contained: bool) -> Entrypoint {
        let contained = contained.then(|| self.containment.clone());
        Entrypoint { fetched: self.fetched, contained, ..Entrypoint::from(path) }
    }
}

/// Settings of an evaluator that is linked into this program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkedConfig {
    /// Lowest score that passes; default: 0.5.
    pub threshold: f64,
    /// Time limit of one evaluation; default: 30 s.
    pub timeout: Duration,
    /// Settings sent to the evaluator; default: empty.
    pub config: Object,
    /// Contract of its documents; the default one if `None`.
    pub contract: Option<Contract>,
}

impl Default for LinkedConfig {
    fn default() -> Self {
        let CodeConfig { threshold, timeout, config, contract, .. } = CodeConfig::default();
        Self { threshold, timeout, config, contract }
    }
}

/// State that the evaluations of one program may share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// State that makes them faster and does not change results: a process that reads several documents, if the program
    /// supports that, an interpreter that has done its imports and is forked, or a cache of compiled code.
    #[default]
    Auto,
    /// None: every evaluation starts a process of its own.
    Process,
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
            executor: Local::NAME.to_owned(),
            containment: Arc::default(),
            process: ProcessConfig::default(),
            isolation: Isolation::default(),
            models: None,
            library: None,
            fetched: false,
        }
    }
}

/// A program from a source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RemoteConfig {
    /// Source and path of the program.
    pub wanted: Wanted,
    /// Settings of the program; its path is empty.
    pub program: CodeConfig,
}

impl RemoteConfig {
    /// Creates a program with default settings.
    pub fn new(source: impl Into<String>, reference: Reference) -> Self {
        let wanted = Wanted { source: source.into(), reference };
        Self { wanted, program: CodeConfig::default() }
    }

    /// Returns the program after it was fetched to `path`.
    pub fn at(&self, path: impl Into<PathBuf>) -> CodeConfig {
        CodeConfig { path: path.into(), fetched: true, ..self.program.clone() }
    }
}
