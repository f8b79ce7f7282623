//! A text that is read in pieces, of which only a part is in memory.

use std::io::{self, Read};

/// Why a text cannot be read on.
#[derive(Debug)]
pub(crate) enum Interrupted {
    /// The source failed.
    Read(io::Error),
    /// The text is not UTF-8.
    NotUtf8 {
        /// Offset of the first byte that does not belong.
        offset: usize,
        /// That byte.
        byte: u8,
    },
}

/// The part of a text that is in memory: everything from the cursor, or from a mark before it, to the last byte read.
#[derive(Debug)]
pub(super) struct Window<R> {
    source: R,
    buffer: Vec<u8>,
    /// Offset in the text of the first byte in memory.
    base: usize,
    /// The cursor, as an index into the buffer.
    pub(super) at: usize,
    /// End of the text in memory: what follows in the buffer is the beginning of a character.
    end: usize,
    /// End of what was read.
    filled: usize,
    /// Offset in the text from which on nothing is forgotten.
    mark: Option<usize>,
    /// How much is read at a time.
    chunk: usize,
    ended: bool,
    /// Whether it is known that the text is UTF-8.
    is_text: bool,
}

impl<R: Read> Window<R> {
    /// A window on `source` that reads `chunk` bytes at a time, at least one.
    pub(super) fn new(source: R, chunk: usize) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            base: 0,
            at: 0,
            end: 0,
            filled: 0,
            mark: None,
            chunk: chunk.max(1),
            ended: false,
            is_text: false,
        }
    }

    /// A window on a source that is known to be UTF-8. It may cut characters in two.
    pub(super) fn trusted(source: R, chunk: usize) -> Self {
        Self { is_text: true, ..Self::new(source, chunk) }
    }

    /// Offset of the cursor in the text.
    pub(super) fn offset(&self) -> usize {
        self.base + self.at
    }

    /// What is in memory from the cursor on.
    pub(super) fn rest(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    /// What is in memory from this offset to the cursor; the offset has to be that of the mark, or after it.
    pub(super) fn since(&self, offset: usize) -> &[u8] {
        let start = offset.saturating_sub(self.base).min(self.at);
        &self.buffer[start..self.at]
    }

    /// Keeps everything from the cursor on in memory, unless a mark is set already. Gives what has to be handed to
    /// [`Window::unmark`].
    pub(super) fn mark(&mut self) -> Option<usize> {
        let before = self.mark;
        self.mark = before.or(Some(self.offset()));
        before
    }

    /// Ends the effect of a mark.
    pub(super) fn unmark(&mut self, before: Option<usize>) {
        self.mark = before;
    }

    /// The byte this far after the cursor; `None` when the text ends before it.
    #[inline]
    pub(super) fn byte(&mut self, ahead: usize) -> Result<Option<u8>, Interrupted> {
        while self.at + ahead >= self.end {
            if !self.read_more()? {
                return Ok(None);
            }
        }
        Ok(Some(self.buffer[self.at + ahead]))
    }

    /// Reads another piece; whether there was one. Checks that it is UTF-8.
    #[cold]
    pub(super) fn read_more(&mut self) -> Result<bool, Interrupted> {
        if self.ended {
            return Ok(false);
        }
        let kept = self.mark.map_or(self.at, |mark| mark.saturating_sub(self.base).min(self.at));
        if kept > 0 {
            self.buffer.copy_within(kept..self.filled, 0);
            self.base += kept;
            self.at -= kept;
            self.end -= kept;
            self.filled -= kept;
        }
        let room = self.filled + self.chunk;
        if self.buffer.len() < room {
            // Twice as much, so that a long value is not copied for every piece of it.
            self.buffer.resize(room.max(self.filled * 2), 0);
        }
        let read = loop {
            match self.source.read(&mut self.buffer[self.filled..room]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(Interrupted::Read)?,
            }
        };
        self.filled += read;
        self.ended = read == 0;
        if self.is_text {
            self.end = self.filled;
            return Ok(!self.ended);
        }
        let unchecked = &self.buffer[self.end..self.filled];
        let (valid, complete) = match str::from_utf8(unchecked) {
            Ok(_) => (unchecked.len(), true),
            Err(error) => (error.valid_up_to(), error.error_len().is_none() && !self.ended),
        };
        let byte = unchecked.get(valid).copied();
        self.end += valid;
        match byte {
            Some(byte) if !complete => {
                Err(Interrupted::NotUtf8 { offset: self.base + self.end, byte })
            }
            _ => Ok(!self.ended),
        }
    }

    /// Reads to the end and forgets it, only to see whether it is UTF-8.
    pub(super) fn drain(&mut self) -> Result<(), Interrupted> {
        self.mark = None;
        loop {
            self.at = self.end;
            if !self.read_more()? {
                return Ok(());
            }
        }
    }
}
