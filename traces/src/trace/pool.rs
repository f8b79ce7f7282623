//! Spans and logs of a file before they are sorted into traces.

use std::{collections::HashSet, sync::Arc};

use super::{
    error::LoadErrorKind,
    left_out::{LeftOut, Part, Position},
    model::{LogRecord, Span},
};

/// Everything decoded from one file, in order.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub(super) spans: Vec<Span>,
    pub(super) logs: Vec<PooledLog>,
    /// Warnings of one trace.
    pub(super) warnings: Vec<(Arc<str>, String)>,
    /// Errors of one trace.
    pub(super) errors: Vec<(Arc<str>, String)>,
    /// Warnings of every trace of the file.
    pub(super) file_warnings: Vec<String>,
    /// How many lone surrogate escapes of the file's text were replaced.
    pub(super) replaced_surrogates: usize,
    /// Whether the text has objects with repeated keys, which are marked.
    pub(super) repeated_keys: bool,
    /// Where the decoder is.
    pub(super) position: Position,
    left_out_spans: LeftOut,
    left_out_logs: LeftOut,
    trace_ids: HashSet<Arc<str>>,
}

/// Whether a part of a file has spans or log records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Spans,
    Logs,
}

impl Side {
    /// What an item of the innermost list is, and its name in a sentence.
    pub(super) fn part(self) -> (Part, &'static str) {
        match self {
            Self::Spans => (Part::Span, "the span"),
            Self::Logs => (Part::LogRecord, "the log record"),
        }
    }
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

    /// Notes that the part at the current position is left out.
    pub(super) fn leave_out(&mut self, side: Side, part: Part, reason: &str) {
        let list = match side {
            Side::Spans => &mut self.left_out_spans,
            Side::Logs => &mut self.left_out_logs,
        };
        list.note(part, &self.position, reason);
    }

    /// Notes the errors that a trace API reports beside the traces.
    pub(super) fn note_reported(&mut self, errors: &crate::json::Value) {
        self.left_out_spans.note_reported(errors);
    }

    /// Takes what was left out: first spans, then log records.
    pub(super) fn take_left_out(&mut self) -> LeftOut {
        let mut left_out = std::mem::take(&mut self.left_out_spans);
        left_out.add(&std::mem::take(&mut self.left_out_logs));
        left_out
    }

    /// The error of an object at the current position that has a key more than once.
    pub(super) fn repeated(&self, key: &str) -> LoadErrorKind {
        LoadErrorKind::RepeatedKey { position: self.position.to_string(), key: key.to_owned() }
    }

    /// Notes an error of a trace.
    pub(super) fn fail(&mut self, trace_id: &Arc<str>, error: String) {
        self.errors.push((Arc::clone(trace_id), error));
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
