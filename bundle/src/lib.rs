//! Bundles: everything that another machine needs to run the evaluators of a configuration, in one archive.
//!
//! This crate makes no promise of stability.
//!
//! | file | contents |
//! |---|---|
//! | `create` | from a configuration to an archive, which is tried before it is written |
//! | `contents` | files of the project, and what may not be among them |
//! | `programs` | compiled programs, packages and fetched evaluators, on their way into a bundle |
//! | `manifest` | `bundle.json`: where a bundle fits, and what its evaluators consist of |
//! | `machine` | what decides whether programs of another machine run on this one |
//! | `open` | a configuration that has a `bundle.json` next to it |
//! | `archive` | the bytes, which are the same for the same files |
//!
//! Files of the project keep their paths, so that they have the names by which fingerprints know them. Everything else is in
//! the directory [`BUNDLED`](evaluator_host::run::BUNDLED).

mod archive;
mod contents;
mod create;
mod error;
mod machine;
mod manifest;
mod open;
mod programs;

pub use create::{Created, create};
pub use error::BundleError;
pub use open::{is_bundle, open};
