//! Directories of single tests, named after them.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// A directory of one test, removed on drop.
#[derive(Debug)]
pub struct Directory(TempDir);

impl Directory {
    /// Creates an empty directory; `name` becomes a part of its name.
    pub fn new(name: &str) -> Self {
        // Programs resolve links.
        let parent = env::temp_dir().canonicalize().unwrap();
        let prefix = format!("evaluator-{name}-");
        Self(tempfile::Builder::new().prefix(&prefix).tempdir_in(parent).unwrap())
    }

    /// Path of an entry.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(relative)
    }

    /// Writes a file and the directories above it.
    pub fn file(&self, relative: &str, text: &str) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// An executable file that does nothing.
    #[cfg(unix)]
    pub fn program(&self, relative: &str) -> PathBuf {
        self.script(relative, "")
    }

    /// An executable shell script.
    #[cfg(unix)]
    pub fn script(&self, relative: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.file(relative, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}
