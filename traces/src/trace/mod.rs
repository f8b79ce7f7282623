//! Trace files: formats, decoding, and the tree of spans of each trace.
//!
//! | file | contents |
//! |---|---|
//! | `format`, `registry` | [`TraceFormat`], the registry [`TraceFormats`] |
//! | `otlp`, `jaeger`, `built_in` | the formats of this crate |
//! | `index` | the scan of a text, and [`TraceIndex`] for files of any size |
//! | `inputs` | directories, standard input, pipes and compressed files |
//! | `decoded` | spans and log records, sorted into traces |
//! | `unusable` | parts of a file that cannot be used |
//! | `values` | ids, numbers and base64 in the spellings of recorders |
//!
//! Decoding is lenient about fields, because recorders differ: a field of the wrong type counts as absent, with a warning
//! of the trace if that matters. A text whose outer structure is wrong is an error.

mod built_in;
mod decoded;
mod error;
mod format;
mod index;
mod inputs;
mod jaeger;
mod load;
mod model;
mod otlp;
mod registry;
mod unusable;
mod values;

pub use decoded::Decoded;
pub(crate) use decoded::merge;
pub use error::{LoadError, LoadErrorKind};
pub use format::TraceFormat;
pub(crate) use index::TrackedNames;
pub use index::{ReadError, TraceIndex, TrackedAttributes};
#[doc(hidden)]
pub use inputs::FileStamp;
pub use inputs::{TraceFiles, trace_files};
pub use load::{FileTraces, load_file, load_text};
pub use model::{Event, LogRecord, Scope, Span, SpanStatus, Trace};
pub use registry::{TraceFormats, UnknownFormat};
pub use unusable::UnusableParts;
