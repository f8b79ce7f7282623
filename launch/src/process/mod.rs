//! Starts and supervises the processes of evaluators. The only other module that starts processes is `tool`,
//! for compilers, installers and version checks.
//!
//! [`run`] supervises a program that reads one document and writes one; [`Session`] keeps a program running and
//! exchanges lines with it; [`forks`] forks such processes from a running program. All follow the same rules:
//!
//! - Input is written and both outputs are drained from the start. Only a bounded part of an output is kept; the rest
//!   is read and dropped.
//! - Exit and end of output are two events. A child of the program may hold its outputs open, so their end is awaited a
//!   bounded time only.
//! - Every program leads its own process group, and nothing of the group outlives the call. A process that leaves the
//!   group (a daemon in its own session) cannot be reached.
//! - If this process is killed, a shell kills the groups that are left (Unix).
//! - A container outlives the client of its engine, which is the process that is supervised. So it is killed by its name.
//!
//! Everything runs on the tokio runtime of the caller, which needs its I/O and time drivers enabled; a current-thread
//! runtime is enough, and no thread is started.

mod command;
mod container;
pub mod forks;
mod os;
mod outcome;
mod pump;
mod resources;
mod run;
mod session;
mod spawn;
mod started;

pub use command::{CommandSpec, Limits, Starter};
pub(crate) use container::Container;
pub use os::hide_memory;
#[cfg(unix)]
pub(crate) use os::reset_signals;
pub(crate) use os::{is_dead, kill_group};
pub use outcome::{Cancellation, Captured, Ending, Outcome, SpawnError};
pub use pump::StderrSections;
pub use resources::Resources;
pub use run::run;
pub use session::{Exit, LineWriter, Next, Session, SessionDriver, SessionEnd};
pub(crate) use spawn::{Registered, start as start_registered};
pub use started::kill_all;
