//! Records of bytes, in memory and, from some size on, in a temporary file.
//!
//! Records are added to a buffer. When it is full it goes to the file as a whole; where that fails, the buffer grows
//! instead, so that no record depends on a disk that has room.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
    path::Path,
    sync::{Mutex, PoisonError},
};

use flate2::Crc;

/// Before each record stand its length and its checksum.
const HEADER: usize = 12;

/// How much of the file is read at a time, and how much of that lies before the record that was asked for: records are
/// added in the order in which conversations finish, so that the next one may stand a little before this one.
const WINDOW: u64 = 64 << 10;
const BEFORE: u64 = 16 << 10;

/// Records, each at the offset that it was given.
#[derive(Debug, Default)]
pub(in crate::report) struct Store {
    /// Bytes that are kept in memory.
    memory: usize,
    /// What was in the buffer when it was full; unlinked, so that it is gone with this process, whatever ends it.
    file: Option<Mutex<File>>,
    /// Bytes in the file; what is behind them there is a part of something that is still in the buffer.
    in_file: u64,
    buffer: Vec<u8>,
    /// Whether the file could not be made or written, so that it is left alone.
    stuck: bool,
}

impl Store {
    /// A store that keeps so many bytes in memory, and the record that is being added.
    pub(in crate::report) fn new(memory: usize) -> Self {
        Self { memory, ..Self::default() }
    }

    /// Adds the record that is written by `write`, and says at which offset.
    pub(in crate::report) fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> u64 {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; HEADER]);
        write(&mut self.buffer);
        let (header, record) = self.buffer[start..].split_at_mut(HEADER);
        header.copy_from_slice(&header_of(record));
        self.in_file + start as u64
    }

    /// Writes the buffer to the file if it is full, in the folder for temporary files unless another one is given.
    ///
    /// # Errors
    ///
    /// That is not possible. This is said once; from then on everything stays in memory.
    pub(in crate::report) fn make_room(&mut self, folder: Option<&Path>) -> io::Result<()> {
        if self.stuck || self.buffer.len() < self.memory.max(1) {
            return Ok(());
        }
        let written = self.write_out(folder);
        self.stuck = written.is_err();
        written
    }

    fn write_out(&mut self, folder: Option<&Path>) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let file = match folder {
                    Some(folder) => tempfile::tempfile_in(folder),
                    None => tempfile::tempfile(),
                };
                none.insert(Mutex::new(file?))
            }
        };
        let file = file.get_mut().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.in_file))?;
        file.write_all(&self.buffer)?;
        self.in_file += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Says that nothing more will be added.
    pub(in crate::report) fn close(&mut self) {
        self.buffer.shrink_to_fit();
    }

    fn read_exact(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let Some(file) = &self.file else { return Err(damaged()) };
        // Its position belongs to whoever has the lock.
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }

    #[cfg(test)]
    pub(super) fn file(&mut self) -> &mut Option<Mutex<File>> {
        &mut self.file
    }
}

/// Reads records of a store, quickest in the order in which they were added.
#[derive(Debug)]
pub(in crate::report) struct Reader<'s> {
    store: &'s Store,
    /// A part of the file, and where it begins.
    window: Vec<u8>,
    start: u64,
}

impl<'s> Reader<'s> {
    pub(in crate::report) fn new(store: &'s Store) -> Self {
        Self { store, window: Vec::new(), start: 0 }
    }

    /// The record at this offset.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or does not hold any more what was written.
    pub(in crate::report) fn record(&mut self, offset: u64) -> io::Result<&[u8]> {
        let header: [u8; HEADER] =
            self.bytes(offset, HEADER as u64)?.try_into().map_err(|_| damaged())?;
        let (length, _) = header.split_first_chunk().ok_or_else(damaged)?;
        let record = self.bytes(offset + HEADER as u64, u64::from_le_bytes(*length))?;
        if header_of(record) == header { Ok(record) } else { Err(damaged()) }
    }

    fn bytes(&mut self, offset: u64, length: u64) -> io::Result<&[u8]> {
        let end = offset.checked_add(length).ok_or_else(damaged)?;
        let in_file = self.store.in_file;
        if offset >= in_file {
            return part(&self.store.buffer, in_file, offset..end);
        }
        if end > in_file {
            return Err(damaged());
        }
        if offset < self.start || end > self.start + self.window.len() as u64 {
            let start = offset.saturating_sub(BEFORE);
            let until = (start + WINDOW).max(end).min(in_file);
            let size = usize::try_from(until - start).map_err(io::Error::other)?;
            self.window.resize(size, 0);
            // Nothing of it may be used if reading fails in the middle.
            self.start = u64::MAX;
            self.store.read_exact(start, &mut self.window)?;
            self.start = start;
        }
        part(&self.window, self.start, offset..end)
    }
}

/// A part of bytes of which the first is at `start`.
fn part(bytes: &[u8], start: u64, range: Range<u64>) -> io::Result<&[u8]> {
    let place = |offset: u64| usize::try_from(offset.checked_sub(start)?).ok();
    let range = place(range.start).zip(place(range.end));
    range.and_then(|(start, end)| bytes.get(start..end)).ok_or_else(damaged)
}

fn header_of(record: &[u8]) -> [u8; HEADER] {
    let mut crc = Crc::new();
    crc.update(record);
    let mut header = [0; HEADER];
    let (length, sum) = header.split_at_mut(8);
    length.copy_from_slice(&(record.len() as u64).to_le_bytes());
    sum.copy_from_slice(&crc.sum().to_le_bytes());
    header
}

fn damaged() -> io::Error {
    io::Error::other("it is damaged")
}
