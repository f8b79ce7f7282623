//! Decoding a text in memory as a whole.

use std::path::Path;

use indexmap::IndexSet;

use super::{
    grammar::Expected,
    input::{Input, Source},
    interner::Interner,
    reader::Reader,
    records::FileRecords,
    scan::{Scanned, scan},
    tracked::TrackedAttributes,
};
use crate::trace::{decoded::Decoded, error::LoadErrorKind};

/// Scans a text and adds all that it holds to `out`. `path` is the name of the file in errors.
///
/// # Errors
///
/// The text cannot be used, or is of none of the expected formats.
pub(in crate::trace) fn decode(
    text: &str,
    path: &Path,
    expected: Expected,
    out: &mut Decoded,
) -> Result<(), LoadErrorKind> {
    let input = Input { path, source: Source::Memory(text), expected };
    let (mut names, mut scopes) = (Interner::default(), IndexSet::new());
    let scanned = scan(&input, TrackedAttributes::default(), &mut names, &mut scopes)?;
    let Scanned { grammar, mut records, origins, lone_surrogates, is_bare_span } = scanned;
    out.is_bare_span = is_bare_span;
    out.unusable.append(&records.take_unusable());
    let FileRecords { spans, logs } = records;
    let pieces = vec![(0, text.as_bytes())];
    let reader = Reader { scopes: &scopes, origins: &origins, pieces };
    reader.decode(grammar, (&spans.ranges, &logs.ranges), out)?;
    out.file_warnings.extend(spans.warnings.into_iter().chain(logs.warnings));
    out.replaced_surrogates += lone_surrogates;
    Ok(())
}
