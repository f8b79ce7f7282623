//! The command line. Names and letters are those of the agentevals command where it has the same thing.

mod conform;
mod export;
mod inspect;
mod output;
mod report;
mod run;
mod serve;
mod test;

use std::{ffi::OsString, path::PathBuf};

use clap::{
    ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser},
    value_parser,
};

pub(crate) use self::{
    conform::{ConformArgs, ConformOutput},
    export::ExportArgs,
    inspect::{InspectArgs, InspectOutput},
    output::{ReportOutput, outputs},
    report::ReportArgs,
    run::RunArgs,
    serve::ServeArgs,
    test::TestArgs,
};
use clap_complete::Shell;
use evaluator_host::trace::TraceFormats;

use crate::{
    render::LogFormat,
    scaffold::{Language, Template},
};

/// Returns the command with the registered trace formats as values of `--format`.
pub(crate) fn command(formats: &TraceFormats) -> clap::Command {
    let mut values: Vec<PossibleValue> = formats
        .iter()
        .map(|format| PossibleValue::new(format.name()).help(format.description()))
        .collect();
    values.sort_by(|left, right| left.get_name().cmp(right.get_name()));
    ["run", "inspect"].into_iter().fold(Cli::command(), |command, name| {
        command.mut_subcommand(name, |subcommand| {
            subcommand.mut_arg("format", |argument| {
                argument.value_parser(PossibleValuesParser::new(values.clone()))
            })
        })
    })
}

/// Parses the arguments of the command.
pub(crate) fn parse(args: &[OsString], formats: &TraceFormats) -> Result<Cli, clap::Error> {
    let mut command = command(formats);
    let matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Scores what AI agents did, with evaluators in any language.
#[derive(Debug, Parser)]
#[command(name = "evaluator", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Say more (twice: everything) on stderr
    #[arg(short, long, global = true, display_order = 900, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Install no packages: a Python evaluator that lacks some is an error that says what to type
    #[arg(long, global = true, display_order = 901)]
    pub(crate) no_install: bool,
    /// Write only errors to stderr: no progress, no warnings, and no last line for a run that passed
    #[arg(short, long, global = true, display_order = 901, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Form of the messages on stderr
    #[arg(
        long,
        global = true,
        display_order = 902,
        value_enum,
        value_name = "FORM",
        default_value_t,
        hide_default_value = true
    )]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run evaluators over recorded traces and report
    #[command(
        after_help = "Exit codes: 0 all that was scored passed, 1 something failed or nothing was scored, 2 usage or configuration error (nothing ran), 3 something broke"
    )]
    Run(RunArgs),
    /// Report a run that was saved with `run --save-run`
    #[command(after_help = report::EXIT_CODES)]
    Report(ReportArgs),
    /// Print the conversations of recorded traces as evaluators see them
    #[command(
        after_help = "Exit codes: 0 everything can be evaluated, 2 usage error, 3 a file, a part of one or a conversation cannot be used"
    )]
    Inspect(InspectArgs),
    /// Check a configuration and everything it names, and evaluate nothing
    #[command(after_help = "Exit codes: 0 everything is there, 2 something is wrong")]
    Check {
        /// The configuration (default: eval_config.yaml, .yml or .json of the working directory)
        #[arg(value_parser = existing)]
        config: Option<PathBuf>,
        /// Remote evaluators must be pinned in evaluators.lock
        #[arg(long, visible_alias = "frozen")]
        locked: bool,
        /// Build what has to be built, to ask every program which evaluators and settings it knows
        #[arg(long)]
        build: bool,
    },
    /// Print the JSON Schema of configuration files, for editors
    Schema,
    /// Create an evaluator from a template
    #[command(visible_alias = "new")]
    Init(InitArgs),
    /// Run the tests that an evaluator brings, in the environment it runs in
    #[command(after_help = test::EXIT_CODES)]
    Test(TestArgs),
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
    /// Play the documents and faults of every host at a program, and say what each would record
    #[command(after_help = conform::EXIT_CODES)]
    Conform(ConformArgs),
    /// Offer evaluators over HTTP, to hosts that send documents themselves
    #[command(after_help = serve::EXIT_CODES)]
    Serve(ServeArgs),
    /// Write what another host needs to run an evaluator
    #[command(after_help = export::EXIT_CODES)]
    Export(ExportArgs),
    /// Print a script that completes commands and options in a shell
    #[command(
        after_help = "For bash: evaluator completions bash >~/.local/share/bash-completion/completions/evaluator"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write one page per command
    #[command(after_help = "To read it at once: evaluator man | man -l -")]
    Man {
        /// Directory for the pages
        #[arg(value_name = "DIR", value_parser = folder)]
        folder: Option<PathBuf>,
    },
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
    /// Where to look: builtin (metrics of this program), github (a repository with an index; its list is kept for a day),
    /// file (an index on this machine), local (a directory of evaluators on this machine), or all
    #[arg(short, long, default_value = "all")]
    pub(crate) source: String,
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
    /// Configuration with the evaluators; the lock file is next to it (default: eval_config.yaml, .yml or .json of the
    /// working directory, else all that is pinned in ./evaluators.lock)
    #[arg(value_parser = existing)]
    pub(crate) config: Option<PathBuf>,
    /// Do not look for a configuration in the working directory
    #[arg(long, conflicts_with = "config")]
    pub(crate) no_config: bool,
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

/// Returns true if arguments that cannot be parsed have `--log-format json` among them.
pub(crate) fn asks_for_json(args: &[OsString]) -> bool {
    args.iter().any(|arg| arg == "--log-format=json")
        || args.windows(2).any(|pair| pair[0] == "--log-format" && pair[1] == "json")
}

fn existing(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.exists() { Ok(path) } else { Err("no such file".to_owned()) }
}

/// A trace file, a directory of trace files, or `-`.
fn trace_input(text: &str) -> Result<PathBuf, String> {
    if text == "-" { Ok(PathBuf::from(text)) } else { existing(text) }
}

fn folder(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.metadata() {
        Ok(found) if found.is_dir() => Ok(path),
        Ok(_) => Err("this is not a folder".to_owned()),
        Err(_) => Err("no such folder".to_owned()),
    }
}

fn in_a_folder(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => Err(format!("there is no folder {}", folder.display())),
        _ if path.is_dir() => Err("this is a folder".to_owned()),
        _ => Ok(path),
    }
}
