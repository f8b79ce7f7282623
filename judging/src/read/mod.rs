//! Reading of `judge:`.

mod adk;
mod keys;
mod programs;

use std::path::PathBuf;

use evaluator_document::Field;

pub use adk::{read_model_options, read_pydantic_number};
pub use keys::{parse_budget, read};
pub use programs::read_programs;

/// Resolves the paths of a configuration.
pub trait Paths {
    /// Returns the path of a file that has to exist. Reports a file that does not.
    fn existing(&self, field: Field<'_>) -> Option<PathBuf>;

    /// Returns the path of a file that is written.
    fn written(&self, field: Field<'_>) -> Option<PathBuf>;
}
