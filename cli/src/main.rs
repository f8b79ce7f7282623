//! The `evaluator` command.

use std::process::ExitCode;

/// Recordings are read into many small values, which take half as long with it as with the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    evaluator_cli::evaluator(std::env::args_os())
}
