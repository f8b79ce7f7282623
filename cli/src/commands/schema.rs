//! `evaluator schema`.

use evaluator_host::{config, run::Runner};

use super::print;
use crate::exit;

/// Prints the JSON Schema of configuration files.
pub(super) fn schema(runner: &Runner) -> u8 {
    print(&format!("{:#}\n", config::schema(&runner.trace_formats)), exit::OK)
}
