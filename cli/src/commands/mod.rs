//! One file per command.
//!
//! A command returns its exit code; as an error if it stopped early, after it wrote a message.

mod agree;
mod baseline;
mod bundle;
mod check;
mod compare;
mod config;
mod configuration;
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
mod mutate;
mod outcome;
mod output;
mod pipe;
mod receive;
mod report;
mod repro;
mod run;
mod serve;
mod test;
mod types;
mod update;
mod validate;
mod view;
mod watched;
mod written;

use std::process::ExitCode;

use evaluator_host::{models::Waits, run::Runner};

use self::{
    configuration::{
        ensure_contained, ensure_runnable, has_extension_of, load_config, open_session, sandbox,
        settings_of_paths, trace_format,
    },
    output::{
        broken, clean_line, print, print_document, print_with, show, show_table, unusable,
        unusable_config,
    },
    watched::{preparing, watched},
};
use crate::{
    args::{Cli, Command, EvaluatorCommand},
    render,
    scaffold::Language,
};

pub(crate) fn dispatch(cli: Cli, mut runner: Runner) -> ExitCode {
    use Command::{Agree, Compare, Mutate, Report, Run};

    runner.waits = Waits::new(render::note);
    if cli.no_install {
        runner.registries.runtimes = runner.registries.runtimes.without_installing();
    }
    let verbose = cli.verbose;
    let has_outcome = matches!(cli.command, Run(_) | Report(_) | Compare(_) | Agree(_) | Mutate(_));
    let ended = match cli.command {
        Run(args) => run::run(*args, verbose, runner),
        Command::Pipe(args) => pipe::pipe(*args, verbose, runner),
        Command::Bundle(args) => bundle::bundle(&args, verbose, runner),
        Report(args) => report::report(args, verbose),
        Command::View(args) => view::view(&args),
        Command::Repro(args) => repro::repro(&args, verbose, runner),
        Mutate(args) => mutate::mutate(*args, verbose, runner),
        Compare(args) => compare::compare(&args),
        Agree(args) => agree::agree(&args),
        Command::Inspect(args) => Ok(inspect::inspect(args, &runner)),
        Command::Check(args) => check::check(*args, verbose, runner),
        Command::Schema => Ok(info::schema(&runner)),
        Command::Evaluator(EvaluatorCommand::Init(args)) => {
            init::init(&args, Language::Python, &runner)
        }
        Command::Shared(command) | Command::Evaluator(command) => match command {
            EvaluatorCommand::Init(args) => init::init(&args, Language::Rust, &runner),
            EvaluatorCommand::Runtimes => Ok(info::runtimes(&runner)),
            EvaluatorCommand::List(args) => list::list(&args, verbose, &runner),
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
        Command::Receive(args) => receive::receive(*args, verbose, runner),
        Command::Completions { shell } => Ok(info::completions(shell, &runner)),
        Command::Man { directory } => info::man(directory.as_deref(), &runner),
    };
    match ended {
        Ok(code) => code.into(),
        Err(code) => {
            if has_outcome {
                render::no_verdict(code);
            }
            code.into()
        }
    }
}
