//! Spans and log records of a file, and how they become traces: parents, children, roots and logs of each.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    path::{Path, PathBuf},
    sync::Arc,
};

use indexmap::IndexMap;

use super::{
    model::{LogRecord, Span, Trace},
    unusable::{Part, Position, UnusableParts},
};
use crate::json::{Object, Value, to_python};

/// The content of one trace file, in the order of the file, before it is sorted into traces.
#[derive(Debug, Default)]
pub struct Decoded {
    /// The file, for messages.
    pub(super) file: PathBuf,
    pub(super) spans: Vec<Span>,
    pub(super) logs: Vec<PendingLog>,
    /// Warnings, each with the id of its trace.
    warnings: Vec<(Arc<str>, String)>,
    /// Errors, each with the id of its trace.
    errors: Vec<(Arc<str>, String)>,
    /// Warnings of every trace of the file.
    pub(super) file_warnings: Vec<String>,
    /// Number of lone surrogate escapes of the text that were replaced.
    pub(super) replaced_surrogates: usize,
    /// Whether the text has objects with repeated keys, which are marked.
    pub(super) repeated_keys: bool,
    /// Parts that cannot be used.
    pub(super) unusable: UnusableParts,
    /// Whether the text is one span, without a document or a list around it.
    pub(super) is_bare_span: bool,
    trace_ids: HashSet<Arc<str>>,
}

/// A log record with the ids of its trace and its span.
#[derive(Debug)]
pub(super) struct PendingLog {
    pub(super) trace_id: Arc<str>,
    pub(super) span_id: Option<String>,
    pub(super) record: LogRecord,
}

impl Decoded {
    pub(super) fn new(file: &Path) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    /// Adds a span. Traces are in the order of their first spans.
    pub fn add_span(&mut self, span: Span) {
        self.spans.push(span);
    }

    /// Adds a log record of a trace and, if known, of a span of it.
    pub fn add_log(&mut self, trace_id: Arc<str>, span_id: Option<String>, record: LogRecord) {
        self.logs.push(PendingLog { trace_id, span_id, record });
    }

    /// Adds a warning of a trace.
    pub fn add_warning(&mut self, trace_id: &Arc<str>, warning: String) {
        self.warnings.push((Arc::clone(trace_id), warning));
    }

    /// Adds an error of a trace, which is then not evaluated.
    pub fn add_error(&mut self, trace_id: &Arc<str>, error: String) {
        self.errors.push((Arc::clone(trace_id), error));
    }

    /// Adds a span that cannot be used, which is an error of the run. `reason` includes the position.
    pub fn add_unusable_span(&mut self, reason: &str) {
        self.unusable.add(Part::Span, &Position::default(), reason);
    }

    /// Returns the shared copy of a trace id.
    pub fn trace_id(&mut self, id: &str) -> Arc<str> {
        if let Some(known) = self.trace_ids.get(id) {
            return Arc::clone(known);
        }
        let id: Arc<str> = id.into();
        self.trace_ids.insert(Arc::clone(&id));
        id
    }

    /// Adds problems of a span or log record, which `what` names, as warnings of its trace.
    pub(super) fn warn(&mut self, trace_id: &Arc<str>, what: &str, problems: Vec<String>) {
        for problem in problems {
            self.add_warning(trace_id, format!("{what}: {problem}"));
        }
    }

    /// Sorts the content into traces, in the order of their first spans.
    pub(super) fn into_traces(self) -> Vec<Trace> {
        let mut parts: IndexMap<Arc<str>, Parts> = IndexMap::new();
        for span in self.spans {
            parts.entry(Arc::clone(&span.trace_id)).or_default().spans.push(span);
        }
        for log in self.logs {
            if let Some(parts) = parts.get_mut(&log.trace_id) {
                parts.logs.push(log);
            }
        }
        let file_warnings = file_warnings(self.file_warnings, self.replaced_surrogates);
        for parts in parts.values_mut() {
            parts.warnings.clone_from(&file_warnings);
        }
        for (trace_id, warning) in self.warnings {
            if let Some(parts) = parts.get_mut(&trace_id) {
                parts.warnings.push(warning);
            }
        }
        for (trace_id, error) in self.errors {
            if let Some(parts) = parts.get_mut(&trace_id) {
                parts.errors.push(error);
            }
        }
        parts.into_iter().map(|(trace_id, parts)| parts.into_trace(trace_id, &self.file)).collect()
    }

    /// Returns the only trace of the content, with the warnings of the whole file.
    pub(super) fn into_trace(self, id: Arc<str>, mut warnings: Vec<String>) -> Trace {
        warnings.extend(self.warnings.into_iter().map(|(_, warning)| warning));
        let errors = self.errors.into_iter().map(|(_, error)| error).collect();
        Parts { spans: self.spans, logs: self.logs, warnings, errors }.into_trace(id, &self.file)
    }
}

/// Returns the warnings of every trace of a file, each once.
pub(super) fn file_warnings(mut warnings: Vec<String>, replaced_surrogates: usize) -> Vec<String> {
    warnings.sort_unstable();
    warnings.dedup();
    if replaced_surrogates > 0 {
        let text = "lone surrogate escapes of the file were replaced by U+FFFD";
        warnings.push(format!("{replaced_surrogates} {text}"));
    }
    warnings
}

/// Joins the parts of a trace that are in several files, in the order of the files, into one tree.
pub(crate) fn merge(parts: &[&Trace]) -> Option<Trace> {
    let first = parts.first()?;
    let mut whole = Parts::default();
    let mut known_logs = HashSet::new();
    let mut dropped_copies = 0;
    for part in parts {
        whole.warnings.extend(part.warnings.iter().cloned());
        whole.errors.extend(part.errors.iter().cloned());
        dropped_copies += part.dropped_copies;
        whole.spans.extend(part.spans.iter().cloned());
        let of_spans = part.spans.iter().zip(&part.logs).flat_map(|(span, records)| {
            records.iter().map(|record| (Some(span.span_id.clone()), record))
        });
        let of_none = part.orphan_logs.iter().map(|record| (None, record));
        let mut own = HashSet::new();
        for (span_id, record) in of_spans.chain(of_none) {
            // A record that a file repeats counts twice; a record that another file repeats is a copy.
            let content = format!("{span_id:?} {record:?}");
            if known_logs.contains(&content) {
                continue;
            }
            own.insert(content);
            let trace_id = Arc::clone(&first.trace_id);
            whole.logs.push(PendingLog { trace_id, span_id, record: record.clone() });
        }
        known_logs.extend(own);
    }
    let mut merged = whole.into_trace(Arc::clone(&first.trace_id), &first.file);
    merged.dropped_copies += dropped_copies;
    Some(merged)
}

/// The content of one trace.
#[derive(Debug, Default)]
struct Parts {
    spans: Vec<Span>,
    logs: Vec<PendingLog>,
    warnings: Vec<String>,
    errors: Vec<String>,
}

impl Parts {
    fn into_trace(self, trace_id: Arc<str>, file: &Path) -> Trace {
        let Self { spans, logs: recorded_logs, mut warnings, mut errors } = self;
        let (spans, dropped_copies) = without_duplicates(spans, &mut warnings, &mut errors);
        let index: HashMap<&str, usize> =
            spans.iter().enumerate().map(|(index, span)| (span.span_id.as_str(), index)).collect();

        let mut parent = parents(&spans, &index, &mut warnings);
        break_cycles(&spans, &mut parent, &mut warnings);

        let mut logs: Vec<Vec<_>> = spans.iter().map(|_| Vec::new()).collect();
        let mut orphan_logs = Vec::new();
        for log in recorded_logs {
            match log.span_id.as_deref().map(|id| index.get(id)) {
                Some(Some(&span)) => logs[span].push(log.record),
                // Its span was not recorded, so it does not belong to any other span either.
                Some(None) => {}
                None => orphan_logs.push(log.record),
            }
        }

        let mut children: Vec<Vec<usize>> = spans.iter().map(|_| Vec::new()).collect();
        let mut roots = Vec::new();
        for (child, parent) in parent.iter().enumerate() {
            parent.map_or(&mut roots, |parent| &mut children[parent]).push(child);
        }
        for siblings in children.iter_mut().chain([&mut roots]) {
            siblings.sort_by_key(|&span| order(&spans[span]));
        }
        Trace {
            trace_id,
            file: file.to_owned(),
            spans,
            parent,
            children,
            roots,
            logs,
            orphan_logs,
            warnings,
            errors,
            dropped_copies,
        }
    }
}

/// Returns the sort key of spans: start and id.
fn order(span: &Span) -> (i128, &str) {
    (span.start_ns, &span.span_id)
}

/// Returns the first span of each id, and the number of exact copies that were dropped, with a warning each. A span with a
/// known id and different content is an error, because one of the two would not be evaluated.
fn without_duplicates(
    mut spans: Vec<Span>,
    warnings: &mut Vec<String>,
    errors: &mut Vec<String>,
) -> (Vec<Span>, usize) {
    let mut copies = 0;
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(spans.len());
    let mut keep = vec![true; spans.len()];
    for (number, span) in spans.iter().enumerate() {
        match seen.entry(span.span_id.as_str()) {
            Entry::Vacant(entry) => {
                entry.insert(number);
            }
            Entry::Occupied(first) => {
                keep[number] = false;
                let id = &span.span_id;
                if content(&spans[*first.get()]) == content(span) {
                    copies += 1;
                    warnings.push(format!("duplicate span {id} ignored"));
                } else {
                    errors.push(format!(
                        "span {id} is recorded more than once with different content"
                    ));
                }
            }
        }
    }
    drop(seen);
    let mut keep = keep.into_iter();
    spans.retain(|_| keep.next().unwrap_or(true));
    errors.sort_unstable();
    errors.dedup();
    (spans, copies)
}

/// Returns everything that a span records as text, in which the order of attributes does not matter.
fn content(span: &Span) -> String {
    let attributes = |object: &Object| to_python(&Value::Object(object.clone()));
    let mut text = format!(
        "{:?} {:?} {} {} {:?} {:?} {} {}",
        span.parent_span_id,
        span.name,
        span.start_ns,
        span.end_ns,
        span.status,
        span.scope,
        attributes(&span.resource),
        attributes(&span.attributes),
    );
    for event in &span.events {
        text += &format!(" {:?} {} {}", event.name, event.time_ns, attributes(&event.attributes));
    }
    text
}

/// Returns the recorded parent of each span, if it is in the trace and is not the span itself.
fn parents(
    spans: &[Span],
    index: &HashMap<&str, usize>,
    warnings: &mut Vec<String>,
) -> Vec<Option<usize>> {
    let mut parents = Vec::with_capacity(spans.len());
    for (own, span) in spans.iter().enumerate() {
        let parent = span.parent_span_id.as_deref().and_then(|id| index.get(id).copied());
        if parent == Some(own) {
            let id = &span.span_id;
            warnings.push(format!("span {id} names itself as parent; treated as a root"));
        }
        parents.push(parent.filter(|&parent| parent != own));
    }
    parents
}

/// Makes the earliest span of each cycle a root, so that every span is below a root.
fn break_cycles(spans: &[Span], parent: &mut [Option<usize>], warnings: &mut Vec<String>) {
    const NEW: usize = usize::MAX;
    // The start of the walk towards the root in which each span was first seen.
    let mut walk = vec![NEW; spans.len()];
    for start in 0..spans.len() {
        let mut at = Some(start);
        while let Some(span) = at.filter(|&span| walk[span] == NEW) {
            walk[span] = start;
            at = parent[span];
        }
        // The walk ended at a root, at a span of an earlier walk, or at a span of its own, which is a cycle.
        let Some(entry) = at.filter(|&span| walk[span] == start) else { continue };
        let mut members = vec![entry];
        let mut next = parent[entry];
        while let Some(span) = next.filter(|&span| span != entry) {
            members.push(span);
            next = parent[span];
        }
        let Some(&first) = members.iter().min_by_key(|&&span| order(&spans[span])) else {
            continue;
        };
        parent[first] = None;
        let (count, id) = (members.len(), &spans[first].span_id);
        warnings.push(format!("parent cycle through {count} spans broken at {id}"));
    }
}

impl Trace {
    /// Returns every span once, parents before children, depth first, siblings by (start, span id).
    pub fn walk(&self) -> impl Iterator<Item = usize> + '_ {
        let mut open: Vec<usize> = self.roots.iter().rev().copied().collect();
        std::iter::from_fn(move || {
            let span = open.pop()?;
            open.extend(self.children[span].iter().rev());
            Some(span)
        })
    }

    /// Returns the start of the earliest span, in nanoseconds since the epoch.
    pub fn start_ns(&self) -> i128 {
        self.spans.iter().map(|span| span.start_ns).min().unwrap_or_default()
    }
}
