//! A configuration that has been checked.

use std::{path::PathBuf, time::Duration};

use crate::{
    conversation::GroupBy,
    json::Object,
    metric::{AlignmentSettings, MatchType},
    trace::Format,
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
    /// Format of all trace files; found out from their content when `None`.
    pub trace_format: Option<Format>,
    /// Output format.
    pub output: Option<OutputFormat>,
    /// How traces become conversations.
    pub group_by: Option<GroupBy>,
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
}

/// What an evaluator is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EvaluatorKind {
    /// A metric of this crate; its name is the evaluator's.
    Builtin(BuiltinConfig),
    /// A program.
    Code(CodeConfig),
}

impl EvaluatorConfig {
    /// The built-in metric of that name with default settings.
    pub fn builtin(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: EvaluatorKind::Builtin(BuiltinConfig::default()) }
    }

    /// The program at `path` with default settings.
    pub fn code(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            kind: EvaluatorKind::Code(CodeConfig { path: path.into(), ..CodeConfig::default() }),
        }
    }

    /// Score from which on an evaluation passes.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        match &self.kind {
            EvaluatorKind::Builtin(builtin) => builtin.threshold,
            EvaluatorKind::Code(code) => code.threshold,
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
    /// Score from which on an evaluation passes; 0.5 by default.
    pub threshold: f64,
    /// Time one evaluation may take; 30 s by default. Building is not part of it.
    pub timeout: Duration,
    /// Settings sent to the evaluator; empty by default.
    pub config: Object,
    /// Name of the executor; `local` by default.
    pub executor: String,
    /// Whether the file was fetched from a source of evaluators, so that less of it is trusted; no by default.
    pub fetched: bool,
}

impl Default for CodeConfig {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            threshold: 0.5,
            timeout: Duration::from_secs(30),
            config: Object::new(),
            executor: "local".to_owned(),
            fetched: false,
        }
    }
}
