//! One file per command.
//!
//! A command returns its exit code; as an error if it stopped early, after it wrote a message.

mod check;
mod config;
mod conform;
mod discovery;
mod eval_file;
mod export;
mod index;
mod info;
mod init;
mod inspect;
mod judge;
mod list;
mod report;
mod run;
mod serve;
mod test;
mod update;
mod validate;
mod watched;

use std::{
    fmt::Display,
    io::{self, Write},
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use evaluator_host::{
    config::{CodeConfig, Config, ConfigError},
    executor::{Containment, Executor},
    judging::Session,
    models::Waits,
    run::Runner,
    trace::TraceFormat,
};

use self::watched::{preparing, watched};
use crate::{
    args::{Cli, Command, EvaluatorCommand},
    exit,
    render::{self, Columns},
    scaffold::Language,
    streams,
};

pub(crate) fn dispatch(cli: Cli, mut runner: Runner) -> ExitCode {
    runner.waits = Waits::new(render::note);
    if cli.no_install {
        runner.runtimes = runner.runtimes.without_installing();
    }
    let verbose = cli.verbose;
    let ended = match cli.command {
        Command::Run(args) => {
            run::run(*args, verbose, runner).inspect_err(|code| render::no_verdict(*code))
        }
        Command::Report(args) => {
            report::report(args, verbose).inspect_err(|code| render::no_verdict(*code))
        }
        Command::Inspect(args) => Ok(inspect::inspect(args, &runner)),
        Command::Check(args) => check::check(*args, verbose, runner),
        Command::Schema => Ok(info::schema(&runner)),
        Command::Evaluator(EvaluatorCommand::Init(args)) => {
            init::init(&args, Language::Python, &runner)
        }
        Command::Shared(command) | Command::Evaluator(command) => match command {
            EvaluatorCommand::Init(args) => init::init(&args, Language::Rust, &runner),
            EvaluatorCommand::Runtimes => Ok(info::runtimes(&runner)),
            EvaluatorCommand::List(args) => list::list(&args, &runner),
            EvaluatorCommand::Update(args) => update::update(args, verbose, runner),
            EvaluatorCommand::Config(args) => config::config(&args, verbose, &runner),
        },
        Command::Test(args) => test::test(&args, verbose, &runner),
        Command::Index(args) => index::index(&args),
        Command::Export(args) => export::export(&args, verbose, runner),
        Command::Validate(args) => validate::validate(&args, verbose, runner),
        Command::Conform(args) => conform::conform(&args, verbose, runner),
        Command::Judge(command) => judge::judge(command, &runner.waits),
        Command::Serve(args) => serve::serve(&args, verbose, runner),
        Command::Completions { shell } => Ok(info::completions(shell, &runner)),
        Command::Man { directory } => info::man(directory.as_deref(), &runner),
    };
    match ended {
        Ok(code) | Err(code) => code.into(),
    }
}

/// Reports input that cannot be used. Returns the exit code.
fn unusable(error: impl Display) -> u8 {
    render::message(&error.to_string());
    exit::USAGE
}

/// Reports an error of this program or of what it started. Returns the exit code.
fn broken(error: impl Display) -> u8 {
    render::message(&error.to_string());
    exit::ERRORED
}

/// Reports a configuration that cannot be used. Returns the exit code.
fn unusable_config(error: ConfigError) -> u8 {
    render::config_error(&error);
    exit::USAGE
}

/// Loads a configuration, or the default one without a file.
fn load_config(file: Option<&Path>, runner: &Runner) -> Result<Config, u8> {
    let Some(file) = file else { return Ok(Config::default()) };
    runner.load_config(file).map_err(|error| {
        let path = file.display();
        // Whether it is a program is seen in it, and a pipe would wait for its writer.
        let may_be_program = file.is_file() || file.is_dir();
        match may_be_program.then(|| runner.runtimes.for_path(file)) {
            // The name of a configuration does not matter if it can be read.
            Some(Ok(runtime)) if has_extension_of(runtime.extensions(), file) => unusable(format!(
                "{path} is a program in {}, and a configuration is expected: `evaluator config {path} > eval_config.yaml` writes \
                 one for it; `evaluator validate DIR` checks the directory of an evaluator without a configuration",
                runtime.name()
            )),
            _ => unusable_config(error),
        }
    })
}

/// Returns true if a file has one of the extensions.
fn has_extension_of(extensions: &[&str], file: &Path) -> bool {
    let name = file.to_string_lossy().to_ascii_lowercase();
    extensions.iter().any(|extension| name.ends_with(extension))
}

/// Checks that every evaluator of a configuration that runs code of its own is contained, if the option or the configuration
/// demands it.
fn ensure_contained(option: bool, config: &Config, runner: &Runner) -> Result<(), u8> {
    let demand = match (option, config.contain) {
        (true, _) => "--contain",
        (false, true) => "`contain: true`",
        (false, false) => return Ok(()),
    };
    let uncontained = runner.uncontained(config);
    if uncontained.is_empty() {
        return Ok(());
    }
    Err(unusable(format!(
        "not contained: {} ({demand} requires `executor: sandbox` or `executor: docker` for every program; `defaults: \
         {{executor: sandbox}}` sets it for all entries, and `evaluator config PATH` prints an entry for a program; linked \
         evaluators, Python graders and models `command:NAME` cannot be contained)",
        uncontained.join(", ")
    )))
}

/// Executor of programs that are named by their paths, if they have to be contained.
const SANDBOX: &str = "sandbox";

/// Returns the sandbox, for programs without a configuration.
fn sandbox(runner: &Runner) -> Result<Arc<dyn Executor>, u8> {
    runner.executors.get(SANDBOX, &Containment::default()).map_err(broken)
}

/// Returns the settings of programs that are named by their paths, next to a configuration. They run in a sandbox if the option
/// or the configuration demands containment.
fn settings_of_paths(option: bool, config: &Config) -> CodeConfig {
    let mut settings = CodeConfig::default();
    if option || config.contain {
        SANDBOX.clone_into(&mut settings.executor);
    }
    settings
}

/// Shows warnings about a configuration, and fails if it cannot be run.
fn ensure_runnable(config: &Config, verbose: u8) -> Result<(), u8> {
    render::config_remarks(config, verbose > 0);
    config.ensure_runnable().map_err(unusable_config)
}

/// Opens the session of a configuration with models, after it was checked that it can be run. Shows all problems of both.
fn open_session(config: &Config, verbose: u8, runner: &Runner) -> Result<Session, u8> {
    let runnable = ensure_runnable(config, verbose);
    let session = runner.judges(config).map_err(unusable_config);
    runnable.and(session)
}

/// Converts text of others to one line without control characters.
fn clean_line(text: &str) -> String {
    let printable: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    printable.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the registered trace format of an argument, which the parser has checked.
fn trace_format(name: Option<String>, runner: &Runner) -> Option<Arc<dyn TraceFormat>> {
    runner.trace_formats.find(&name?.to_ascii_lowercase()).ok()
}

/// Writes an answer for people to stdout, in colours if that is a terminal.
fn show(text: &str, code: u8) -> u8 {
    print(&render::painted(text), code)
}

/// Writes a table to stdout, no wider than the terminal; lines of the column `prose` are broken for that.
fn show_table<const N: usize>(mut table: Columns<N>, prose: usize, code: u8) -> u8 {
    table.wrap(prose, streams::stdout_width());
    show(&table.to_text(), code)
}

/// Writes a whole answer to stdout. A reader that went away is not an error; a full disk is one.
fn print(text: &str, code: u8) -> u8 {
    print_with(|out| out.write_all(text.as_bytes()), code)
}

/// Writes an answer to stdout in parts.
fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>, code: u8) -> u8 {
    match write_stdout(write) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => code,
        written => or_unwritten(written, code),
    }
}

/// Writes a document for programs to stdout. A reader that goes away before the end has only a part of it, which is an error.
fn print_document(write: impl FnOnce(&mut dyn Write) -> io::Result<()>, code: u8) -> u8 {
    or_unwritten(write_stdout(write), code)
}

fn write_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    streams::check_stdout()?;
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    let written = write(&mut stdout).and_then(|()| stdout.flush());
    if written.is_err() {
        // Dropping the writer would try again.
        let _ = stdout.into_parts();
    }
    written
}

/// Returns the exit code of a command, considering whether its output was written.
fn or_unwritten(written: io::Result<()>, code: u8) -> u8 {
    match written {
        Ok(()) => code,
        Err(error) => code.max(broken(format!("cannot write to stdout: {error}"))),
    }
}
