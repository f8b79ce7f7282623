//! The `evaluator` command as a library, for its program and for programs that add to it.
//!
//! | file | what |
//! |---|---|
//! | `args` | the command line |
//! | `commands` | one file per command |
//! | `render` | output for people: tables, summaries, configuration errors, progress |
//! | `scaffold` | new evaluators from templates |
//! | `signals` | Ctrl-C and other signals |
//! | `streams` | stdout as the program inherited it |
//! | `exit` | exit codes |

mod args;
mod commands;
pub mod exit;
mod render;
pub mod scaffold;
mod signals;
mod streams;

use std::{ffi::OsString, io, process::ExitCode};

pub use evaluator_host::executor::run_if_helper;
use evaluator_host::{process::hide_memory, run::Runner};

use render::{LogFormat, LogSettings};

/// Runs the `evaluator` command with these arguments, the program's name first.
///
/// [`run_if_helper`] has to be called first in `main`; without it, no evaluator can run in a sandbox.
///
/// On Linux, other processes cannot read the memory of this process from then on, see [`hide_memory`].
pub fn evaluator<I, A>(args: I) -> ExitCode
where
    I: IntoIterator<Item = A>,
    A: Into<OsString> + Clone,
{
    evaluator_with(Runner::default(), args)
}

/// Runs the `evaluator` command with additions of a program: metrics, runtimes, executors, sources, and linked evaluators,
/// which configurations name with `type: linked`.
///
/// The arguments (`--jobs`, `--locked`) override the settings of the runner.
///
/// ```no_run
/// use evaluator_host::{linked::LinkedEvaluator, run::Runner};
///
/// /// `evaluator` is what `#[evaluator]` made of a function: `FUNCTION::EVALUATOR`.
/// fn command(evaluator: impl LinkedEvaluator + 'static) -> std::process::ExitCode {
///     let mut runner = Runner::default();
///     runner.registries.linked.register_evaluator(evaluator);
///     evaluator_cli::evaluator_with(runner, std::env::args_os())
/// }
/// ```
pub fn evaluator_with<I, A>(runner: Runner, args: I) -> ExitCode
where
    I: IntoIterator<Item = A>,
    A: Into<OsString> + Clone,
{
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    match args::parse(&args, &runner.registries.trace_formats) {
        Ok(cli) => {
            render::configure_log(LogSettings { quiet: cli.quiet, format: cli.log_format });
            hide();
            commands::dispatch(cli, runner)
        }
        Err(error) if error.use_stderr() => {
            if args::asks_for_json(&args) {
                render::configure_log(LogSettings { format: LogFormat::Json, quiet: false });
                render::message(&error.to_string());
            } else {
                render::usage_error(&error);
            }
            if args::asks_for_outcome(&args) {
                render::no_verdict(exit::USAGE);
            }
            exit::USAGE.into()
        }
        // Help and version go to stdout.
        Err(error) => match streams::check_stdout().and_then(|()| error.print()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                render::message(&format!("cannot write to stdout: {error}"));
                exit::ERRORED.into()
            }
            _ => exit::OK.into(),
        },
    }
}

/// Keeps evaluators, which do not get the secrets in the environment of this process, from reading them in its memory.
fn hide() {
    if let Err(error) = hide_memory() {
        render::warning(&format!(
            "cannot keep evaluators from reading the memory of this process: {error}"
        ));
    }
}
