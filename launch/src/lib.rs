//! Prepares, starts and supervises the processes of evaluators.
//!
//! | module | contents |
//! |---|---|
//! | [`runtime`] | runtimes: from a source file to the command that runs it |
//! | [`executor`] | executors, which may wrap that command |
//! | [`process`] | starting and supervising the command |
//! | [`files`] | writing files atomically |

#[doc(hidden)]
pub mod clock;
pub mod executor;
pub mod files;
#[doc(hidden)]
pub mod panic;
pub mod process;
pub mod runtime;
mod tool;
