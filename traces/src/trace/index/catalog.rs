//! The notes on all files, sorted into traces.

use std::{mem, ops::Range, path::Path, sync::Arc};

use indexmap::IndexSet;
use tempfile::TempPath;

use super::{
    Halt, Watch,
    builder::{Builder, Leaves, Origin, Run, move_behind, number, too_many_texts},
    texts::Texts,
    watch::{Dialect, Sighting, Slot},
};
use crate::trace::stamp::Stamp;
use crate::trace::{Format, LeftOut, LoadErrorKind, Trace, model::Scope, tree};

/// Where the traces of all files stand in them.
///
/// There may be millions of traces, so there is no allocation for any, nor for a file of which nothing is odd.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    /// Those that have traces.
    pub(super) files: Vec<Noted>,
    /// The number of the id of each trace. Traces are in the order of the files, and within a file of their first spans.
    pub(super) ids: Vec<u32>,
    /// Trace by trace; of a trace first the spans and then the logs, each in the order in which they are decoded.
    runs: Vec<Run>,
    pub(super) origins: Vec<Origin>,
    pub(super) scopes: IndexSet<Arc<Scope>>,
    /// Trace by trace.
    marks: Vec<Mark>,
    pub(super) texts: Texts,
    /// What is left of numbering the traces of a file: the number of a trace by that of its id.
    numbers: Vec<u32>,
}

/// A file with traces.
#[derive(Debug)]
pub(super) struct Noted {
    /// The number of its first trace.
    pub(super) first: u32,
    pub(super) content: Content,
}

/// Where the content of a file is.
#[derive(Debug)]
pub(super) enum Content {
    /// In the file.
    Noted {
        /// As it was given.
        path: Box<Path>,
        /// What is read instead of it, removed with the catalog.
        copy: Option<TempPath>,
        stamp: Stamp,
        dialect: Dialect,
        /// Warnings of every trace, as the file's text has them.
        warnings: Box<[String]>,
    },
    /// In memory.
    Held(Box<[Arc<Trace>]>),
}

impl Content {
    pub(super) fn new(path: &Path, stamp: Stamp, format: Format) -> Self {
        let dialect = match format {
            Format::OtlpJson => Dialect::Otlp,
            Format::JaegerJson => Dialect::Jaeger,
        };
        Self::Noted { path: path.into(), copy: None, stamp, dialect, warnings: Box::default() }
    }
}

/// A watched attribute of a trace, of the earliest span that has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    trace: u32,
    /// The number of its text, or [`Sighting::UNSURE`].
    pub(super) text: u32,
    pub(super) slot: Slot,
}

/// Spans and logs of a file in the order in which they are decoded.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) spans: Leaves,
    pub(super) logs: Leaves,
    pub(super) lone_surrogates: usize,
}

impl Found {
    /// Takes what was left out: first spans, then log records.
    pub(super) fn take_left_out(&mut self) -> LeftOut {
        let mut left_out = mem::take(&mut self.spans.left_out);
        left_out.add(&mem::take(&mut self.logs.left_out));
        left_out
    }
}

/// No trace has this number.
const NONE: u32 = u32::MAX;

impl Catalog {
    /// For the notes on another file of that many bytes.
    pub(super) fn builder(&mut self, watch: Watch, length: u64) -> Builder<'_> {
        Builder::new(watch, &mut self.texts, &mut self.scopes, length)
    }

    /// Adds what was found in a file. How many traces that are.
    pub(super) fn add(
        &mut self,
        mut content: Content,
        mut origins: Vec<Origin>,
        found: Found,
    ) -> Result<usize, Halt> {
        let Found { spans, mut logs, lone_surrogates } = found;
        let Leaves { mut runs, span_ids, mut sightings, warnings: mut lines, .. } = spans;
        lines.append(&mut logs.warnings);
        // Before anything is changed.
        number(self.ids.len() + runs.len())?;
        number(self.origins.len() + origins.len())?;
        let (first, origins_before) = (self.ids.len(), self.origins.len() as u32);

        self.numbers.resize(self.texts.len(), NONE);
        for run in &runs {
            let number = &mut self.numbers[run.trace as usize];
            if *number == NONE {
                *number = self.ids.len() as u32;
                self.ids.push(run.trace);
            }
        }
        // What is about a trace without spans is about nothing here.
        logs.runs.retain(|log| self.numbers[log.trace as usize] != NONE);
        move_behind(&mut runs, &mut logs.runs);
        for run in &mut runs {
            run.trace = self.numbers[run.trace as usize];
            run.shift_origin(origins_before);
        }
        for sighting in &mut sightings {
            sighting.trace = self.numbers[sighting.trace as usize];
        }
        for id in &self.ids[first..] {
            self.numbers[*id as usize] = NONE;
        }
        doubt_repeated_spans(&runs, span_ids, &mut sightings, first..self.ids.len());
        if !runs.is_sorted_by_key(|run| run.trace) {
            // Stable: within a trace the order stays.
            runs.sort_by_key(|run| run.trace);
        }
        Sighting::settle(&mut sightings);
        let mark = |Sighting { trace, text, slot, .. }| Mark { trace, text, slot };
        self.marks.extend(sightings.into_iter().map(mark));
        move_behind(&mut self.runs, &mut runs);
        move_behind(&mut self.origins, &mut origins);
        if let Content::Noted { warnings, .. } = &mut content {
            *warnings = tree::file_warnings(lines, lone_surrogates).into();
        }
        Ok(self.add_file(first, content))
    }

    /// Reads the file that was added last by its copy.
    pub(super) fn keep_copy(&mut self, file: TempPath) {
        if let Some(Noted { content: Content::Noted { copy, .. }, .. }) = self.files.last_mut() {
            *copy = Some(file);
        }
    }

    /// Adds the traces of a file that stay in memory. How many they are.
    pub(super) fn hold(&mut self, traces: Vec<Arc<Trace>>) -> Result<usize, LoadErrorKind> {
        let first = self.ids.len();
        let ids: Option<Vec<u32>> =
            traces.iter().map(|trace| self.texts.add(&trace.trace_id)).collect();
        self.ids.extend(ids.ok_or_else(|| LoadErrorKind::Read(too_many_texts()))?);
        Ok(self.add_file(first, Content::Held(traces.into())))
    }

    fn add_file(&mut self, first: usize, content: Content) -> usize {
        let traces = self.ids.len() - first;
        if traces > 0 {
            self.files.push(Noted { first: first as u32, content });
        }
        traces
    }

    /// The id of a trace.
    pub(super) fn id(&self, trace: usize) -> Arc<str> {
        match self.file(trace) {
            (_, Content::Held(traces), number) => Arc::clone(&traces[number].trace_id),
            _ => self.texts.get(self.ids[trace]).into(),
        }
    }

    /// The file of a trace: its number, its content, and the number of the trace in it.
    pub(super) fn file(&self, trace: usize) -> (usize, &Content, usize) {
        let file = self.files.partition_point(|file| file.first as usize <= trace) - 1;
        let Noted { first, content } = &self.files[file];
        (file, content, trace - *first as usize)
    }

    /// The spans of a trace and then its logs.
    pub(super) fn runs(&self, trace: usize) -> &[Run] {
        let start = self.runs.partition_point(|run| (run.trace as usize) < trace);
        let rest = &self.runs[start..];
        &rest[..rest.iter().take_while(|run| run.trace as usize == trace).count()]
    }

    /// The watched attributes of a trace that is not in memory.
    pub(super) fn marks(&self, trace: usize) -> &[Mark] {
        let start = self.marks.partition_point(|mark| (mark.trace as usize) < trace);
        let rest = &self.marks[start..];
        &rest[..rest.iter().take_while(|mark| mark.trace as usize == trace).count()]
    }

    /// Returns memory that is needed only while files are added. The lists are not shrunk: that would copy them, and what
    /// was never written to takes no memory.
    pub(super) fn settle(&mut self) {
        self.numbers = Vec::new();
    }
}

/// Of spans with the same id only the first counts, so that nothing is known of the attributes of a trace that has such.
fn doubt_repeated_spans(
    runs: &[Run],
    span_ids: Vec<u32>,
    sightings: &mut Vec<Sighting>,
    traces: Range<usize>,
) {
    if sightings.is_empty() {
        return;
    }
    let mut is_seen = vec![false; traces.len()];
    for sighting in &*sightings {
        is_seen[sighting.trace as usize - traces.start] = true;
    }
    let spans = runs.iter().filter(|run| !run.are_logs());
    let of_trace = spans.flat_map(|run| (0..run.count).map(|_| run.trace));
    let mut spans: Vec<(u32, u32)> = of_trace
        .zip(span_ids)
        .filter(|(trace, _)| is_seen[*trace as usize - traces.start])
        .collect();
    spans.sort_unstable();
    for pair in spans.windows(2) {
        if pair[0] == pair[1] {
            Sighting::unsure(pair[0].0).note(sightings);
        }
    }
}
