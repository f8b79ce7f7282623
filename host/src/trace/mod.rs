//! Loads trace files: detection of the format from content, decoding, and the tree of spans.

mod model;

pub use model::{Event, LogRecord, Scope, Span, SpanStatus, Trace};
