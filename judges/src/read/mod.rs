//! Reading of `judge:`.

mod adk;
mod keys;

use std::path::PathBuf;

use evaluator_document::Field;

pub use adk::read_model_options;
pub use keys::{parse_budget, read};

/// JSON Schema of `judge:`.
pub const SCHEMA: &str = include_str!("../schema.json");

/// Resolves the paths of a configuration.
pub trait Paths {
    /// Returns the path of a file that has to exist. Reports a file that does not.
    fn existing(&self, field: Field<'_>) -> Option<PathBuf>;

    /// Returns the path of a file that is written.
    fn written(&self, field: Field<'_>) -> Option<PathBuf>;
}
