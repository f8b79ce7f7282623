//! The command line. Names and letters are those of the agentevals command where it has the same thing.

mod serve;

use std::{num::NonZeroUsize, path::PathBuf};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, value_parser};
use evaluator_host::{
    config::OutputFormat, conversation::GroupBy, metric::MatchType, trace::Format,
};

pub(crate) use self::serve::ServeArgs;
use crate::scaffold::{Language, Template};

/// Scores what AI agents did, with evaluators in any language.
#[derive(Debug, Parser)]
#[command(name = "evaluator", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Say more (twice: everything) on stderr
    #[arg(short, long, global = true, display_order = 900, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run evaluators over recorded traces and report
    #[command(
        after_help = "Exit codes: 0 all passed or did not apply, 1 something failed, 2 usage or configuration error (nothing ran), 3 something broke"
    )]
    Run(RunArgs),
    /// Check a configuration and everything it names, and run nothing
    #[command(after_help = "Exit codes: 0 everything is there, 2 something is wrong")]
    Check {
        /// The configuration
        #[arg(value_parser = existing)]
        config: PathBuf,
        /// Remote evaluators must be pinned in evaluators.lock
        #[arg(long, visible_alias = "frozen")]
        locked: bool,
    },
    /// Print the JSON Schema of configuration files, for editors
    Schema,
    /// Create an evaluator from a template
    #[command(visible_alias = "new")]
    Init(InitArgs),
    /// List the languages evaluators can be written in, and whether this machine can run them
    Runtimes,
    /// List evaluators that can be named in a configuration
    #[command(after_help = SOURCES_HELP)]
    List(ListArgs),
    /// Fetch evaluators of `type: remote` anew, and pin what they are now in evaluators.lock
    #[command(
        after_help = "Exit codes: 0 all are up to date, 2 usage or configuration error, 3 something could not be fetched"
    )]
    Update(UpdateArgs),
    /// Print a configuration entry for an evaluator
    Config(ConfigArgs),
    /// Compile the manifests of a folder's evaluators into the index that hosts fetch them by
    #[command(
        after_help = "Exit codes: 0 the index is up to date, 1 it is not (with --check), 2 a manifest is wrong (nothing was written), 3 a file could not be read or written"
    )]
    Index(IndexArgs),
    /// Check evaluators before they are published: manifest, files, source, a run, its answers
    #[command(
        after_help = "Exit codes: 0 all are valid, 1 one is not, 2 there is nothing to validate, 3 a check could not be done"
    )]
    Validate(ValidateArgs),
    /// Offer evaluators over HTTP, to hosts that send documents themselves
    #[command(after_help = serve::EXIT_CODES)]
    Serve(ServeArgs),
    /// Commands on evaluators, as agentevals groups them
    #[command(subcommand, hide = true)]
    Evaluator(EvaluatorCommand),
}

/// `agentevals evaluator ...`, so that changing the command's name is enough.
#[derive(Debug, Subcommand)]
pub(crate) enum EvaluatorCommand {
    /// See `evaluator init`
    Init(InitArgs),
    /// See `evaluator runtimes`
    Runtimes,
    /// See `evaluator list`
    #[command(after_help = SOURCES_HELP)]
    List(ListArgs),
    /// See `evaluator update`
    Update(UpdateArgs),
    /// See `evaluator config`
    Config(ConfigArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Name of the evaluator; folders before it and a language's extension after it are understood
    pub(crate) name: PathBuf,
    /// Language, by its extension (default: by the name's extension, else Rust)
    #[arg(long, value_enum, ignore_case = true)]
    pub(crate) runtime: Option<Language>,
    /// What to start from (default: the language's plainest)
    #[arg(long, value_enum)]
    pub(crate) template: Option<Template>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Where to look
    #[arg(short, long, value_enum, default_value_t = Source::All)]
    pub(crate) source: Source,
    /// Ask for lists anew that were kept from before
    #[arg(long)]
    pub(crate) refresh: bool,
    #[command(flatten)]
    pub(crate) places: SourcePlaces,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// A built-in metric, the file of an evaluator, or an evaluator that `evaluator list` shows
    pub(crate) evaluator: String,
    #[command(flatten)]
    pub(crate) places: SourcePlaces,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Configuration with the evaluators; the lock file is beside it (default: all that is pinned in ./evaluators.lock)
    #[arg(value_parser = existing)]
    pub(crate) config: Option<PathBuf>,
    /// Evaluators of the configuration (default: all)
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// Where the sources on this machine are.
#[derive(Debug, Args)]
pub(crate) struct SourcePlaces {
    /// Index of the source `file` (default: $AGENTEVALS_EVALUATOR_INDEX)
    #[arg(long, value_name = "FILE", value_parser = existing)]
    pub(crate) index: Option<PathBuf>,
    /// Folder of the source `local` (default: $AGENTEVALS_EVALUATOR_DIR)
    #[arg(long, value_name = "FOLDER", value_parser = existing)]
    pub(crate) folder: Option<PathBuf>,
}

const SOURCES_HELP: &str = "Exit codes: 0 listed (a source that fails among all is a warning), 2 the source is not set up, 3 it failed";

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// Folder whose folders hold an evaluator.yaml each, or one with such a folder called `evaluators`
    #[arg(value_name = "DIR", value_parser = folder)]
    pub(crate) folder: PathBuf,
    /// Index to write, or - for stdout (default: index.yaml in DIR, or beside DIR if that is called `evaluators`)
    #[arg(short, long, value_name = "FILE", value_parser = in_a_folder)]
    pub(crate) output: Option<PathBuf>,
    /// Write nothing, and fail if the index is not up to date
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Folder of an evaluator, or of several such folders
    #[arg(required = true, value_name = "DIR", value_parser = existing)]
    pub(crate) folders: Vec<PathBuf>,
    /// Seconds an evaluator may take for one document
    #[arg(long, value_name = "S", default_value = "30", value_parser = value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Form of the report
    #[arg(short, long, value_enum, default_value_t = ValidateOutput::Text)]
    pub(crate) output: ValidateOutput,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ValidateOutput {
    /// For people
    Text,
    /// One JSON document
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Source {
    /// All of them
    All,
    /// Metrics of this program
    Builtin,
    /// A repository with an index; its list is kept for a day
    Github,
    /// An index on this machine
    File,
    /// A folder of evaluators on this machine
    Local,
}

impl Source {
    /// Its name; `None` for all.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Builtin => Some("builtin"),
            Self::Github => Some("github"),
            Self::File => Some("file"),
            Self::Local => Some("local"),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Trace files: Jaeger JSON, OTLP JSON or OTLP JSON lines
    #[arg(required = true, value_name = "TRACE_FILE", value_parser = existing)]
    pub(crate) traces: Vec<PathBuf>,
    /// Configuration with the evaluators to run
    #[arg(short, long, value_name = "FILE", value_parser = existing)]
    pub(crate) config: Option<PathBuf>,
    /// Eval set with golden conversations (overrides the configuration's)
    #[arg(short, long, value_name = "FILE", value_parser = existing)]
    pub(crate) eval_set: Option<PathBuf>,
    /// Built-in metric to run; repeatable (default without a configuration: tool_trajectory_avg_score)
    #[arg(short, long = "metric", value_name = "NAME")]
    pub(crate) metrics: Vec<String>,
    /// Format of the trace files; found out from their content when not given
    #[arg(short, long, value_enum, ignore_case = true)]
    pub(crate) format: Option<TraceFormat>,
    /// Model for metrics that need one
    #[arg(long, value_name = "MODEL")]
    pub(crate) judge_model: Option<String>,
    /// Threshold of built-in metrics, in 0..=1 (default: 0.5)
    #[arg(short, long, value_name = "X", value_parser = fraction)]
    pub(crate) threshold: Option<f64>,
    /// How tool calls are compared with the expected ones (default: EXACT)
    #[arg(long, value_enum, ignore_case = true)]
    pub(crate) trajectory_match_type: Option<Match>,
    /// Form of the report (default: table)
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<Output>,
    /// Write the report to this file instead of stdout; it appears whole or not at all
    #[arg(long, value_name = "FILE", value_parser = in_a_folder)]
    pub(crate) output_file: Option<PathBuf>,
    /// What is evaluated as one conversation (default: auto)
    #[arg(long, value_enum)]
    pub(crate) group_by: Option<Grouping>,
    /// Send the results as OpenTelemetry log records, to where OTEL_EXPORTER_OTLP_ENDPOINT says (default:
    /// http://localhost:4318); also AGENTEVALS_EVALUATION_EVENTS=true
    #[arg(long)]
    pub(crate) emit_otel: bool,
    /// Fail (exit code 1) unless every evaluator has scored at least one conversation
    #[arg(long)]
    pub(crate) require_evaluated: bool,
    /// Tolerate errors up to this share of all evaluations, in 0..=1 (default: 0). They stay in the report; failures, and
    /// runs in which nothing was scored, are never tolerated
    #[arg(long, value_name = "R", value_parser = fraction)]
    pub(crate) max_error_rate: Option<f64>,
    /// Begin nothing new after the first failure or error
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Try an evaluation again, up to N times, that timed out, was killed from outside or could not be started for want of
    /// resources (default: 0)
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(0..=100))]
    pub(crate) retries: Option<u32>,
    /// Refuse remote evaluators that are not pinned in evaluators.lock, instead of pinning them; for CI
    #[arg(long, visible_alias = "frozen")]
    pub(crate) locked: bool,
    /// Keep finished evaluations in this file as they come; with --resume, also take from it what it has
    #[arg(long, value_name = "FILE", value_parser = in_a_folder)]
    pub(crate) journal: Option<PathBuf>,
    /// Go on where an interrupted run with the same journal was; what was edited since is evaluated again (default
    /// journal: one of these trace files and this configuration, in .evaluator)
    #[arg(long)]
    pub(crate) resume: bool,
    /// Evaluations at a time (default: one per processor)
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// A number stands for --jobs, anything else for --judge-model
    #[arg(short, value_name = "N|MODEL", value_parser = jobs_or_model)]
    pub(crate) j: Option<JobsOrModel>,
}

/// What `-j` stands for: other tools run so many jobs by it, agentevals takes the name of a model.
#[derive(Clone, Debug)]
pub(crate) enum JobsOrModel {
    Jobs(NonZeroUsize),
    Model(String),
}

impl RunArgs {
    /// With `-j` as what it stands for.
    ///
    /// # Errors
    ///
    /// It was given in both forms.
    pub(crate) fn resolved(self) -> Result<Self, &'static str> {
        let Self { jobs, judge_model, j, .. } = self;
        let (jobs, judge_model) = match (j, jobs, judge_model) {
            (None, jobs, judge_model) => (jobs, judge_model),
            (Some(JobsOrModel::Jobs(jobs)), None, judge_model) => (Some(jobs), judge_model),
            (Some(JobsOrModel::Model(model)), jobs, None) => (jobs, Some(model)),
            (Some(JobsOrModel::Jobs(_)), Some(_), _) => {
                return Err("the number of jobs is given twice, by -j and by --jobs; give it once");
            }
            (Some(JobsOrModel::Model(_)), _, Some(_)) => {
                return Err(
                    "the judge's model is given twice, by -j and by --judge-model; give it once",
                );
            }
        };
        Ok(Self { jobs, judge_model, j: None, ..self })
    }
}

fn jobs_or_model(text: &str) -> Result<JobsOrModel, String> {
    // No model is called by a number.
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(JobsOrModel::Model(text.to_owned()));
    }
    text.parse().map(JobsOrModel::Jobs).map_err(|error: std::num::ParseIntError| error.to_string())
}

fn existing(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.exists() { Ok(path) } else { Err("no such file".to_owned()) }
}

fn folder(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.metadata() {
        Ok(found) if found.is_dir() => Ok(path),
        Ok(_) => Err("this is not a folder".to_owned()),
        Err(_) => Err("no such folder".to_owned()),
    }
}

/// A file that can be made; a run may take long, and a mistake in this should not wait for its end.
fn in_a_folder(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => Err(format!("there is no folder {}", folder.display())),
        _ if path.is_dir() => Err("this is a folder".to_owned()),
        _ => Ok(path),
    }
}

fn fraction(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err("must be in 0..=1".to_owned()) }
}

/// Gives the host's own types the names they have on the command line.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident for $target:ty { $($variant:ident = $text:literal => $value:expr, $help:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, ValueEnum)]
        pub(crate) enum $name {
            $(#[doc = $help] #[value(name = $text)] $variant,)*
        }

        impl From<$name> for $target {
            fn from(name: $name) -> Self {
                match name { $($name::$variant => $value,)* }
            }
        }
    };
}

named! {
    TraceFormat for Format {
        Jaeger = "jaeger-json" => Format::JaegerJson, "Jaeger's JSON";
        Otlp = "otlp-json" => Format::OtlpJson, "OTLP JSON, one document or one per line";
    }
}

named! {
    Match for MatchType {
        Exact = "EXACT" => MatchType::Exact, "The same calls in the same order, and no others";
        InOrder = "IN_ORDER" => MatchType::InOrder, "The expected calls in their order, others between them";
        AnyOrder = "ANY_ORDER" => MatchType::AnyOrder, "The expected calls in any order, others between them";
    }
}

named! {
    Output for OutputFormat {
        Table = "table" => OutputFormat::Table, "A table per conversation";
        Json = "json" => OutputFormat::Json, "One JSON document";
        Summary = "summary" => OutputFormat::Summary, "A line per metric";
        Junit = "junit" => OutputFormat::Junit, "JUnit XML";
        Markdown = "markdown" => OutputFormat::Markdown, "A Markdown table, what needs attention first";
        Github = "github" => OutputFormat::Github, "Annotations for GitHub workflows";
    }
}

named! {
    Grouping for GroupBy {
        Auto = "auto" => GroupBy::Auto, "By conversation where the traces or the eval set speak of some, else by trace";
        Trace = "trace" => GroupBy::Trace, "Each trace";
        Conversation = "conversation" => GroupBy::Conversation, "All traces of a session";
    }
}
