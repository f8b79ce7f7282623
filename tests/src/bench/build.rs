//! The programs as people would have them.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The root of the workspace.
///
/// # Panics
///
/// Never: this package stands in a folder of the workspace.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Cargo's target folder, in which this benchmark was built.
///
/// # Panics
///
/// If this program is no benchmark that cargo built.
#[must_use]
pub fn target() -> PathBuf {
    // PROFILE/deps/PROGRAM
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

/// Builds the `evaluator` command for release; its path.
///
/// # Panics
///
/// If it cannot be built.
#[must_use]
pub fn evaluator() -> PathBuf {
    let target = target();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "-p", "evaluator-cli", "--target-dir"]);
    let status = cargo.arg(&target).current_dir(root()).status().unwrap();
    assert!(status.success(), "{cargo:?}: {status}");
    target.join("release/evaluator").with_extension(std::env::consts::EXE_EXTENSION)
}
