//! `evaluator schema`.

use evaluator_host::{config, run::Runner};

use super::print;
use crate::exit;

/// Prints the JSON Schema of configuration files, with the registered metrics and trace formats.
pub(super) fn schema(runner: &Runner) -> u8 {
    print(&format!("{:#}\n", config::schema(&runner.metrics, &runner.trace_formats)), exit::OK)
}
