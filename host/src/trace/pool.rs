//! Spans and logs of a file before they are sorted into traces.

use std::{collections::HashSet, sync::Arc};

use super::model::{LogRecord, Span};

/// Everything decoded from one file, in order.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub(super) spans: Vec<Span>,
    pub(super) logs: Vec<PooledLog>,
    /// Warnings of one trace.
    pub(super) warnings: Vec<(Arc<str>, String)>,
    /// Warnings of every trace of the file.
    pub(super) file_warnings: Vec<String>,
    /// How many lone surrogate escapes of the file's text were replaced.
    pub(super) replaced_surrogates: usize,
    trace_ids: HashSet<Arc<str>>,
}

/// A log record and what it belongs to.
#[derive(Debug)]
pub(super) struct PooledLog {
    pub(super) trace_id: Arc<str>,
    pub(super) span_id: Option<String>,
    pub(super) record: LogRecord,
}

impl Pool {
    /// The one copy of a trace id that all its spans share.
    pub(super) fn trace_id(&mut self, id: &str) -> Arc<str> {
        if let Some(known) = self.trace_ids.get(id) {
            return Arc::clone(known);
        }
        let id: Arc<str> = id.into();
        self.trace_ids.insert(Arc::clone(&id));
        id
    }

    /// Turns the oddities of a span into warnings of its trace.
    pub(super) fn warn_span(&mut self, span: &Span, odd: &mut Vec<String>) {
        if !odd.is_empty() {
            self.warn(&span.trace_id, &format!("span {}", span.span_id), odd);
        }
    }

    /// Turns oddities into warnings of a trace.
    pub(super) fn warn(&mut self, trace_id: &Arc<str>, what: &str, odd: &mut Vec<String>) {
        for oddity in odd.drain(..) {
            self.warnings.push((Arc::clone(trace_id), format!("{what}: {oddity}")));
        }
    }

    /// Turns oddities of something that belongs to no trace into warnings of all traces of the file.
    pub(super) fn warn_file(&mut self, what: &str, odd: &mut Vec<String>) {
        self.file_warnings.extend(odd.drain(..).map(|oddity| format!("{what}: {oddity}")));
    }
}
