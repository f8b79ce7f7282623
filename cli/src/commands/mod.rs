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
mod run;
mod runtimes;
mod schema;
mod serve;
mod test;
mod update;
mod validate;
mod watched;

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use evaluator_host::run::Runner;

use self::watched::watched;
use crate::{
    args::{Cli, Command, EvaluatorCommand},
    exit, render,
};

pub(crate) fn dispatch(cli: Cli, mut runner: Runner) -> ExitCode {
    if cli.no_install {
        runner.runtimes = runner.runtimes.without_installing();
    }
    let code = match cli.command {
        Command::Run(args) => run::run(args, cli.verbose, runner),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Check { config, locked, build } => {
            match discovery::required(config, "name the configuration") {
                Ok(config) => check::check(&config, locked, build, cli.verbose, runner),
                Err(code) => code,
            }
        }
        Command::Schema => schema::schema(),
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
    };
    code.into()
}

/// Writes an answer for people to stdout, in colours if that is a terminal.
fn show(text: &str, code: u8) -> u8 {
    print(&render::painted(text), code)
}

/// Writes a whole answer to stdout. A reader that went away is not an error of the run; a full disk is.
fn print(text: &str, code: u8) -> u8 {
    print_with(|out| out.write_all(text.as_bytes()), code)
}

/// Writes to stdout what need not be in memory as a whole.
fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>, code: u8) -> u8 {
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    match write(&mut stdout).and_then(|()| stdout.flush()) {
        Ok(()) => code,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => code,
        Err(error) => {
            render::message(&format!("cannot write to stdout: {error}"));
            code.max(exit::ERRORED)
        }
    }
}

/// Writes beside the file and renames, so that whoever reads it never finds half of it.
fn replace(file: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = fs::File::create(&beside).and_then(|created| {
        let mut out = io::BufWriter::new(created);
        write(&mut out)?;
        out.flush()
    });
    let replaced = written.and_then(|()| fs::rename(&beside, file));
    if replaced.is_err() {
        // It may not have come that far.
        let _ = fs::remove_file(&beside);
    }
    replaced
}
