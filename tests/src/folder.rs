//! Folders of single tests.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use tempfile::{Builder, TempDir};

/// A folder that goes away.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// `name` becomes a part of its own.
    ///
    /// # Panics
    ///
    /// If it cannot be created.
    #[must_use]
    pub fn new(name: &str) -> Self {
        // Programs that say where they are have resolved links.
        let parent = env::temp_dir().canonicalize().unwrap();
        Self(Builder::new().prefix(&format!("evaluator-{name}-")).tempdir_in(parent).unwrap())
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file into it, with the folders that it needs; its path.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}
