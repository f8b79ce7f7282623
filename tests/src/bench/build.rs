//! The programs as people would have them.

use std::{
    env, io,
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
    env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

/// Builds the `evaluator` command for release; its path.
///
/// # Panics
///
/// If it cannot be built.
#[must_use]
pub fn evaluator() -> PathBuf {
    let target = target();
    let mut cargo = cargo(root());
    cargo.args(["build", "--release", "-p", "evaluator-cli", "--target-dir"]).arg(&target);
    let status = cargo.stdout(io::stderr()).status().unwrap();
    assert!(status.success(), "{cargo:?}: {status}");
    target.join("release/evaluator").with_extension(env::consts::EXE_EXTENSION)
}

/// Cargo in that folder, as a person would call it.
#[must_use]
pub fn cargo(folder: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(folder);
    clean(&mut command);
    command
}

/// Takes from a command what says that it is a child of the cargo that runs this: build scripts ask for such variables, and all
/// that depends on them would be built anew, now and when a person builds next.
pub fn clean(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let kept = ["CARGO_HOME", "CARGO_NET_OFFLINE", "RUSTUP_HOME"].contains(&&*text);
        if (text.starts_with("CARGO") || text.starts_with("RUST")) && !kept {
            command.env_remove(name);
        }
    }
}
