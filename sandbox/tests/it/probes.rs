//! The probes: programs that try to break out, and honest ones that must go on working.

use std::{
    collections::BTreeSet,
    env, fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use evaluator_sandbox::{Level, Limits, Policy};
use serde_json::Value;

use crate::world::{UNPRIVILEGED, has, is_root, skip, stage};

/// What the partial level does not limit, and attempts that are answered with success there and not done: what changed
/// decides.
const UNLIMITED: [&str; 4] =
    ["bomb_disk.py", "bomb_fork.py", "bomb_threads.py", "fs_write_outside.py"];

/// Memory is limited for each process, so that of all processes is not.
const MEMORY_OF_ALL: &str = "bomb_memory_children.py";

/// Not an attack on the machine: the host limits output.
const OUTPUT: &str = "life_huge_output.py";

/// POSIX semaphores need `/dev/shm`, which cannot be written to at the partial level.
const NEEDS_SHARED_MEMORY: &str = "py_multiprocessing";

/// Variable with the directory of other probes, of the same form as `tests/fixtures/probes`.
const PROBES_DIR: &str = "EVALUATOR_PROBES_DIR";

#[test]
fn attacks_fail_at_the_full_level() {
    attacks(Level::Full, None);
}

#[test]
fn attacks_fail_at_the_full_level_without_privileges() {
    attacks(Level::Full, Some(UNPRIVILEGED));
}

#[test]
fn attacks_fail_at_the_partial_level() {
    attacks(Level::Partial, None);
}

#[test]
fn attacks_fail_at_the_partial_level_without_privileges() {
    attacks(Level::Partial, Some(UNPRIVILEGED));
}

#[test]
fn honest_programs_work_at_the_full_level() {
    honest(Level::Full, None);
}

#[test]
fn honest_programs_work_at_the_full_level_without_privileges() {
    honest(Level::Full, Some(UNPRIVILEGED));
}

#[test]
fn honest_programs_work_at_the_partial_level() {
    honest(Level::Partial, None);
}

fn attacks(level: Level, user: Option<u32>) {
    let Some(outcomes) = outcomes("attack", level, user) else { return };
    let mut wrong = Vec::new();
    for outcome in &outcomes {
        let name = outcome["probe"].as_str().unwrap();
        let is_expected = match outcome["escaped"].as_bool() {
            _ if level == Level::Partial && UNLIMITED.contains(&name) => true,
            _ if name == MEMORY_OF_ALL => true,
            _ if name == OUTPUT => outcome["exit"] == 0,
            // Only root can make the set-uid program of another user.
            Some(false) => outcome["skipped"] != true || name.starts_with("sys_setuid"),
            Some(true) => false,
            // Killed by a signal.
            None => outcome["exit"].as_i64().is_some_and(|code| code < 0),
        };
        let is_clean = outcome["changed"] == serde_json::json!([])
            && outcome["left_behind"] == 0
            && outcome["held"] == false;
        if !is_expected || !is_clean {
            wrong.push(outcome.to_string());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn honest(level: Level, user: Option<u32>) {
    let Some(outcomes) = outcomes("honest", level, user) else { return };
    let is_right = |outcome: &&Value| outcome["exit"] == 0 && outcome["ok"] == true;
    let is_known = |outcome: &&Value| {
        level == Level::Partial
            && outcome["probe"].as_str().unwrap().starts_with(NEEDS_SHARED_MEMORY)
    };
    let wrong: Vec<String> = outcomes
        .iter()
        .filter(|outcome| !is_right(outcome) && !is_known(outcome))
        .map(ToString::to_string)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Held while probes of others run: their marks may be the same in each run, and each looks for what it has left.
static OTHERS: Mutex<()> = Mutex::new(());

/// Runs all probes of a kind in a world of decoys; `None` if that cannot be done here.
fn outcomes(kind: &str, level: Level, user: Option<u32>) -> Option<Vec<Value>> {
    if !has(level) || (user.is_some() && !is_root() && !skip("only root can become another user")) {
        return None;
    }
    let alone = env::var_os(PROBES_DIR).map(|_| OTHERS.lock());
    let _alone = alone.map(|lock| lock.unwrap_or_else(PoisonError::into_inner));
    let (directory, executable) = stage();
    let probes = directory.path().join("probes");
    copy(&source(), &probes);
    let python = python(user)?;
    let mut files = files(&probes.join(kind));
    build(&mut files);
    if Command::new("node").arg("--version").output().is_err() {
        let _ = skip("probes of node: there is no node");
        files.retain(|file| file.extension().is_none_or(|extension| extension != "js"));
    }
    let limits = Limits { memory: Some(256 << 20), open_files: Some(256), ..Limits::default() };
    let policy = Policy { level, limits, read: python.roots, ..Policy::default() };
    // The braces of the policy would be fields of the format.
    let json = serde_json::to_string(&policy).unwrap().replace('{', "{{").replace('}', "}}");
    let wrap = format!("{} contain '{json}' {{folder}} {{tools}} --", executable.display());
    let mut command = Command::new(&python.executable);
    command.arg(probes.join("world.py")).args(["--wrap", &wrap]).args(&files);
    command.env("PROBE_PYTHON", &python.executable).env_remove("PYTHONHOME");
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("HOME", "/nonexistent");
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let outcomes: Vec<Value> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
    let seen: BTreeSet<&str> =
        outcomes.iter().map(|outcome| outcome["probe"].as_str().unwrap()).collect();
    assert_eq!(seen.len(), files.len(), "{errors}");
    Some(outcomes)
}

/// The probes of this repository, or others.
fn source() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/probes");
    env::var_os(PROBES_DIR).map_or(own, PathBuf::from)
}

/// Copies a directory so that everyone can read it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no probes", directory.display());
    files
}

/// Compiles the probes in Rust.
fn build(files: &mut [PathBuf]) {
    for file in files.iter_mut().filter(|file| file.extension().is_some_and(|it| it == "rs")) {
        let program = file.with_extension("");
        let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()));
        let output = rustc.args(["--edition", "2024", "-o"]).arg(&program).arg(&*file).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        *file = program;
    }
}

/// A Python interpreter with what it has to read.
struct Python {
    executable: PathBuf,
    roots: Vec<PathBuf>,
}

/// An interpreter that the user can execute; `None` if there is none.
fn python(user: Option<u32>) -> Option<Python> {
    for name in ["python3", "/usr/bin/python3"] {
        let ask = "import sys; print(sys.executable); print(sys.base_prefix); print(sys.prefix)";
        let Ok(output) = Command::new(name).args(["-c", ask]).output() else { continue };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines().map(PathBuf::from);
        let Some(executable) = lines.next() else { continue };
        let mut check = Command::new(&executable);
        check.args(["-c", "import ctypes"]);
        if let Some(user) = user {
            check.uid(user).gid(user);
        }
        if check.output().is_ok_and(|output| output.status.success()) {
            return Some(Python { executable, roots: lines.collect() });
        }
    }
    let _ = skip("probes: there is no Python that the user can start");
    None
}
