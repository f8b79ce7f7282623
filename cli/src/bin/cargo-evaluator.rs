//! `cargo evaluator ...`: the `evaluator` command as a subcommand of cargo.
//!
//! It starts the `evaluator` next to it, or else the one on `PATH`, so that packages contain the command only once.
#![expect(clippy::disallowed_methods, reason = "this program starts the command")]
#![expect(clippy::print_stderr, reason = "it renders no more than this")]

use std::{
    env::{self, consts::EXE_SUFFIX},
    io,
    path::PathBuf,
    process::{Command, ExitCode},
};

/// `evaluator_cli::exit::ERRORED`. With anything of that library, this program is five times as large.
const ERRORED: u8 = 3;

fn main() -> ExitCode {
    // Cargo gives the name of the subcommand as the first argument.
    let mut args = env::args_os().skip(1).peekable();
    args.next_if(|first| first == "evaluator");
    let name = format!("evaluator{EXE_SUFFIX}");
    let beside = env::current_exe().map(|own| own.with_file_name(&name)).ok();
    let program = beside.filter(|path| path.is_file()).unwrap_or(PathBuf::from(name));
    match run(Command::new(&program).args(args)) {
        Ok(code) => code,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            eprintln!("cargo-evaluator: `evaluator` is neither next to this program nor on PATH");
            ERRORED.into()
        }
        Err(error) => {
            eprintln!("cargo-evaluator: cannot start {}: {error}", program.display());
            ERRORED.into()
        }
    }
}

/// Replaces this process by the command. Help and usage name it as it was typed.
#[cfg(unix)]
fn run(command: &mut Command) -> io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.arg0("cargo evaluator").exec())
}

/// Runs the command, and exits with its code.
#[cfg(windows)]
fn run(command: &mut Command) -> io::Result<ExitCode> {
    // Ctrl-C reaches both processes. While this value exists, it does not end this one, which waits for the other.
    let _ctrl_c = tokio::signal::windows::ctrl_c()?;
    let status = command.status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(ERRORED).into())
}
