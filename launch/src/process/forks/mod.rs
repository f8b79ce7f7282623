//! Processes that are forked from a running program instead of started.
//!
//! A [`ForkServer`] is a program that has done once what all evaluations would begin with. On request it forks; the fork
//! gets standard streams of its own, leads a group of its own, and is supervised as if it had been started here. It is
//! the server's child, so the server says when it is dead and leaves it unreaped until it is told that nobody will signal
//! its group any more.
//!
//! What is spoken, line by line, on the socket that is the server's standard input:
//!
//! | who | line | meaning |
//! |---|---|---|
//! | host | the greeting | whatever the server has to know |
//! | server | `ready` | it waits for requests, and has closed its standard output and error |
//! | server | `unusual WHY` | it cannot serve and ends |
//! | host | one byte, no line end | a request, with four descriptors: the standard streams, and a socket for what follows |
//!
//! and on the socket of a request:
//!
//! | who | line | meaning |
//! |---|---|---|
//! | server | `started PID` | the process leads a group, and waits |
//! | host | the byte `g` | it may go on |
//! | server | `refused WHY` | there is no process |
//! | server | `exited CODE`, `killed SIGNAL` | it is dead and not reaped |
//! | host | closes the socket | kill what is left of its group, and reap it |
//!
//! A server that has printed anything by the time it is ready is not used: what it printed, each evaluation would have
//! printed. A server whose socket ends kills the groups of its children and ends.

use std::any::Any;

use super::CommandSpec;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::ForkServer;
#[cfg(unix)]
pub(super) use unix::Forked;

#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
pub use other::ForkServer;
#[cfg(not(unix))]
pub(super) use other::Forked;

/// How a server is started.
#[derive(Debug)]
pub struct ServerCommand {
    /// The program. Its standard input will be the socket. Its limits are those of each fork, not of the server.
    pub command: CommandSpec,
    /// The first bytes on the socket.
    pub greeting: Vec<u8>,
    /// What has to exist until the server is ready, e.g. files that it reads, and goes when this is dropped.
    pub needs: Box<dyn Any + Send + Sync>,
}

/// Why nothing was forked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// It cannot be done here, and another try would not help.
    #[error("{reason}")]
    Unusual {
        /// What is in the way.
        reason: String,
    },
    /// The server has died, or does not answer. Another one may be started.
    #[error("{reason}")]
    Died {
        /// What was seen of it.
        reason: String,
    },
    /// The run was cancelled.
    #[error("the run was cancelled")]
    Cancelled,
}
