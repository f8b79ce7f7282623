//! Prepares, starts and supervises the processes of evaluators.
//!
//! This crate makes no promise of stability; `evaluator-host` has what programs that embed it need.
//!
//! | module | contents |
//! |---|---|
//! | [`runtime`] | runtimes: from a source file to the command that runs it |
//! | [`executor`] | executors, which may wrap that command |
//! | [`process`] | starting and supervising the command |
//! | [`files`] | writing files atomically |

#[doc(hidden)]
pub mod clock;
mod environment;
pub mod executor;
pub mod files;
#[doc(hidden)]
pub mod panic;
pub mod process;
pub mod runtime;
mod tool;
