//! Folders and files for tests.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::PrepareEvent;

/// A folder of this test process, removed in the end.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// `name` must be unique among the tests.
    pub(crate) fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("evaluator-runtime-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.0.join(relative)
    }

    /// A file with this text, its folders included.
    pub(crate) fn file(&self, relative: &str, text: &str) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// An executable file that does nothing.
    #[cfg(unix)]
    pub(crate) fn program(&self, relative: &str) -> PathBuf {
        self.script(relative, "")
    }

    /// An executable shell script.
    #[cfg(unix)]
    pub(crate) fn script(&self, relative: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.file(relative, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// For calls whose events do not matter.
pub(crate) fn no_events(_: PrepareEvent) {}
