//! What is noted of spans, resources and scopes while a file is walked through.

use std::{hash::BuildHasher as _, io, ops::Range, sync::Arc};

use foldhash::quality::RandomState;
use indexmap::IndexSet;

use super::{
    Halt, Watch,
    texts::Texts,
    watch::{Dialect, Sighting, Watched},
};
use crate::{
    json::Value,
    trace::{
        coerce,
        error::LoadErrorKind,
        ids::{self, normalize},
        left_out::{LeftOut, Part, Position, missing_id},
        model::Scope,
        otlp::odd_trace_id,
    },
};

/// Items that follow each other are one note up to so many bytes: few enough to be decoded at once.
const RUN_BYTES: u64 = 64 << 10;

/// Lists get room for a note every so many bytes of a file: small traces have some, and room that is not used is never
/// touched. Lists that grow are copied again and again, and the copies take as much memory as the lists.
const BYTES_A_NOTE: u64 = 512;
/// Shorter files get no room in advance.
const LONG_FILE: u64 = 4 << 20;
/// For files that are longer than anybody's.
const MOST_ROOM: u64 = 1 << 22;

/// Where a value stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) length: u32,
}

impl Place {
    pub(super) fn between(start: usize, end: usize) -> Result<Self, Halt> {
        let length = u32::try_from(end - start).map_err(|_| Halt::Odd)?;
        Ok(Self { offset: start as u64, length })
    }

    pub(super) fn end(self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

/// Spans or log records of one trace that follow each other in a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    offset: u64,
    length: u32,
    /// How many they are.
    pub(super) count: u32,
    /// The number of the id of their trace, later that of their trace.
    pub(super) trace: u32,
    /// The number of their origin, or one of the constants here.
    origin: u32,
}

impl Run {
    const NO_ORIGIN: u32 = u32::MAX;
    const LOGS: u32 = u32::MAX - 1;

    /// From the first to the last, with what separates them.
    pub(super) fn place(&self) -> Place {
        Place { offset: self.offset, length: self.length }
    }

    pub(super) fn are_logs(&self) -> bool {
        self.origin == Self::LOGS
    }

    pub(super) fn origin(&self) -> Option<u32> {
        (self.origin < Self::LOGS).then_some(self.origin)
    }

    /// Numbers the origin anew: so many come before.
    pub(super) fn shift_origin(&mut self, before: u32) {
        if self.origin < Self::LOGS {
            self.origin += before;
        }
    }
}

/// What spans have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// Of the resource; in Jaeger's format of all processes of a list of spans. Empty when there is nothing to decode.
    resource: (u64, u32),
    /// The number of the scope.
    scope: u32,
}

impl Origin {
    const NO_SCOPE: u32 = u32::MAX;

    pub(super) fn resource(&self) -> Option<Place> {
        let (offset, length) = self.resource;
        (length > 0).then_some(Place { offset, length })
    }

    pub(super) fn scope(&self) -> Option<u32> {
        (self.scope != Self::NO_SCOPE).then_some(self.scope)
    }
}

/// Spans or logs that are only used if what comes later does not replace them.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    pub(super) runs: Vec<Run>,
    /// Tells spans apart: those with the same span id have the same. In their order, if attributes are watched.
    pub(super) span_ids: Vec<u32>,
    /// When the spans began whose resource is not known yet.
    starts: Vec<i64>,
    pub(super) sightings: Vec<Sighting>,
    /// Warnings of all traces of the file.
    pub(super) warnings: Vec<String>,
    /// Parts that cannot be used.
    pub(super) left_out: LeftOut,
    /// Whether the item before the next one is the last of the last run.
    is_open: bool,
}

impl Leaves {
    /// None, with room for so many.
    pub(super) fn with_room(room: usize) -> Self {
        Self { runs: Vec::with_capacity(room), ..Self::default() }
    }

    /// The next item does not follow the last one that was noted.
    pub(super) fn cut(&mut self) {
        self.is_open = false;
    }

    /// What was noted so far has no resource that could be known later.
    pub(super) fn have_no_resource(&mut self) {
        self.starts.clear();
    }

    fn push(&mut self, trace: u32, place: Place, origin: u32) {
        let open = if self.is_open { self.runs.last_mut() } else { None };
        let open = open.filter(|run| {
            run.trace == trace && run.origin == origin && place.end() - run.offset <= RUN_BYTES
        });
        match open {
            Some(run) => {
                // At most `RUN_BYTES`.
                run.length = (place.end() - run.offset) as u32;
                run.count += 1;
            }
            None => {
                let Place { offset, length } = place;
                self.runs.push(Run { offset, length, count: 1, trace, origin });
            }
        }
        self.is_open = true;
    }

    /// Adds others behind these.
    pub(super) fn append(&mut self, mut others: Self) {
        move_behind(&mut self.runs, &mut others.runs);
        move_behind(&mut self.span_ids, &mut others.span_ids);
        move_behind(&mut self.sightings, &mut others.sightings);
        move_behind(&mut self.warnings, &mut others.warnings);
        self.left_out.add(&others.left_out);
        self.is_open = false;
    }
}

/// Appends without a copy where there is nothing to append to: these lists may be long.
pub(super) fn move_behind<T>(list: &mut Vec<T>, others: &mut Vec<T>) {
    if list.is_empty() && list.capacity() < others.capacity() {
        std::mem::swap(list, others);
    } else {
        list.append(others);
    }
}

/// The notes on a file while it is walked through.
#[derive(Debug)]
pub(super) struct Builder<'n> {
    pub(super) watch: Watch,
    /// Those of all files.
    texts: &'n mut Texts,
    /// Those of all files.
    scopes: &'n mut IndexSet<Arc<Scope>>,
    pub(super) origins: Vec<Origin>,
    /// Where the walk is.
    pub(super) position: Position,
    /// How many notes a list that may become long should have room for.
    pub(super) room: usize,
    hasher: RandomState,
}

/// A member of a span that is noted and has two spellings.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    TraceId,
    SpanId,
    Start,
}

/// What is noted of a span before it is known whether it is one.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) trace_id: Option<String>,
    pub(super) span_id: Option<String>,
    pub(super) start: Value,
    pub(super) watched: Watched,
    /// The fields whose name in camel case was there, by [`Field`].
    camel: [bool; 3],
}

impl Draft {
    /// Returns true if a value counts: one under a name in `snake_case` does not where the name in camel case was there.
    pub(super) fn counts(&mut self, field: Field, name: &str) -> bool {
        let was_there = &mut self.camel[field as usize];
        let is_camel = !name.contains('_');
        let counts = is_camel || !*was_there;
        *was_there |= is_camel;
        counts
    }

    pub(super) fn set_trace_id(&mut self, value: &Value) {
        self.trace_id = normalize(value, ids::TRACE);
    }

    pub(super) fn set_span_id(&mut self, value: &Value) {
        self.span_id = normalize(value, ids::SPAN);
    }
}

impl<'n> Builder<'n> {
    pub(super) fn new(
        watch: Watch,
        texts: &'n mut Texts,
        scopes: &'n mut IndexSet<Arc<Scope>>,
        length: u64,
    ) -> Self {
        let room = if length < LONG_FILE { 0 } else { (length / BYTES_A_NOTE).min(MOST_ROOM) };
        let room = room as usize;
        texts.make_room(room);
        let (origins, hasher) = (Vec::with_capacity(room), RandomState::default());
        let position = Position::default();
        Self { watch, texts, scopes, origins, position, room, hasher }
    }

    pub(super) fn scope(&mut self, scope: Scope) -> Result<u32, Halt> {
        let known = self.scopes.get_index_of(&scope);
        number(known.unwrap_or_else(|| self.scopes.insert_full(Arc::new(scope)).0))
    }

    /// Notes a span; without an id, it is left out.
    pub(super) fn span(
        &mut self,
        draft: Draft,
        place: Place,
        dialect: Dialect,
        out: &mut Leaves,
    ) -> Result<(), Halt> {
        let (Some(trace_id), Some(span_id)) = (&draft.trace_id, &draft.span_id) else {
            let (trace_key, span_key) = dialect.id_keys();
            let ids = ((draft.trace_id.is_some(), trace_key), (draft.span_id.is_some(), span_key));
            if let Some(reason) = missing_id(ids.0, ids.1) {
                self.leave_out(Part::Span, &reason, out);
            }
            out.cut();
            return Ok(());
        };
        let trace = self.text(trace_id)?;
        out.push(trace, place, Run::NO_ORIGIN);
        if self.watch.keys.is_empty() {
            return Ok(());
        }
        // Those that are equal without being the same are told apart when the trace is read.
        out.span_ids.push(self.hasher.hash_one(span_id) as u32);
        let start = coerce::time(&draft.start, dialect.time_unit()).unwrap_or_default();
        let start = i64::try_from(start).unwrap_or(if start < 0 { i64::MIN } else { i64::MAX });
        out.starts.push(start);
        self.sight(&draft.watched, false, (trace, start), out)
    }

    /// Notes a log record; not if it belongs to no trace.
    pub(super) fn log(
        &mut self,
        trace_id: &Value,
        place: Place,
        out: &mut Leaves,
    ) -> Result<(), Halt> {
        match normalize(trace_id, ids::TRACE) {
            Some(trace_id) => out.push(self.text(&trace_id)?, place, Run::LOGS),
            None => {
                if let Some(reason) = odd_trace_id(trace_id) {
                    self.leave_out(Part::LogRecord, &reason, out);
                }
                out.cut();
            }
        }
        Ok(())
    }

    /// Notes that the part at the current position is left out.
    pub(super) fn leave_out(&self, part: Part, reason: &str, out: &mut Leaves) {
        out.left_out.note(part, &self.position, reason);
    }

    /// Notes what the spans of these runs, the last ones, have in common.
    pub(super) fn come_from(
        &mut self,
        resource: Option<Place>,
        scopes: &[(Range<usize>, Option<u32>)],
        out: &mut Leaves,
    ) -> Result<(), Halt> {
        let resource = resource.map_or((0, 0), |place| (place.offset, place.length));
        for (runs, scope) in scopes {
            let origin = Origin { resource, scope: scope.unwrap_or(Origin::NO_SCOPE) };
            if runs.is_empty() || (resource.1 == 0 && scope.is_none()) {
                continue;
            }
            if self.origins.last() != Some(&origin) {
                self.origins.push(origin);
            }
            let origin = number(self.origins.len() - 1)?;
            for run in &mut out.runs[runs.clone()] {
                run.origin = origin;
            }
        }
        Ok(())
    }

    /// Notes the watched attributes of the resource that the spans of the runs from `first` on have in common.
    pub(super) fn sight_resource(
        &mut self,
        watched: &Watched,
        first: usize,
        out: &mut Leaves,
    ) -> Result<(), Halt> {
        let starts = std::mem::take(&mut out.starts);
        if watched.is_nothing() {
            return Ok(());
        }
        let counts: Vec<(u32, u32)> =
            out.runs[first..].iter().map(|run| (run.trace, run.count)).collect();
        let traces = counts.iter().flat_map(|(trace, count)| (0..*count).map(|_| *trace));
        for span in traces.zip(starts) {
            self.sight(watched, true, span, out)?;
        }
        Ok(())
    }

    fn sight(
        &mut self,
        watched: &Watched,
        on_resource: bool,
        (trace, start): (u32, i64),
        out: &mut Leaves,
    ) -> Result<(), Halt> {
        if watched.unsure {
            Sighting::unsure(trace).note(&mut out.sightings);
        }
        for (key, value) in &watched.values {
            if let Some(text) = (self.watch.text)(value) {
                let text = self.text(&text)?;
                Sighting::new(trace, start, (*key, on_resource), text).note(&mut out.sightings);
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<u32, Halt> {
        self.texts.add(text).ok_or_else(|| LoadErrorKind::Read(too_many_texts()).into())
    }
}

/// Why a file cannot be loaded, not even whole.
pub(super) fn too_many_texts() -> io::Error {
    let text = "the files hold more than 4 GB of trace ids; evaluate them in several runs";
    io::Error::new(io::ErrorKind::OutOfMemory, text)
}

/// Four thousand million of anything are loaded whole or not at all.
pub(super) fn number(index: usize) -> Result<u32, Halt> {
    u32::try_from(index).ok().filter(|number| *number < Run::LOGS).ok_or(Halt::Odd)
}
