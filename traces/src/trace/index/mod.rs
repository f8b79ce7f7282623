//! An index of the spans of trace files, from which one trace at a time is read.
//!
//! A file is scanned once, without holding it: its text is checked with the errors that the parser would give, and the
//! positions of its spans and log records are noted. The same scan, of a text in memory, loads a whole file.

mod catalog;
mod decode;
mod file;
pub(super) mod grammar;
mod input;
mod interner;
mod reader;
pub(super) mod records;
mod root;
mod scan;
pub(super) mod tracked;

#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

pub use catalog::ReadError;
pub(super) use decode::decode;
pub(super) use grammar::{Expected, Grammar};
pub use tracked::TrackedAttributes;
pub(crate) use tracked::TrackedNames;

use self::{
    catalog::{Catalog, Content, OpenFile},
    file::index_file,
};
use super::{error::LoadError, model::Trace, registry::TraceFormats};

/// Bytes that are read at a time.
const CHUNK: usize = 256 << 10;
/// Maximum number of files that are kept open between reads.
const OPEN_FILES: usize = 16;

/// The traces of some files, of which only those in use are in memory.
///
/// Each file is scanned once, to check it and to note the positions of its spans; [`TraceIndex::read`] reads a trace.
/// Memory grows with the number of traces, by some 65 bytes for a small one, and not with the size of the files: up to
/// 64 KB of consecutive text of one trace are one note of 24 bytes. Inputs that cannot be read in place (pipes, compressed
/// files) are copied to a temporary file. Files of formats of other crates are held in memory.
#[derive(Debug, Default)]
pub struct TraceIndex {
    catalog: Catalog,
    /// One error per file that could not be loaded, or only in part.
    pub errors: Vec<LoadError>,
    /// Whether the scan was stopped before the last file.
    pub stopped: bool,
    open: Mutex<Vec<(usize, OpenFile)>>,
}

impl TraceIndex {
    /// Scans files in the order given. A file that cannot be used adds an error, and the others are still scanned.
    ///
    /// The names of conversations are noted for the attributes `tracked`. The scan stops before the next file when `stop`
    /// returns true.
    pub fn new(
        paths: impl IntoIterator<Item = PathBuf>,
        formats: &TraceFormats,
        tracked: TrackedAttributes,
        stop: &dyn Fn() -> bool,
    ) -> Self {
        Self::with_chunks(paths, formats, tracked, stop, CHUNK)
    }

    fn with_chunks(
        paths: impl IntoIterator<Item = PathBuf>,
        formats: &TraceFormats,
        tracked: TrackedAttributes,
        stop: &dyn Fn() -> bool,
        chunk: usize,
    ) -> Self {
        let mut index = Self::default();
        for path in paths {
            if stop() {
                index.stopped = true;
                break;
            }
            match index_file(&path, formats, tracked, chunk, &mut index.catalog) {
                Ok((traces, unusable)) => {
                    index.errors.extend(LoadError::of_content(&path, traces, unusable));
                }
                Err(error) => index.errors.push(error),
            }
        }
        index.catalog.finish();
        index
    }

    /// Returns the index of a scan whose result was not awaited.
    #[doc(hidden)]
    pub fn abandoned() -> Self {
        Self { stopped: true, ..Self::default() }
    }

    /// Returns the number of traces.
    pub fn len(&self) -> usize {
        self.catalog.ids.len()
    }

    /// Returns true if there are no traces.
    pub fn is_empty(&self) -> bool {
        self.catalog.ids.is_empty()
    }

    /// Returns the normalized id of a trace. Traces are in the order of the files, and within a file in the order of their
    /// first spans.
    ///
    /// # Panics
    ///
    /// `trace` is not below [`TraceIndex::len`].
    pub fn trace_id(&self, trace: usize) -> Arc<str> {
        self.catalog.id(trace)
    }

    /// Returns the file of a trace, as it was given.
    ///
    /// # Panics
    ///
    /// `trace` is not below [`TraceIndex::len`].
    pub fn file(&self, trace: usize) -> &Path {
        match self.catalog.file(trace) {
            (_, Content::OnDisk(file), _) => &file.path,
            (_, Content::InMemory(traces), number) => &traces[number].file,
        }
    }

    /// Returns the number of the name that is the id of a trace.
    pub(crate) fn id_number(&self, trace: usize) -> u32 {
        self.catalog.ids[trace]
    }

    /// Returns how many names there are: ids of traces and values of tracked attributes, each once.
    pub(crate) fn names(&self) -> usize {
        self.catalog.names.len()
    }

    /// Returns the number of a name.
    pub(crate) fn name_number(&self, name: &str) -> Option<u32> {
        self.catalog.names.find(name)
    }

    /// Frees what [`group_indexed`](crate::conversation::group_indexed) alone needs. The traces are not grouped again.
    #[doc(hidden)]
    pub fn end_grouping(&mut self) {
        self.catalog.end_grouping();
    }

    /// Returns the names that the tracked attributes of a trace have, or `None` if only reading the trace tells.
    pub(crate) fn tracked(&self, trace: usize) -> Option<TrackedNames<'_>> {
        self.catalog.tracked(trace)
    }

    /// Returns the length of the text of a trace in bytes; 0 if the trace is in memory.
    #[doc(hidden)]
    pub fn size(&self, trace: usize) -> usize {
        self.catalog.ranges(trace).iter().map(|range| range.location().length as usize).sum()
    }

    /// Reads a trace. Can be called from several threads.
    ///
    /// # Errors
    ///
    /// The file cannot be read any more, or has changed.
    ///
    /// # Panics
    ///
    /// `trace` is not below [`TraceIndex::len`].
    pub fn read(&self, trace: usize) -> Result<Arc<Trace>, ReadError> {
        let lock = || self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, ..) = self.catalog.file(trace);
        let mut file = None;
        {
            let mut open = lock();
            let offset = self.catalog.offset(trace);
            let any = || open.iter().position(|(known, _)| *known == number);
            let best = open.iter().position(|(known, it)| *known == number && it.is_at(offset));
            if let Some(at) = best.or_else(any) {
                file = Some(open.swap_remove(at).1);
            }
        }
        let read = self.catalog.read(trace, &mut file);
        if let Some(file) = file {
            let mut open = lock();
            if open.len() == OPEN_FILES {
                open.remove(0);
            }
            open.push((number, file));
        }
        read
    }

    /// Returns true if a file is held in memory.
    #[cfg(test)]
    fn is_held(&self) -> bool {
        self.catalog.files.iter().any(|file| matches!(file.content, Content::InMemory(_)))
    }

    /// Returns the number of notes on the spans and logs of all traces.
    #[cfg(test)]
    fn notes(&self) -> usize {
        (0..self.len()).map(|trace| self.catalog.ranges(trace).len()).sum()
    }
}
