//! Finds directories of evaluators.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::FILE_NAME;

/// Name of the directory of evaluators in a repository.
pub const EVALUATORS: &str = "evaluators";

/// Maximum edit distance of a misspelled manifest name.
const NEAR: usize = 2;

/// Content of a directory of evaluators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Discovered {
    /// Directories with a manifest, sorted by name.
    pub evaluators: Vec<PathBuf>,
    /// Directories without a manifest, sorted by name.
    pub others: Vec<PathBuf>,
    /// Files with almost the name of a manifest, in directories without one.
    pub misnamed: Vec<PathBuf>,
}

/// Finds directories with a manifest directly in `folder`, except hidden ones.
///
/// # Errors
///
/// A directory cannot be listed.
pub fn discover(folder: &Path) -> io::Result<Discovered> {
    let mut found = Discovered::default();
    for name in names(folder)? {
        let path = folder.join(&name);
        if name.starts_with('.') || !path.is_dir() {
            continue;
        }
        if has_manifest(&path) {
            found.evaluators.push(path);
        } else {
            found.misnamed.extend(misnamed(&path)?);
            found.others.push(path);
        }
    }
    Ok(found)
}

/// Returns the directory of evaluators that `folder` stands for: itself, or its subdirectory `evaluators`.
#[must_use]
pub fn home(folder: &Path) -> PathBuf {
    let inner = folder.join(EVALUATORS);
    let has_evaluators =
        |folder: &Path| discover(folder).is_ok_and(|found| !found.evaluators.is_empty());
    if !has_evaluators(folder) && has_evaluators(&inner) { inner } else { folder.to_owned() }
}

/// Returns true if the directory has a manifest, readable or not.
#[must_use]
pub fn has_manifest(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(FILE_NAME)).is_ok()
}

/// Returns a file in `folder` with almost the name of a manifest.
pub(super) fn misnamed(folder: &Path) -> io::Result<Option<PathBuf>> {
    let near = |name: &String| {
        let name = name.to_lowercase();
        strsim::damerau_levenshtein(&name, FILE_NAME) <= NEAR
    };
    Ok(names(folder)?.into_iter().find(near).map(|name| folder.join(name)))
}

/// Returns the names in a directory, sorted, except those that are not Unicode.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}
