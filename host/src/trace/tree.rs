//! Parents, children, roots and logs of each trace.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::Arc,
};

use indexmap::IndexMap;

use super::{
    model::{Span, Trace},
    pool::{Pool, PooledLog},
};

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
    let file_warnings = file_warnings(pool.file_warnings, pool.replaced_surrogates);
    let mut traces: Vec<Trace> = Vec::with_capacity(groups.len());
    for (trace_id, spans) in groups {
        let mut warnings = file_warnings.clone();
        warnings.extend(own_warnings.remove(&trace_id).unwrap_or_default());
        let logs = logs.remove(&trace_id).unwrap_or_default();
        traces.push(trace(trace_id, file, spans, logs, warnings));
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
    trace(id, file, pool.spans, pool.logs, warnings)
}

fn trace(
    trace_id: Arc<str>,
    file: &Path,
    recorded: Vec<Span>,
    recorded_logs: Vec<PooledLog>,
    mut warnings: Vec<String>,
) -> Trace {
    let spans = without_duplicates(recorded, &mut warnings);
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
    }
}

/// What spans are sorted by wherever their order matters.
fn order(span: &Span) -> (i128, &str) {
    (span.start_ns, &span.span_id)
}

/// The spans with the first of each id only.
fn without_duplicates(mut spans: Vec<Span>, warnings: &mut Vec<String>) -> Vec<Span> {
    let mut seen = HashSet::new();
    let first: Vec<bool> = spans.iter().map(|span| seen.insert(span.span_id.as_str())).collect();
    drop(seen);
    let mut first = first.into_iter();
    spans.retain(|span| {
        let keep = first.next().unwrap_or(true);
        if !keep {
            warnings.push(format!("duplicate span {} ignored", span.span_id));
        }
        keep
    });
    spans
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
