//! Directory with the files of a benchmark.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use evaluator_test_support::TestDirectory;

/// A directory that is removed in the end, or the one that `BENCH_FOLDER` names, which is kept.
#[derive(Debug)]
pub struct BenchDirectory {
    path: PathBuf,
    _temporary: Option<TestDirectory>,
}

impl BenchDirectory {
    /// Creates it.
    ///
    /// # Panics
    ///
    /// If it cannot be created.
    #[expect(clippy::new_without_default, reason = "each one is another directory")]
    #[must_use]
    pub fn new() -> Self {
        if let Some(path) = env::var_os("BENCH_FOLDER").map(PathBuf::from) {
            fs::create_dir_all(&path).unwrap();
            return Self { path, _temporary: None };
        }
        let temporary = TestDirectory::new();
        Self { path: temporary.path().to_owned(), _temporary: Some(temporary) }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of a file in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file in it. Returns its path.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        fs::write(&path, text).unwrap();
        path
    }
}
