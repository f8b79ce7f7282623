//! One file per command.

mod check;
mod config;
mod init;
mod list;
mod run;
mod runtimes;
mod schema;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use crate::{
    args::{Cli, Command, EvaluatorCommand},
    exit, render,
};

pub(crate) fn dispatch(cli: Cli) -> ExitCode {
    let code = match cli.command {
        Command::Run(args) => run::run(args, cli.verbose),
        Command::Check { config } => check::check(&config),
        Command::Schema => schema::schema(),
        Command::Init(args) | Command::Evaluator(EvaluatorCommand::Init(args)) => init::init(&args),
        Command::Runtimes | Command::Evaluator(EvaluatorCommand::Runtimes) => runtimes::runtimes(),
        Command::List(args) | Command::Evaluator(EvaluatorCommand::List(args)) => {
            list::list(args.source)
        }
        Command::Config(args) | Command::Evaluator(EvaluatorCommand::Config(args)) => {
            config::config(&args.evaluator)
        }
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
