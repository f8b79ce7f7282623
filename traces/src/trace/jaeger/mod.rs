//! Jaeger JSON, as its UI and API export it: `{"data": [..]}`.
//!
//! | file | contents |
//! |---|---|
//! | `document` | the grammar of documents |
//! | `record` | spans and processes |

mod document;
mod record;

pub(in crate::trace) use document::Document;
pub(in crate::trace) use record::{MICROSECOND, processes, span, tags};
