//! Parents, children, roots and logs of each trace.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    path::Path,
    sync::Arc,
};

use indexmap::IndexMap;

use super::{
    model::{Span, Trace},
    pool::{Pool, PooledLog},
};
use crate::json::{Object, Value, to_python};

/// Sorts what a file held into traces, in the order of their first spans.
pub(super) fn build(pool: Pool, file: &Path) -> Vec<Trace> {
    let mut groups: IndexMap<Arc<str>, Vec<Span>> = IndexMap::new();
    for span in pool.spans {
        groups.entry(Arc::clone(&span.trace_id)).or_default().push(span);
    }
    let mut logs: HashMap<Arc<str>, Vec<PooledLog>> = HashMap::new();
    for log in pool.logs {
        logs.entry(Arc::clone(&log.trace_id)).or_default().push(log);
    }
    let mut own_warnings: HashMap<Arc<str>, Vec<String>> = HashMap::new();
    for (trace_id, warning) in pool.warnings {
        own_warnings.entry(trace_id).or_default().push(warning);
    }
    let mut own_errors: HashMap<Arc<str>, Vec<String>> = HashMap::new();
    for (trace_id, error) in pool.errors {
        own_errors.entry(trace_id).or_default().push(error);
    }
    let file_warnings = file_warnings(pool.file_warnings, pool.replaced_surrogates);
    let mut traces: Vec<Trace> = Vec::with_capacity(groups.len());
    for (trace_id, spans) in groups {
        let mut warnings = file_warnings.clone();
        warnings.extend(own_warnings.remove(&trace_id).unwrap_or_default());
        let errors = own_errors.remove(&trace_id).unwrap_or_default();
        let logs = logs.remove(&trace_id).unwrap_or_default();
        traces.push(trace((trace_id, file), spans, logs, Remarks { warnings, errors }));
    }
    traces
}

/// The warnings that every trace of a file gets, so one of a kind has to do.
pub(super) fn file_warnings(mut warnings: Vec<String>, replaced_surrogates: usize) -> Vec<String> {
    warnings.sort_unstable();
    warnings.dedup();
    if replaced_surrogates > 0 {
        let text = "lone surrogate escapes of the file were replaced by U+FFFD";
        warnings.push(format!("{replaced_surrogates} {text}"));
    }
    warnings
}

/// The trace of a pool that holds one; with the warnings of the whole file.
pub(super) fn only(pool: Pool, id: Arc<str>, file: &Path, mut warnings: Vec<String>) -> Trace {
    warnings.extend(pool.warnings.into_iter().map(|(_, warning)| warning));
    let errors = pool.errors.into_iter().map(|(_, error)| error).collect();
    trace((id, file), pool.spans, pool.logs, Remarks { warnings, errors })
}

/// Joins the parts of a trace that are in several files, in the order of the files, into one tree.
pub(crate) fn merge(parts: &[&Trace]) -> Option<Trace> {
    let first = parts.first()?;
    let mut remarks = Remarks::default();
    let (mut spans, mut logs) = (Vec::new(), Vec::new());
    let mut known_logs = HashSet::new();
    let mut dropped_copies = 0;
    for part in parts {
        remarks.warnings.extend(part.warnings.iter().cloned());
        remarks.errors.extend(part.errors.iter().cloned());
        dropped_copies += part.dropped_copies;
        spans.extend(part.spans.iter().cloned());
        let of_spans = part.spans.iter().zip(&part.logs).flat_map(|(span, records)| {
            records.iter().map(|record| (Some(span.span_id.clone()), record))
        });
        let of_none = part.orphan_logs.iter().map(|record| (None, record));
        let mut own = HashSet::new();
        for (span_id, record) in of_spans.chain(of_none) {
            // A file may repeat a record on purpose; another file repeats it because it is a copy.
            let content = format!("{span_id:?} {record:?}");
            if known_logs.contains(&content) {
                continue;
            }
            own.insert(content);
            let trace_id = Arc::clone(&first.trace_id);
            logs.push(PooledLog { trace_id, span_id, record: record.clone() });
        }
        known_logs.extend(own);
    }
    let mut merged = trace((Arc::clone(&first.trace_id), &first.file), spans, logs, remarks);
    merged.dropped_copies += dropped_copies;
    Some(merged)
}

/// What is to be said of a trace.
#[derive(Debug, Default)]
struct Remarks {
    warnings: Vec<String>,
    errors: Vec<String>,
}

fn trace(
    (trace_id, file): (Arc<str>, &Path),
    recorded: Vec<Span>,
    recorded_logs: Vec<PooledLog>,
    Remarks { mut warnings, mut errors }: Remarks,
) -> Trace {
    let (spans, dropped_copies) = without_duplicates(recorded, &mut warnings, &mut errors);
    let index: HashMap<&str, usize> =
        spans.iter().enumerate().map(|(index, span)| (span.span_id.as_str(), index)).collect();

    let mut parent = parents(&spans, &index, &mut warnings);
    break_cycles(&spans, &mut parent, &mut warnings);

    let mut logs: Vec<Vec<_>> = spans.iter().map(|_| Vec::new()).collect();
    let mut orphan_logs = Vec::new();
    for log in recorded_logs {
        match log.span_id.as_deref().map(|id| index.get(id)) {
            Some(Some(&span)) => logs[span].push(log.record),
            // It is about a span that was not recorded, so it is not about any of these.
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

/// What spans are sorted by wherever their order matters.
fn order(span: &Span) -> (i128, &str) {
    (span.start_ns, &span.span_id)
}

/// The spans with the first of each id only, and the number of exact copies that were dropped, with a warning each. A span
/// with the same id and different content is an error, since one of the two would not be evaluated.
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

/// Everything that a span records, as text; the order of attributes does not matter.
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

/// The recorded parents, as far as they are in the trace and not the span itself.
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

/// Makes a root of the earliest span of each cycle, so that every span hangs below a root.
fn break_cycles(spans: &[Span], parent: &mut [Option<usize>], warnings: &mut Vec<String>) {
    const NEW: usize = usize::MAX;
    // In which walk towards the root each span was first seen.
    let mut walk = vec![NEW; spans.len()];
    for start in 0..spans.len() {
        let mut at = Some(start);
        while let Some(span) = at.filter(|&span| walk[span] == NEW) {
            walk[span] = start;
            at = parent[span];
        }
        // The walk ended at a root, at a span of an earlier walk, or came back to one of its own: a cycle.
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
    /// Every span once, parents before children, depth first, siblings by (start, span id).
    pub fn walk(&self) -> impl Iterator<Item = usize> + '_ {
        let mut open: Vec<usize> = self.roots.iter().rev().copied().collect();
        std::iter::from_fn(move || {
            let span = open.pop()?;
            open.extend(self.children[span].iter().rev());
            Some(span)
        })
    }

    /// Start of the earliest span, in nanoseconds since the epoch.
    #[must_use]
    pub fn start_ns(&self) -> i128 {
        self.spans.iter().map(|span| span.start_ns).min().unwrap_or_default()
    }
}
