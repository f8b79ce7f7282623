//! Libraries whose metrics run as programs.
//!
//! `driver.py` speaks the protocol of the host; the adapter of a library, a file without dependencies, says how a metric is
//! called with a part of a conversation, and what its answer means. Both and the import of the library become one file, which
//! names the packages it needs as script metadata (PEP 723). So environments, containment, forks, time limits and
//! fingerprints are those of any Python evaluator.

mod model;

pub use model::{LIBRARIES, Library, LibraryMetric};
