//! The `evaluator` command, as a library its two programs share.
//!
//! | file | what |
//! |---|---|
//! | `args` | the command line |
//! | `commands` | one file per command |
//! | `render` | what people read: tables, summaries, configuration errors, progress |
//! | `scaffold` | new evaluators from templates |
//! | `signals` | Ctrl-C |
//! | `exit` | exit codes |

mod args;
mod commands;
pub mod exit;
mod render;
pub mod scaffold;
mod signals;

use std::{ffi::OsString, process::ExitCode};

use clap::Parser;
use evaluator_host::process::hide_memory;

/// Runs the `evaluator` command with these arguments, the program's name first.
pub fn evaluator<I, A>(args: I) -> ExitCode
where
    I: IntoIterator<Item = A>,
    A: Into<OsString> + Clone,
{
    // Evaluators do not see the secrets of this process in their environment, nor are they to find them here.
    if let Err(error) = hide_memory() {
        render::message(&format!(
            "cannot keep evaluators from reading the memory of this process: {error}"
        ));
    }
    match args::Cli::try_parse_from(args) {
        Ok(cli) => commands::dispatch(cli),
        Err(error) => {
            // Help and version go to stdout, mistakes to stderr; a closed stream is no reason to say more.
            let _ = error.print();
            if error.use_stderr() { exit::USAGE.into() } else { exit::OK.into() }
        }
    }
}
