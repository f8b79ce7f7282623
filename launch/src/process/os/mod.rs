//! Functions that differ between operating systems: process groups, noticing an exit without reaping, limits, and access to the
//! memory of this process.
//!
//! Every system provides the same two types and the same functions. `Group` is a started process with its child
//! processes, as far as the system can address them; `ExitWatch` waits until the started process is dead *without*
//! reaping it.

mod secrecy;
pub use secrecy::hide_memory;

#[cfg(unix)]
mod exec;
#[cfg(unix)]
mod guardian;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use exec::reset as reset_signals;
#[cfg(unix)]
pub(super) use exec::{CPU_TIME_IS_OVER, KILLED, limit_running};
#[cfg(unix)]
pub(super) use guardian::Guarded;
#[cfg(unix)]
pub(super) use unix::{
    ExitWatch, Group, Identified, configure, ending, is_out_of_descriptors, kill_group_of_fork,
    read_now,
};
#[cfg(unix)]
pub(crate) use unix::{is_dead, kill_group};

#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
pub(super) use other::{
    CPU_TIME_IS_OVER, ExitWatch, Group, Guarded, KILLED, configure, ending, is_out_of_descriptors,
    kill_group_of_fork, read_now,
};
#[cfg(not(unix))]
pub(crate) use other::{is_dead, kill_group};
