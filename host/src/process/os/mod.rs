//! What differs between operating systems: groups of processes, and noticing an exit without reaping.
//!
//! Every system gives the same two types. `Group` is the started process and whatever it starts in turn, as far as the
//! system can name that; `ExitWatch` waits until the started process is dead *without* collecting its status.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(super) use unix::{ExitWatch, Group, configure, ending, read_now};

#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
pub(super) use other::{ExitWatch, Group, configure, ending, read_now};
