//! `evaluator schema`.

use evaluator_host::config;

use super::print;
use crate::exit;

/// Prints the JSON Schema of configuration files.
pub(super) fn schema() -> u8 {
    print(&format!("{:#}\n", config::schema()), exit::OK)
}
