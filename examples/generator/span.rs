//! A span, before it is written in some format.

use serde_json::Value;

use super::scenario::{Conversation, Turn};

/// One recorded operation.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) trace_id: u128,
    pub(crate) span_id: u64,
    pub(crate) parent_id: Option<u64>,
    /// Name of the instrumentation that recorded it.
    pub(crate) scope: &'static str,
    pub(crate) name: String,
    /// Microseconds since 1970.
    pub(crate) start_us: u64,
    /// Microseconds since 1970.
    pub(crate) end_us: u64,
    /// Strings, integers and lists of strings, in the order they were set.
    pub(crate) attributes: Vec<(&'static str, Value)>,
    /// What went wrong, if something did.
    pub(crate) error: Option<&'static str>,
}

/// Records each turn of a conversation as a trace.
pub(crate) fn record(
    conversation: &Conversation,
    scope: &'static str,
    mut record_turn: impl FnMut(Tracer, &Turn) -> Vec<Span>,
) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut start_us = conversation.started * 1_000_000;
    for (number, turn) in conversation.turns.iter().enumerate() {
        let seed = format!("{}/{number}", conversation.id);
        let recorded = record_turn(Tracer::new(scope, &seed, start_us), turn);
        // The user reads and types for half a minute.
        start_us = recorded.iter().map(|span| span.end_us).max().unwrap_or(start_us) + 30_000_000;
        spans.extend(recorded);
    }
    spans
}

/// Hands out ids, times and parents to the spans of one trace.
///
/// Ids and durations are drawn from a small generator that is seeded with the name of the trace: they look like those of
/// a real recording and never change.
pub(crate) struct Tracer {
    random: Random,
    scope: &'static str,
    trace_id: u128,
    now_us: u64,
    open: Vec<Span>,
    spans: Vec<Span>,
}

impl Tracer {
    /// A tracer for a trace that begins at `start_us`. `seed` names the trace among all that are generated.
    fn new(scope: &'static str, seed: &str, start_us: u64) -> Self {
        let mut random = Random::new(seed);
        let trace_id = u128::from(random.next()) << 64 | u128::from(random.next());
        Self { random, scope, trace_id, now_us: start_us, open: Vec::new(), spans: Vec::new() }
    }

    /// Opens a span below the one that is open.
    pub(crate) fn enter(
        &mut self,
        name: impl Into<String>,
        attributes: Vec<(&'static str, Value)>,
    ) {
        let span_id = self.random.next();
        self.now_us += self.random.between(200, 1_500);
        self.open.push(Span {
            trace_id: self.trace_id,
            span_id,
            parent_id: self.open.last().map(|parent| parent.span_id),
            scope: self.scope,
            name: name.into(),
            start_us: self.now_us,
            end_us: self.now_us,
            attributes,
            error: None,
        });
    }

    /// Lets between `least` and `most` milliseconds pass.
    pub(crate) fn work(&mut self, least: u64, most: u64) {
        self.now_us += self.random.between(least * 1_000, most * 1_000);
    }

    /// Marks the open span as failed.
    pub(crate) fn fail(&mut self, error: &'static str) {
        if let Some(span) = self.open.last_mut() {
            span.error = Some(error);
        }
    }

    /// Closes the open span.
    pub(crate) fn exit(&mut self) {
        self.now_us += self.random.between(50, 400);
        if let Some(mut span) = self.open.pop() {
            span.end_us = self.now_us;
            self.spans.push(span);
        }
    }

    /// The spans, each before those below it.
    pub(crate) fn finish(mut self) -> Vec<Span> {
        self.spans.sort_by_key(|span| span.start_us);
        self.spans
    }
}

/// `SplitMix64`: small, good enough for ids, and the same everywhere.
struct Random(u64);

impl Random {
    fn new(seed: &str) -> Self {
        // FNV-1a.
        Self(seed.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least)
    }
}
