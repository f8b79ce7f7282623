//! The `evaluator` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    evaluator_cli::evaluator(std::env::args_os())
}
