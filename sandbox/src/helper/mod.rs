//! The process that prepares the sandbox and becomes the program.
//!
//! ```text
//! host -> outer -> init -> program        full level: init is process 1 of the PID namespace
//! host -> outer -> program                partial level
//!              \-> keeper                 removes the temporary directory when outer has ended
//! ```
//!
//! Outer stands for the program: it ignores `TERM` and `INT`, which the program gets as a member of the same group, and
//! ends as the program ends. Everything ends when the host, outer or the program ends.

#[cfg(target_os = "linux")]
mod listener;
#[cfg(target_os = "linux")]
mod outer;
#[cfg(target_os = "linux")]
mod partial;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod task;

use crate::command;

/// Becomes the helper if the first argument is its name, and does not return then. Otherwise returns at once.
///
/// To be called first in `main`: before threads are started, files opened and arguments read.
pub fn run_if_helper() {
    #[cfg(target_os = "linux")]
    {
        let mut args = std::env::args_os().skip(1);
        if args.next().is_some_and(|first| first == crate::order::HIDDEN_ARGUMENT) {
            outer::run(args);
        }
    }
    command::mark_asked();
}
