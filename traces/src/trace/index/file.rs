//! The scan of one file: its format, and whether it is one document or several lines.

use std::{fs::File, path::Path};

use super::{
    catalog::{Catalog, FileOnDisk},
    grammar::Stop,
    input::Input,
    records::{FileRecords, Records, Walk},
    scan::{Indexer, Scan},
    tracked::TrackedAttributes,
};
use crate::{
    json::{Checked, Interrupted, ParseError, ParseErrorKind, ScanError, Scanner},
    trace::{
        error::{LoadError, LoadErrorKind},
        format::TraceFormat,
        inputs::{FileStamp, copy_if_needed},
        load::load_source,
        registry::TraceFormats,
        unusable::{Position, UnusableParts},
    },
};

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
    let input = Input {
        path,
        source: &source,
        is_given: formats.single().is_some(),
        may_be_other: formats.iter().any(|format| format.indexer().is_none()),
        chunk,
    };
    let added = indexer(&source, formats)
        .and_then(|Indexer(format)| input.add_to(format, catalog, tracked));
    match added {
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

impl Input<'_> {
    /// Adds the traces of the file to the catalog. Returns their number, and the unusable parts.
    fn add_to(
        &self,
        format: &'static dyn Scan,
        catalog: &mut Catalog,
        tracked: TrackedAttributes,
    ) -> Result<(usize, UnusableParts), Stop> {
        let file = self.open()?;
        let stamp = FileStamp::of(&file.metadata().map_err(LoadErrorKind::Read)?);
        let scanner = self.scanner(file)?;
        let (names, scopes) = (&mut catalog.names, &mut catalog.scopes);
        let mut walk =
            Walk::new(scanner, (format, self.is_given), (tracked, stamp.length), names, scopes);
        let mut records = match scan(format, &mut walk) {
            Ok(Some(records)) => records,
            Ok(None) if self.is_given => return Err(format.mismatch().into()),
            Ok(None) => return Err(self.undetected(None)),
            Err(Stop::Scan(ScanError::Json { kind, offset })) => {
                let located = ParseError::in_text(kind, self.open()?, offset);
                let scanned =
                    self.scan_lines(format, located.map_err(LoadErrorKind::Read)?, &mut walk);
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
    fn scan_lines(
        &self,
        format: &dyn Scan,
        whole: ParseError,
        walk: &mut Walk<'_>,
    ) -> Result<FileRecords, Stop> {
        match whole.kind {
            // Whitespace that is not JSON's may precede the first line.
            ParseErrorKind::ExpectedValue if !self.is_given => return Err(Stop::Fallback),
            ParseErrorKind::TrailingText => {}
            _ if !self.is_given => return Err(self.undetected(Some(whole))),
            _ => {}
        }
        walk.origins.clear();
        walk.position = Position::default();
        walk.out = Records::default();
        format.lines(self, whole, walk)
    }
}

/// Returns the indexer of the format that every file has to have, or of the one whose key comes first at the top of the
/// text. The scan decides whether the file is of that format.
fn indexer(source: &Path, formats: &TraceFormats) -> Result<Indexer, Stop> {
    if let Some(given) = formats.single() {
        return given.indexer().ok_or(Stop::Fallback);
    }
    let indexers: Vec<Indexer> = formats.iter().filter_map(TraceFormat::indexer).collect();
    let first = indexers.first().copied().ok_or(Stop::Fallback)?;
    // The scan will report errors.
    let guessed = first_key(source, &indexers).unwrap_or_default();
    Ok(guessed.unwrap_or(first))
}

fn first_key(source: &Path, indexers: &[Indexer]) -> Result<Option<Indexer>, ScanError> {
    let file = File::open(source).map_err(Interrupted::Read)?;
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

/// Scans a text that is one value. Returns `None` if it is not of the format.
fn scan(format: &dyn Scan, walk: &mut Walk<'_>) -> Result<Option<FileRecords>, Stop> {
    walk.scanner.begin()?;
    let records = format.document(walk)?;
    walk.scanner.finish()?;
    let lone_surrogates = walk.scanner.lone_surrogates;
    Ok(records.map(|records| FileRecords { lone_surrogates, ..records }))
}
