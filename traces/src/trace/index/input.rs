//! A text that is scanned: a file, or a text in memory.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::grammar::Expected;
use crate::{
    json::{Ahead, Checked, ParseError, Scanner},
    trace::error::LoadErrorKind,
};

/// Number of pieces up to which a file is read without another thread.
const FEW_PIECES: usize = 16;

/// A text that is scanned.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct Input<'a> {
    /// The file as it was given.
    pub(in crate::trace) path: &'a Path,
    pub(in crate::trace) source: Source<'a>,
    pub(in crate::trace) expected: Expected,
}

/// Where a text is.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) enum Source<'a> {
    /// A file, of which this number of bytes is read at a time.
    File(&'a Path, usize),
    Memory(&'a str),
}

impl<'a> Input<'a> {
    /// Returns the length of the text in bytes.
    pub(super) fn length(&self) -> io::Result<u64> {
        match self.source {
            Source::File(path, _) => Ok(path.metadata()?.len()),
            Source::Memory(text) => Ok(text.len() as u64),
        }
    }

    /// Returns the bytes of the text.
    pub(super) fn bytes(&self) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self.source {
            Source::File(path, _) => Box::new(File::open(path)?),
            Source::Memory(text) => Box::new(text.as_bytes()),
        })
    }

    /// Returns a scanner of the text. A long file is read ahead on another thread.
    pub(super) fn scanner(&self) -> Result<Scanner<'a>, LoadErrorKind> {
        let (path, chunk) = match self.source {
            Source::File(path, chunk) => (path, chunk),
            Source::Memory(text) => return Ok(Scanner::of_text(text)),
        };
        let pieces = Checked::new(File::open(path).map_err(LoadErrorKind::Read)?, chunk);
        if self.length().map_err(LoadErrorKind::Read)? <= (chunk * FEW_PIECES) as u64 {
            return Ok(Scanner::new(pieces));
        }
        Ok(Scanner::new(Ahead::new(pieces).map_err(LoadErrorKind::Read)?))
    }

    /// Returns the error of a text that is of none of the formats of this crate.
    pub(super) fn undetected(&self, json: Option<ParseError>) -> LoadErrorKind {
        LoadErrorKind::Undetected { path: self.path.to_owned(), json }
    }
}
