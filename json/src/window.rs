//! A text that is read in pieces, of which only a part is in memory.

use super::source::{Interrupted, Source};

/// The part of a text that is in memory: everything from the cursor, or from a mark before it, to the last byte read.
#[derive(Debug)]
pub(crate) struct Window<S> {
    source: S,
    buffer: Vec<u8>,
    /// Offset in the text of the first byte in memory.
    base: usize,
    /// The cursor, as an index into the buffer.
    pub(crate) at: usize,
    /// Offset in the text from which on nothing is forgotten.
    mark: Option<usize>,
    ended: bool,
}

impl<S: Source> Window<S> {
    /// A window on a text.
    pub(crate) fn new(source: S) -> Self {
        Self { source, buffer: Vec::new(), base: 0, at: 0, mark: None, ended: false }
    }

    /// Offset of the cursor in the text.
    pub(crate) fn offset(&self) -> usize {
        self.base + self.at
    }

    /// What is in memory from the cursor on.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// What is in memory from this offset to the cursor; the offset has to be that of the mark, or after it.
    pub(crate) fn since(&self, offset: usize) -> &[u8] {
        let start = offset.saturating_sub(self.base).min(self.at);
        &self.buffer[start..self.at]
    }

    /// Keeps everything from the cursor on in memory, unless a mark is set already. Gives what has to be handed to
    /// [`Window::unmark`].
    pub(crate) fn mark(&mut self) -> Option<usize> {
        let before = self.mark;
        self.mark = before.or(Some(self.offset()));
        before
    }

    /// Ends the effect of a mark.
    pub(crate) fn unmark(&mut self, before: Option<usize>) {
        self.mark = before;
    }

    /// The byte this far after the cursor; `None` when the text ends before it.
    #[inline]
    pub(crate) fn byte(&mut self, ahead: usize) -> Result<Option<u8>, Interrupted> {
        while self.at + ahead >= self.buffer.len() {
            if !self.read_more()? {
                return Ok(None);
            }
        }
        Ok(Some(self.buffer[self.at + ahead]))
    }

    /// Reads another piece; whether there was one.
    #[cold]
    pub(crate) fn read_more(&mut self) -> Result<bool, Interrupted> {
        if self.ended {
            return Ok(false);
        }
        let passed = self.mark.map_or(self.at, |mark| mark.saturating_sub(self.base).min(self.at));
        // What is kept is moved only when it is the smaller part, so that a long value is not copied for every piece.
        if passed > self.buffer.len() / 2 {
            self.buffer.drain(..passed);
            self.base += passed;
            self.at -= passed;
        }
        self.ended = !self.source.append(&mut self.buffer)?;
        Ok(!self.ended)
    }

    /// Reads to the end and forgets it, only to see whether it can be read.
    pub(crate) fn drain(&mut self) -> Result<(), Interrupted> {
        self.mark = None;
        loop {
            self.at = self.buffer.len();
            if !self.read_more()? {
                return Ok(());
            }
        }
    }
}
