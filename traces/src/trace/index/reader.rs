//! Spans and log records, read at the positions that a scan has noted.

use std::{
    collections::{HashMap, hash_map::Entry},
    io,
    sync::Arc,
};

use indexmap::IndexSet;

use super::{
    grammar::Grammar,
    records::{Location, Origin, RecordRange},
};
use crate::{
    json::{MARKED, Object, ParseOptions, Value, parse, parse_items},
    trace::{decoded::Decoded, error::LoadErrorKind, jaeger, model::Scope, otlp},
};

/// The text of a trace in memory, for decoding.
pub(super) struct Reader<'a> {
    pub(super) scopes: &'a IndexSet<Arc<Scope>>,
    pub(super) origins: &'a [Origin],
    /// Offset and bytes, sorted by offset.
    pub(super) pieces: Vec<(u64, &'a [u8])>,
}

impl Reader<'_> {
    /// Decodes the spans and the log records of these ranges.
    pub(super) fn decode(
        &self,
        grammar: Grammar,
        (spans, logs): (&[RecordRange], &[RecordRange]),
        out: &mut Decoded,
    ) -> Result<(), Problem> {
        match grammar {
            Grammar::Otlp => self.otlp(spans, out)?,
            Grammar::Jaeger => self.jaeger(spans, out)?,
        }
        for range in logs {
            for log in self.objects(range, out)? {
                otlp::log_record(log, out);
            }
        }
        Ok(())
    }

    // Problems of resources and processes have been reported by the scan.
    fn otlp(&self, ranges: &[RecordRange], out: &mut Decoded) -> Result<(), Problem> {
        let resources = self.resources(ranges, |value| {
            let Value::Object(mut resource) = value else { return Arc::default() };
            let attributes = otlp::take(&mut resource, "attributes");
            Arc::new(otlp::attributes(attributes, &mut Vec::new()))
        })?;
        let (no_scope, no_resource) = (Arc::default(), Arc::default());
        for range in ranges {
            let origin = range.origin_in(self.origins);
            let scope = origin.and_then(|it| self.scopes.get_index(it.scope()? as usize));
            let resource = origin.and_then(|it| resources.get(&it.resource()?.offset));
            for span in self.objects(range, out)? {
                otlp::span(span, scope.unwrap_or(&no_scope), resource.unwrap_or(&no_resource), out);
            }
        }
        Ok(())
    }

    fn jaeger(&self, ranges: &[RecordRange], out: &mut Decoded) -> Result<(), Problem> {
        let processes = self.resources(ranges, |value| jaeger::processes(value).0)?;
        let none = HashMap::new();
        for range in ranges {
            let origin = range.origin_in(self.origins);
            let processes = origin.and_then(|it| processes.get(&it.resource()?.offset));
            for span in self.objects(range, out)? {
                jaeger::span(span, processes.unwrap_or(&none), out);
            }
        }
        Ok(())
    }

    /// Decodes the resources of spans, by their offsets.
    fn resources<T>(
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
    fn objects(&self, range: &RecordRange, out: &mut Decoded) -> Result<Vec<Object>, Problem> {
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

impl From<Problem> for LoadErrorKind {
    fn from(problem: Problem) -> Self {
        Self::Read(match problem {
            Problem::Read(error) => error,
            Problem::Changed => io::Error::other("the file changed while it was read"),
        })
    }
}
