//! The text of a trace, read again.

use std::{
    collections::{HashMap, hash_map::Entry},
    io,
    sync::Arc,
};

use indexmap::IndexSet;

use super::records::{Location, Origin, RecordRange};
use crate::{
    json::{MARKED, Object, ParseOptions, Value, parse, parse_items},
    trace::{decoded::Decoded, model::Scope},
};

/// The text of a trace in memory, for decoding.
pub(super) struct Reader<'a> {
    pub(super) scopes: &'a IndexSet<Arc<Scope>>,
    pub(super) origins: &'a [Origin],
    /// Offset and bytes, sorted by offset.
    pub(super) pieces: Vec<(u64, &'a [u8])>,
}

impl Reader<'_> {
    /// Returns the scope of spans, if it was recorded.
    pub(super) fn scope(&self, range: &RecordRange) -> Option<&Arc<Scope>> {
        self.scopes.get_index(range.origin_in(self.origins)?.scope()? as usize)
    }

    /// Returns the offset of the resource of spans, if it was recorded.
    pub(super) fn resource(&self, range: &RecordRange) -> Option<u64> {
        Some(range.origin_in(self.origins)?.resource()?.offset)
    }

    /// Decodes the resources of spans, by their offsets.
    pub(super) fn resources<T>(
        &self,
        spans: &[RecordRange],
        decode: impl Fn(Value) -> T,
    ) -> Result<HashMap<u64, T>, Problem> {
        let mut decoded = HashMap::new();
        let resource = |range: &RecordRange| range.origin_in(self.origins)?.resource();
        for location in spans.iter().filter_map(resource) {
            if let Entry::Vacant(entry) = decoded.entry(location.offset) {
                let parsed = parse(self.text(location)?, &ParseOptions::default());
                entry.insert(decode(parsed.map_err(|_| Problem::Changed)?.value));
            }
        }
        Ok(decoded)
    }

    /// Returns the spans or logs of a range.
    pub(super) fn objects(
        &self,
        range: &RecordRange,
        out: &mut Decoded,
    ) -> Result<Vec<Object>, Problem> {
        let text = self.text(range.location())?;
        let parsed = parse_items(text, &MARKED).map_err(|_| Problem::Changed)?;
        out.repeated_keys |= parsed.repeated_keys;
        let Value::Array(items) = parsed.value else { return Err(Problem::Changed) };
        let object = |item| match item {
            Value::Object(object) => Ok(object),
            _ => Err(Problem::Changed),
        };
        items.into_iter().map(object).collect()
    }

    fn text(&self, location: Location) -> Result<&str, Problem> {
        let after = self.pieces.partition_point(|(start, _)| *start <= location.offset);
        let (start, bytes) =
            after.checked_sub(1).map(|piece| &self.pieces[piece]).ok_or(Problem::Changed)?;
        let at = (location.offset - start) as usize;
        let bytes = bytes.get(at..at + location.length as usize).ok_or(Problem::Changed)?;
        simdutf8::basic::from_utf8(bytes).map_err(|_| Problem::Changed)
    }
}

/// A [`ReadError`](super::ReadError) without the path.
pub(super) enum Problem {
    Read(io::Error),
    Changed,
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Changed,
            _ => Self::Read(error),
        }
    }
}
