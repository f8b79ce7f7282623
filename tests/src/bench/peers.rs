//! The programs of others: to compare with, and to be run by. They come from the registries they are published in.
//!
//! They are installed once, into folders below cargo's target folder, by the first benchmark or test that asks for them.

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
    let named = env::var_os("EVALUATOR_SDK_PYTHON").map(PathBuf::from);
    named.or_else(|| Some(installed(&[SDK])?.join("python")))
}

/// The `agentevals` command: the one that `AGENTEVALS` names (with the SDK beside it), or one of ours.
///
/// None where it cannot be installed, which is then said on standard error.
#[must_use]
pub fn agentevals() -> Option<PathBuf> {
    let named = env::var_os("AGENTEVALS").map(PathBuf::from);
    named.or_else(|| Some(installed(&[SDK, AGENTEVALS])?.join("agentevals")))
}

/// A Python interpreter that has Google's ADK: the one that `ADK_PYTHON` names, or one of ours.
///
/// None where it cannot be installed, which is then said on standard error.
#[must_use]
pub fn adk() -> Option<PathBuf> {
    let named = env::var_os("ADK_PYTHON").map(PathBuf::from);
    named.or_else(|| Some(installed_in("peers-adk", &[ADK])?.join("python")))
}

/// A Python interpreter that has Agenta's SDK: the one that `AGENTA_PYTHON` names, or one of ours.
///
/// None where it cannot be installed, which is then said on standard error.
#[must_use]
pub fn agenta() -> Option<PathBuf> {
    let named = env::var_os("AGENTA_PYTHON").map(PathBuf::from);
    named.or_else(|| Some(installed_in("peers-agenta", &[AGENTA])?.join("python")))
}

/// The `agentv` command: the one that `AGENTV` names, or one of ours.
///
/// None where it cannot be installed, which is then said on standard error.
#[must_use]
pub fn agentv() -> Option<PathBuf> {
    if let Some(named) = env::var_os("AGENTV") {
        return Some(named.into());
    }
    let folder = build::target().join("peers-agentv");
    let command = folder.join("node_modules/.bin/agentv");
    let install = || -> Result<(), String> {
        let marker = folder.join(format!("{AGENTV}.installed"));
        if marker.exists() {
            return Ok(());
        }
        eprintln!("installing {AGENTV} into {} (once) ...", folder.display());
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        run(Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--prefix"])
            .arg(&folder)
            .arg(AGENTV))?;
        File::create(marker).map(drop).map_err(|error| error.to_string())
    };
    match install() {
        Ok(()) => Some(command),
        Err(reason) => {
            eprintln!("\n!!! {AGENTV} cannot be installed from npm: {reason}\n");
            None
        }
    }
}

/// The folder of programs of the environment, once these are installed in it.
fn installed(requirements: &[&str]) -> Option<PathBuf> {
    installed_in("peers", requirements)
}

fn installed_in(name: &str, requirements: &[&str]) -> Option<PathBuf> {
    let folder = build::target().join(name);
    match requirements.iter().try_for_each(|requirement| install(&folder, requirement)) {
        Ok(()) => Some(folder.join("bin")),
        Err(reason) => {
            eprintln!(
                "\n!!! {} cannot be installed from PyPI: {reason}\n!!! There is NOTHING TO COMPARE WITH in this run.\n",
                requirements.join(" and ")
            );
            None
        }
    }
}

/// Installs one of them, unless it is there. A file of its name, written last, says that it is.
fn install(folder: &Path, requirement: &str) -> Result<(), String> {
    let marker = folder.join(format!("{requirement}.installed"));
    if marker.exists() {
        return Ok(());
    }
    eprintln!("installing {requirement} into {} (once) ...", folder.display());
    let python = folder.join("bin/python");
    if !python.exists() {
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    run(Command::new(python).args(["-m", "pip", "install", requirement]))?;
    File::create(marker).map(drop).map_err(|error| error.to_string())
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
