//! From the notes back to a trace.

use std::{
    collections::{HashMap, hash_map::Entry},
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::PathBuf,
    sync::Arc,
};

use super::{
    builder::{Leaf, Place},
    catalog::{Catalog, Stamp},
    watch::Dialect,
};
use crate::{
    json::{Object, ParseOptions, Value, parse},
    trace::{
        Trace, jaeger,
        otlp::{self, attributes, take},
        pool::Pool,
        tree,
    },
};

/// Bytes between two places that are read along with them, as that is faster than to read twice.
const GAP: usize = 4096;

/// A trace could not be read, though its file was sound when the run began.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read any more.
    #[error("cannot read '{}' again: {error}", path.display())]
    Read {
        /// The file, as it was given.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// It is not the file it was.
    #[error("'{}' changed while it was evaluated; run again when nothing writes to it", path.display())]
    Changed {
        /// The file, as it was given.
        path: PathBuf,
    },
}

/// Why a trace cannot be read, without the name of the file.
enum Problem {
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

/// Pieces of a file in memory.
struct Pieces {
    /// By offset.
    pieces: Vec<(usize, Vec<u8>)>,
}

impl Catalog {
    /// Reads a trace, with a file that was opened for another before, or with a new one, which is left for the next.
    pub(super) fn read(&self, trace: usize, file: &mut Option<File>) -> Result<Trace, ReadError> {
        self.try_read(trace, file).map_err(|problem| match problem {
            Problem::Read(error) => ReadError::Read { path: self.path.clone(), error },
            Problem::Changed => ReadError::Changed { path: self.path.clone() },
        })
    }

    fn try_read(&self, trace: usize, file: &mut Option<File>) -> Result<Trace, Problem> {
        let entry = &self.traces[trace];
        let (spans, logs) = (&self.spans[entry.spans.clone()], &self.logs[entry.logs.clone()]);
        let mut open = match file.take() {
            Some(open) => open,
            None => File::open(&self.path)?,
        };
        let pieces = Pieces::read(&mut open, self.places(spans, logs))?;
        // Last, so that it is about what was read.
        if Stamp::of(&open.metadata()?) != self.stamp {
            return Err(Problem::Changed);
        }
        *file = Some(open);

        let mut pool = Pool::default();
        match self.dialect {
            Dialect::Otlp => self.otlp(&pieces, spans, &mut pool)?,
            Dialect::Jaeger => self.jaeger(&pieces, spans, &mut pool)?,
        }
        for log in logs {
            otlp::log_record(pieces.object(log.place)?, &mut pool);
        }
        let is_own = |id: &Arc<str>| *id == entry.id;
        if pool.spans.len() != spans.len()
            || pool.logs.len() != logs.len()
            || !pool.spans.iter().all(|span| is_own(&span.trace_id))
            || !pool.logs.iter().all(|log| is_own(&log.trace_id))
        {
            return Err(Problem::Changed);
        }
        drop(pieces);
        Ok(tree::only(pool, Arc::clone(&entry.id), &self.path, self.warnings.clone()))
    }

    /// Everything that is needed for these, sorted.
    fn places(&self, spans: &[Leaf], logs: &[Leaf]) -> Vec<Place> {
        let resources = spans.iter().filter_map(|span| span.resource);
        let resources = resources.filter_map(|number| self.resources[number as usize].place);
        let mut places: Vec<Place> =
            spans.iter().chain(logs).map(|leaf| leaf.place).chain(resources).collect();
        places.sort_unstable_by_key(|place| place.offset);
        places.dedup();
        places
    }

    fn otlp(&self, pieces: &Pieces, spans: &[Leaf], pool: &mut Pool) -> Result<(), Problem> {
        let resources = self.resources(pieces, spans, |value| {
            let Value::Object(mut resource) = value else { return Arc::default() };
            // What is odd about it has been noted.
            Arc::new(attributes(take(&mut resource, "attributes"), &mut Vec::new()))
        })?;
        let (no_scope, no_resource) = (Arc::default(), Arc::default());
        for span in spans {
            let scope = span.scope.map_or(&no_scope, |number| &self.scopes[number as usize]);
            let resource = span.resource.and_then(|number| resources.get(&number));
            let object = pieces.object(span.place)?;
            otlp::span(object, scope, resource.unwrap_or(&no_resource), pool);
        }
        Ok(())
    }

    fn jaeger(&self, pieces: &Pieces, spans: &[Leaf], pool: &mut Pool) -> Result<(), Problem> {
        let processes = self.resources(pieces, spans, |value| {
            // What is odd about them has been noted.
            jaeger::processes(value, &mut Pool::default())
        })?;
        let none = HashMap::new();
        for span in spans {
            let processes = span.resource.and_then(|number| processes.get(&number));
            jaeger::span(pieces.object(span.place)?, processes.unwrap_or(&none), pool);
        }
        Ok(())
    }

    /// What the resources of these spans decode to, by their numbers.
    fn resources<T>(
        &self,
        pieces: &Pieces,
        spans: &[Leaf],
        decode: impl Fn(Value) -> T,
    ) -> Result<HashMap<u32, T>, Problem> {
        let mut decoded = HashMap::new();
        for number in spans.iter().filter_map(|span| span.resource) {
            if let Entry::Vacant(entry) = decoded.entry(number) {
                let place = self.resources[number as usize].place;
                let value = place.map(|place| pieces.value(place)).transpose()?;
                entry.insert(decode(value.unwrap_or_default()));
            }
        }
        Ok(decoded)
    }
}

impl Pieces {
    /// Reads these places, which are sorted.
    fn read(file: &mut File, places: Vec<Place>) -> Result<Self, Problem> {
        let mut extents: Vec<(usize, usize)> = Vec::new();
        for place in places {
            match extents.last_mut() {
                Some((_, end)) if place.offset <= *end + GAP => *end = place.end().max(*end),
                _ => extents.push((place.offset, place.end())),
            }
        }
        let mut pieces = Vec::with_capacity(extents.len());
        for (start, end) in extents {
            let mut bytes = Vec::with_capacity(end - start);
            file.seek(SeekFrom::Start(start as u64))?;
            file.take((end - start) as u64).read_to_end(&mut bytes)?;
            if bytes.len() < end - start {
                return Err(Problem::Changed);
            }
            pieces.push((start, bytes));
        }
        Ok(Self { pieces })
    }

    fn object(&self, place: Place) -> Result<Object, Problem> {
        match self.value(place)? {
            Value::Object(object) => Ok(object),
            _ => Err(Problem::Changed),
        }
    }

    fn value(&self, place: Place) -> Result<Value, Problem> {
        let after = self.pieces.partition_point(|(start, _)| *start <= place.offset);
        let (start, bytes) =
            after.checked_sub(1).map(|piece| &self.pieces[piece]).ok_or(Problem::Changed)?;
        let bytes = bytes.get(place.offset - start..place.end() - start).ok_or(Problem::Changed)?;
        let text = str::from_utf8(bytes).map_err(|_| Problem::Changed)?;
        let parsed = parse(text, &ParseOptions::default()).map_err(|_| Problem::Changed)?;
        Ok(parsed.value)
    }
}
