//! Scans of a format.

use super::{
    grammar::{Grammar, Stop},
    input::Input,
    reader::{Problem, Reader},
    records::{FileRecords, RecordRange, Walk},
};
use crate::{json::ParseError, trace::decoded::Decoded};

/// The fast path of a trace format. Only formats of this crate have one.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Indexer(pub(super) &'static dyn Scan);

/// How the files of a format are scanned, and how its spans are decoded again.
pub(super) trait Scan: Grammar {
    /// Scans the value that starts here and is the whole text. Returns `None` if it is not of the format.
    fn document(&self, walk: &mut Walk<'_>) -> Result<Option<FileRecords>, Stop>;

    /// Scans a text that is not one JSON value, for the reason `whole`.
    fn lines(
        &self,
        input: &Input<'_>,
        whole: ParseError,
        walk: &mut Walk<'_>,
    ) -> Result<FileRecords, Stop>;

    /// Decodes the spans of these ranges.
    fn spans(
        &self,
        reader: &Reader<'_>,
        ranges: &[RecordRange],
        out: &mut Decoded,
    ) -> Result<(), Problem>;
}
