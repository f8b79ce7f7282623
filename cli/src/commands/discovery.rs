//! The configuration of the working directory, for commands that are given none.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{exit, render};

/// Names under which a configuration is found.
const NAMES: [&str; 3] = ["eval_config.yaml", "eval_config.yml", "eval_config.json"];

/// Returns the configuration that was named, else the one in the working directory, and says on stderr that it is used.
///
/// # Errors
///
/// The exit code, after a message, when several configurations are in the working directory.
pub(super) fn configuration(
    named: Option<PathBuf>,
    no_config: bool,
) -> Result<Option<PathBuf>, u8> {
    if named.is_some() || no_config {
        return Ok(named);
    }
    let mut found = candidates();
    if found.len() > 1 {
        render::message(&format!(
            "there are several configurations in this directory, {}; name the one to use, or remove the others",
            found.join(" and ")
        ));
        return Err(exit::USAGE);
    }
    let file = found.pop();
    if let Some(file) = file {
        render::note(&format!("using the configuration {file} of this directory"));
    }
    Ok(file.map(PathBuf::from))
}

/// The same for commands that need one; `instead` says what to do where there is none.
///
/// # Errors
///
/// The exit code, after a message, when there is none, or there are several.
pub(super) fn required(named: Option<PathBuf>, instead: &str) -> Result<PathBuf, u8> {
    configuration(named, false)?.ok_or_else(|| {
        let folder = env::current_dir().unwrap_or_default();
        render::message(&format!(
            "there is no {} in {}; {instead}",
            NAMES.join(" or "),
            folder.display()
        ));
        exit::USAGE
    })
}

/// Says that a configuration in the working directory is not used, because the command line names the metrics.
pub(super) fn passed_over() {
    if let [file, ..] = candidates()[..] {
        render::warning(&format!(
            "{file} of this directory is not used, because -m names what to run; add `-c {file}` to run both"
        ));
    }
}

/// Configurations in the working directory. A link that leads nowhere is one: reading it says what is wrong.
fn candidates() -> Vec<&'static str> {
    let is_file = |name: &&str| match fs::metadata(name) {
        Ok(found) => found.is_file(),
        Err(_) => Path::new(name).is_symlink(),
    };
    NAMES.into_iter().filter(is_file).collect()
}
