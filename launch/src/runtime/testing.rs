//! Folders and files for tests.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::PrepareEvent;

/// A folder of one test, removed in the end.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// `name` becomes a part of its own.
    pub fn new(name: &str) -> Self {
        // Those who are told of it resolve links.
        let parent = env::temp_dir().canonicalize().unwrap();
        let prefix = format!("evaluator-{name}-");
        Self(tempfile::Builder::new().prefix(&prefix).tempdir_in(parent).unwrap())
    }

    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(relative)
    }

    /// A file with this text, its folders included.
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

/// For calls whose events do not matter.
pub fn no_events(_: PrepareEvent) {}
