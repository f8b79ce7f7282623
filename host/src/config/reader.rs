//! State of reading a configuration.

use evaluator_document::Problems;

use super::paths::Paths;
use crate::registries::Registries;

/// Maximum number of evaluations of a conversation by one evaluator.
pub(super) const MAX_REPEATS: u32 = 100;

/// Maximum number of retries.
pub(super) const MAX_RETRIES: u32 = 100;

/// State of reading a configuration.
pub(super) struct Reader<'a> {
    pub(super) problems: Problems<'a>,
    pub(super) paths: Paths,
    pub(super) known: &'a Registries,
}

/// Returns true if `name` is an identifier in Python.
pub(super) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c == '_' || c.is_alphabetic())
        && name.chars().all(|c| c == '_' || c.is_alphanumeric())
}
