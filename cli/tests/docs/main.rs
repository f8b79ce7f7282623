//! The documentation: its links lead somewhere, its commands print what it says, and its reference is that of the code.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod book;
mod commands;
mod evaluators_tested;
mod generated;
mod injection;
mod judge_prompts;
mod labelled;
mod picture;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Returns all Markdown files of a directory, relative to the root.
fn markdown(directory: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(directory)).unwrap() {
        let path = entry.unwrap().path();
        let relative = path.strip_prefix(root()).unwrap().to_owned();
        if path.is_dir() {
            found.extend(markdown(relative.to_str().unwrap()));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(relative);
        }
    }
    found.sort();
    found
}
