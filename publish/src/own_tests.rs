//! Finds the evaluators whose own tests a path selects.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    manifest::{self, LoadedManifest},
    runtime::{Runtimes, paths},
};

/// Evaluators whose tests are run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Files or packages of the evaluators.
    pub evaluators: Vec<PathBuf>,
    /// Scripts that were ignored because they have no tests.
    pub passed_over: Vec<PathBuf>,
}

/// Finds the evaluators that a path selects.
///
/// | path | evaluators |
/// |---|---|
/// | a file | that one |
/// | a directory with a `Cargo.toml` | the package |
/// | a directory with an `evaluator.yaml` | the one that it names |
/// | any other directory | those of the directories in it, and each file in it that has tests |
///
/// # Errors
///
/// The reason why the path selects none.
pub fn targets(path: &Path, runtimes: &Runtimes) -> Result<Targets, String> {
    let unreadable = |error: io::Error| format!("cannot read {}: {error}", path.display());
    if !path.metadata().map_err(unreadable)?.is_dir() {
        return Ok(Targets { evaluators: vec![path.to_owned()], ..Targets::default() });
    }
    let mut found = Targets::default();
    if let Some(evaluator) = of_directory(path)? {
        found.evaluators.push(evaluator);
        return Ok(found);
    }
    let entries = fs::read_dir(path).map_err(unreadable)?;
    let mut entries: Vec<PathBuf> = entries
        .map(|entry| entry.map(|it| it.path()))
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    entries.sort();
    for entry in entries {
        let is_hidden =
            entry.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if entry.is_dir() && !is_hidden {
            found.evaluators.extend(of_directory(&entry)?);
        } else if entry.is_file() && has_extension(&entry, runtimes) {
            match runtimes.for_path(&entry) {
                Ok(runtime) if runtime.has_tests(&entry) => found.evaluators.push(entry),
                _ => found.passed_over.push(entry),
            }
        }
    }
    if found.evaluators.is_empty() {
        return Err(format!(
            "there is nothing to test in {}: no Cargo.toml, no {}, no directory with one of them, and no file with tests; \
             name the file of an evaluator",
            path.display(),
            manifest::FILE_NAME
        ));
    }
    Ok(found)
}

/// Returns the evaluator of a directory with a `Cargo.toml` or a manifest.
fn of_directory(directory: &Path) -> Result<Option<PathBuf>, String> {
    if directory.join("Cargo.toml").is_file() {
        return Ok(Some(directory.to_owned()));
    }
    if !manifest::has_manifest(directory) {
        return Ok(None);
    }
    // The manifest has the resolved name of the directory, which `.` is not.
    let directory = paths::resolve(directory).map_err(|error| error.to_string())?;
    let loaded = LoadedManifest::load(&directory).map_err(|error| error.to_string())?;
    Ok(Some(loaded.entrypoint()))
}

/// Returns true if a file has the extension of a language; other executable files need not be evaluators.
fn has_extension(path: &Path, runtimes: &Runtimes) -> bool {
    runtimes.iter().any(|runtime| paths::has_extension(path, runtime.extensions()))
}
