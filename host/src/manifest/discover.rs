//! Which folders hold evaluators.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::FILE_NAME;

/// What the folder of evaluators is called in a repository of them.
pub const EVALUATORS: &str = "evaluators";

/// How many letters a file may be away from the name of a manifest to be taken for a misspelt one.
const NEAR: usize = 2;

/// What was found in a folder of evaluators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Discovered {
    /// Folders with a manifest, in the order of their names.
    pub evaluators: Vec<PathBuf>,
    /// Folders without one, in the order of their names.
    pub others: Vec<PathBuf>,
    /// Files that are called almost like a manifest, in folders without one. Their evaluators would be missed.
    pub misnamed: Vec<PathBuf>,
}

/// Looks for folders with a manifest directly in `folder`; hidden ones are passed over.
///
/// # Errors
///
/// What the system says when a folder cannot be listed.
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

/// The folder of evaluators that `folder` stands for: itself, or in a repository of evaluators its folder `evaluators`.
#[must_use]
pub fn home(folder: &Path) -> PathBuf {
    let inner = folder.join(EVALUATORS);
    let has_evaluators =
        |folder: &Path| discover(folder).is_ok_and(|found| !found.evaluators.is_empty());
    if !has_evaluators(folder) && has_evaluators(&inner) { inner } else { folder.to_owned() }
}

/// Whether something is called like a manifest there, readable or not.
#[must_use]
pub fn has_manifest(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(FILE_NAME)).is_ok()
}

/// A file in `folder` that is called almost like a manifest.
pub(super) fn misnamed(folder: &Path) -> io::Result<Option<PathBuf>> {
    let near = |name: &String| {
        let name = name.to_lowercase();
        strsim::damerau_levenshtein(&name, FILE_NAME) <= NEAR
    };
    Ok(names(folder)?.into_iter().find(near).map(|name| folder.join(name)))
}

/// Names in a folder, sorted. Those that are not Unicode cannot be those of evaluators.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}
