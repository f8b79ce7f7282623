//! The process that prepares the sandbox and becomes the program.

use crate::command;

/// Becomes the helper if the first argument says so, and does not return then. Otherwise returns at once.
///
/// To be called first in `main`: before threads are started, files opened and arguments read.
pub fn run_if_helper() {
    command::mark_asked();
}
