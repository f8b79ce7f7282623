//! The scan of one file: its format, and whether it is one document or several lines.

use std::{fs::File, path::Path};

use super::{
    Indexer, Stop, TrackedAttributes,
    catalog::{Catalog, FileOnDisk},
    records::{FileRecords, Records, Walk},
};
use crate::{
    json::{Ahead, Checked, Interrupted, ParseError, ParseErrorKind, ScanError, Scanner},
    trace::{
        decoded::load_source,
        error::{LoadError, LoadErrorKind},
        format::{TraceFormat, TraceFormats},
        inputs::{FileStamp, copy_if_needed},
        unusable::{Position, UnusableParts},
    },
};

/// Number of pieces up to which a file is read without another thread.
const FEW_PIECES: usize = 16;
/// Bytes that are read at a time to find the first key.
const FIRST_PIECE: usize = 4 << 10;

/// Scans a file, of which `chunk` bytes are read at a time, and adds its traces to the catalog. Returns their number, and
/// the unusable parts.
///
/// The traces of a file that only the whole-file decoder understands are held in memory.
pub(super) fn index_file(
    path: &Path,
    formats: &TraceFormats,
    tracked: TrackedAttributes,
    chunk: usize,
    catalog: &mut Catalog,
) -> Result<(usize, UnusableParts), LoadError> {
    let fail = |kind| LoadError { path: path.to_owned(), kind };
    let copy = copy_if_needed(path).map_err(fail)?;
    let source = copy.as_deref().unwrap_or(path).to_owned();
    let input = Input { path, source: &source, formats, chunk };
    match input.add_to(catalog, tracked) {
        Ok((traces, unusable)) => {
            if traces > 0 {
                catalog.keep_copy(copy);
            }
            Ok((traces, unusable))
        }
        Err(Stop::Load(kind)) => Err(fail(kind)),
        Err(Stop::Scan(ScanError::Interrupted(interrupted))) => Err(fail(interrupted.into())),
        // The scan is stricter than the parser, or the file has changed meanwhile: the parser decides.
        Err(Stop::Fallback | Stop::Scan(ScanError::Json { .. })) => {
            let loaded = load_source(&source, path, formats)?;
            Ok((catalog.hold(loaded.traces).map_err(fail)?, loaded.unusable))
        }
    }
}

/// A file that is scanned.
pub(super) struct Input<'a> {
    /// The file as it was given.
    pub(super) path: &'a Path,
    /// The file that is read: the same, or a copy.
    source: &'a Path,
    formats: &'a TraceFormats,
    /// Bytes that are read at a time.
    chunk: usize,
}

impl Input<'_> {
    /// Adds the traces of the file to the catalog. Returns their number, and the unusable parts.
    fn add_to(
        &self,
        catalog: &mut Catalog,
        tracked: TrackedAttributes,
    ) -> Result<(usize, UnusableParts), Stop> {
        let Indexer(format) = self.indexer()?;
        let file = self.open()?;
        let stamp = FileStamp::of(&file.metadata().map_err(LoadErrorKind::Read)?);
        let scanner = self.scanner(file)?;
        let (names, scopes) = (&mut catalog.names, &mut catalog.scopes);
        let mut walk =
            Walk::new(scanner, (format, self.is_given()), (tracked, stamp.length), names, scopes);
        let mut records = match scan(&mut walk) {
            Ok(Some(records)) => records,
            Ok(None) if self.is_given() => return Err(format.mismatch().into()),
            Ok(None) => return Err(self.undetected(None)),
            Err(Stop::Scan(ScanError::Json { kind, offset })) => {
                let located = ParseError::in_text(kind, self.open()?, offset);
                let scanned = self.scan_lines(located.map_err(LoadErrorKind::Read)?, &mut walk);
                if scanned.is_err() {
                    // Invalid UTF-8 is reported before anything else.
                    self.scanner(self.open()?)?.drain()?;
                }
                scanned?
            }
            Err(stop) => return Err(stop),
        };
        let origins = walk.origins;
        let unusable = records.take_unusable();
        let file =
            FileOnDisk { path: self.path.into(), copy: None, stamp, format, warnings: [].into() };
        Ok((catalog.add(file, origins, records)?, unusable))
    }

    /// Scans a text that is not one JSON value, for the reason `whole`.
    fn scan_lines(&self, whole: ParseError, walk: &mut Walk<'_>) -> Result<FileRecords, Stop> {
        match whole.kind {
            // Whitespace that is not JSON's may precede the first line.
            ParseErrorKind::ExpectedValue if !self.is_given() => return Err(Stop::Fallback),
            ParseErrorKind::TrailingText => {}
            _ if !self.is_given() => return Err(self.undetected(Some(whole))),
            _ => {}
        }
        walk.origins.clear();
        walk.position = Position::default();
        walk.out = Records::default();
        walk.format.lines(self, whole, walk)
    }

    /// Returns the indexer of the format that every file has to have, or of the one whose key comes first at the top of the
    /// text. The scan decides whether the file is of that format.
    fn indexer(&self) -> Result<Indexer, Stop> {
        if let Some(given) = self.formats.single() {
            return given.indexer().ok_or(Stop::Fallback);
        }
        let indexers: Vec<Indexer> = self.formats.iter().filter_map(TraceFormat::indexer).collect();
        let first = indexers.first().copied().ok_or(Stop::Fallback)?;
        // The scan will report errors.
        let guessed = self.first_key(&indexers).unwrap_or_default();
        Ok(guessed.unwrap_or(first))
    }

    fn first_key(&self, indexers: &[Indexer]) -> Result<Option<Indexer>, ScanError> {
        let file = File::open(self.source).map_err(Interrupted::Read)?;
        let mut scanner = Scanner::new(Checked::new(file, FIRST_PIECE));
        scanner.begin()?;
        let is_list = scanner.peek()? == Some(b'[');
        if is_list && !scanner.open_array()? || scanner.peek()? != Some(b'{') {
            return Ok(None);
        }
        let keys = indexers
            .iter()
            .flat_map(|indexer| indexer.0.keys(is_list).iter().map(|key| (*key, *indexer)));
        let (keys, indexers): (Vec<&str>, Vec<Indexer>) = keys.unzip();
        let mut more = scanner.open_object()?;
        while more {
            if let Some(key) = scanner.key(&keys)? {
                return Ok(Some(indexers[key]));
            }
            scanner.skip_value()?;
            more = scanner.next_member()?;
        }
        Ok(None)
    }

    /// Returns true if every file has to have the same format.
    pub(super) fn is_given(&self) -> bool {
        self.formats.single().is_some()
    }

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
        if self.formats.iter().any(|format| format.indexer().is_none()) {
            return Stop::Fallback;
        }
        Stop::Load(LoadErrorKind::Undetected { path: self.path.to_owned(), json })
    }
}

/// Scans a text that is one value. Returns `None` if it is not of the format.
fn scan(walk: &mut Walk<'_>) -> Result<Option<FileRecords>, Stop> {
    walk.scanner.begin()?;
    let format = walk.format;
    let records = format.document(walk)?;
    walk.scanner.finish()?;
    let lone_surrogates = walk.scanner.lone_surrogates;
    Ok(records.map(|records| FileRecords { lone_surrogates, ..records }))
}
