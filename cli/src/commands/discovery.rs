//! Finds the configuration of the working directory, for command lines that name none.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::unusable;
use crate::render;

/// File names of configurations that are found.
const NAMES: [&str; 3] = ["eval_config.yaml", "eval_config.yml", "eval_config.json"];

/// Returns the named configuration, else the one in the working directory, which is reported on stderr.
///
/// # Errors
///
/// Returns the exit code, after a message, if several configurations are in the working directory.
pub(super) fn configuration(
    named: Option<PathBuf>,
    no_config: bool,
) -> Result<Option<PathBuf>, u8> {
    if named.is_some() || no_config {
        return Ok(named);
    }
    let mut found = candidates();
    if found.len() > 1 {
        return Err(unusable(format!(
            "there are several configurations in this directory, {}; name the one to use, or remove the others",
            found.join(" and ")
        )));
    }
    let file = found.pop();
    if let Some(file) = file {
        render::note(&format!("using the configuration {file} of this directory"));
    }
    Ok(file.map(PathBuf::from))
}

/// Returns a configuration as [`configuration`] does, for commands that need one. `instead` is advice for a directory
/// without one.
///
/// # Errors
///
/// Returns the exit code, after a message, if the directory has no configuration or several.
pub(super) fn required(named: Option<PathBuf>, instead: &str) -> Result<PathBuf, u8> {
    configuration(named, false)?.ok_or_else(|| {
        let directory = env::current_dir().unwrap_or_default();
        let names = NAMES.join(" or ");
        unusable(format!("there is no {names} in {}; {instead}", directory.display()))
    })
}

/// Warns that a configuration in the working directory is not used, because `option` names what to run.
pub(super) fn warn_ignored(option: &str) {
    if let [file, ..] = candidates()[..] {
        render::warning(&format!(
            "{file} of this directory is not used, because {option} names what to run; add `-c {file}` to run both"
        ));
    }
}

/// Returns the configurations in the working directory. A dangling link is one: reading it reports the problem.
pub(super) fn candidates() -> Vec<&'static str> {
    let is_file = |name: &&str| match fs::metadata(name) {
        Ok(found) => found.is_file(),
        Err(_) => Path::new(name).is_symlink(),
    };
    NAMES.into_iter().filter(is_file).collect()
}
