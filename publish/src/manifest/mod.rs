//! Directories of evaluators: `evaluator.yaml`, its entrypoint, and the other files.
//!
//! A manifest is read as strictly as a configuration: all problems are reported at once, with their positions.

mod files;
mod read;

pub use crate::runtime::Language;
pub use files::{DirectoryFile, files};
pub use read::{Discovered, EVALUATORS, FILE_NAME, LoadedManifest, discover, has_manifest, home};
