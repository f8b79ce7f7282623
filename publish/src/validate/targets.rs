//! Finds the evaluators to validate.

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
};

use crate::manifest;

/// Directories of evaluators that paths stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Directories of one evaluator each, without duplicates.
    pub directories: Vec<PathBuf>,
    /// Paths that were ignored, with the reason.
    pub passed_over: Vec<(PathBuf, &'static str)>,
}

/// Finds evaluators: a path is the directory of an evaluator, or a directory of such directories.
///
/// Any other directory counts as that of an evaluator without a manifest.
///
/// # Errors
///
/// A path cannot be read, or none of the paths is a directory.
pub fn targets(paths: &[PathBuf]) -> Result<Targets, String> {
    let mut found = Targets::default();
    let mut seen = HashSet::new();
    for path in paths {
        let unreadable = |error: io::Error| format!("cannot read {}: {error}", path.display());
        let mut add = |directory: PathBuf| {
            if seen.insert(directory.canonicalize().unwrap_or_else(|_| directory.clone())) {
                found.directories.push(directory);
            }
        };
        if !path.metadata().map_err(unreadable)?.is_dir() {
            match path.parent() {
                Some(directory) if path.ends_with(manifest::FILE_NAME) => add(named(directory)),
                _ => found.passed_over.push((path.clone(), "it is not a directory")),
            }
        } else if manifest::has_manifest(path) {
            add(path.clone());
        } else {
            let inner = manifest::discover(&manifest::home(path)).map_err(unreadable)?;
            if inner.evaluators.is_empty() && inner.misnamed.is_empty() {
                add(path.clone());
                continue;
            }
            let misnamed: Vec<&Path> =
                inner.misnamed.iter().filter_map(|file| file.parent()).collect();
            let (broken, others): (Vec<_>, Vec<_>) = inner
                .others
                .into_iter()
                .partition(|directory| misnamed.contains(&directory.as_path()));
            let mut directories = [inner.evaluators, broken].concat();
            directories.sort();
            directories.into_iter().for_each(add);
            found.passed_over.extend(
                others.into_iter().map(|directory| (directory, "it has no evaluator.yaml")),
            );
        }
    }
    if found.directories.is_empty() {
        return Err("there is nothing to validate; name the directory of an evaluator, or a directory of such directories".to_owned());
    }
    Ok(found)
}

/// Returns the directory, `.` if its path is empty.
fn named(directory: &Path) -> PathBuf {
    if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory.to_owned() }
}
