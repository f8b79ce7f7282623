//! `cargo evaluator ...`: the `evaluator` command as a subcommand of cargo.

use std::process::ExitCode;

fn main() -> ExitCode {
    evaluator_cli::run_if_helper();
    // Cargo gives the name of the subcommand as the first argument.
    let mut args: Vec<_> = std::env::args_os().collect();
    if args.get(1).is_some_and(|first| first == "evaluator") {
        args.remove(1);
    }
    // Name of the program in help and usage.
    if let Some(program) = args.first_mut() {
        *program = "cargo evaluator".into();
    }
    evaluator_cli::evaluator(args)
}
