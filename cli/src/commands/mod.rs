//! One file per command.

mod check;
mod config;
mod conform;
mod discovery;
mod export;
mod index;
mod init;
mod inspect;
mod list;
mod manual;
mod report;
mod run;
mod runtimes;
mod schema;
mod serve;
mod test;
mod update;
mod validate;
mod watched;

use std::{
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
};

use evaluator_host::{run::Runner, trace::TraceFormat};

use self::watched::watched;
use crate::{
    args::{Cli, Command, EvaluatorCommand},
    exit,
    render::{self, Columns},
    streams,
};

pub(crate) fn dispatch(cli: Cli, mut runner: Runner) -> ExitCode {
    if cli.no_install {
        runner.runtimes = runner.runtimes.without_installing();
    }
    let code = match cli.command {
        Command::Run(args) => run::run(args, cli.verbose, runner),
        Command::Report(args) => report::report(args, cli.verbose),
        Command::Inspect(args) => inspect::inspect(args, &runner),
        Command::Check { config, locked, build } => {
            match discovery::required(config, "name the configuration") {
                Ok(config) => check::check(&config, locked, build, cli.verbose, runner),
                Err(code) => code,
            }
        }
        Command::Schema => schema::schema(&runner),
        Command::Init(args) | Command::Evaluator(EvaluatorCommand::Init(args)) => {
            init::init(&args, &runner.runtimes)
        }
        Command::Runtimes | Command::Evaluator(EvaluatorCommand::Runtimes) => {
            runtimes::runtimes(&runner)
        }
        Command::List(args) | Command::Evaluator(EvaluatorCommand::List(args)) => {
            list::list(&args, &runner)
        }
        Command::Update(args) | Command::Evaluator(EvaluatorCommand::Update(args)) => {
            update::update(&args, cli.verbose, runner)
        }
        Command::Config(args) | Command::Evaluator(EvaluatorCommand::Config(args)) => {
            config::config(&args, cli.verbose, &runner)
        }
        Command::Test(args) => test::test(&args, cli.verbose, &runner),
        Command::Index(args) => index::index(&args),
        Command::Export(args) => export::export(&args, cli.verbose, runner),
        Command::Validate(args) => validate::validate(&args, cli.verbose, runner),
        Command::Conform(args) => conform::conform(&args, cli.verbose, runner),
        Command::Serve(args) => serve::serve(&args, cli.verbose, runner),
        Command::Completions { shell } => manual::completions(shell, &runner),
        Command::Man { folder } => manual::man(folder.as_deref(), &runner),
    };
    code.into()
}

/// Returns the registered trace format of an argument, which the parser has checked.
fn trace_format(name: Option<String>, runner: &Runner) -> Option<Arc<dyn TraceFormat>> {
    runner.trace_formats.find(&name?.to_ascii_lowercase()).ok()
}

/// Writes an answer for people to stdout, in colours if that is a terminal.
fn show(text: &str, code: u8) -> u8 {
    print(&render::painted(text), code)
}

/// Writes a table to stdout, no wider than the terminal.
fn show_table<const N: usize>(mut table: Columns<N>, code: u8) -> u8 {
    table.fit(streams::stdout_width());
    show(&table.to_text(), code)
}

/// Writes a whole answer to stdout. A reader that went away is not an error; a full disk is.
fn print(text: &str, code: u8) -> u8 {
    print_with(|out| out.write_all(text.as_bytes()), code)
}

/// Writes to stdout what need not be in memory as a whole.
fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>, code: u8) -> u8 {
    match write_stdout(write) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => code,
        written => or_unwritten(written, code),
    }
}

/// Writes what programs read to stdout. If its reader goes away before the end, it has only a part of it, which is an
/// error.
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

/// The exit code of a command whose output was written, or was not.
fn or_unwritten(written: io::Result<()>, code: u8) -> u8 {
    match written {
        Ok(()) => code,
        Err(error) => {
            render::message(&format!("cannot write to stdout: {error}"));
            code.max(exit::ERRORED)
        }
    }
}
