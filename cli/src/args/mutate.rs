//! Arguments of `evaluator mutate`.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::Args;
use evaluator_host::conversation::GroupBy;
use evaluator_mutation::{Mutation, OPERATORS, Operator};

use super::{
    eval_file::EvalFileFlags,
    existing, file,
    given::Given,
    jobs,
    judge::JudgeFlags,
    name, one_of,
    run::{GROUPINGS, fraction},
    trace_input,
    values::{ResultOutput, result_output},
    whole,
};

pub(super) const EXIT_CODES: &str = "Exit codes: 0 every relation holds, and enough is killed; 1 a relation is violated, or too little is killed; 2 usage error, or nothing to damage; 3 an evaluator broke";

#[derive(Debug, Args)]
pub(crate) struct MutateArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// Trace files, or directories of them, as `run` takes them; or an AgentV eval file
    #[arg(required = true, value_name = "TRACE_FILE", value_parser = trace_input)]
    pub(crate) traces: Vec<PathBuf>,
    /// Configuration with the evaluators (default: eval_config.yaml, .yml or .json of the working directory)
    #[arg(short, long, value_name = "FILE", value_parser = file)]
    pub(crate) config: Option<PathBuf>,
    /// Do not look for a configuration in the working directory
    #[arg(long, conflicts_with = "config")]
    pub(crate) no_config: bool,
    /// Evaluator of the configuration, or the path of a program; with an eval file, a grader, or the name of the suite;
    /// repeatable (default: all of the configuration; the suite, and each grader of at least five tests)
    #[arg(long = "evaluator", value_name = "NAME|PATH")]
    pub(crate) named: Vec<String>,
    /// Eval set with golden conversations (overrides the configuration's)
    #[arg(short, long, value_name = "FILE", value_parser = existing)]
    pub(crate) eval_set: Option<PathBuf>,
    /// Built-in metric; repeatable
    #[arg(id = "metric", short, long = "metric", value_name = "NAME")]
    pub(crate) metrics: Vec<String>,
    /// Format of the trace files (default: detected from their content)
    #[arg(short, long, ignore_case = true)]
    pub(crate) format: Option<String>,
    /// Threshold of built-in metrics and of programs named by their paths, in 0..=1 (default: 0.5)
    #[arg(short, long, value_name = "X", value_parser = fraction)]
    pub(crate) threshold: Option<f64>,
    /// How traces are grouped into conversations (default: auto)
    #[arg(long, value_parser = one_of(GROUPINGS))]
    pub(crate) group_by: Option<GroupBy>,
    /// Attribute of spans or resources that identifies a case, where a conversation has no golden case
    #[arg(long, value_name = "ATTRIBUTE", value_parser = name)]
    pub(crate) case_key: Option<String>,
    #[command(flatten)]
    pub(crate) judge: JudgeFlags,
    #[command(flatten)]
    pub(crate) eval_file: EvalFileFlags,
    /// Fail (exit code 1) if an evaluator kills less than this share of the damage that it has to notice, in 0..=1
    #[arg(long, value_name = "X", value_parser = fraction)]
    pub(crate) min_killed: Option<f64>,
    /// Operators to use, separated by commas (default: all that apply)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = operator)]
    pub(crate) operators: Vec<&'static Operator>,
    /// The only edit to try, as the report names it
    #[arg(long, value_name = "OP@TURN.CALL", conflicts_with = "operators")]
    pub(crate) only: Option<Mutation>,
    /// The only conversation to damage: id of its golden case, its value of --case-key, or its trace id
    #[arg(long, value_name = "ID")]
    pub(crate) case: Option<String>,
    /// Maximum number of damaged conversations for each evaluator, evenly over operators (default: 200)
    #[arg(long, value_name = "N", default_value_t = 200, hide_default_value = true, value_parser = whole::<usize>(1..=10_000_000))]
    pub(crate) sample: usize,
    /// Seed of the sample (default: 0)
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) seed: u64,
    /// Try no edits that must not change a score
    #[arg(long)]
    pub(crate) no_relations: bool,
    /// Directory for the names of what was killed and of what survived, and for the document of each survivor
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    /// Tolerate errors up to this share of all evaluations, in 0..=1 (default: that of the configuration, else 0)
    #[arg(long, value_name = "R", value_parser = fraction)]
    pub(crate) max_error_rate: Option<f64>,
    /// Repeat evaluations that timed out, were killed by another process or could not be started for lack of resources, up to
    /// N times (default: 0)
    #[arg(long, value_name = "N", value_parser = whole::<u32>(0..=100))]
    pub(crate) retries: Option<u32>,
    /// Reject remote evaluators that are not pinned in evaluators.lock
    #[arg(long)]
    pub(crate) locked: bool,
    /// Refuse to run (exit code 2) unless every program is contained by its executor, and run those that are named by their
    /// paths in a sandbox
    #[arg(long)]
    pub(crate) contain: bool,
    /// Number of parallel evaluations (default: one per processor)
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Form of the report (table, json, markdown, html), and with =FILE the file that it is written to instead of stdout;
    /// repeatable (default: table)
    #[arg(short, long, value_name = "FORM[=FILE]", value_parser = result_output)]
    pub(crate) output: Vec<ResultOutput>,
}

fn operator(text: &str) -> Result<&'static Operator, String> {
    OPERATORS.iter().find(|operator| operator.name == text).ok_or_else(|| {
        let names: Vec<&str> = OPERATORS.iter().map(|operator| operator.name).collect();
        format!("there is no operator `{text}`; the operators are {}", names.join(", "))
    })
}
