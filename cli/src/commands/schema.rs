//! `evaluator schema`.

use evaluator_host::{config, run::Runner};

use super::print;
use crate::exit;

/// Prints the JSON Schema of configuration files, with the settings of all registered metrics.
pub(super) fn schema(runner: &Runner) -> u8 {
    print(&format!("{:#}\n", config::schema(&runner.metrics)), exit::OK)
}
