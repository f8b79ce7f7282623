//! From the notes back to a trace.

use std::{
    collections::{HashMap, hash_map::Entry},
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    builder::{Origin, Place, Run},
    catalog::{Catalog, Content},
    watch::Dialect,
};
use crate::{
    json::{MARKED, Object, ParseOptions, Value, parse, parse_items},
    trace::{
        Trace, jaeger,
        otlp::{self, attributes, take},
        pool::Pool,
        stamp::Stamp,
        tree,
    },
};

/// Bytes between two places that are read along with them, as that is faster than to read twice.
const GAP: u64 = 4096;

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
    pieces: Vec<(u64, Vec<u8>)>,
}

impl Catalog {
    /// Reads a trace, with a file that was opened for another before, or with a new one, which is left for the next.
    pub(super) fn read(
        &self,
        trace: usize,
        file: &mut Option<File>,
    ) -> Result<Arc<Trace>, ReadError> {
        match self.file(trace) {
            (_, Content::Held(traces), number) => Ok(Arc::clone(&traces[number])),
            (_, Content::Noted { path, copy, stamp, dialect, warnings }, _) => {
                let path = path.as_ref();
                let source = copy.as_deref().unwrap_or(path);
                let pool = self.decode(trace, (source, stamp, *dialect), file);
                let pool = pool.map_err(|problem| match problem {
                    Problem::Read(error) => ReadError::Read { path: path.to_owned(), error },
                    Problem::Changed => ReadError::Changed { path: path.to_owned() },
                })?;
                Ok(Arc::new(tree::only(pool, self.id(trace), path, warnings.to_vec())))
            }
        }
    }

    /// The spans and logs of a trace.
    fn decode(
        &self,
        trace: usize,
        (path, stamp, dialect): (&Path, &Stamp, Dialect),
        file: &mut Option<File>,
    ) -> Result<Pool, Problem> {
        let runs = self.runs(trace);
        let (spans, logs) = runs.split_at(runs.partition_point(|run| !run.are_logs()));
        let mut open = match file.take() {
            Some(open) => open,
            None => File::open(path)?,
        };
        let pieces = Pieces::read(&mut open, self.places(runs))?;
        // Last, so that it is about what was read.
        if Stamp::of(&open.metadata()?) != *stamp {
            return Err(Problem::Changed);
        }
        *file = Some(open);

        let mut pool = Pool::default();
        match dialect {
            Dialect::Otlp => self.otlp(&pieces, spans, &mut pool)?,
            Dialect::Jaeger => self.jaeger(&pieces, spans, &mut pool)?,
        }
        for run in logs {
            for log in pieces.objects(run, &mut pool)? {
                otlp::log_record(log, &mut pool);
            }
        }
        let id = self.id(trace);
        let count = |runs: &[Run]| runs.iter().map(|run| run.count as usize).sum::<usize>();
        if pool.spans.len() != count(spans)
            || pool.logs.len() != count(logs)
            || !pool.spans.iter().all(|span| span.trace_id == id)
            || !pool.logs.iter().all(|log| log.trace_id == id)
        {
            return Err(Problem::Changed);
        }
        Ok(pool)
    }

    /// Everything that is needed for these, sorted.
    fn places(&self, runs: &[Run]) -> Vec<Place> {
        let resources = runs.iter().filter_map(|run| self.origin(run)?.resource());
        let mut places: Vec<Place> = runs.iter().map(Run::place).chain(resources).collect();
        places.sort_unstable_by_key(|place| place.offset);
        places.dedup();
        places
    }

    fn origin(&self, run: &Run) -> Option<&Origin> {
        run.origin().map(|number| &self.origins[number as usize])
    }

    fn otlp(&self, pieces: &Pieces, spans: &[Run], pool: &mut Pool) -> Result<(), Problem> {
        let resources = self.resources(pieces, spans, |value| {
            let Value::Object(mut resource) = value else { return Arc::default() };
            // What is odd about it has been noted.
            Arc::new(attributes(take(&mut resource, "attributes"), &mut Vec::new()))
        })?;
        let (no_scope, no_resource) = (Arc::default(), Arc::default());
        for run in spans {
            let origin = self.origin(run);
            let scope = origin.and_then(|origin| self.scopes.get_index(origin.scope()? as usize));
            let resource = origin.and_then(|origin| resources.get(&origin.resource()?.offset));
            for span in pieces.objects(run, pool)? {
                let (scope, resource) =
                    (scope.unwrap_or(&no_scope), resource.unwrap_or(&no_resource));
                otlp::span(span, scope, resource, pool);
            }
        }
        Ok(())
    }

    fn jaeger(&self, pieces: &Pieces, spans: &[Run], pool: &mut Pool) -> Result<(), Problem> {
        let processes = self.resources(pieces, spans, |value| {
            // What is odd about them has been noted.
            jaeger::processes(value, &mut Pool::default())
        })?;
        let none = HashMap::new();
        for run in spans {
            let place = self.origin(run).and_then(Origin::resource);
            let processes = place.and_then(|place| processes.get(&place.offset));
            for span in pieces.objects(run, pool)? {
                jaeger::span(span, processes.unwrap_or(&none), pool);
            }
        }
        Ok(())
    }

    /// What the resources of these spans decode to, by where they stand.
    fn resources<T>(
        &self,
        pieces: &Pieces,
        spans: &[Run],
        decode: impl Fn(Value) -> T,
    ) -> Result<HashMap<u64, T>, Problem> {
        let mut decoded = HashMap::new();
        for place in spans.iter().filter_map(|run| self.origin(run)?.resource()) {
            if let Entry::Vacant(entry) = decoded.entry(place.offset) {
                entry.insert(decode(value(pieces.text(place)?)?));
            }
        }
        Ok(decoded)
    }
}

impl Pieces {
    /// Reads these places, which are sorted.
    fn read(file: &mut File, places: Vec<Place>) -> Result<Self, Problem> {
        let mut extents: Vec<(u64, u64)> = Vec::new();
        for place in places {
            match extents.last_mut() {
                Some((_, end)) if place.offset <= *end + GAP => *end = place.end().max(*end),
                _ => extents.push((place.offset, place.end())),
            }
        }
        let mut pieces = Vec::with_capacity(extents.len());
        for (start, end) in extents {
            let length = usize::try_from(end - start).map_err(|_| Problem::Changed)?;
            let mut bytes = Vec::with_capacity(length);
            file.seek(SeekFrom::Start(start))?;
            file.take(end - start).read_to_end(&mut bytes)?;
            if bytes.len() < length {
                return Err(Problem::Changed);
            }
            pieces.push((start, bytes));
        }
        Ok(Self { pieces })
    }

    /// The spans or logs of a run.
    fn objects(&self, run: &Run, pool: &mut Pool) -> Result<Vec<Object>, Problem> {
        let text = self.text(run.place())?;
        let parsed = parse_items(text, &MARKED).map_err(|_| Problem::Changed)?;
        pool.repeated_keys |= parsed.repeated_keys;
        let Value::Array(items) = parsed.value else { return Err(Problem::Changed) };
        let object = |item| match item {
            Value::Object(object) => Ok(object),
            _ => Err(Problem::Changed),
        };
        items.into_iter().map(object).collect()
    }

    fn text(&self, place: Place) -> Result<&str, Problem> {
        let after = self.pieces.partition_point(|(start, _)| *start <= place.offset);
        let (start, bytes) =
            after.checked_sub(1).map(|piece| &self.pieces[piece]).ok_or(Problem::Changed)?;
        let at = (place.offset - start) as usize;
        let bytes = bytes.get(at..at + place.length as usize).ok_or(Problem::Changed)?;
        simdutf8::basic::from_utf8(bytes).map_err(|_| Problem::Changed)
    }
}

fn value(text: &str) -> Result<Value, Problem> {
    let parsed = parse(text, &ParseOptions::default()).map_err(|_| Problem::Changed)?;
    Ok(parsed.value)
}
