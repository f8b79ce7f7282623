//! A file that is scanned.

use std::{fs::File, path::Path};

use super::grammar::Stop;
use crate::{
    json::{Ahead, Checked, ParseError, Scanner},
    trace::error::LoadErrorKind,
};

/// Number of pieces up to which a file is read without another thread.
const FEW_PIECES: usize = 16;

/// A file that is scanned.
pub(super) struct Input<'a> {
    /// The file as it was given.
    pub(super) path: &'a Path,
    /// The file that is read: the same, or a copy.
    pub(super) source: &'a Path,
    /// True if every file has to have the same format.
    pub(super) is_given: bool,
    /// True if a format without a fast path may know the file.
    pub(super) may_be_other: bool,
    /// Bytes that are read at a time.
    pub(super) chunk: usize,
}

impl Input<'_> {
    pub(super) fn open(&self) -> Result<File, Stop> {
        Ok(File::open(self.source).map_err(LoadErrorKind::Read)?)
    }

    /// Returns a scanner of a file, which is read ahead on another thread if it is long.
    pub(super) fn scanner(&self, file: File) -> Result<Scanner<'static>, Stop> {
        let length = file.metadata().map_err(LoadErrorKind::Read)?.len();
        let pieces = Checked::new(file, self.chunk);
        if length <= (self.chunk * FEW_PIECES) as u64 {
            return Ok(Scanner::new(pieces));
        }
        Ok(Scanner::new(Ahead::new(pieces).map_err(LoadErrorKind::Read)?))
    }

    /// Returns the error of a file that is of none of the formats of this crate. Others may still know it.
    pub(super) fn undetected(&self, json: Option<ParseError>) -> Stop {
        if self.may_be_other {
            return Stop::Fallback;
        }
        Stop::Load(LoadErrorKind::Undetected { path: self.path.to_owned(), json })
    }
}
