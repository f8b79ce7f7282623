//! Processes that are forked from a running program instead of started.
//!
//! A [`ForkServer`] is a program that has executed once what all evaluations start with. It forks on request; the fork
//! gets its own standard streams, leads its own group, and is supervised like a started process. It is a child of the
//! server, so the server reports its death and leaves it unreaped until the host does not signal its group any more.
//!
//! Lines on the socket that is the standard input of the server:
//!
//! | sender | line | meaning |
//! |---|---|---|
//! | host | the greeting | what the server has to know |
//! | server | `ready` | it waits for requests, and has closed its standard output and error |
//! | server | `unusual REASON` | it cannot serve, and exits |
//! | host | one byte, no line end | a request, with five descriptors: the standard streams, a socket for the following lines, and a pipe with the variables of this process, each as `NAME=VALUE` and a NUL character |
//!
//! Lines on the socket of a request:
//!
//! | sender | line | meaning |
//! |---|---|---|
//! | fork | `started PID` | the process leads a group, and waits |
//! | host | the byte `g` | the process continues |
//! | server | `refused REASON` | there is no process |
//! | server | `exited CODE`, `killed SIGNAL` | the process is dead and not reaped |
//! | host | closes the socket | the server kills the rest of the group, and reaps the process |
//!
//! On Linux the host takes the id of a fork from the kernel, which adds it to `started`: in a sandbox, PID is a number of
//! another namespace. The standard streams are pipes; in a sandbox, where forks see each other, they are sockets, which a
//! fork cannot open by `/proc`.
//!
//! A server that has printed anything before it is ready is not used: each evaluation would have printed it. When its
//! socket ends, a server kills the groups of its children and exits.
//!
//! Limits are applied to a fork from outside (`prlimit`) while it waits for the byte `g`: the server works for all
//! forks and has no limits. Where a system cannot do that, a process is started instead.

use std::{any::Any, path::PathBuf};

use super::CommandSpec;

#[cfg(unix)]
mod forked;
#[cfg(unix)]
mod peer;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(super) use forked::Forked;
#[cfg(unix)]
pub use unix::ForkServer;

#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
pub use other::ForkServer;
#[cfg(not(unix))]
pub(super) use other::Forked;

/// Command of a server.
#[derive(Debug)]
pub struct ServerCommand {
    /// The program. Its standard input will be the socket. Its resource limits apply to each fork, not to the server.
    pub command: CommandSpec,
    /// The first bytes on the socket.
    pub greeting: Vec<u8>,
    /// Files that have to exist until the server is ready; removed when this is dropped.
    pub needs: Box<dyn Any + Send + Sync>,
    /// Directory of the files that it reads, in addition to those of the program.
    pub reads: Option<PathBuf>,
}

/// Reason why nothing was forked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// Forking is not possible here, and another attempt would not help.
    #[error("{reason}")]
    Unusual {
        /// The reason.
        reason: String,
    },
    /// The server has died, or does not answer. Another one may be started.
    #[error("{reason}")]
    Died {
        /// Reason.
        reason: String,
    },
    /// The run was cancelled.
    #[error("the run was cancelled")]
    Cancelled,
}
