//! Prepares, starts and supervises the processes of evaluators.

#[doc(hidden)]
pub mod clock;
pub mod executor;
pub mod files;
#[doc(hidden)]
pub mod panic;
pub mod process;
pub mod runtime;
