//! Loads trace files: detection of the format from content, decoding, and the tree of spans.
//!
//! | file | what |
//! |---|---|
//! | `load` | files in, traces and errors out |
//! | `index` | files of any size: where their traces stand, to be read one at a time |
//! | `format` | which format a text is in, judged by content |
//! | `otlp` | OTLP JSON documents, bare spans and JSON lines |
//! | `jaeger` | Jaeger JSON |
//! | `inputs`, `spool` | directories, standard input, pipes and compressed files |
//! | `left_out` | parts of a file that cannot be used |
//! | `pool` | spans and logs of a file before they are sorted into traces |
//! | `tree` | parents, children, roots and logs of each trace |
//!
//! Decoding is lenient about fields, as recorders differ: a field of the wrong type counts as absent. What is lost
//! that way and matters becomes a warning of the trace. A text whose outer structure is wrong is an error.

mod bytes;
mod coerce;
mod error;
mod format;
mod ids;
mod index;
mod inputs;
mod jaeger;
mod left_out;
mod load;
mod model;
mod otlp;
mod pool;
mod spool;
#[doc(hidden)]
pub mod stamp;
mod stray;
mod tree;

pub use error::{LoadError, LoadErrorKind};
pub use format::{Format, UnknownFormat};
pub(crate) use index::Seen;
pub use index::{ReadError, TraceIndex, Watch};
pub use inputs::{TraceFiles, trace_files};
pub use left_out::LeftOut;
pub use load::{FileTraces, Loaded, load, load_file, load_text};
pub use model::{Event, LogRecord, Scope, Span, SpanStatus, Trace};
pub(crate) use tree::merge;
