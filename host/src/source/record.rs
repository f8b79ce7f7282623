//! What is known of a cached evaluator beside its files: where it came from, and what it was then.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use super::{ContentHash, SourceError, disk};

/// The record of one evaluator. While it is open, no other process or thread looks at that evaluator or fetches it.
///
/// Its file is the lock as well. A file that cannot be understood is one that says nothing.
#[derive(Debug)]
pub(super) struct Record {
    path: PathBuf,
    file: File,
    known: Option<Known>,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Content when it was fetched, or when it was first seen.
    pub(super) hash: ContentHash,
    /// Origin of the source; `None` when it was in the cache before anybody kept records.
    pub(super) origin: Option<String>,
}

impl Record {
    /// Waits until nobody else has it.
    pub(super) fn open(path: &Path) -> Result<Self, SourceError> {
        let mut file = disk::lock(path)?;
        let mut text = String::new();
        let known = file.read_to_string(&mut text).ok().and_then(|_| Known::parse(&text));
        Ok(Self { path: path.to_owned(), file, known })
    }

    /// What a record says, without waiting for those who have it.
    pub(super) fn peek(path: &Path) -> Option<Known> {
        Known::parse(&fs::read_to_string(path).ok()?)
    }

    pub(super) fn known(&self) -> Option<&Known> {
        self.known.as_ref()
    }

    pub(super) fn set(&mut self, known: Known) -> Result<(), SourceError> {
        let text = known.to_text();
        let written = self
            .file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)))
            .and_then(|_| self.file.write_all(text.as_bytes()))
            .and_then(|()| self.file.sync_all());
        written.map_err(|error| SourceError::disk("write", &self.path, &error))?;
        self.known = Some(known);
        Ok(())
    }
}

impl Known {
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let hash = ContentHash::parse(lines.next()?)?;
        Some(Self { hash, origin: lines.next().map(str::to_owned) })
    }

    fn to_text(&self) -> String {
        let origin = self.origin.as_ref().map(|origin| format!("{origin}\n")).unwrap_or_default();
        format!("{}\n{origin}", self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Folder;

    #[test]
    fn what_was_recorded_is_known_later_and_nonsense_says_nothing() {
        let folder = Folder::new("source");
        let path = folder.path("r");
        for origin in [Some("https://a.example/x".to_owned()), None] {
            let known = Known { hash: ContentHash::of(&[]), origin };
            Record::open(&path).unwrap().set(known.clone()).unwrap();
            assert_eq!(Record::open(&path).unwrap().known(), Some(&known));
        }
        folder.file("r", "sha256:no\n");
        assert_eq!(Record::open(&path).unwrap().known(), None);
    }
}
