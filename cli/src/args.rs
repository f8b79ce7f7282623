//! Arguments of the command. Options that the agentevals command also has have its names and letters.

mod agree;
mod bundle;
mod compare;
pub(crate) mod eval_file;
mod gates;
mod given;
mod judge;
mod mutate;
mod parts;
mod pipe;
mod receive;
mod repro;
mod run;
mod values;

use std::{
    ffi::OsString,
    fs,
    net::SocketAddr,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use clap::{
    ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use clap_complete::Shell;
use evaluator_host::{
    conversation::GroupBy,
    hosts::{
        ForeignHost,
        conform::{Release, UnknownHost},
        export::{Contract, targets},
    },
    json::{self, Object, ParseOptions, Value},
    trace::TraceFormats,
};
use evaluator_serve::BasePath;

pub(crate) use self::agree::AgreeArgs;
pub(crate) use self::bundle::BundleArgs;
pub(crate) use self::compare::{BaselineArgs, CompareArgs, OF_BASELINES};
pub(crate) use self::gates::GateFlags;
pub(crate) use self::judge::{JudgeCommand, JudgeFlags};
pub(crate) use self::mutate::MutateArgs;
pub(crate) use self::pipe::PipeArgs;
pub(crate) use self::receive::ReceiveArgs;
pub(crate) use self::repro::{ReproArgs, run_again};
pub(crate) use self::run::{ReportOutput, RunArgs, default_transcripts, is_same_file, outputs};
pub(crate) use self::values::{ResultForm, ResultOutput};
use self::{
    eval_file::EvalFileFlags,
    given::Given,
    parts::PartArgs,
    run::{GROUPINGS, ReportOutputParser},
    values::{
        address, directory, existing, file, host, jobs, name, one_of, trace_input, whole, writable,
    },
};
use crate::{
    render::LogFormat,
    scaffold::{Language, Template, language_parser},
};

/// Returns the command with the registered trace formats as values of `--format`.
pub(crate) fn command(formats: &TraceFormats) -> clap::Command {
    let mut values: Vec<PossibleValue> = formats
        .iter()
        .map(|format| PossibleValue::new(format.name()).help(format.description()))
        .collect();
    values.sort_by(|left, right| left.get_name().cmp(right.get_name()));
    ["run", "mutate", "inspect"].into_iter().fold(Cli::command(), |command, name| {
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
    if let [program, name, ..] = args
        && name == "new"
    {
        // Otherwise the parser shows the usage of `init`.
        let program = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
        let usage = format!("{program} new [OPTIONS] <NAME>");
        command = command.mut_subcommand("init", |init| init.override_usage(usage));
    }
    let matches = command.try_get_matches_from_mut(with_share(args))?;
    let mut cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    if let Command::Conform(conform) = &mut cli.command {
        let before = args.len().saturating_sub(conform.command.len() + 1);
        conform.is_delimited = args.get(before).is_some_and(|word| word == "--");
    }
    Ok(cli)
}

/// Joins `--require-evaluated` with a number that follows it. The value is optional, and what follows may be a trace as well.
fn with_share(args: &[OsString]) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(args.len());
    let mut is_ended = false;
    for arg in args {
        is_ended |= arg == "--";
        let is_number = arg.to_str().is_some_and(|text| text.parse::<f64>().is_ok());
        match joined.last_mut().filter(|last| *last == "--require-evaluated") {
            Some(option) if is_number && !is_ended => {
                option.push("=");
                option.push(arg);
            }
            _ => joined.push(arg.clone()),
        }
    }
    joined
}

/// Scores what AI agents did, with evaluators in any language.
#[derive(Debug, Parser)]
#[command(name = "evaluator", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Write more to stderr (twice: everything)
    #[arg(short, long, global = true, display_order = 900, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Install no packages: missing packages of a Python evaluator are an error with the command to install them
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
        after_help = "Exit codes: 0 all scores passed, 1 a score failed or nothing was scored, 2 usage or configuration error (nothing ran), 3 an error occurred, 4 a gate is undecided"
    )]
    Run(Box<RunArgs>),
    /// Evaluate the conversation on each line of stdin, for engines such as Spark; write a record for each
    #[command(after_help = pipe::EXIT_CODES)]
    Pipe(Box<PipeArgs>),
    /// Write an archive with everything that another machine needs to run the evaluators of a configuration
    #[command(after_help = bundle::EXIT_CODES)]
    Bundle(BundleArgs),
    /// Report a run that was saved with `run --save-run`, or the parts of one together
    #[command(visible_alias = "merge", after_help = REPORT_EXIT_CODES)]
    Report(ReportArgs),
    /// Show a run that was saved with `run --save-run` in the browser
    #[command(
        after_help = "Exit codes: 0 the page was written, 2 a file is not a run file, or two are not parts of one run, 3 the page could not be written"
    )]
    View(ViewArgs),
    /// Compare two runs that were saved with `run --save-run`, case by case
    #[command(after_help = compare::EXIT_CODES)]
    Compare(CompareArgs),
    /// Hold evaluators against labels of people, or against each other
    #[command(after_help = agree::EXIT_CODES)]
    Agree(Box<AgreeArgs>),
    /// Repeat one evaluation of a run that was saved with `run --save-run`, in the directory of the run
    #[command(after_help = repro::EXIT_CODES)]
    Repro(ReproArgs),
    /// Damage conversations that evaluators pass, and report which damage they notice
    #[command(after_help = mutate::EXIT_CODES)]
    Mutate(Box<MutateArgs>),
    /// Print the conversations of recorded traces as evaluators see them
    #[command(
        after_help = "Exit codes: 0 everything can be evaluated, 2 usage error, 3 a file, a part of a file or a conversation cannot be used"
    )]
    Inspect(InspectArgs),
    /// Check a configuration and everything it names, without evaluating anything
    #[command(after_help = "Exit codes: 0 everything is usable, 2 something is not")]
    Check(Box<CheckArgs>),
    /// Print the JSON Schema of configuration files, for editors
    Schema,
    #[command(flatten)]
    Shared(EvaluatorCommand),
    /// Run the tests of an evaluator in the environment in which `run` would start it
    #[command(after_help = TEST_EXIT_CODES)]
    Test(TestArgs),
    /// Compile the manifests of evaluators in a directory into the index from which hosts fetch them
    #[command(
        after_help = "Exit codes: 0 the index is up to date, 1 it is not (with --check), 2 a manifest is wrong (nothing was written), 3 a file could not be read or written"
    )]
    Index(IndexArgs),
    /// Check evaluators before they are published: manifest, files, source, a run, its answers
    #[command(
        after_help = "Exit codes: 0 all are valid, 1 one is not, 2 there is nothing to validate, 3 a check could not be done"
    )]
    Validate(ValidateArgs),
    /// Send the documents and faults of every host to a program, and report what each host would record
    #[command(after_help = CONFORM_EXIT_CODES)]
    Conform(ConformArgs),
    /// Prompts of judges, and files with their recorded replies
    #[command(subcommand)]
    Judge(JudgeCommand),
    /// Serve evaluators over HTTP, for hosts that send documents themselves
    #[command(after_help = SERVE_EXIT_CODES)]
    Serve(ServeArgs),
    /// Receive spans by OTLP over HTTP, and judge conversations when they are finished
    #[command(after_help = receive::EXIT_CODES)]
    Receive(Box<ReceiveArgs>),
    /// Write the files that another host needs to run an evaluator
    #[command(after_help = EXPORT_EXIT_CODES)]
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
        #[arg(value_name = "DIR", value_parser = directory)]
        directory: Option<PathBuf>,
    },
    /// Commands on evaluators, grouped as in agentevals
    #[command(subcommand, hide = true)]
    Evaluator(EvaluatorCommand),
}

/// Commands that are also available as `evaluator evaluator ..`, like those of `agentevals evaluator`, so that users of
/// agentevals change only the name of the command. `evaluator evaluator init` therefore creates Python by default.
#[derive(Debug, Subcommand)]
pub(crate) enum EvaluatorCommand {
    /// Create an evaluator from a template, and add it to the configuration of the working directory
    #[command(visible_alias = "new")]
    Init(InitArgs),
    /// List the languages evaluators can be written in, and the executors that run them, and whether this machine has them
    Runtimes,
    /// List evaluators that can be named in a configuration
    #[command(
        after_help = "Exit codes: 0 listed (a source that fails among all is a warning), 2 the source is not set up, 3 it failed"
    )]
    List(ListArgs),
    /// Fetch evaluators of `type: remote` again, and pin their content in evaluators.lock
    #[command(
        after_help = "Exit codes: 0 all are up to date, 2 usage or configuration error, 3 something could not be fetched"
    )]
    Update(UpdateArgs),
    /// Print configuration entries for evaluators
    Config(ConfigArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Name of the evaluator, optionally with directories before it and the extension of a language after it
    pub(crate) name: PathBuf,
    /// Language, by its extension (default: by the name's extension, else Rust)
    #[arg(long, value_parser = language_parser(), ignore_case = true)]
    pub(crate) runtime: Option<Language>,
    /// Template (default: the simplest one of the language)
    #[arg(long, value_enum)]
    pub(crate) template: Option<Template>,
    /// Do not add it to the configuration of the working directory, or write one (eval_config.yaml)
    #[arg(long)]
    pub(crate) no_config: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// The configuration, or an AgentV eval file (default: eval_config.yaml, .yml or .json of the working directory)
    #[arg(value_parser = file, conflicts_with = "named")]
    pub(crate) config: Option<PathBuf>,
    /// The configuration, as `run` takes it
    #[arg(short = 'c', long = "config", value_name = "CONFIG", value_parser = file)]
    pub(crate) named: Option<PathBuf>,
    /// Require that remote evaluators are pinned in evaluators.lock
    #[arg(long)]
    pub(crate) locked: bool,
    /// Build programs first, so that every program can list its evaluators and settings
    #[arg(long)]
    pub(crate) build: bool,
    /// Require that every program is contained by its executor (sandbox or docker)
    #[arg(long)]
    pub(crate) contain: bool,
    #[command(flatten)]
    pub(crate) judge: JudgeFlags,
    #[command(flatten)]
    pub(crate) eval_file: EvalFileFlags,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Where to look: builtin (metrics and judges of this program), github (a repository with an index; its list is kept for a day),
    /// file (an index on this machine), local (a directory of evaluators on this machine), or all
    #[arg(short, long, default_value = "all")]
    pub(crate) source: String,
    /// List the metrics of another library, which entries of `type: metric` name: agentevals, autoevals, deepeval, openevals, opik,
    /// phoenix, pydantic_evals, ragas or strands_evals. Installs the library if necessary
    #[arg(long, conflicts_with_all = ["source", "refresh"])]
    pub(crate) library: Option<String>,
    /// Fetch lists again instead of using cached ones
    #[arg(long)]
    pub(crate) refresh: bool,
    #[command(flatten)]
    pub(crate) places: SourcePlaces,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// A built-in metric, the file of an evaluator, or what else `evaluator list` shows
    #[arg(required = true, value_name = "EVALUATOR")]
    pub(crate) evaluators: Vec<String>,
    /// Build the program and ask it for its settings in a sandbox, and write `executor: sandbox` into the entry
    #[arg(long)]
    pub(crate) contain: bool,
    #[command(flatten)]
    pub(crate) places: SourcePlaces,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Configuration with the evaluators; the lock file is next to it (default: eval_config.yaml, .yml or .json of the
    /// working directory, else all that is pinned in ./evaluators.lock)
    #[arg(value_parser = file)]
    pub(crate) config: Option<PathBuf>,
    /// Do not look for a configuration in the working directory
    #[arg(long, conflicts_with = "config")]
    pub(crate) no_config: bool,
    /// Evaluators of the configuration (default: all)
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// Locations of the sources on this machine.
#[derive(Debug, Args)]
pub(crate) struct SourcePlaces {
    /// Index of the source `file` (default: $AGENTEVALS_EVALUATOR_INDEX)
    #[arg(long, value_name = "FILE", value_parser = existing)]
    pub(crate) index: Option<PathBuf>,
    /// Directory of the source `local` (default: $AGENTEVALS_EVALUATOR_DIR)
    #[arg(long, alias = "folder", value_name = "DIR", value_parser = existing)]
    pub(crate) directory: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// Directory whose subdirectories contain an evaluator.yaml each, or one that contains such a directory named `evaluators`
    #[arg(value_name = "DIR", value_parser = directory)]
    pub(crate) directory: PathBuf,
    /// Index to write, or - for stdout (default: index.yaml in DIR, or next to DIR if DIR is named `evaluators`)
    #[arg(short, long, value_name = "FILE", value_parser = writable)]
    pub(crate) output: Option<PathBuf>,
    /// Write nothing, and fail if the index is not up to date
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Directory of an evaluator, or of several such directories
    #[arg(required = true, value_name = "DIR", value_parser = existing)]
    pub(crate) directories: Vec<PathBuf>,
    /// Time limit of an evaluator for one document, in seconds
    #[arg(long, value_name = "S", default_value = "30", value_parser = whole::<u64>(1..=86_400))]
    pub(crate) timeout: u64,
    /// Run and build the evaluators in a sandbox, as with `executor: sandbox`
    #[arg(long)]
    pub(crate) contain: bool,
    /// Form of the report
    #[arg(short, long, value_enum, default_value_t = TextOrJson::Text)]
    pub(crate) output: TextOrJson,
}

const CONFORM_EXIT_CODES: &str =
    "Exit codes: 0 it conforms, 1 it does not, 2 usage error, 3 it could not be started or tested";

#[derive(Debug, Args)]
pub(crate) struct ConformArgs {
    /// Program: the file of an evaluator (.rs, .py, .js, .ts, a package, an executable) or a command, with its arguments
    #[arg(required = true, value_name = "COMMAND", trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
    /// Whether `--` precedes COMMAND.
    #[arg(skip)]
    pub(crate) is_delimited: bool,
    #[arg(long = "host", value_name = "NAME", value_parser = releases, help = host_help())]
    pub(crate) hosts: Vec<Releases>,
    /// Settings that the evaluator needs: a JSON object, or a file that contains one
    #[arg(short, long, value_name = "JSON|FILE", value_parser = settings)]
    pub(crate) config: Option<Object>,
    /// Time limit for one document, in seconds
    #[arg(long, value_name = "S", default_value = "30", value_parser = whole::<u64>(1..=86_400))]
    pub(crate) timeout: u64,
    /// Run and build the program in a sandbox, as with `executor: sandbox`; it can read the directories of the files in
    /// COMMAND
    #[arg(long)]
    pub(crate) contain: bool,
    /// Form of the report
    #[arg(short, long, value_enum, default_value_t = TextOrJson::Text)]
    pub(crate) output: TextOrJson,
}

impl ConformArgs {
    /// Returns an option of `conform` after the start of COMMAND, which the program gets. After `--` it is meant for the program,
    /// and so is the `-c` of a shell or of Python with its code.
    pub(crate) fn option_of_program(&self) -> Option<&str> {
        let words: Vec<&str> =
            self.command.iter().map(|word| word.to_str().unwrap_or("")).collect();
        if self.is_delimited || words.contains(&"--") {
            return None;
        }
        let command = Self::augment_args(clap::Command::default());
        let is_option = |word: &str| {
            let name = word.split('=').next().unwrap_or_default();
            command.get_arguments().any(|option| {
                let short = option.get_short().map(|short| format!("-{short}"));
                short.is_some_and(|short| short == name)
                    || option.get_long().is_some_and(|long| name.strip_prefix("--") == Some(long))
            })
        };
        let is_code = |value: &str| {
            value.contains(char::is_whitespace)
                && !value.starts_with('{')
                && !Path::new(value).is_file()
        };
        let option = words.windows(2).map(|pair| pair[1]).enumerate().find(|(at, word)| {
            let value = words.get(at + 2).copied().unwrap_or_default();
            is_option(word) && !(*word == "-c" && is_code(value))
        });
        option?.1.split('=').next()
    }
}

/// Releases that a name stands for.
#[derive(Clone, Debug)]
pub(crate) struct Releases(pub(crate) Vec<&'static Release>);

fn host_help() -> String {
    let mut hosts: Vec<&str> = Release::all().map(|release| release.host).collect();
    hosts.dedup();
    format!(
        "Host that the program must conform to; only its documents are sent then. Repeatable: {}, or a release as reports \
         name it (default: the documents of all hosts are sent, and hosts count whose documents it answers)",
        hosts.join(", ")
    )
}

fn releases(name: &str) -> Result<Releases, UnknownHost> {
    Release::named(name).map(Releases)
}

fn settings(text: &str) -> Result<Object, String> {
    let inline = text.trim_start().starts_with('{');
    let text = if inline {
        text.to_owned()
    } else {
        fs::read_to_string(text)
            .map_err(|error| format!("{error}; give a JSON object, or a file that contains one"))?
    };
    let options = ParseOptions { non_finite: false, ..ParseOptions::default() };
    match json::parse(&text, &options).map_err(|error| error.to_string())?.value {
        Value::Object(object) => Ok(object),
        other => Err(format!("expected an object, found {}", other.kind())),
    }
}

const EXPORT_EXIT_CODES: &str = "Exit codes: 0 written, 2 the evaluator cannot be exported for this host, or a file exists already (nothing was written), 3 it cannot be built, or a file cannot be written";

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Evaluator: a source file, a package or an executable. It is built if necessary; the files name the executable in the
    /// build directory, unless it is copied
    #[arg(value_parser = existing)]
    pub(crate) evaluator: PathBuf,
    /// Host that runs the evaluator
    #[arg(long = "for", value_name = "HOST", value_parser = target())]
    pub(crate) host: &'static ForeignHost,
    /// Directory for the files (default: the current one)
    #[arg(short, long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    pub(crate) output: PathBuf,
    /// Contract of the evaluator's documents, if the evaluator does not describe itself (default: agentevals)
    #[arg(long, value_name = "NAME")]
    pub(crate) contract: Option<Contract>,
    /// Build with cargo's release profile
    #[arg(long)]
    pub(crate) release: bool,
    /// Copy the executable next to the files, which then name the copy: it survives the cleaning of build directories
    #[arg(long)]
    pub(crate) copy: bool,
    /// Build the evaluator and ask it for its description in a sandbox. The files still name the program itself
    #[arg(long)]
    pub(crate) contain: bool,
    /// Also overwrite files that were not written by this command
    #[arg(long)]
    pub(crate) force: bool,
}

/// Parses the name of a host that evaluators can be exported for.
fn target() -> impl TypedValueParser<Value = &'static ForeignHost> {
    one_of(targets().map(|(host, about)| (host.name, host, about)))
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Trace files, directories of trace files, or - for stdin
    #[arg(required = true, value_name = "TRACE_FILE", value_parser = trace_input)]
    pub(crate) traces: Vec<PathBuf>,
    /// Format of the trace files (default: detected from their content)
    #[arg(short, long, ignore_case = true)]
    pub(crate) format: Option<String>,
    /// How traces are grouped into conversations (default: auto, as in a run without an eval set)
    #[arg(long, value_parser = one_of(GROUPINGS))]
    pub(crate) group_by: Option<GroupBy>,
    /// Form of the output; in JSON, `invocations` is as in the document that evaluators read
    #[arg(short, long, value_enum, default_value_t = TextOrJson::Text)]
    pub(crate) output: TextOrJson,
}

#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// Run files (.evalrun), or one result of promptfoo or Inspect in JSON. Several run files have to be parts of one run
    #[arg(required = true, value_name = "RUN", value_parser = existing)]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) parts: PartArgs,
}

const REPORT_EXIT_CODES: &str = "Exit codes: those of the run; 2 a file is not a run file, or two are not parts of one run; 3 also for a partial run, and for a part that is missing";

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Run files (.evalrun), or one result of promptfoo or Inspect in JSON. Several run files have to be parts of one run: all shards of
    /// `run --shard`, or all that `pipe` wrote, in any order; a file may hold several
    #[arg(required = true, value_name = "RUN", value_parser = existing)]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) parts: PartArgs,
    #[command(flatten)]
    pub(crate) gates: GateFlags,
    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,
    /// Report the sums for each value of this attribute; repeatable. Values of those that the run named with --by are in its file,
    /// and always those of service.name, gen_ai.request.model and gen_ai.agent.name
    #[arg(long, value_name = "ATTRIBUTE", value_parser = name)]
    pub(crate) by: Vec<String>,
    /// Form of the report, and with =FILE the file that it is written to instead of stdout; repeatable (default: table)
    #[arg(short, long, value_name = "FORM[=FILE]", value_parser = ReportOutputParser)]
    pub(crate) output: Vec<ReportOutput>,
    /// Write the report to this file instead of stdout; for a single form. A regular file is written completely or not at
    /// all
    #[arg(long, value_name = "FILE", value_parser = writable)]
    pub(crate) output_file: Option<PathBuf>,
}

const SERVE_EXIT_CODES: &str = "Exit codes: 0 stopped after all accepted documents were answered; 2 usage error, or an evaluator cannot be prepared (nothing was served); 3 it could not listen, or documents were not answered";

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Evaluators: source files, packages, directories with an evaluator.yaml, or executables
    #[arg(value_name = "PATH", value_parser = existing)]
    pub(crate) paths: Vec<PathBuf>,
    /// Configuration with more evaluators; their `config` and `threshold` are defaults for documents without them (default
    /// without PATH: eval_config.yaml, .yml or .json of the working directory)
    #[arg(short, long, value_name = "FILE", value_parser = file)]
    pub(crate) config: Option<PathBuf>,
    /// Address to listen on; port 0 is any free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8700", value_parser = address)]
    pub(crate) addr: SocketAddr,
    /// File with the bearer token of requests (default: $EVALUATOR_SERVE_TOKEN); required if other machines can connect
    #[arg(long, value_name = "FILE", value_parser = existing)]
    pub(crate) token_file: Option<PathBuf>,
    /// Name that the `Host` header of requests without a token may have, in addition to localhost and addresses; repeatable
    #[arg(long, value_name = "HOST", value_parser = host)]
    pub(crate) allow_host: Vec<String>,
    /// Path below which everything is also served, e.g. /api, for proxies that keep their prefix
    #[arg(long, value_name = "PATH")]
    pub(crate) base_path: Option<BasePath>,
    /// Number of parallel evaluations (default: one per processor)
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Maximum number of waiting documents; further ones are rejected with status 429
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) queue: usize,
    /// Maximum size of a document, in MiB
    #[arg(long, value_name = "MIB", default_value = "10", value_parser = whole::<u16>(1..=1024))]
    pub(crate) max_body: u16,
    /// Time limit for one document, in seconds, for evaluators given as PATH; those of the configuration have their own
    #[arg(long, value_name = "S", default_value = "30", value_parser = whole::<u64>(1..=86_400))]
    pub(crate) timeout: u64,
    /// Time limit for the head of a request, and for its body, in seconds
    #[arg(long, value_name = "S", default_value = "10", value_parser = whole::<u64>(1..=3_600))]
    pub(crate) read_timeout: u64,
    /// Time limit for accepted documents after Ctrl-C or TERM, in seconds
    #[arg(long, value_name = "S", default_value = "10", value_parser = whole::<u64>(0..=3_600))]
    pub(crate) grace: u64,
    /// Reject remote evaluators that are not pinned in evaluators.lock, instead of pinning them
    #[arg(long)]
    pub(crate) locked: bool,
    /// Refuse to serve (exit code 2) unless every program of the configuration is contained by its executor (sandbox or
    /// docker), and run and build a PATH in a sandbox
    #[arg(long)]
    pub(crate) contain: bool,
}

const TEST_EXIT_CODES: &str = "Rust: cargo test. Python: pytest where the evaluator's environment has it, else unittest. \
     JavaScript and TypeScript: node --test.\n\n\
     Exit codes: 0 all tests passed, 1 a test failed, 2 there is nothing to test or no test ran, 3 the tests could not be run";

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// File of an evaluator, package, directory of an evaluator, or directory of evaluators
    #[arg(value_parser = existing)]
    pub(crate) path: PathBuf,
    /// Run and build the tests in a sandbox, as with `executor: sandbox`
    #[arg(long)]
    pub(crate) contain: bool,
    /// Arguments for the test runner
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}

/// Form of an output that is not a report of a run.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TextOrJson {
    /// Readable text
    Text,
    /// One JSON document
    Json,
}

/// Returns true if the first command that the arguments name is one of those that end with the outcome of a run. They need not
/// be valid.
pub(crate) fn asks_for_outcome(args: &[OsString]) -> bool {
    let command = Cli::command();
    let named = args.iter().skip(1).find_map(|arg| command.find_subcommand(arg));
    named.is_some_and(|command| ["run", "report", "compare", "agree"].contains(&command.get_name()))
}

/// Returns true if arguments that cannot be parsed have `--log-format json` among them.
pub(crate) fn asks_for_json(args: &[OsString]) -> bool {
    args.iter().any(|arg| arg == "--log-format=json")
        || args.windows(2).any(|pair| pair[0] == "--log-format" && pair[1] == "json")
}
