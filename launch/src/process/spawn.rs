//! The one place where a process is started.

use std::{ffi::OsString, io, path::Path, process::Stdio, time::Duration};

use tokio::{
    process::{Child, Command},
    time::sleep,
};

use super::{
    CommandSpec,
    living::{self, Listed},
    os,
};

/// Waits between attempts to start a file that something still has open for writing. A file written a moment ago may
/// be open in a child of another thread that was forked, but has not yet executed its own program.
const BUSY_RETRIES: [Duration; 5] = [
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
];

/// Why a process could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to start `{}`: {reason}", .program.display())]
#[non_exhaustive]
pub struct SpawnError {
    /// The program as it was given.
    pub program: OsString,
    /// What is wrong, with a hint where there is one.
    pub reason: String,
    /// Whether the system was out of something just then (processes, memory, descriptors), so that it may be started a
    /// moment later.
    pub transient: bool,
}

/// Starts the command as leader of its own group, with this standard input and pipes for both outputs.
pub(super) async fn spawn(
    spec: &CommandSpec,
    stdin: impl Fn() -> Stdio,
) -> Result<(Child, Listed), SpawnError> {
    let mut command = command(spec, stdin()).map_err(|error| explain(spec, &error))?;
    let mut waits = BUSY_RETRIES.iter();
    loop {
        match (living::start(|| command.spawn(), Child::id), waits.next()) {
            (Ok(started), _) => return Ok(started),
            (Err(error), Some(wait)) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                sleep(*wait).await;
            }
            (Err(error), _) => return Err(explain(spec, &error)),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the place where supervised processes are started"
)]
fn command(spec: &CommandSpec, stdin: Stdio) -> io::Result<Command> {
    let mut command = Command::new(&spec.program);
    spec.configure(command.as_std_mut());
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The net below the net: groups are ended by `Group`, this ends the leader if even that is skipped.
    command.kill_on_drop(true);
    os::configure(&mut command, &spec.resources)?;
    Ok(command)
}

pub(super) fn explain(spec: &CommandSpec, error: &io::Error) -> SpawnError {
    let missing_cwd = spec.cwd.as_deref().filter(|cwd| !cwd.is_dir());
    let reason = match (error.kind(), missing_cwd) {
        (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, Some(cwd)) => {
            format!("its working directory {} is not there", cwd.display())
        }
        (io::ErrorKind::NotFound, None) => {
            let program = Path::new(&spec.program);
            if program.components().count() == 1 && !program.has_root() {
                "it was not found on PATH".to_owned()
            } else if program.exists() {
                "the file is there, but the interpreter named in its first line is not".to_owned()
            } else {
                "there is no such file".to_owned()
            }
        }
        (io::ErrorKind::PermissionDenied, _) => {
            format!("{error}; is it a file that may be executed (chmod +x)?")
        }
        _ => error.to_string(),
    };
    SpawnError { program: spec.program.clone(), reason, transient: is_transient(error) }
}

/// Whether the same start may succeed a moment later, though nobody changes anything.
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ExecutableFileBusy, Interrupted, OutOfMemory, WouldBlock};
    matches!(error.kind(), ExecutableFileBusy | Interrupted | OutOfMemory | WouldBlock)
        || os::is_out_of_descriptors(error)
}

#[cfg(all(test, unix))]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn what_passes_by_itself_is_told_from_what_does_not() {
        let spec = CommandSpec::new("x");
        for (errno, transient) in [
            (Errno::AGAIN, true),
            (Errno::NOMEM, true),
            (Errno::MFILE, true),
            (Errno::NFILE, true),
            (Errno::TXTBSY, true),
            (Errno::NOENT, false),
            (Errno::ACCESS, false),
            (Errno::NOEXEC, false),
            (Errno::TOOBIG, false),
            (Errno::LOOP, false),
        ] {
            assert_eq!(explain(&spec, &errno.into()).transient, transient, "{errno:?}");
        }
    }
}
