//! The index of a source far away, kept for a day.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use super::{disk, hash::sha256, index};
use crate::runtime::Environment;

/// How long an index is good for; agentevals keeps its lists as long.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The kept index of one origin.
#[derive(Clone, Debug)]
pub(super) struct IndexCache {
    path: PathBuf,
}

impl IndexCache {
    /// `None` where there is no home folder to keep it in.
    pub(super) fn new(environment: &Environment, origin: &str) -> Option<Self> {
        let name = format!("{}.yaml", &sha256(origin.as_bytes())[..16]);
        Some(Self { path: disk::cache_home(environment)?.join("index").join(name) })
    }

    /// The text, and whether it is young enough. A file from the future is not.
    ///
    /// What cannot be read is as good as not there: the index is then fetched.
    pub(super) fn read(&self) -> Option<(Vec<u8>, bool)> {
        let bytes = disk::read(&self.path, index::MAX_BYTES).ok().flatten()?;
        let written = fs::metadata(&self.path).and_then(|meta| meta.modified()).ok()?;
        let young = SystemTime::now().duration_since(written).is_ok_and(|age| age < LIFETIME);
        Some((bytes, young))
    }

    /// Keeps it. Where that fails it is fetched again next time, and nothing else is different.
    pub(super) fn keep(&self, bytes: &[u8]) {
        if let Some(folder) = self.path.parent() {
            let _ = disk::make_private(folder).and_then(|()| disk::write(&self.path, bytes));
        }
    }
}
