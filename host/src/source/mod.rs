//! Sources of evaluators that are not files of the user, the cache of fetched evaluators, and their pins.
//!
//! An entry `type: remote` of a configuration names a [source](EvaluatorSource) and a [`Reference`] in it. [`resolve`] turns it
//! into a file in the [`Cache`], which then runs as any other evaluator does.
//!
//! Fetched evaluators are third-party code. They run only if their content is the one that `evaluators.lock` names,
//! and they see only the environment variables that a program needs to start.

mod cache;
mod collect;
mod disk;
mod github;
mod http;
mod index;
mod local;
mod model;
mod pins;
mod reference;
mod registry;
mod resolve;

pub use cache::Cache;
pub use github::GitHub;
pub use local::{File, Local};
pub use model::{
    ContentHash, Entry, EvaluatorSource, Fetched, Freshness, Listing, SourceError, SourceFile,
};
pub use pins::{LOCK_FILE, Pin, Pins};
pub use reference::{Reference, ReferenceError, Wanted};
pub use registry::{Builtin, Sources};
pub use resolve::{Context, Resolved, Updated, resolve, update};

#[doc(hidden)]
pub use collect::{MAX_BYTES, MAX_FILE_BYTES, MAX_FILES};
#[doc(hidden)]
pub use reference::{is_file_path, is_plain};
pub(crate) use resolve::peek;
