//! Starts processes, and guarantees that nothing of a process group is left behind.
//!
//! The registry of process groups contains a group from before its start is complete until just before its leader is
//! reaped, so a second signal reaches every group and no reused number.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read},
    path::Path,
    process::Stdio,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::{
    process::{Child, Command},
    time::sleep,
};

use super::{CommandSpec, SpawnError, os};

/// Waits between attempts to start a file that is open for writing. A file that was just written may be open in a child
/// that another thread has forked and that has not called exec yet.
const BUSY_RETRIES: [Duration; 5] = [
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
];

/// Starts the command as leader of its own group, with this standard input and pipes for both outputs.
pub(super) async fn spawn(spec: &CommandSpec, stdin: Stdio) -> io::Result<(Child, Registered)> {
    let mut command = command(spec, stdin)?;
    // A sandbox ends with this process; the client of a container does not.
    let guards = spec.starter.is_none() || spec.container.is_some();
    for wait in BUSY_RETRIES {
        match start(|| command.spawn(), Child::id, guards) {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => sleep(wait).await,
            started => return started,
        }
    }
    start(|| command.spawn(), Child::id, guards)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the place where supervised processes are started"
)]
fn command(spec: &CommandSpec, stdin: Stdio) -> io::Result<Command> {
    let mut command = Command::new(&spec.program);
    spec.configure(command.as_std_mut());
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Fallback: groups are killed by `Group`; this kills the leader if that is skipped.
    command.kill_on_drop(true);
    os::configure(&mut command, &spec.resources)?;
    Ok(command)
}

/// Starts a command that nothing waits for, and that may outlive this program.
#[expect(
    clippy::disallowed_methods,
    reason = "it ends what this program can no longer wait for, so it is not supervised"
)]
pub(super) fn start_detached(spec: &CommandSpec) {
    let mut command = std::process::Command::new(&spec.program);
    spec.configure(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    {
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        os::reset_signals(&mut command);
    }
    // Without a process there is nothing else that could be done here.
    if let Ok(mut child) = command.spawn() {
        thread::spawn(move || child.wait());
    }
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
                missing_interpreter(program)
            } else {
                "there is no such file".to_owned()
            }
        }
        (io::ErrorKind::PermissionDenied, _) => {
            format!("{error}; is it a file that may be executed (chmod +x)?")
        }
        // Exec format error.
        _ if cfg!(unix) && error.raw_os_error() == Some(8) => no_program(Path::new(&spec.program)),
        _ => error.to_string(),
    };
    SpawnError { program: spec.program.clone(), reason, transient: is_transient(error) }
}

impl CommandSpec {
    /// Returns the reason why the program cannot be started, as far as its file shows it: it does not exist, or names an
    /// interpreter that does not exist.
    pub fn start_problem(&self) -> Option<String> {
        let program = Path::new(&self.program);
        if !cfg!(unix) || !program.is_absolute() {
            return None;
        }
        if program.exists() {
            let start = start_of(program);
            let line = start.split('\n').next().and_then(|line| line.strip_prefix("#!"))?;
            // A carriage return is part of the name.
            let name = line.trim_start_matches([' ', '\t']).split([' ', '\t']).next()?;
            let interpreter = Path::new(name);
            if !interpreter.is_absolute() || interpreter.exists() {
                return None;
            }
        }
        let error = io::ErrorKind::NotFound.into();
        Some(explain(&CommandSpec { cwd: None, ..self.clone() }, &error).reason)
    }
}

/// Maximum length of the first line of a script, as in Linux.
const FIRST_LINE: u64 = 256;

/// Returns the start of a file, as text.
fn start_of(file: &Path) -> String {
    let mut start = Vec::new();
    // Without its start, the error is described in general.
    let _ = fs::File::open(file).and_then(|file| file.take(FIRST_LINE).read_to_end(&mut start));
    String::from_utf8_lossy(&start).into_owned()
}

/// Describes a file whose interpreter does not exist.
fn missing_interpreter(file: &Path) -> String {
    let start = start_of(file);
    let line =
        start.split('\n').next().and_then(|line| line.strip_prefix("#!")).unwrap_or_default();
    let what = "the file is there, but the interpreter named in its first line is not";
    let name = line.split_whitespace().next().unwrap_or_default();
    match (name, line.ends_with('\r')) {
        ("", _) => what.to_owned(),
        (_, true) => {
            format!(
                "{what}, because the line ends with a carriage return; save the file with Unix line ends (LF)"
            )
        }
        (name, _) => format!("{what}: {}", name.escape_debug()),
    }
}

/// Describes a file that the system cannot execute.
fn no_program(file: &Path) -> String {
    let start = start_of(file);
    match start.strip_prefix('\u{feff}') {
        _ if start.is_empty() => "the file is empty".to_owned(),
        Some(rest) if rest.starts_with("#!") => {
            "it starts with a byte order mark; save the file as UTF-8 without one".to_owned()
        }
        _ if start.contains('\0') => "it is not a program for this machine".to_owned(),
        _ => {
            "its first line does not name an interpreter; start it with e.g. `#!/bin/sh`".to_owned()
        }
    }
}

/// Returns true if the same start may succeed a moment later.
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ExecutableFileBusy, Interrupted, OutOfMemory, WouldBlock};
    matches!(error.kind(), ExecutableFileBusy | Interrupted | OutOfMemory | WouldBlock)
        || os::is_out_of_descriptors(error)
}

/// Time to wait for processes that are being started.
const START_LIMIT: Duration = Duration::from_millis(500);

static ALL: ProcessRegistry = ProcessRegistry::new();

/// Kills every process group that is registered, and prevents further starts.
pub(super) fn kill_groups() {
    ALL.kill_all();
}

/// Starts a child by `start`, and registers it by the `id` of its leader until the returned guard is dropped. The
/// guard must be dropped before the leader is reaped. With `guards`, the group also ends if this process is killed.
pub(crate) fn start<C>(
    start: impl FnOnce() -> io::Result<C>,
    id: impl FnOnce(&C) -> Option<u32>,
    guards: bool,
) -> io::Result<(C, Registered)> {
    ALL.start(start, |child| id(child).map(Leader::Child), guards)
}

/// Registers a fork of a server until the returned guard is dropped, which must be before the server may reap it.
///
/// # Errors
///
/// This program is ending.
#[cfg_attr(not(unix), expect(dead_code, reason = "servers need Unix sockets"))]
pub(super) fn register_fork(leader: Option<u32>) -> io::Result<Registered> {
    let registered = ALL.start(|| Ok(()), |()| leader.map(Leader::Fork), true);
    registered.map(|((), registered)| registered)
}

/// Leader of a process group. Forks precede children, so that they are killed before their servers: a fork whose server is
/// gone may be reaped at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Leader {
    Fork(u32),
    Child(u32),
}

impl Leader {
    fn id(self) -> u32 {
        let (Self::Fork(id) | Self::Child(id)) = self;
        id
    }

    fn kill_group(self) {
        match self {
            Self::Fork(leader) => os::kill_group_of_fork(leader),
            Self::Child(leader) => os::kill_group(leader),
        }
    }
}

/// Keeps a process registered while this lives.
#[derive(Debug)]
pub(crate) struct Registered {
    leader: Option<Leader>,
    /// Dropped with this, so before the leader is reaped.
    _guarded: Option<os::Guarded>,
    list: &'static ProcessRegistry,
}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            self.list.leaders().remove(&leader);
        }
    }
}

#[derive(Debug)]
struct ProcessRegistry {
    leaders: Mutex<BTreeSet<Leader>>,
    /// Number of processes that are being started and not registered yet.
    starting: AtomicUsize,
    over: AtomicBool,
}

impl ProcessRegistry {
    const fn new() -> Self {
        Self {
            leaders: Mutex::new(BTreeSet::new()),
            starting: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        }
    }

    fn start<C>(
        &'static self,
        start: impl FnOnce() -> io::Result<C>,
        leader: impl FnOnce(&C) -> Option<Leader>,
        guards: bool,
    ) -> io::Result<(C, Registered)> {
        // Counted first and checked second, so that either this sees the flag, or `kill_all` sees the count. No lock is
        // held: a start may take as long as the file system does.
        self.starting.fetch_add(1, Ordering::SeqCst);
        let started = if self.over.load(Ordering::SeqCst) {
            Err(io::Error::other("this program is ending"))
        } else {
            start()
        };
        let registered = started.map(|started| {
            let leader = leader(&started);
            self.leaders().extend(leader);
            let _guarded = leader.filter(|_| guards).map(|it| os::Guarded::new(it.id()));
            (started, Registered { leader, _guarded, list: self })
        });
        self.starting.fetch_sub(1, Ordering::SeqCst);
        registered
    }

    fn kill_all(&self) {
        self.over.store(true, Ordering::SeqCst);
        let start_time = Instant::now();
        loop {
            let last = self.starting.load(Ordering::SeqCst) == 0;
            // Under the lock no process is unregistered, so none is reaped, and its id is valid. Those of forks are valid until
            // their servers are killed.
            let mut leaders = self.leaders();
            leaders.iter().copied().for_each(Leader::kill_group);
            leaders.retain(|leader| matches!(leader, Leader::Child(_)));
            drop(leaders);
            if last || start_time.elapsed() > START_LIMIT {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn leaders(&self) -> MutexGuard<'_, BTreeSet<Leader>> {
        // No code panics halfway through a change.
        self.leaders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn errors_that_pass_by_themselves_are_transient() {
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

#[cfg(all(test, unix))]
mod registry_tests {
    use std::{
        os::unix::process::{CommandExt, ExitStatusExt},
        process::{Child, Command, Stdio},
        thread,
    };

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "any process will do to see it end")]
    fn shell(script: &str) -> io::Result<Child> {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        command.process_group(0).spawn()
    }

    fn id(child: &Child) -> Option<Leader> {
        Some(Leader::Child(child.id()))
    }

    #[test]
    fn all_registered_processes_end_and_none_starts() {
        static LIST: ProcessRegistry = ProcessRegistry::new();
        let (mut stubborn, _listed) = LIST
            .start(|| shell("trap '' TERM INT; while :; do sleep 600; done"), id, true)
            .unwrap();
        let (mut gone, listed) = LIST.start(|| shell("exit 3"), id, true).unwrap();
        drop(listed);
        assert_eq!(gone.wait().unwrap().code(), Some(3));
        // One that is being started when everything is to end.
        let (began, begins) = std::sync::mpsc::channel();
        let late = thread::spawn(move || {
            let start = || {
                began.send(()).unwrap();
                thread::sleep(Duration::from_millis(50));
                shell("sleep 600")
            };
            LIST.start(start, id, true).unwrap()
        });
        begins.recv().unwrap();
        LIST.kill_all();
        let (mut late, _listed) = late.join().unwrap();
        for child in [&mut stubborn, &mut late] {
            assert_eq!(child.wait().unwrap().signal(), Some(9));
        }
        let error = LIST.start(|| shell("sleep 600"), id, true).unwrap_err();
        assert_eq!(error.to_string(), "this program is ending");
    }
}
