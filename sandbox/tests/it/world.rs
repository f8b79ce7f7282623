//! What tests share: whether sandboxes can be made here, and commands in them.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{Read, Write as _},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use evaluator_sandbox::{Level, Policy, support, wrap};
use tempfile::TempDir;

/// Time after which something counts as never happening.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(120);

/// A user without privileges, whom every system has.
pub(crate) const UNPRIVILEGED: u32 = 65534;

pub(crate) const LEVELS: [Level; 2] = [Level::Full, Level::Partial];

/// Returns the levels that this machine has. A missing one is reported, and fails if `CONTAINMENT_TESTS=required`.
pub(crate) fn levels() -> Vec<Level> {
    LEVELS.into_iter().filter(|level| has(*level)).collect()
}

/// Returns true if this machine has the level.
pub(crate) fn has(level: Level) -> bool {
    match support(level) {
        Ok(_) => true,
        Err(refusal) => skip(&format!("level {}: {refusal}", level.name())),
    }
}

/// Reports that tests are skipped.
#[track_caller]
pub(crate) fn skip(why: &str) -> bool {
    assert_ne!(env::var("CONTAINMENT_TESTS").as_deref(), Ok("required"), "{why}");
    // Not captured by the harness.
    let _ = writeln!(std::io::stderr(), "\nSKIPPED: {why}");
    false
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A directory that every user can read, with this executable in it.
pub(crate) fn stage() -> (TempDir, PathBuf) {
    // Not below /tmp, which not every user need be able to read in a sandbox.
    let directory =
        tempfile::Builder::new().prefix("sandbox-test-").tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let executable = directory.path().join("contain");
    // By another process: a file that this one has open for writing may be open in a child that another thread has just
    // forked, and cannot be executed then.
    let copied = Command::new("cp").arg(env::current_exe().unwrap()).arg(&executable).status();
    assert!(copied.unwrap().success());
    fs::set_permissions(&executable, fs::Permissions::from_mode(0o755)).unwrap();
    (directory, executable)
}

/// A command of `sh` in a sandbox.
pub(crate) fn shell(policy: &Policy, script: &str) -> Command {
    contained(policy, "sh", &["-c", script])
}

/// A command in a sandbox, as leader of its group.
pub(crate) fn contained(policy: &Policy, program: &str, args: &[&str]) -> Command {
    let args: Vec<OsString> = args.iter().map(Into::into).collect();
    let wrapped = wrap(policy, Path::new(program), &args, None).unwrap();
    let mut command = Command::new(wrapped.program);
    command.args(wrapped.args).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The policy of a level.
pub(crate) fn policy(level: Level) -> Policy {
    Policy { level, ..Policy::default() }
}

/// Output as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Runs a command that ends by itself, and returns its standard output.
#[track_caller]
pub(crate) fn answer(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout)
}

/// Runs a command that ends by itself.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < TIME_LIMIT, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Reads a line that the program writes when it is ready.
pub(crate) fn read_line(from: &mut impl Read) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while from.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

/// Ids of processes with this text in their command line.
pub(crate) fn processes_with(marker: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().map(Result::unwrap);
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.windows(marker.len()).any(|part| part == marker.as_bytes())
    })
    .collect()
}

/// A text that occurs in no other command line.
pub(crate) fn marker(name: &str) -> String {
    format!("{name}-{}-{:?}", std::process::id(), Instant::now())
        .replace([' ', '{', '}', ':', ','], "")
}
