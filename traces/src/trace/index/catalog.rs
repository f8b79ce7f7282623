//! The notes on all files, sorted into traces, and the way back from notes to a trace.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    mem,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use indexmap::IndexSet;
use tempfile::TempPath;

use super::{
    grammar::Grammar,
    interner::Interner,
    reader::{Problem, Reader},
    records::{
        FileRecords, Location, Origin, RecordRange, Records, move_behind, number, too_many_names,
    },
    scan::Scanned,
    tracked::{Occurrence, TrackedName, TrackedNames},
};
use crate::trace::{
    decoded::{self, Decoded},
    error::LoadErrorKind,
    inputs::FileStamp,
    model::{Scope, Trace},
    unusable::UnusableParts,
};

/// Maximum number of bytes between two locations that are read in one piece, which is faster than to read twice.
const GAP: u64 = 4096;
/// Bytes that are read at a time if traces are read in the order of the file.
const WINDOW: u64 = 64 << 10;
/// Not the number of a trace.
const NONE: u32 = u32::MAX;

/// The positions of all traces in their files.
///
/// There may be millions of traces, so there is no allocation per trace, nor per file without warnings.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    /// Files that have traces.
    pub(super) files: Vec<IndexedFile>,
    /// The number of the id of each trace. Traces are in the order of the files, and within a file of their first spans.
    pub(super) ids: Vec<u32>,
    /// Trace by trace: first the spans and then the logs, each in the order in which they are decoded.
    ranges: Vec<RecordRange>,
    origins: Vec<Origin>,
    pub(super) scopes: IndexSet<Arc<Scope>>,
    /// Trace by trace.
    tracked: Vec<TrackedName>,
    pub(super) names: Interner,
    /// Buffer for numbering the traces of a file: the number of a trace by that of its id.
    numbers: Vec<u32>,
}

/// A file with traces.
#[derive(Debug)]
pub(super) struct IndexedFile {
    /// The number of its first trace.
    first: u32,
    pub(super) content: Content,
}

/// The content of a file.
#[derive(Debug)]
pub(super) enum Content {
    OnDisk(FileOnDisk),
    InMemory(Box<[Arc<Trace>]>),
}

/// A file whose traces are read when they are needed.
#[derive(Debug)]
pub(super) struct FileOnDisk {
    /// The path as given.
    pub(super) path: Box<Path>,
    /// The copy that is read instead of it, removed with the catalog.
    pub(super) copy: Option<TempPath>,
    pub(super) stamp: FileStamp,
    pub(super) grammar: Grammar,
    /// Warnings of every trace.
    pub(super) warnings: Box<[String]>,
}

/// A file that is open, and the part of it that was read last.
#[derive(Debug)]
pub(super) struct OpenFile {
    file: File,
    start: u64,
    bytes: Vec<u8>,
}

impl OpenFile {
    fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, start: 0, bytes: Vec::new() })
    }

    /// Returns true if the byte at this offset was read last, or follows what was read last.
    pub(super) fn is_at(&self, offset: u64) -> bool {
        !self.bytes.is_empty()
            && (self.start..=self.start + self.bytes.len() as u64 + GAP).contains(&offset)
    }

    /// Reads bytes into the buffer unless they are in it, and with them those that follow if the order of reading is that
    /// of the file.
    fn fill(&mut self, (start, end): (u64, u64)) -> io::Result<()> {
        if start >= self.start && end <= self.start + self.bytes.len() as u64 {
            return Ok(());
        }
        let length = if self.is_at(start) { WINDOW } else { end - start };
        // Nothing of it may be used if reading fails in the middle.
        let mut bytes = mem::take(&mut self.bytes);
        bytes.clear();
        self.file.seek(SeekFrom::Start(start))?;
        (&self.file).take(length).read_to_end(&mut bytes)?;
        (self.start, self.bytes) = (start, bytes);
        Ok(())
    }

    /// Returns bytes that are in the buffer.
    fn part(&self, (start, end): (u64, u64)) -> Result<&[u8], Problem> {
        let range = (start - self.start) as usize..(end - self.start) as usize;
        self.bytes.get(range).ok_or(Problem::Changed)
    }

    /// Returns bytes of the file without the buffer.
    fn read(&self, (start, end): (u64, u64)) -> Result<Vec<u8>, Problem> {
        let length = usize::try_from(end - start).map_err(|_| Problem::Changed)?;
        let mut bytes = Vec::with_capacity(length);
        (&self.file).seek(SeekFrom::Start(start))?;
        (&self.file).take(end - start).read_to_end(&mut bytes)?;
        if bytes.len() < length { Err(Problem::Changed) } else { Ok(bytes) }
    }
}

impl Catalog {
    /// Adds the notes on a file. Returns the number of its traces, and the unusable parts.
    pub(super) fn add(
        &mut self,
        path: &Path,
        stamp: FileStamp,
        scanned: Scanned,
    ) -> Result<(usize, UnusableParts), LoadErrorKind> {
        let Scanned { grammar, mut records, mut origins, lone_surrogates, .. } = scanned;
        let unusable = records.take_unusable();
        let FileRecords { spans, mut logs } = records;
        let Records { mut ranges, span_ids, mut occurrences, mut warnings, .. } = spans;
        warnings.append(&mut logs.warnings);
        // Before anything is changed.
        number(self.ids.len() + ranges.len())?;
        number(self.origins.len() + origins.len())?;
        let (first, origins_before) = (self.ids.len(), self.origins.len() as u32);

        self.numbers.resize(self.names.len(), NONE);
        for range in &ranges {
            let number = &mut self.numbers[range.trace as usize];
            if *number == NONE {
                *number = self.ids.len() as u32;
                self.ids.push(range.trace);
            }
        }
        // Logs of a trace without spans in this file do not belong to anything.
        logs.ranges.retain(|log| self.numbers[log.trace as usize] != NONE);
        move_behind(&mut ranges, &mut logs.ranges);
        for range in &mut ranges {
            range.trace = self.numbers[range.trace as usize];
            range.shift_origin(origins_before);
        }
        for occurrence in &mut occurrences {
            occurrence.trace = self.numbers[occurrence.trace as usize];
        }
        for id in &self.ids[first..] {
            self.numbers[*id as usize] = NONE;
        }
        forget_repeated_spans(&ranges, span_ids, &mut occurrences, first..self.ids.len());
        if !ranges.is_sorted_by_key(|range| range.trace) {
            // Stable: within a trace the order stays.
            ranges.sort_by_key(|range| range.trace);
        }
        Occurrence::merge_all(&mut occurrences);
        let tracked = |Occurrence { trace, name, slot, .. }| TrackedName { trace, name, slot };
        self.tracked.extend(occurrences.into_iter().map(tracked));
        move_behind(&mut self.ranges, &mut ranges);
        move_behind(&mut self.origins, &mut origins);
        let warnings = decoded::file_warnings(warnings, lone_surrogates).into();
        let file = FileOnDisk { path: path.into(), copy: None, stamp, grammar, warnings };
        Ok((self.add_file(first, Content::OnDisk(file)), unusable))
    }

    /// Keeps the copy from which the file that was added last is read.
    pub(super) fn keep_copy(&mut self, file: Option<TempPath>) {
        if let Some(IndexedFile { content: Content::OnDisk(last), .. }) = self.files.last_mut() {
            last.copy = file;
        }
    }

    /// Adds the traces of a file that stay in memory. Returns their number.
    pub(super) fn hold(&mut self, traces: Vec<Trace>) -> Result<usize, LoadErrorKind> {
        let first = self.ids.len();
        let ids: Option<Vec<u32>> =
            traces.iter().map(|trace| self.names.add(&trace.trace_id)).collect();
        self.ids.extend(ids.ok_or_else(too_many_names)?);
        let traces = traces.into_iter().map(Arc::new).collect();
        Ok(self.add_file(first, Content::InMemory(traces)))
    }

    fn add_file(&mut self, first: usize, content: Content) -> usize {
        let traces = self.ids.len() - first;
        if traces > 0 {
            self.files.push(IndexedFile { first: first as u32, content });
        }
        traces
    }

    /// Releases memory that is needed only while files are added. The lists are not shrunk: that would copy them, and
    /// reserved memory that was never written to is not used.
    pub(super) fn finish(&mut self) {
        self.numbers = Vec::new();
    }

    /// Forgets the names of conversations, and keeps the ids of traces.
    pub(super) fn end_grouping(&mut self) {
        self.tracked = Vec::new();
        self.names.keep(&mut self.ids);
    }

    /// Returns the id of a trace.
    pub(super) fn id(&self, trace: usize) -> Arc<str> {
        match self.file(trace) {
            (_, Content::InMemory(traces), number) => Arc::clone(&traces[number].trace_id),
            _ => self.names.get(self.ids[trace]).into(),
        }
    }

    /// Returns the file of a trace: its number, its content, and the number of the trace in it.
    pub(super) fn file(&self, trace: usize) -> (usize, &Content, usize) {
        let file = self.files.partition_point(|file| file.first as usize <= trace) - 1;
        let IndexedFile { first, content } = &self.files[file];
        (file, content, trace - *first as usize)
    }

    /// Returns the offset of the first span of a trace.
    pub(super) fn offset(&self, trace: usize) -> u64 {
        self.ranges(trace).first().map_or(0, |range| range.location().offset)
    }

    /// Returns the spans of a trace and then its logs.
    pub(super) fn ranges(&self, trace: usize) -> &[RecordRange] {
        of_trace(&self.ranges, trace, |range| range.trace)
    }

    /// Returns the names of a trace; `None` if only reading the trace tells.
    pub(super) fn tracked(&self, trace: usize) -> Option<TrackedNames<'_>> {
        let names = of_trace(&self.tracked, trace, |tracked| tracked.trace);
        let is_known = matches!(self.file(trace), (_, Content::OnDisk(_), _))
            && names.iter().all(|tracked| tracked.name != Occurrence::UNKNOWN);
        is_known.then_some(TrackedNames(names))
    }

    /// Reads a trace with the open file, if there is one, and leaves the open file for the next.
    pub(super) fn read(
        &self,
        trace: usize,
        open: &mut Option<OpenFile>,
    ) -> Result<Arc<Trace>, ReadError> {
        match self.file(trace) {
            (_, Content::InMemory(traces), number) => Ok(Arc::clone(&traces[number])),
            (_, Content::OnDisk(file), _) => {
                let decoded = self.decode(trace, file, open).map_err(|problem| match problem {
                    Problem::Read(error) => {
                        ReadError::Read { path: file.path.to_path_buf(), error }
                    }
                    Problem::Changed => ReadError::Changed { path: file.path.to_path_buf() },
                })?;
                Ok(Arc::new(decoded.into_trace(self.id(trace), file.warnings.to_vec())))
            }
        }
    }

    /// Decodes the spans and logs of a trace.
    fn decode(
        &self,
        trace: usize,
        file: &FileOnDisk,
        open: &mut Option<OpenFile>,
    ) -> Result<Decoded, Problem> {
        let ranges = self.ranges(trace);
        let (spans, logs) = ranges.split_at(ranges.partition_point(|range| !range.are_logs()));
        // A file that has changed is not kept open.
        let mut opened = match open.take() {
            Some(opened) => opened,
            None => OpenFile::new(file.copy.as_deref().unwrap_or(&file.path))?,
        };
        let extents = self.extents(ranges);
        let mut unbuffered = Vec::new();
        match extents.as_slice() {
            [extent] if extent.1 - extent.0 <= WINDOW => opened.fill(*extent)?,
            _ => {
                unbuffered = extents.iter().map(|it| opened.read(*it)).collect::<Result<_, _>>()?;
            }
        }
        // After reading, so that it is about the bytes that were read.
        if FileStamp::of(&opened.file.metadata()?) != file.stamp {
            return Err(Problem::Changed);
        }
        let piece = |(number, extent): (usize, &(u64, u64))| {
            let buffered = || opened.part(*extent);
            Ok((extent.0, unbuffered.get(number).map_or_else(buffered, |bytes| Ok(bytes))?))
        };
        let pieces: Result<Vec<(u64, &[u8])>, Problem> =
            extents.iter().enumerate().map(piece).collect();
        let reader = Reader { scopes: &self.scopes, origins: &self.origins, pieces: pieces? };

        let mut out = Decoded::new(&file.path);
        reader.decode(file.grammar, (spans, logs), &mut out)?;
        let id = self.id(trace);
        let count = |ranges: &[RecordRange]| -> usize {
            ranges.iter().map(|range| range.count as usize).sum()
        };
        let is_same = out.spans.len() == count(spans)
            && out.logs.len() == count(logs)
            && out.spans.iter().all(|span| span.trace_id == id)
            && out.logs.iter().all(|log| log.trace_id == id);
        if !is_same {
            return Err(Problem::Changed);
        }
        *open = Some(opened);
        Ok(out)
    }

    /// Returns the parts of the file that contain the text of ranges and of their resources.
    fn extents(&self, ranges: &[RecordRange]) -> Vec<(u64, u64)> {
        let resources =
            ranges.iter().filter_map(|range| range.origin_in(&self.origins)?.resource());
        let mut locations: Vec<Location> =
            ranges.iter().map(RecordRange::location).chain(resources).collect();
        locations.sort_unstable_by_key(|location| location.offset);
        let mut extents: Vec<(u64, u64)> = Vec::new();
        for location in locations {
            match extents.last_mut() {
                Some((_, end)) if location.offset <= *end + GAP => *end = location.end().max(*end),
                _ => extents.push((location.offset, location.end())),
            }
        }
        extents
    }
}

/// Returns the part of a list, which is sorted by trace, that is about a trace.
fn of_trace<T>(list: &[T], trace: usize, key: impl Fn(&T) -> u32) -> &[T] {
    let start = list.partition_point(|item| (key(item) as usize) < trace);
    let rest = &list[start..];
    &rest[..rest.iter().take_while(|item| key(item) as usize == trace).count()]
}

/// Makes the names of traces with a repeated span id unknown: only the first span of an id counts.
fn forget_repeated_spans(
    ranges: &[RecordRange],
    span_ids: Vec<u32>,
    occurrences: &mut Vec<Occurrence>,
    traces: Range<usize>,
) {
    if occurrences.is_empty() {
        return;
    }
    let mut is_seen = vec![false; traces.len()];
    for occurrence in &*occurrences {
        is_seen[occurrence.trace as usize - traces.start] = true;
    }
    let spans = ranges.iter().filter(|range| !range.are_logs());
    let of_trace = spans.flat_map(|range| (0..range.count).map(|_| range.trace));
    let mut spans: Vec<(u32, u32)> = of_trace
        .zip(span_ids)
        .filter(|(trace, _)| is_seen[*trace as usize - traces.start])
        .collect();
    spans.sort_unstable();
    for pair in spans.windows(2) {
        if pair[0] == pair[1] {
            Occurrence::unknown(pair[0].0).add_to(occurrences);
        }
    }
}

/// A trace cannot be read, although its file could be used when it was scanned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read any more.
    #[error("cannot read '{}' again: {error}", path.display())]
    Read {
        /// The file, as it was given.
        path: PathBuf,
        /// The reason.
        #[source]
        error: io::Error,
    },
    /// The file was written or replaced.
    #[error("'{}' changed while it was evaluated; run again when nothing writes to it", path.display())]
    Changed {
        /// The file, as it was given.
        path: PathBuf,
    },
}
