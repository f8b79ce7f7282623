//! Directories of evaluators: `evaluator.yaml`, its entrypoint, and the other files.
//!
//! A manifest is read as strictly as a configuration: all problems are reported at once, with their positions.

mod discover;
mod files;
mod language;
mod read;

pub use discover::{Discovered, EVALUATORS, discover, has_manifest, home};
pub use files::{FilesError, FolderFile, files};
pub use language::Language;
pub use read::{FILE_NAME, LoadedManifest};
