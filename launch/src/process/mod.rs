//! Starts and supervises the processes of evaluators. The only other module that starts processes is `runtime::tool`, for
//! compilers, installers and version checks.
//!
//! [`run`] is for programs that read one document and write one; `Session` keeps a program running and exchanges
//! lines with it; [`forks`] has a program that is running already fork such as read one document. All hold to the same
//! rules:
//!
//! - Input is written and both outputs are drained from the first moment on; what is kept of an output is bounded, what
//!   is read is not.
//! - Exit and end of output are two events. Something the program started may hold its outputs open for good, so the
//!   end of output is awaited a bounded time only.
//! - Every program leads a process group of its own, and nothing of the group outlives the call. A process that leaves
//!   the group (a daemon in a session of its own) is out of reach.
//!
//! Everything runs on the caller's tokio runtime, which needs its I/O and time drivers enabled; a current-thread
//! runtime is enough, and no thread is started.

mod command;
pub mod forks;
mod group;
mod os;
mod outcome;
mod pump;
mod run;
mod session;
mod spawn;
mod stderr;

pub use command::{CommandSpec, Limits, Resources};
pub use os::hide_memory;
#[cfg(unix)]
pub(crate) use os::reset_signals;
pub use outcome::{Cancellation, Captured, Ending, Outcome};
pub use run::run;
pub use session::{Exit, LineWriter, Next, Session, SessionDriver, SessionEnd};
pub(crate) use spawn::{Registered, start as start_registered};
pub use spawn::{SpawnError, kill_all};
pub use stderr::StderrSections;
