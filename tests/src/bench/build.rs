//! Builds the programs to measure, as a user builds them.

use std::{
    env, io,
    path::{Path, PathBuf},
    process::Command,
};

/// The root of the workspace.
///
/// # Panics
///
/// Never: this package is in a directory of the workspace.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Cargo's target directory, in which this benchmark was built.
///
/// # Panics
///
/// If this program is not a benchmark that cargo built.
#[must_use]
pub fn target() -> PathBuf {
    // PROFILE/deps/PROGRAM
    env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

/// Builds the `evaluator` command for release, or as this benchmark if that has debug assertions; its path.
///
/// # Panics
///
/// If it cannot be built.
#[must_use]
pub fn evaluator() -> PathBuf {
    let target = target();
    let mut cargo = cargo(root());
    let (profile, place) =
        if cfg!(debug_assertions) { ("dev", "debug") } else { ("release", "release") };
    cargo.args(["build", "--profile", profile, "-p", "evaluator-cli", "--target-dir"]).arg(&target);
    let status = cargo.stdout(io::stderr()).status().unwrap();
    assert!(status.success(), "{cargo:?}: {status}");
    target.join(place).join("evaluator").with_extension(env::consts::EXE_EXTENSION)
}

/// Returns a cargo command for a directory, with the environment of a shell.
#[must_use]
pub fn cargo(directory: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(directory);
    clean(&mut command);
    command
}

/// Removes the variables that cargo has set for this process from a command: build scripts read some of them, and cargo would
/// compile what depends on them again, now and in the next build from a shell.
pub fn clean(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let kept =
            ["CARGO_HOME", "CARGO_INCREMENTAL", "CARGO_NET_OFFLINE", "RUSTUP_HOME", "RUSTFLAGS"]
                .contains(&&*text);
        if (text.starts_with("CARGO") || text.starts_with("RUST")) && !kept {
            command.env_remove(name);
        }
    }
}
