//! Where the files of a benchmark are.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// A folder that goes away, unless `BENCH_FOLDER` names one: that one stays, to look at what was measured.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    stays: bool,
}

impl Folder {
    /// Creates it, for a benchmark of that name.
    ///
    /// # Panics
    ///
    /// If it cannot be created.
    #[must_use]
    pub fn new(benchmark: &str) -> Self {
        let wanted = env::var_os("BENCH_FOLDER").map(PathBuf::from);
        let stays = wanted.is_some();
        let own = || env::temp_dir().join(format!("evaluator-{benchmark}-{}", std::process::id()));
        let path = wanted.unwrap_or_else(own);
        fs::create_dir_all(&path).unwrap();
        Self { path, stays }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file in it; its path.
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

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.stays {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
