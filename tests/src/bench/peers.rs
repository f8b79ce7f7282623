//! Other systems, to compare with and to run under, from the registries that they are published in.
//!
//! Each is installed once, by the first benchmark or test that needs it, into a directory of its release below
//! `evaluator-peers` in the user's cache (or the directory that `EVALUATOR_PEERS` names): they outlive `cargo clean`, and all
//! checkouts share them.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Command,
};

use super::build;

/// SDK of Python evaluators.
const SDK: &str = "agentevals-evaluator-sdk==0.2.0";

/// The command to compare with. It starts Python evaluators with its own interpreter, so both are in one environment.
const AGENTEVALS: &str = "agentevals-cli==0.11.0";

/// Google's ADK with the dependencies of `adk eval`.
const ADK: &str = "google-adk[eval]==2.13.0";

const AGENTA: &str = "agenta==0.125.1";

const AGENTV: &str = "agentv@4.42.4";

/// AgentV's package for evaluators, with the client of its target proxy.
const AGENTV_CLIENT: &str = "@agentv/eval@4.42.4";

/// SDKs of model servers.
const MODEL_SDKS: [&str; 2] = ["openai==3.57.0", "anthropic==2.14.0"];

const OPENAI: &str = "openai@6.49.0";

/// A Python interpreter that has the SDKs of OpenAI and Anthropic: the one that `MODEL_SDKS_PYTHON` names, or one of ours.
///
/// `None` where they cannot be installed, which is reported on standard error.
#[must_use]
pub fn model_sdks() -> Option<PathBuf> {
    named("MODEL_SDKS_PYTHON").or_else(|| Some(from_pypi(&MODEL_SDKS)?.join("python")))
}

/// The module of OpenAI's SDK for JavaScript.
///
/// `None` where it cannot be installed, which is reported on standard error.
#[must_use]
pub fn openai_module() -> Option<PathBuf> {
    Some(from_npm(OPENAI)?.join("openai/index.mjs"))
}

/// A Python interpreter that has the SDK of Python evaluators: the one that `EVALUATOR_SDK_PYTHON` names, or one of ours.
///
/// `None` where it cannot be installed, which is reported on standard error.
#[must_use]
pub fn python() -> Option<PathBuf> {
    named("EVALUATOR_SDK_PYTHON").or_else(|| Some(from_pypi(&[SDK])?.join("python")))
}

/// The `agentevals` command: the one that `AGENTEVALS` names (with the SDK in the same environment), or one of ours.
///
/// `None` where it cannot be installed, which is reported on standard error.
#[must_use]
pub fn agentevals() -> Option<PathBuf> {
    named("AGENTEVALS").or_else(|| Some(from_pypi(&[AGENTEVALS, SDK])?.join("agentevals")))
}

/// A Python interpreter that has Google's ADK: the one that `ADK_PYTHON` names, or one of ours.
///
/// `None` where it cannot be installed, which is reported on standard error.
#[must_use]
pub fn adk() -> Option<PathBuf> {
    named("ADK_PYTHON").or_else(|| Some(from_pypi(&[ADK])?.join("python")))
}

/// A Python interpreter that has Agenta's SDK: the one that `AGENTA_PYTHON` names, or one of ours.
///
/// `None` where it cannot be installed, which is reported on standard error.
#[must_use]
pub fn agenta() -> Option<PathBuf> {
    named("AGENTA_PYTHON").or_else(|| Some(from_pypi(&[AGENTA])?.join("python")))
}

/// The `agentv` command: the one that `AGENTV` names, or one of ours.
///
/// `None` where it cannot be installed, which is reported on standard error.
#[must_use]
pub fn agentv() -> Option<PathBuf> {
    named("AGENTV").or_else(|| Some(from_npm(AGENTV)?.join(".bin/agentv")))
}

/// Directory of AgentV's package for evaluators.
///
/// `None` where it cannot be installed, which is reported on standard error.
#[must_use]
pub fn agentv_client() -> Option<PathBuf> {
    Some(from_npm(AGENTV_CLIENT)?.join("@agentv/eval"))
}

/// Directory of the packages of an installation of this one.
fn from_npm(package: &str) -> Option<PathBuf> {
    let directory = installed(package, |directory| {
        run(Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--prefix"])
            .arg(directory)
            .arg(package))
    })?;
    Some(directory.join("node_modules"))
}

fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from)
}

/// Directory of the programs of a Python environment with these requirements. The first one names the environment.
fn from_pypi(requirements: &[&str]) -> Option<PathBuf> {
    let directory = installed(requirements[0], |directory| {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(directory))?;
        let python = directory.join("bin/python");
        run(Command::new(python).args(["-m", "pip", "install"]).args(requirements))
    })?;
    Some(directory.join("bin"))
}

/// Directory of a release, after its installation. A file next to it, written last, marks it as complete.
fn installed(release: &str, install: impl FnOnce(&Path) -> Result<(), String>) -> Option<PathBuf> {
    let cache = cache();
    // Paths that need no quotes anywhere.
    let name = release.replace(['[', ']', '/'], "-").replace("==", "-").replace('@', "-");
    let directory = cache.join(&name);
    let marker = cache.join(format!("{name}.installed"));
    let try_it = || -> Result<(), String> {
        fs::create_dir_all(&directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        // Held until the end: another checkout may want the same.
        let lock = File::create(cache.join(format!("{name}.lock")));
        let lock = lock.map_err(|error| format!("{}: {error}", cache.display()))?;
        lock.lock().map_err(|error| format!("{}: {error}", cache.display()))?;
        if marker.exists() {
            return Ok(());
        }
        eprintln!("installing {release} into {} (once) ...", directory.display());
        install(&directory)?;
        File::create(&marker).map(drop).map_err(|error| format!("{}: {error}", marker.display()))
    };
    match try_it() {
        Ok(()) => Some(directory),
        Err(reason) => {
            eprintln!(
                "\n!!! {release} cannot be installed: {reason}\n!!! This run does WITHOUT IT.\n"
            );
            None
        }
    }
}

/// Directory of all releases.
fn cache() -> PathBuf {
    let user = || {
        let cache = named("XDG_CACHE_HOME").filter(|path| path.is_absolute());
        cache.or_else(|| Some(named("HOME")?.join(".cache")))
    };
    let directory = named("EVALUATOR_PEERS")
        .unwrap_or_else(|| user().unwrap_or_else(build::target).join("evaluator-peers"));
    // Programs are started in other directories.
    std::path::absolute(&directory).unwrap_or(directory)
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
