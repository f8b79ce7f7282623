//! The programs of others: to compare with, and to be run by. They come from the registries they are published in.
//!
//! Each is installed once, by the first benchmark or test that asks for it, into a folder of its release below
//! `evaluator-peers` in the user's cache (or the folder that `EVALUATOR_PEERS` names): they outlive `cargo clean`, and all
//! checkouts share them.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Command,
};

use super::build;

/// What Python evaluators are written with.
const SDK: &str = "agentevals-evaluator-sdk==0.2.0";

/// The command to compare with. It starts Python evaluators with its own interpreter, so both are in one environment.
const AGENTEVALS: &str = "agentevals-cli==0.11.0";

/// Google's ADK, with what `adk eval` needs.
const ADK: &str = "google-adk[eval]==2.13.0";

const AGENTA: &str = "agenta==0.125.1";

const AGENTV: &str = "agentv@4.42.4";

/// A Python interpreter that has the SDK of Python evaluators: the one that `EVALUATOR_SDK_PYTHON` names, or one of ours.
///
/// None where it cannot be installed, which is then said on standard error.
#[must_use]
pub fn python() -> Option<PathBuf> {
    named("EVALUATOR_SDK_PYTHON").or_else(|| Some(from_pypi(&[SDK])?.join("python")))
}

/// The `agentevals` command: the one that `AGENTEVALS` names (with the SDK beside it), or one of ours.
///
/// None where it cannot be installed, which is then said on standard error.
#[must_use]
pub fn agentevals() -> Option<PathBuf> {
    named("AGENTEVALS").or_else(|| Some(from_pypi(&[AGENTEVALS, SDK])?.join("agentevals")))
}

/// A Python interpreter that has Google's ADK: the one that `ADK_PYTHON` names, or one of ours.
///
/// None where it cannot be installed, which is then said on standard error.
#[must_use]
pub fn adk() -> Option<PathBuf> {
    named("ADK_PYTHON").or_else(|| Some(from_pypi(&[ADK])?.join("python")))
}

/// A Python interpreter that has Agenta's SDK: the one that `AGENTA_PYTHON` names, or one of ours.
///
/// None where it cannot be installed, which is then said on standard error.
#[must_use]
pub fn agenta() -> Option<PathBuf> {
    named("AGENTA_PYTHON").or_else(|| Some(from_pypi(&[AGENTA])?.join("python")))
}

/// The `agentv` command: the one that `AGENTV` names, or one of ours.
///
/// None where it cannot be installed, which is then said on standard error.
#[must_use]
pub fn agentv() -> Option<PathBuf> {
    named("AGENTV").or_else(|| {
        let folder = installed(AGENTV, |folder| {
            run(Command::new("npm")
                .args(["install", "--no-audit", "--no-fund", "--prefix"])
                .arg(folder)
                .arg(AGENTV))
        })?;
        Some(folder.join("node_modules/.bin/agentv"))
    })
}

fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from)
}

/// The folder of programs of a Python environment that has these. The first one names it.
fn from_pypi(requirements: &[&str]) -> Option<PathBuf> {
    let folder = installed(requirements[0], |folder| {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
        let python = folder.join("bin/python");
        run(Command::new(python).args(["-m", "pip", "install"]).args(requirements))
    })?;
    Some(folder.join("bin"))
}

/// The folder of a release, once it is there; a file beside it, written last, says that it is.
fn installed(release: &str, install: impl FnOnce(&Path) -> Result<(), String>) -> Option<PathBuf> {
    let cache = cache();
    // Paths that need no quotes anywhere.
    let name = release.replace(['[', ']'], "-").replace("==", "-").replace('@', "-");
    let folder = cache.join(&name);
    let marker = cache.join(format!("{name}.installed"));
    let try_it = || -> Result<(), String> {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        // Held until the end: another checkout may want the same.
        let lock = File::create(cache.join(format!("{name}.lock")));
        let lock = lock.map_err(|error| format!("{}: {error}", cache.display()))?;
        lock.lock().map_err(|error| format!("{}: {error}", cache.display()))?;
        if marker.exists() {
            return Ok(());
        }
        eprintln!("installing {release} into {} (once) ...", folder.display());
        install(&folder)?;
        File::create(&marker).map(drop).map_err(|error| format!("{}: {error}", marker.display()))
    };
    match try_it() {
        Ok(()) => Some(folder),
        Err(reason) => {
            eprintln!(
                "\n!!! {release} cannot be installed: {reason}\n!!! This run does WITHOUT IT.\n"
            );
            None
        }
    }
}

/// The folder of all releases.
fn cache() -> PathBuf {
    let user = || {
        let cache = named("XDG_CACHE_HOME").filter(|path| path.is_absolute());
        cache.or_else(|| Some(named("HOME")?.join(".cache")))
    };
    let folder = named("EVALUATOR_PEERS")
        .unwrap_or_else(|| user().unwrap_or_else(build::target).join("evaluator-peers"));
    // Programs are started in other folders.
    std::path::absolute(&folder).unwrap_or(folder)
}

/// Runs an installer, which shows its progress on standard error.
fn run(command: &mut Command) -> Result<(), String> {
    let status = command.stdout(io::stderr()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}
