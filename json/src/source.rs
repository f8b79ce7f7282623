//! Where a text comes from that is read in pieces.

use std::{
    io::{self, Read},
    sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    thread::{self, JoinHandle},
};

/// Pieces that are read before anybody asked for them.
const PIECES_AHEAD: usize = 4;

/// Why a text cannot be read on.
#[derive(Debug)]
pub enum Interrupted {
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

/// A text, piece by piece.
pub trait Source {
    /// Appends the next piece, which is not empty; whether there was one.
    fn append(&mut self, out: &mut Vec<u8>) -> Result<bool, Interrupted>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn append(&mut self, out: &mut Vec<u8>) -> Result<bool, Interrupted> {
        (**self).append(out)
    }
}

/// A text in memory. Its pieces may cut characters in two.
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

/// What a reader gives, checked to be UTF-8. Its pieces are whole characters.
#[derive(Debug)]
pub struct Checked<R> {
    reader: R,
    piece: usize,
    /// The beginning of a character whose end has not been read.
    cut: Vec<u8>,
    /// How much has been given.
    offset: usize,
}

impl<R: Read> Checked<R> {
    /// Reads `piece` bytes at a time, at least one.
    pub fn new(reader: R, piece: usize) -> Self {
        Self { reader, piece: piece.max(1), cut: Vec::new(), offset: 0 }
    }
}

impl<R: Read> Source for Checked<R> {
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

/// A source that is read on another thread, while what it gave before is looked at.
#[derive(Debug)]
pub struct Ahead {
    /// `None` inside is the end.
    pieces: Option<Receiver<Result<Option<Vec<u8>>, Interrupted>>>,
    /// Pieces that have been looked at, for their memory.
    done: Sender<Vec<u8>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Begins to read.
    ///
    /// # Errors
    ///
    /// There cannot be another thread.
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
            // The thread has ended when it has read everything.
            let _ = self.done.send(piece);
            return Ok(true);
        }
        self.pieces = None;
        read.map(|_| false)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // Nobody takes what is read any more, so the thread ends with the piece it is at.
        self.pieces = None;
        if let Some(thread) = self.thread.take() {
            // If it has panicked, that has been said.
            let _ = thread.join();
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
