//! Traces of files that are not in memory: it is noted where their spans stand, and they are read when they are needed.
//!
//! | file | what |
//! |---|---|
//! | `traces` | [`TraceIndex`]: the traces of all files, to be read one at a time |
//! | `file` | from a file to its index: which format it is, document or lines |
//! | `lines` | JSON lines |
//! | `otlp`, `jaeger` | the way through a document to its spans |
//! | `watch` | attributes that are looked at on the way |
//! | `builder` | what is noted of spans, resources and scopes while a file is walked through |
//! | `catalog` | the notes on all files, sorted into traces |
//! | `texts` | many short texts, each held once and known by its number |
//! | `read` | from the notes back to a trace |
//!
//! The whole text is checked on the way, with the errors the parser would give. Shapes that cannot be understood
//! without knowing what comes later are given up, and the file is loaded whole.

mod builder;
mod catalog;
mod file;
mod jaeger;
mod lines;
mod otlp;
mod read;
mod texts;
mod traces;
mod watch;

#[cfg(test)]
mod tests;

pub use read::ReadError;
pub(crate) use traces::Seen;
pub use traces::TraceIndex;
pub use watch::Watch;

use super::error::LoadErrorKind;
use crate::json::ScanError;

/// Bytes that are read at a time.
const CHUNK: usize = 256 << 10;

/// Why the walk through a file ended early.
#[derive(Debug)]
enum Halt {
    /// The text is broken.
    Scan(ScanError),
    /// The text is not of the format.
    Load(LoadErrorKind),
    /// The file has to be loaded whole to be understood.
    Odd,
}

impl From<ScanError> for Halt {
    fn from(error: ScanError) -> Self {
        Self::Scan(error)
    }
}

impl From<LoadErrorKind> for Halt {
    fn from(kind: LoadErrorKind) -> Self {
        Self::Load(kind)
    }
}
