//! Temporary directories of single tests.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::{Builder, TempDir};

use crate::{Output, run};

/// A directory that is removed when it is dropped.
#[derive(Debug)]
pub struct TestDirectory(TempDir);

impl TestDirectory {
    /// Creates an empty directory. Its path has no symbolic links, because programs report resolved paths.
    #[expect(clippy::new_without_default, reason = "each one is another directory")]
    pub fn new() -> Self {
        let parent = env::temp_dir().canonicalize().unwrap();
        Self(Builder::new().prefix("evaluator-test-").tempdir_in(parent).unwrap())
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Path of an entry of the directory, which need not exist.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file and the directories above it. Returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes an executable file. Returns its path.
    #[cfg(unix)]
    pub fn executable(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.file(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Writes an executable shell script. Returns its path.
    #[cfg(unix)]
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        self.executable(name, format!("#!/bin/sh\n{text}\n"))
    }

    /// Runs a line of shell in the directory.
    #[track_caller]
    pub fn sh(&self, line: &str) -> Output {
        run(Command::new("sh").args(["-c", line]).current_dir(self.path()))
    }

    /// Creates a named pipe. Returns its path.
    #[cfg(unix)]
    pub fn pipe(&self, name: &str) -> PathBuf {
        let path = self.join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    /// Content of a text file.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        let path = self.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}
