//! Traces, spans and log records, independent of file formats.

use std::{path::PathBuf, sync::Arc};

use crate::json::{Object, Value};

/// A recorded span.
#[derive(Clone, Debug)]
pub struct Span {
    /// Normalized trace id (lower-case hex where it was a valid id).
    pub trace_id: Arc<str>,
    /// Normalized span id.
    pub span_id: String,
    /// Normalized parent id as recorded; see [`Trace::parent`] for the effective one.
    pub parent_span_id: Option<String>,
    /// Span name, empty when the recording had none.
    pub name: String,
    /// Nanoseconds since the epoch.
    pub start_ns: i128,
    /// Nanoseconds since the epoch.
    pub end_ns: i128,
    /// Status of the span.
    pub status: SpanStatus,
    /// Description of the status, empty when the recording had none.
    pub status_message: String,
    /// Attributes, last value of a repeated key.
    pub attributes: Object,
    /// Span events in recorded order.
    pub events: Vec<Event>,
    /// Instrumentation scope, shared by all spans of a scope.
    pub scope: Arc<Scope>,
    /// Resource attributes, shared by all spans of a resource.
    pub resource: Arc<Object>,
}

/// Status of a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub enum SpanStatus {
    /// Nothing was recorded.
    #[default]
    Unset,
    /// The operation says it succeeded.
    Ok,
    /// The operation failed.
    Error,
}

/// The instrumentation scope a span came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Name of the instrumentation library.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A span event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Event name.
    pub name: String,
    /// Nanoseconds since the epoch.
    pub time_ns: i128,
    /// Attributes.
    pub attributes: Object,
}

/// A log record that belongs to a trace.
#[derive(Clone, Debug)]
pub struct LogRecord {
    /// Nanoseconds since the epoch, if recorded.
    pub time_ns: Option<i128>,
    /// Time at which the collector received it, if recorded.
    pub observed_time_ns: Option<i128>,
    /// Event name, empty when the record had none.
    pub event_name: String,
    /// Body.
    pub body: Value,
    /// Attributes.
    pub attributes: Object,
}

/// All spans of one trace id in one file, as a tree. Default: no spans.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Normalized trace id.
    pub trace_id: Arc<str>,
    /// The file it came from, as it was given.
    pub file: PathBuf,
    /// Spans in recorded order, span ids unique.
    pub spans: Vec<Span>,
    /// Index of the effective parent of each span (`None` for roots); free of cycles.
    pub parent: Vec<Option<usize>>,
    /// Children of each span, sorted by (start, span id).
    pub children: Vec<Vec<usize>>,
    /// Roots, sorted by (start, span id).
    pub roots: Vec<usize>,
    /// Log records of each span.
    pub logs: Vec<Vec<LogRecord>>,
    /// Log records with this trace id that name no span.
    pub orphan_logs: Vec<LogRecord>,
    /// Problems of the recording that do not prevent evaluation (duplicate spans, cycles, replaced text ...).
    pub warnings: Vec<String>,
    /// Reasons why the trace cannot be evaluated: spans with one id and different content, repeated keys.
    pub errors: Vec<String>,
    /// Number of spans that were dropped because they are copies of others.
    pub dropped_copies: usize,
}
