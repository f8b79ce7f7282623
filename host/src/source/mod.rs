//! Where evaluators come from that are not files of the user: sources, the cache and the pins.
//!
//! An entry `type: remote` of a configuration names a [source](EvaluatorSource) and a [`Reference`] in it. [`resolve`] turns it into
//! a file in the [`Cache`], which then runs as any other evaluator does:
//!
//! | step | module |
//! |---|---|
//! | what may be referred to | `reference` |
//! | the sources and their table | `model`, `registry`, `builtin`, `github`, `file`, `local` |
//! | what sources read | `collect`, `index`, `manifest`, `folder`, `http` |
//! | what was fetched, kept between runs | `cache`, `record`, `index_cache`, `disk` |
//! | what a project agreed to run | `pins`, `hash` |
//! | all of it together | `resolve`, `update`, `parallel` |
//!
//! What was fetched is somebody else's code. It runs only if its content is the one that `evaluators.lock` names, and it
//! sees nothing of the environment but what it needs to start.

mod builtin;
mod cache;
mod collect;
mod disk;
mod error;
mod file;
mod folder;
mod github;
mod hash;
mod http;
mod index;
mod index_cache;
mod local;
mod manifest;
mod model;
mod parallel;
mod pins;
mod record;
mod reference;
mod registry;
mod resolve;
mod update;

pub use builtin::Builtin;
pub use cache::Cache;
pub use error::SourceError;
pub use file::File;
pub use github::GitHub;
pub use hash::ContentHash;
pub use local::Local;
pub use model::{Entry, EvaluatorSource, Fetched, Freshness, Listing, SourceFile};
pub use pins::{LOCK_FILE, Pin, PinError, Pins};
pub use reference::{Reference, ReferenceError};
pub use registry::Sources;
pub use resolve::{Context, Resolved, Wanted, resolve};
pub use update::{Updated, update};

pub(crate) use collect::{MAX_BYTES, MAX_FILE_BYTES, MAX_FILES};
pub(crate) use reference::{is_file_path, is_plain};
pub(crate) use resolve::peek;
