//! The notes on one file, sorted into traces.

use std::{ops::Range, path::PathBuf, sync::Arc, time::SystemTime};

use super::{
    builder::{Builder, Leaf, Leaves, Resource, traces_by_first_span},
    watch::{Dialect, Watched},
};
use crate::trace::{Format, model::Scope, tree};

/// What tells whether a file is still the one that was walked through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) length: u64,
    pub(super) modified: Option<SystemTime>,
}

impl Stamp {
    pub(super) fn of(metadata: &std::fs::Metadata) -> Self {
        Self { length: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// Where the traces of a file stand in it.
#[derive(Debug)]
pub(super) struct Catalog {
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
    pub(super) dialect: Dialect,
    /// In the order of their first spans.
    pub(super) traces: Vec<Entry>,
    /// Trace by trace, and within a trace in the order in which spans are decoded.
    pub(super) spans: Vec<Leaf>,
    /// Trace by trace.
    pub(super) logs: Vec<Leaf>,
    pub(super) resources: Vec<Resource>,
    pub(super) scopes: Vec<Arc<Scope>>,
    pub(super) watched: Vec<Watched>,
    /// Warnings of every trace, as the file's text has them.
    pub(super) warnings: Vec<String>,
}

/// A trace.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: Arc<str>,
    pub(super) spans: Range<usize>,
    pub(super) logs: Range<usize>,
}

/// Spans and logs of a file in the order in which they are decoded.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) spans: Vec<Leaf>,
    pub(super) logs: Vec<Leaf>,
    pub(super) warnings: Vec<String>,
    pub(super) lone_surrogates: usize,
}

impl Found {
    pub(super) fn add_spans(&mut self, mut spans: Leaves) {
        self.spans.append(&mut spans.leaves);
        self.warnings.append(&mut spans.warnings);
    }

    pub(super) fn add_logs(&mut self, mut logs: Leaves) {
        self.logs.append(&mut logs.leaves);
        self.warnings.append(&mut logs.warnings);
    }
}

impl Catalog {
    pub(super) fn new(
        (path, stamp, format): (PathBuf, Stamp, Format),
        builder: Builder,
        found: Found,
    ) -> Self {
        let Found { mut spans, mut logs, warnings, lone_surrogates } = found;
        let numbers = traces_by_first_span(&spans);
        // What is about a trace without spans is about nothing here.
        logs.retain(|log| numbers.contains_key(&log.trace));
        for leaf in spans.iter_mut().chain(&mut logs) {
            leaf.trace = numbers.get(&leaf.trace).copied().unwrap_or_default();
        }
        let mut ids: Vec<(u32, u32)> = numbers.into_iter().map(|(id, trace)| (trace, id)).collect();
        ids.sort_unstable();
        // Stable: within a trace the order stays.
        spans.sort_by_key(|leaf| leaf.trace);
        logs.sort_by_key(|leaf| leaf.trace);
        let (mut span, mut log) = (0, 0);
        let traces = ids
            .into_iter()
            .filter_map(|(trace, id)| {
                let id = Arc::clone(builder.trace_ids.get_index(id as usize)?);
                let spans = run(&spans, &mut span, trace);
                Some(Entry { id, spans, logs: run(&logs, &mut log, trace) })
            })
            .collect();
        Self {
            path,
            stamp,
            dialect: match format {
                Format::OtlpJson => Dialect::Otlp,
                Format::JaegerJson => Dialect::Jaeger,
            },
            traces,
            spans,
            logs,
            resources: builder.resources,
            scopes: builder.scopes.into_iter().collect(),
            watched: builder.watched,
            warnings: tree::file_warnings(warnings, lone_surrogates),
        }
    }
}

/// The leaves of a trace from `at` on.
fn run(leaves: &[Leaf], at: &mut usize, trace: u32) -> Range<usize> {
    let start = *at;
    *at += leaves[start..].iter().take_while(|leaf| leaf.trace == trace).count();
    start..*at
}
