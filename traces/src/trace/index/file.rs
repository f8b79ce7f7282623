//! Adding a file to the catalog.

use std::path::Path;

use super::{
    catalog::Catalog,
    input::{Input, Source},
    scan::scan,
    tracked::TrackedAttributes,
};
use crate::trace::{
    error::{LoadError, LoadErrorKind},
    inputs::{FileStamp, copy_if_needed},
    load::load_source,
    registry::TraceFormats,
    unusable::UnusableParts,
};

/// Scans a file, of which `chunk` bytes are read at a time, and adds its traces to the catalog. Returns their number, and
/// the unusable parts.
///
/// The traces of a file that is of none of the formats of this crate are held in memory.
pub(super) fn index_file(
    path: &Path,
    formats: &TraceFormats,
    tracked: TrackedAttributes,
    chunk: usize,
    catalog: &mut Catalog,
) -> Result<(usize, UnusableParts), LoadError> {
    let fail = |kind| LoadError { path: path.to_owned(), kind };
    let copy = copy_if_needed(path).map_err(fail)?;
    let source = copy.as_deref().unwrap_or(path);
    let input = Input { path, source: Source::File(source, chunk), expected: formats.expected() };
    // Before the scan, so that a file that is replaced meanwhile has changed.
    let stamp = source.metadata().map(|metadata| FileStamp::of(&metadata));
    let stamp = stamp.map_err(|error| fail(LoadErrorKind::Read(error)))?;
    let scanned = scan(&input, tracked, &mut catalog.names, &mut catalog.scopes);
    match scanned.and_then(|scanned| catalog.add(path, stamp, scanned)) {
        Ok((traces, unusable)) => {
            if traces > 0 {
                catalog.keep_copy(copy);
            }
            Ok((traces, unusable))
        }
        Err(LoadErrorKind::Undetected { .. }) if formats.have_others() => {
            let loaded = load_source(source, path, formats)?;
            Ok((catalog.hold(loaded.traces).map_err(fail)?, loaded.unusable))
        }
        Err(kind) => Err(fail(kind)),
    }
}
