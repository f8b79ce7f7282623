//! The traces of all files, to be read one at a time.

use std::{
    collections::HashSet,
    fs::File,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    CHUNK, ReadError,
    catalog::{Catalog, Entry},
    file::{Indexed, index_file},
};
use crate::{
    json::Value,
    trace::{Format, LoadError, Trace},
};

/// Files that are kept open to be read again.
const OPEN_FILES: usize = 16;

/// The traces of some files, of which only those are in memory that are being used.
///
/// Files are walked through once, to see that they are sound and where each trace stands; [`TraceIndex::read`] reads
/// one. What is in memory grows with the number of spans, by some 60 bytes each, and not with their size. Files that
/// cannot be read twice (pipes), and those in rare shapes, are held in memory as [`load`](crate::trace::load) would.
#[derive(Debug, Default)]
pub struct TraceIndex {
    files: Vec<Indexed>,
    /// The file and the trace in it.
    traces: Vec<(u32, u32)>,
    /// One error per file that could not be loaded.
    pub errors: Vec<LoadError>,
    /// Files that could be read and have no trace.
    pub without_spans: Vec<PathBuf>,
    /// Whether it was told to stop before all files were walked through.
    pub stopped: bool,
    open: Mutex<Vec<(u32, File)>>,
}

/// What is known of the watched attributes of a trace without reading it.
#[derive(Debug)]
pub(crate) enum Seen<'a> {
    /// No span and no resource has any.
    Nothing,
    /// All spans that have some, or whose resource has some.
    Spans(Vec<SeenSpan<'a>>),
    /// Only reading the trace tells.
    Unsure,
}

/// The watched attributes of a span, by the number of their key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenSpan<'a> {
    /// Nanoseconds since the epoch.
    pub(crate) start: i64,
    pub(crate) attributes: &'a [(usize, Value)],
    pub(crate) resource: &'a [(usize, Value)],
}

impl TraceIndex {
    /// Walks through files in the order given. A file that is broken adds an error and the others go on.
    ///
    /// Without `format` the content of each file decides. Of the attributes in `watch` it is noted which spans have
    /// them. Ends early, with the files walked through so far, when `stop` says so.
    #[must_use]
    pub fn new(
        paths: &[PathBuf],
        format: Option<Format>,
        watch: &'static [&'static str],
        stop: &dyn Fn() -> bool,
    ) -> Self {
        Self::with_chunks(paths, format, watch, stop, CHUNK)
    }

    pub(super) fn with_chunks(
        paths: &[PathBuf],
        format: Option<Format>,
        watch: &'static [&'static str],
        stop: &dyn Fn() -> bool,
        chunk: usize,
    ) -> Self {
        let mut index = Self::default();
        for path in paths {
            if stop() {
                index.stopped = true;
                break;
            }
            match index_file(path, format, watch, chunk) {
                Ok(indexed) => {
                    let traces = match &indexed {
                        Indexed::Catalog(catalog) => catalog.traces.len(),
                        Indexed::Held(traces) => traces.len(),
                    };
                    if traces == 0 {
                        index.without_spans.push(path.clone());
                    }
                    let file = index.files.len() as u32;
                    index.traces.extend((0..traces as u32).map(|trace| (file, trace)));
                    index.files.push(indexed);
                }
                Err(error) => index.errors.push(error),
            }
        }
        index
    }

    /// The index of a walk for which nobody waited.
    pub(crate) fn given_up() -> Self {
        Self { stopped: true, ..Self::default() }
    }

    /// Number of traces.
    #[must_use]
    pub fn len(&self) -> usize {
        self.traces.len()
    }

    /// Whether there is no trace.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.traces.is_empty()
    }

    /// The normalized id of a trace; traces are in the order of the files, and within a file in the order of their
    /// first spans.
    ///
    /// # Panics
    ///
    /// `trace` is not below [`TraceIndex::len`].
    #[must_use]
    pub fn trace_id(&self, trace: usize) -> &Arc<str> {
        let (file, trace) = self.traces[trace];
        match &self.files[file as usize] {
            Indexed::Catalog(catalog) => &catalog.traces[trace as usize].id,
            Indexed::Held(traces) => &traces[trace as usize].trace_id,
        }
    }

    /// Whether a file is held in memory.
    #[cfg(test)]
    pub(super) fn is_held(&self) -> bool {
        self.files.iter().any(|file| matches!(file, Indexed::Held(_)))
    }

    /// How long the text of a trace is, in bytes; 0 when it is in memory already.
    pub(crate) fn size(&self, trace: usize) -> usize {
        let (file, trace) = self.traces[trace];
        match &self.files[file as usize] {
            Indexed::Catalog(catalog) => catalog.size(trace as usize),
            Indexed::Held(_) => 0,
        }
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
        let (file, trace) = self.traces[trace];
        match &self.files[file as usize] {
            Indexed::Held(traces) => Ok(Arc::clone(&traces[trace as usize])),
            Indexed::Catalog(catalog) => {
                let mut open = self.reuse(file);
                let read = catalog.read(trace as usize, &mut open);
                if let Some(open) = open {
                    self.keep(file, open);
                }
                read.map(Arc::new)
            }
        }
    }

    fn reuse(&self, file: u32) -> Option<File> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let place = open.iter().position(|(known, _)| *known == file)?;
        Some(open.swap_remove(place).1)
    }

    fn keep(&self, file: u32, opened: File) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() == OPEN_FILES {
            // The one that was left first.
            open.remove(0);
        }
        open.push((file, opened));
    }

    /// What is known of the watched attributes of a trace.
    pub(crate) fn seen(&self, trace: usize) -> Seen<'_> {
        let (file, trace) = self.traces[trace];
        match &self.files[file as usize] {
            Indexed::Catalog(catalog) => catalog.seen(trace as usize),
            Indexed::Held(_) => Seen::Unsure,
        }
    }
}

impl Catalog {
    fn size(&self, trace: usize) -> usize {
        let Entry { spans, logs, .. } = &self.traces[trace];
        let leaves = self.spans[spans.clone()].iter().chain(&self.logs[logs.clone()]);
        leaves.map(|leaf| leaf.place.length as usize).sum()
    }

    fn seen(&self, trace: usize) -> Seen<'_> {
        let spans = &self.spans[self.traces[trace].spans.clone()];
        let mut seen = Vec::new();
        for span in spans {
            let own = span.watched.map(|number| &self.watched[number as usize]);
            let resource = span.resource.map(|number| &self.resources[number as usize].watched);
            if own.is_some_and(|own| own.unsure) || resource.is_some_and(|shared| shared.unsure) {
                return Seen::Unsure;
            }
            let attributes = own.map(|own| own.values.as_slice()).unwrap_or_default();
            let resource = resource.map(|shared| shared.values.as_slice()).unwrap_or_default();
            if !attributes.is_empty() || !resource.is_empty() {
                seen.push(SeenSpan { start: span.start, attributes, resource });
            }
        }
        if seen.is_empty() {
            return Seen::Nothing;
        }
        // Of spans with the same id only the first counts.
        let mut ids: HashSet<u64> = HashSet::with_capacity(spans.len());
        if spans.iter().all(|span| ids.insert(span.span)) {
            Seen::Spans(seen)
        } else {
            Seen::Unsure
        }
    }
}
