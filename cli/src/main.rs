//! The `evaluator` command.

use std::process::ExitCode;

mod os;

/// Recordings are read into many small values, which take half as long with it as with the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    os::return_memory_early();
    evaluator_cli::evaluator(std::env::args_os())
}
