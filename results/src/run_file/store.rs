//! The bytes of a run file: in memory, in a temporary file, or in a file that was named.
//!
//! Lines are added to a buffer. A temporary file takes the buffer as a whole when it is full; a named file takes it
//! before anything is reported about its lines. If writing fails, the buffer grows instead, so no line is lost.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use evaluator_traces::trace::FileStamp;
use serde::Serialize;

use super::format::{self, START};

/// Bytes of the file that are read at a time, and the number of them before the requested line: lines are in
/// the order in which conversations finish, so the next one may be a little before this one.
const WINDOW: u64 = 64 << 10;
const BEFORE: u64 = 16 << 10;

/// Position of a line without its line end, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) length: u64,
}

/// Lines, each at the position that it was given.
#[derive(Debug, Default)]
pub(crate) struct Store {
    /// Bytes of the buffer from which on it goes to a temporary file.
    memory: usize,
    /// Without a name if it is temporary, so that the system deletes it at any kind of exit of this process.
    file: Option<Mutex<File>>,
    /// A file that is opened when it is read: there may be more files than may be open.
    closed: Option<Box<Closed>>,
    is_named: bool,
    /// Bytes in the file. Anything after them is part of a line that is still in the buffer.
    in_file: u64,
    buffer: Vec<u8>,
    /// Whether writing failed, so the file is not written any more.
    stuck: bool,
}

/// A file that must not change until it is read.
#[derive(Debug)]
struct Closed {
    path: PathBuf,
    stamp: FileStamp,
}

impl Closed {
    fn open(&self) -> io::Result<File> {
        let file = File::open(&self.path)?;
        if FileStamp::of(&file.metadata()?) != self.stamp {
            let path = self.path.display();
            return Err(io::Error::other(format!("{path} has changed since it was read")));
        }
        Ok(file)
    }
}

impl Store {
    /// A store that keeps at most this number of bytes in memory, and the line that is being added.
    pub(crate) fn new(memory: usize) -> Self {
        Self { memory, ..Self::default() }
    }

    /// A store that continues a file at this position.
    pub(super) fn named(file: File, in_file: u64) -> Self {
        Self { file: Some(Mutex::new(file)), is_named: true, in_file, ..Self::default() }
    }

    /// A file that is only read, and opened for that.
    ///
    /// # Errors
    ///
    /// There is no such file.
    pub(super) fn closed(path: &Path) -> io::Result<Self> {
        let stamp = FileStamp::of(&fs::metadata(path)?);
        let (in_file, path) = (stamp.length, path.to_owned());
        let closed = Some(Box::new(Closed { path, stamp }));
        Ok(Self { closed, is_named: true, in_file, ..Self::default() })
    }

    /// A temporary file of this number of bytes, for lines that are [`put`](Self::put) in any order.
    ///
    /// # Errors
    ///
    /// The file cannot be created.
    pub(crate) fn with_length(in_file: u64) -> io::Result<Self> {
        let file = tempfile::tempfile()?;
        file.set_len(in_file)?;
        Ok(Self { file: Some(Mutex::new(file)), in_file, ..Self::default() })
    }

    /// Writes a line to its position in the file.
    ///
    /// # Errors
    ///
    /// Writing fails.
    pub(crate) fn put(&mut self, start: u64, line: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Err(damaged()) };
        let file = file.get_mut().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))?;
        file.write_all(line)
    }

    /// Adds the line of a record.
    ///
    /// # Errors
    ///
    /// The record cannot be serialized.
    pub(crate) fn add(&mut self, kind: &str, record: &impl Serialize) -> io::Result<Span> {
        let start = self.buffer.len();
        format::write_line(&mut self.buffer, kind, record)?;
        let length = (self.buffer.len() - start - 1) as u64;
        Ok(Span { start: self.in_file + start as u64, length })
    }

    /// Writes the buffer to the named file, or, if it is full, to a temporary file.
    ///
    /// # Errors
    ///
    /// Writing fails. Reported once; from then on everything stays in memory.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let is_due = self.is_named || self.buffer.len() >= self.memory.max(1);
        if self.stuck || self.buffer.is_empty() || !is_due {
            return Ok(());
        }
        let written = self.write_out();
        self.stuck = written.is_err();
        written
    }

    fn write_out(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Mutex::new(tempfile::tempfile()?)),
        };
        let file = file.get_mut().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.in_file))?;
        if let Err(error) = file.write_all(&self.buffer) {
            // If this fails as well, a reader finds that the last line is cut off.
            let _ = file.set_len(self.in_file);
            return Err(error);
        }
        self.in_file += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Returns the line at this position. [`Reader`] is faster for many.
    ///
    /// # Errors
    ///
    /// As [`Reader::line`].
    pub(crate) fn line(&self, span: Span) -> io::Result<Vec<u8>> {
        if span.start >= self.in_file {
            return Reader::new(self).line(span).map(<[u8]>::to_vec);
        }
        let mut line = vec![0; usize::try_from(span.length).map_err(io::Error::other)?];
        self.read_exact(span.start, &mut line)?;
        format::open(&line).map_err(io::Error::other)?;
        Ok(line)
    }

    /// Another handle of the named file.
    pub(super) fn handle(&self) -> io::Result<File> {
        let Some(file) = &self.file else { return Err(damaged()) };
        file.lock().unwrap_or_else(PoisonError::into_inner).try_clone()
    }

    /// Frees what only a store that grows needs.
    pub(crate) fn close(&mut self) {
        self.buffer.shrink_to_fit();
    }

    fn read_exact(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        if let Some(closed) = &self.closed {
            let mut file = closed.open()?;
            file.seek(SeekFrom::Start(offset))?;
            return file.read_exact(bytes);
        }
        let Some(file) = &self.file else { return Err(damaged()) };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }

    #[cfg(test)]
    pub(super) fn file(&mut self) -> &mut Option<Mutex<File>> {
        &mut self.file
    }
}

/// Reads lines of a store, fastest in the order in which they were added.
#[derive(Debug)]
pub(crate) struct Reader<'s> {
    store: &'s Store,
    /// A handle of its own, if the store has none.
    file: Option<File>,
    /// A part of the file, and its position.
    window: Vec<u8>,
    start: u64,
    /// Where the last line began.
    last: u64,
}

impl<'s> Reader<'s> {
    pub(crate) fn new(store: &'s Store) -> Self {
        Self { store, file: None, window: Vec::new(), start: 0, last: 0 }
    }

    /// Returns the line at this position.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or no longer contains what was written.
    pub(crate) fn line(&mut self, Span { start, length }: Span) -> io::Result<&[u8]> {
        let line = self.bytes(start, length)?;
        format::open(line).map_err(io::Error::other)?;
        Ok(line)
    }

    fn bytes(&mut self, offset: u64, length: u64) -> io::Result<&[u8]> {
        let end = offset.checked_add(length).ok_or_else(damaged)?;
        let in_file = self.store.in_file;
        if offset >= in_file {
            return part(&self.store.buffer, in_file, offset, length);
        }
        if offset < self.start || end > self.start + self.window.len() as u64 {
            // Lines that are asked for in another order than theirs are read one by one.
            let is_near = self.last.abs_diff(offset) <= WINDOW || self.store.closed.is_none();
            let start = if is_near { offset.saturating_sub(BEFORE) } else { offset };
            let until = if is_near { (start + WINDOW).max(end).min(in_file) } else { end };
            let size = until.checked_sub(start).and_then(|size| usize::try_from(size).ok());
            self.window.resize(size.ok_or_else(damaged)?, 0);
            // Nothing of it may be used if reading fails in the middle.
            self.start = u64::MAX;
            self.read_window(start)?;
            self.start = start;
        }
        self.last = offset;
        part(&self.window, self.start, offset, length)
    }
}

impl Reader<'_> {
    fn read_window(&mut self, start: u64) -> io::Result<()> {
        let Some(closed) = &self.store.closed else {
            return self.store.read_exact(start, &mut self.window);
        };
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(closed.open()?),
        };
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut self.window)
    }
}

/// A part of bytes of which the first is at `start`.
fn part(bytes: &[u8], start: u64, offset: u64, length: u64) -> io::Result<&[u8]> {
    let from = offset.checked_sub(start).and_then(|from| usize::try_from(from).ok());
    let range = from.and_then(|from| Some(from..from.checked_add(usize::try_from(length).ok()?)?));
    range.and_then(|range| bytes.get(range)).ok_or_else(damaged)
}

fn damaged() -> io::Error {
    io::Error::other("the file is shorter than what was written")
}

/// Goes through the lines of a file from its beginning.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    /// Position of the next line.
    pub(super) end: u64,
    /// Number of the last line, from 1.
    pub(super) number: usize,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(file: R) -> Self {
        Self { reader: BufReader::with_capacity(1 << 16, file), end: 0, number: 0 }
    }

    /// Reads the next line into the buffer, without its line end. `None` at the end of the file.
    ///
    /// Keeps only the start of a line that cannot be part of a run file, because the file may have any content.
    ///
    /// # Errors
    ///
    /// Reading fails.
    pub(super) fn next(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<Span>> {
        let start = self.end;
        buffer.clear();
        (&mut self.reader).take(START.len() as u64).read_until(b'\n', buffer)?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let mut length = buffer.len() as u64;
        if !buffer.ends_with(b"\n") {
            length += if format::may_start(buffer) {
                self.reader.read_until(b'\n', buffer)? as u64
            } else {
                self.reader.skip_until(b'\n')? as u64
            };
        }
        self.end += length;
        self.number += 1;
        if buffer.ends_with(b"\n") {
            buffer.pop();
            length -= 1;
        }
        Ok(Some(Span { start, length }))
    }
}
