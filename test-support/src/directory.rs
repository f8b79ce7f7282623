//! Temporary directories of single tests.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use tempfile::{Builder, TempDir};

use crate::{Output, run};

/// Directories of this process, with their locks, by the directories above them.
static HELD: Mutex<BTreeMap<PathBuf, (PathBuf, File)>> = Mutex::new(BTreeMap::new());

/// Returns a directory below `base` that no other process uses as long as this one runs: the first of `0`, `1`, .. that is
/// free. For what is cached by its path: the path is the same in each run of the tests, unless several run at a time.
pub fn unshared(base: &Path) -> PathBuf {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((directory, _)) = held.get(base) {
        return directory.clone();
    }
    fs::create_dir_all(base).unwrap();
    let lock = |number: u32| {
        let path = base.join(format!("{number}.lock"));
        let file = File::options().create(true).append(true).open(path).unwrap();
        file.try_lock().is_ok().then_some((number, file))
    };
    let (number, file) = (0..).find_map(lock).unwrap();
    let directory = base.join(number.to_string());
    fs::create_dir_all(&directory).unwrap();
    held.insert(base.to_owned(), (directory.clone(), file));
    directory
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_another_process_uses_is_passed_over() {
        let base = TestDirectory::new();
        let other = File::create(base.join("0.lock")).unwrap();
        other.lock().unwrap();
        let own = unshared(base.path());
        assert_eq!(own, base.join("1"));
        drop(other);
        assert_eq!(unshared(base.path()), own, "it stays the same in this process");
    }
}
