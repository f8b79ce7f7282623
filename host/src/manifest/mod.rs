//! Folders that hold one evaluator each: `evaluator.yaml`, the entrypoint it names, and the files around it.
//!
//! A manifest is read as strictly as a configuration: every problem at once, each with its place.

mod discover;
mod entrypoint;
mod files;
mod language;
mod read;

pub use discover::{Discovered, EVALUATORS, discover, has_manifest, home};
pub use files::{FilesError, FolderFile, files};
pub use language::Language;
pub use read::{FILE_NAME, LoadedManifest};
