//! Whether a file still is what it was, without reading it.

use std::{
    fs::Metadata,
    time::{SystemTime, UNIX_EPOCH},
};

/// What changes when somebody writes to a file or puts another in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub length: u64,
    /// Nanoseconds since the epoch; 0 where nobody knows.
    pub modified: u128,
    /// Where it is on the disk; 0 where nobody knows.
    node: u64,
}

impl Stamp {
    pub fn of(metadata: &Metadata) -> Self {
        let since_epoch = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let modified = metadata.modified().ok().and_then(since_epoch);
        Self {
            length: metadata.len(),
            modified: modified.map_or(0, |modified| modified.as_nanos()),
            node: node(metadata),
        }
    }
}

#[cfg(unix)]
fn node(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn node(_: &Metadata) -> u64 {
    0
}
