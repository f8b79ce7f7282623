//! Text that is read in pieces: its sources, and the window that is in memory.

use std::{
    io::{self, Read},
    sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    thread::{self, JoinHandle},
};

/// Pieces that are read ahead of the scanner.
const PIECES_AHEAD: usize = 4;

/// A text cannot be read to its end.
#[derive(Debug)]
pub enum Interrupted {
    /// The source failed.
    Read(io::Error),
    /// The text is not UTF-8.
    NotUtf8 {
        /// Offset of the first invalid byte.
        offset: usize,
        /// That byte.
        byte: u8,
    },
}

/// A text that is read piece by piece.
pub trait Source: std::fmt::Debug {
    /// Appends the next piece, which is not empty. Returns false at the end of the text.
    ///
    /// # Errors
    ///
    /// The text cannot be read, or is not UTF-8.
    fn append(&mut self, out: &mut Vec<u8>) -> Result<bool, Interrupted>;
}

/// A text in memory. Its pieces may end inside a character.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    rest: &'a [u8],
    piece: usize,
}

impl<'a> Held<'a> {
    pub(crate) fn new(text: &'a str, piece: usize) -> Self {
        Self { rest: text.as_bytes(), piece }
    }
}

impl Source for Held<'_> {
    fn append(&mut self, out: &mut Vec<u8>) -> Result<bool, Interrupted> {
        let (piece, rest) = self.rest.split_at(self.piece.min(self.rest.len()));
        out.extend_from_slice(piece);
        self.rest = rest;
        Ok(!piece.is_empty())
    }
}

/// The text of a reader, checked to be UTF-8. Its pieces are whole characters.
#[derive(Debug)]
pub struct Checked<R> {
    reader: R,
    piece: usize,
    /// The start of a character whose end has not been read.
    cut: Vec<u8>,
    /// Number of bytes returned so far.
    offset: usize,
}

impl<R: Read + std::fmt::Debug> Checked<R> {
    /// Returns a source that reads `piece` bytes at a time, at least one.
    pub fn new(reader: R, piece: usize) -> Self {
        Self { reader, piece: piece.max(1), cut: Vec::new(), offset: 0 }
    }
}

impl<R: Read + std::fmt::Debug> Source for Checked<R> {
    fn append(&mut self, out: &mut Vec<u8>) -> Result<bool, Interrupted> {
        let start = out.len();
        out.append(&mut self.cut);
        loop {
            let piece = (&mut self.reader).take(self.piece as u64);
            let has_ended = { piece }.read_to_end(out).map_err(Interrupted::Read)? == 0;
            let unchecked = &out[start..];
            let valid = match simdutf8::compat::from_utf8(unchecked) {
                Ok(_) => unchecked.len(),
                Err(error) if error.error_len().is_none() && !has_ended => error.valid_up_to(),
                Err(error) => {
                    let valid = error.valid_up_to();
                    let (offset, byte) = (self.offset + valid, unchecked[valid]);
                    return Err(Interrupted::NotUtf8 { offset, byte });
                }
            };
            if valid > 0 {
                self.cut = out.split_off(start + valid);
                self.offset += valid;
                return Ok(true);
            }
            if has_ended {
                return Ok(false);
            }
        }
    }
}

/// A source that is read ahead on another thread.
#[derive(Debug)]
pub struct Ahead {
    /// The inner `None` is the end of the text; the outer one means that the thread is not needed any more.
    pieces: Option<Receiver<Result<Option<Vec<u8>>, Interrupted>>>,
    /// Returns used buffers to the thread.
    done: Sender<Vec<u8>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Starts to read.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub fn new(source: impl Source + Send + 'static) -> io::Result<Self> {
        let (give, pieces) = sync_channel(PIECES_AHEAD);
        let (done, free) = channel();
        let read = move || read_ahead(source, &give, &free);
        let thread = thread::Builder::new().name("read ahead".to_owned()).spawn(read)?;
        Ok(Self { pieces: Some(pieces), done, thread: Some(thread) })
    }
}

fn read_ahead(
    mut source: impl Source,
    give: &SyncSender<Result<Option<Vec<u8>>, Interrupted>>,
    free: &Receiver<Vec<u8>>,
) {
    loop {
        let mut piece = free.try_recv().unwrap_or_default();
        piece.clear();
        let read = source.append(&mut piece).map(|more| more.then_some(piece));
        let is_last = !matches!(read, Ok(Some(_)));
        if give.send(read).is_err() || is_last {
            return;
        }
    }
}

impl Source for Ahead {
    fn append(&mut self, out: &mut Vec<u8>) -> Result<bool, Interrupted> {
        let Some(pieces) = &self.pieces else { return Ok(false) };
        let read = pieces.recv().unwrap_or_else(|_| {
            let died = io::Error::other("the thread that reads it died");
            Err(Interrupted::Read(died))
        });
        if let Ok(Some(piece)) = read {
            out.extend_from_slice(&piece);
            // The thread has exited if it has read everything.
            let _ = self.done.send(piece);
            return Ok(true);
        }
        self.pieces = None;
        read.map(|_| false)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // Without a receiver, the thread exits after its current piece.
        self.pieces = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported.
            let _ = thread.join();
        }
    }
}

/// The part of a text that is in memory: from the cursor, or from a mark before it, to the last byte read.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    source: Box<dyn Source + 'a>,
    buffer: Vec<u8>,
    /// Offset in the text of the first byte in memory.
    base: usize,
    /// The cursor, as an index into the buffer.
    pub(crate) at: usize,
    /// Offset in the text from which on bytes stay in memory.
    mark: Option<usize>,
    ended: bool,
}

impl<'a> Window<'a> {
    pub(crate) fn new(source: impl Source + 'a) -> Self {
        let source = Box::new(source);
        Self { source, buffer: Vec::new(), base: 0, at: 0, mark: None, ended: false }
    }

    /// Offset of the cursor in the text.
    pub(crate) fn offset(&self) -> usize {
        self.base + self.at
    }

    /// Returns the bytes in memory from the cursor on.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Returns the bytes from an offset to the cursor; the offset must not be before the mark.
    pub(crate) fn since(&self, offset: usize) -> &[u8] {
        let start = offset.saturating_sub(self.base).min(self.at);
        &self.buffer[start..self.at]
    }

    /// Keeps everything from the cursor on in memory, unless a mark is already set. Returns the argument for
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

    /// Returns the byte `ahead` bytes after the cursor, or `None` if the text ends before it.
    #[inline]
    pub(crate) fn byte(&mut self, ahead: usize) -> Result<Option<u8>, Interrupted> {
        while self.at + ahead >= self.buffer.len() {
            if !self.read_more()? {
                return Ok(None);
            }
        }
        Ok(Some(self.buffer[self.at + ahead]))
    }

    /// Reads another piece. Returns false at the end of the text.
    #[cold]
    pub(crate) fn read_more(&mut self) -> Result<bool, Interrupted> {
        if self.ended {
            return Ok(false);
        }
        let passed = self.mark.map_or(self.at, |mark| mark.saturating_sub(self.base).min(self.at));
        // The kept part is moved only if it is the smaller part, so that a long value is not copied for every piece.
        if passed > self.buffer.len() / 2 {
            self.buffer.drain(..passed);
            self.base += passed;
            self.at -= passed;
        }
        self.ended = !self.source.append(&mut self.buffer)?;
        Ok(!self.ended)
    }

    /// Reads to the end and keeps nothing, only to check that the text can be read.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &mut dyn Source) -> Result<String, Interrupted> {
        let (mut all, mut before) = (Vec::new(), 0);
        while source.append(&mut all)? {
            assert!(all.len() > before, "pieces are not empty");
            before = all.len();
        }
        assert!(!source.append(&mut all)?, "an end is an end");
        Ok(String::from_utf8(all).expect("UTF-8"))
    }

    fn both(bytes: &'static [u8], piece: usize) -> [Result<String, Interrupted>; 2] {
        let ahead = Ahead::new(Checked::new(bytes, piece)).expect("a thread");
        [read(&mut Checked::new(bytes, piece)), read(&mut { ahead })]
    }

    #[test]
    fn pieces_are_the_text() {
        let text = "a\u{e9}\u{20ac}\u{1f600}, and more of it";
        for piece in 0..text.len() + 2 {
            for read in both(text.as_bytes(), piece) {
                assert_eq!(read.expect("a text"), text, "{piece}");
            }
            let mut held = Held::new(text, piece.max(1));
            assert_eq!(read(&mut held).expect("a text"), text, "{piece}");
        }
        assert_eq!(read(&mut Checked::new(&b""[..], 5)).expect("a text"), "");
    }

    #[test]
    fn what_is_no_text_is_found_at_its_place() {
        for piece in 1..9 {
            for (bytes, at, found) in
                [(&b"abc\xffdef"[..], 3, 0xff), (b"abc\xe2\x82", 3, 0xe2), (b"\xe2\x82(", 0, 0xe2)]
            {
                for read in both(bytes, piece) {
                    let Err(Interrupted::NotUtf8 { offset, byte }) = read else {
                        panic!("{read:?} for {bytes:?}");
                    };
                    assert_eq!((offset, byte), (at, found), "{bytes:?} by {piece}");
                }
            }
        }
    }

    #[test]
    fn a_thread_that_dies_is_no_end() {
        #[derive(Debug)]
        struct Dies;
        impl Source for Dies {
            fn append(&mut self, _out: &mut Vec<u8>) -> Result<bool, Interrupted> {
                panic!("on purpose");
            }
        }
        let read = read(&mut Ahead::new(Dies).expect("a thread"));
        assert!(matches!(read, Err(Interrupted::Read(_))), "{read:?}");
    }

    #[test]
    fn what_is_left_unread_is_left() {
        let endless = Checked::new(io::repeat(b' '), 100);
        let mut ahead = Ahead::new(endless).expect("a thread");
        let mut out = Vec::new();
        assert!(ahead.append(&mut out).expect("a piece"));
        assert_eq!(out.len(), 100);
    }
}
