//! The traces of all files, to be read one at a time.

use std::{
    fs::File,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    CHUNK, ReadError, Watch,
    catalog::{Catalog, Content, Mark},
    file::index_file,
    watch::{Sighting, Slot},
};
use crate::trace::{Format, LoadError, Trace};

/// Files that are kept open to be read again.
const OPEN_FILES: usize = 16;

/// The traces of some files, of which only those are in memory that are being used.
///
/// Files are walked through once, to see that they are sound and where each trace stands; [`TraceIndex::read`] reads
/// one. What is in memory grows with the number of traces, by some 80 bytes for a small one, and not with their size:
/// up to 64 KB of text of the same trace are one note of 24 bytes. Files that cannot be read in place (pipes, compressed
/// files) are copied to a temporary file. Those in rare shapes are held in memory as [`load`](crate::trace::load) would.
#[derive(Debug, Default)]
pub struct TraceIndex {
    catalog: Catalog,
    /// One error per file that could not be loaded, or only in part.
    pub errors: Vec<LoadError>,
    /// Whether it was told to stop before all files were walked through.
    pub stopped: bool,
    open: Mutex<Vec<(usize, File)>>,
}

/// What is known of the watched attributes of a trace without reading it.
#[derive(Debug)]
pub(crate) enum Seen<'a> {
    /// All that it has.
    Texts(SeenTexts<'a>),
    /// Only reading the trace tells.
    Unsure,
}

/// The texts of watched attributes, each of the earliest span of the trace that has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenTexts<'a>(&'a [Mark]);

impl SeenTexts<'_> {
    /// The number of the text of a key, on the spans themselves or on their resources.
    pub(crate) fn get(&self, key: usize, on_resource: bool) -> Option<u32> {
        let slot = Slot::new(key, on_resource);
        self.0.iter().find(|mark| mark.slot == slot).map(|mark| mark.text)
    }
}

impl TraceIndex {
    /// Walks through files in the order given. A file that is broken adds an error and the others go on.
    ///
    /// Without `format` the content of each file decides. Of the attributes in `watch` it is noted which traces have
    /// them. Ends early, with the files walked through so far, when `stop` says so.
    #[must_use]
    pub fn new(
        paths: impl IntoIterator<Item = PathBuf>,
        format: Option<Format>,
        watch: Watch,
        stop: &dyn Fn() -> bool,
    ) -> Self {
        Self::with_chunks(paths, format, watch, stop, CHUNK)
    }

    pub(super) fn with_chunks(
        paths: impl IntoIterator<Item = PathBuf>,
        format: Option<Format>,
        watch: Watch,
        stop: &dyn Fn() -> bool,
        chunk: usize,
    ) -> Self {
        let mut index = Self::default();
        for path in paths {
            if stop() {
                index.stopped = true;
                break;
            }
            match index_file(&path, format, watch, chunk, &mut index.catalog) {
                Ok((traces, left_out)) => {
                    index.errors.extend(LoadError::of_content(&path, traces, left_out));
                }
                Err(error) => index.errors.push(error),
            }
        }
        index.catalog.settle();
        index
    }

    /// The index of a walk for which nobody waited.
    pub fn given_up() -> Self {
        Self { stopped: true, ..Self::default() }
    }

    /// Number of traces.
    #[must_use]
    pub fn len(&self) -> usize {
        self.catalog.ids.len()
    }

    /// Whether there is no trace.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.catalog.ids.is_empty()
    }

    /// The normalized id of a trace; traces are in the order of the files, and within a file in the order of their
    /// first spans.
    ///
    /// # Panics
    ///
    /// `trace` is not below [`TraceIndex::len`].
    #[must_use]
    pub fn trace_id(&self, trace: usize) -> Arc<str> {
        self.catalog.id(trace)
    }

    /// The number of the text that is the id of a trace.
    pub(crate) fn trace_id_text(&self, trace: usize) -> u32 {
        self.catalog.ids[trace]
    }

    /// How many texts there are: ids of traces and watched attributes. Those that are the same have one number.
    pub(crate) fn texts(&self) -> usize {
        self.catalog.texts.len()
    }

    /// The number of a text.
    pub(crate) fn text(&self, text: &str) -> Option<u32> {
        self.catalog.texts.find(text)
    }

    /// Whether a file is held in memory.
    #[cfg(test)]
    pub(super) fn is_held(&self) -> bool {
        self.catalog.files.iter().any(|file| matches!(file.content, Content::Held(_)))
    }

    /// How many notes there are on the spans and logs of all traces.
    #[cfg(test)]
    pub(super) fn notes(&self) -> usize {
        (0..self.len()).map(|trace| self.catalog.runs(trace).len()).sum()
    }

    /// How long the text of a trace is, in bytes; 0 when it is in memory already.
    pub fn size(&self, trace: usize) -> usize {
        self.catalog.runs(trace).iter().map(|run| run.place().length as usize).sum()
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
        let (file, ..) = self.catalog.file(trace);
        let mut open = self.reuse(file);
        let read = self.catalog.read(trace, &mut open);
        if let Some(open) = open {
            self.keep(file, open);
        }
        read
    }

    fn reuse(&self, file: usize) -> Option<File> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let place = open.iter().position(|(known, _)| *known == file)?;
        Some(open.swap_remove(place).1)
    }

    fn keep(&self, file: usize, opened: File) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() == OPEN_FILES {
            // The one that was left first.
            open.remove(0);
        }
        open.push((file, opened));
    }

    /// What is known of the watched attributes of a trace.
    pub(crate) fn seen(&self, trace: usize) -> Seen<'_> {
        if matches!(self.catalog.file(trace), (_, Content::Held(_), _)) {
            return Seen::Unsure;
        }
        let marks = self.catalog.marks(trace);
        if marks.iter().any(|mark| mark.text == Sighting::UNSURE) {
            return Seen::Unsure;
        }
        Seen::Texts(SeenTexts(marks))
    }
}
