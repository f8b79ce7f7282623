//! What is noted of spans, resources and scopes.

use std::{collections::HashMap, hash::BuildHasher as _, hash::RandomState, sync::Arc};

use indexmap::IndexSet;

use super::{Halt, watch::Watched};
use crate::{
    json::Value,
    trace::{
        coerce,
        ids::{self, normalize},
        model::Scope,
    },
};

/// Where a value stands in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: usize,
    pub(super) length: u32,
}

impl Place {
    pub(super) fn between(start: usize, end: usize) -> Result<Self, Halt> {
        let length = u32::try_from(end - start).map_err(|_| Halt::Odd)?;
        Ok(Self { offset: start, length })
    }

    pub(super) fn end(self) -> usize {
        self.offset + self.length as usize
    }
}

/// A span or a log record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub(super) place: Place,
    /// The number of its trace id, later that of its trace.
    pub(super) trace: u32,
    pub(super) resource: Option<u32>,
    pub(super) scope: Option<u32>,
    /// The number of its watched attributes.
    pub(super) watched: Option<u32>,
    /// Tells spans apart: those with the same span id have the same.
    pub(super) span: u64,
    /// Nanoseconds since the epoch; times that do not fit are the nearest that does.
    pub(super) start: i64,
}

/// A resource; in Jaeger's format all processes of a list of spans.
#[derive(Clone, Debug, Default)]
pub(super) struct Resource {
    /// `None` when there is nothing to decode.
    pub(super) place: Option<Place>,
    pub(super) watched: Watched,
}

/// Spans or logs that are only used if what comes later does not replace them.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    pub(super) leaves: Vec<Leaf>,
    /// Warnings of all traces of the file.
    pub(super) warnings: Vec<String>,
}

/// The notes on a file while it is walked through.
#[derive(Debug)]
pub(super) struct Builder {
    /// Keys of attributes that are watched.
    pub(super) keys: &'static [&'static str],
    pub(super) trace_ids: IndexSet<Arc<str>>,
    pub(super) resources: Vec<Resource>,
    pub(super) scopes: IndexSet<Arc<Scope>>,
    pub(super) watched: Vec<Watched>,
    hasher: RandomState,
}

/// What is noted of a span before it is known whether it is one.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) trace_id: Option<String>,
    pub(super) span_id: Option<String>,
    pub(super) start: Value,
    pub(super) watched: Watched,
}

impl Draft {
    pub(super) fn set_trace_id(&mut self, value: &Value) {
        self.trace_id = normalize(value, ids::TRACE);
    }

    pub(super) fn set_span_id(&mut self, value: &Value) {
        self.span_id = normalize(value, ids::SPAN);
    }
}

impl Builder {
    pub(super) fn new(keys: &'static [&'static str]) -> Self {
        Self {
            keys,
            trace_ids: IndexSet::new(),
            resources: Vec::new(),
            scopes: IndexSet::new(),
            watched: Vec::new(),
            hasher: RandomState::new(),
        }
    }

    /// A new resource, of which nothing is known yet.
    pub(super) fn resource(&mut self) -> Result<u32, Halt> {
        self.resources.push(Resource::default());
        number(self.resources.len() - 1)
    }

    pub(super) fn scope(&mut self, scope: Scope) -> Result<u32, Halt> {
        number(self.scopes.insert_full(Arc::new(scope)).0)
    }

    /// The note on a span; `None` when it lacks an id. `scale` is the unit of its start in nanoseconds.
    pub(super) fn span(
        &mut self,
        draft: Draft,
        place: Place,
        scale: i128,
    ) -> Result<Option<Leaf>, Halt> {
        let (Some(trace_id), Some(span_id)) = (&draft.trace_id, &draft.span_id) else {
            return Ok(None);
        };
        let start = coerce::time(&draft.start, scale).unwrap_or_default();
        let start = i64::try_from(start).unwrap_or(if start < 0 { i64::MIN } else { i64::MAX });
        let watched = if draft.watched.is_nothing() {
            None
        } else {
            // Often all spans of a trace have the same.
            if !self.watched.last().is_some_and(|last| last.is_same(&draft.watched)) {
                self.watched.push(draft.watched);
            }
            Some(number(self.watched.len() - 1)?)
        };
        let span = self.hasher.hash_one(span_id);
        let trace = self.trace(trace_id)?;
        Ok(Some(Leaf { place, trace, resource: None, scope: None, watched, span, start }))
    }

    /// The note on a log record; `None` when it belongs to no trace.
    pub(super) fn log(&mut self, trace_id: &Value, place: Place) -> Result<Option<Leaf>, Halt> {
        let Some(trace_id) = normalize(trace_id, ids::TRACE) else { return Ok(None) };
        let trace = self.trace(&trace_id)?;
        let (resource, scope, watched) = (None, None, None);
        Ok(Some(Leaf { place, trace, resource, scope, watched, span: 0, start: 0 }))
    }

    fn trace(&mut self, id: &str) -> Result<u32, Halt> {
        match self.trace_ids.get_index_of(id) {
            Some(known) => number(known),
            None => number(self.trace_ids.insert_full(id.into()).0),
        }
    }
}

/// Four thousand million of anything are loaded whole or not at all.
fn number(index: usize) -> Result<u32, Halt> {
    u32::try_from(index).map_err(|_| Halt::Odd)
}

/// The number each trace has by its first span, by the number of its id.
pub(super) fn traces_by_first_span(spans: &[Leaf]) -> HashMap<u32, u32> {
    let mut numbers = HashMap::new();
    for leaf in spans {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        numbers.entry(leaf.trace).or_insert(next);
    }
    numbers
}
