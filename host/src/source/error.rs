//! What can go wrong between a reference and a file that may run.

use std::{io, path::Path, time::Duration};

/// Why a source cannot be listed, or an evaluator of it cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// No source of that name is registered. The wording is that of agentevals.
    #[error("Unknown evaluator source '{name}'. Available: [{}]", .available.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names registered, in alphabetical order.
        available: Vec<String>,
    },
    /// Nothing says where the source is.
    #[error("the source `{name}` is not set up: {hint}")]
    NotSetUp {
        /// The source.
        name: String,
        /// What to set.
        hint: String,
    },
    /// A setting of the source cannot be used.
    #[error("{variable} {reason}")]
    Setting {
        /// The variable.
        variable: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The source has no such evaluator.
    #[error("there is no {what} at {place}")]
    NotFound {
        /// What was looked for.
        what: String,
        /// Address or path.
        place: String,
    },
    /// The server does not give it to us.
    #[error("{url} answers {status}: {hint}")]
    Refused {
        /// Address.
        url: String,
        /// Status code.
        status: u16,
        /// What may help.
        hint: String,
    },
    /// The server did not answer in time.
    #[error("no answer from {url} within {} s", .limit.as_secs())]
    TimedOut {
        /// Address.
        url: String,
        /// The limit.
        limit: Duration,
    },
    /// The server cannot be reached, or stopped in the middle of an answer.
    #[error("cannot fetch {url}: {reason}")]
    Unreachable {
        /// Address.
        url: String,
        /// What happened.
        reason: String,
    },
    /// More than is taken from a source.
    #[error("{what} is larger than is taken from a source: {limit}")]
    TooLarge {
        /// Address, path or folder.
        what: String,
        /// The limit.
        limit: String,
    },
    /// A file that a person or a program wrote for us to read is not as it must be.
    #[error("{place}: {reason}")]
    Malformed {
        /// File or address, with line and column where they are known.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// What was fetched is not what the index says.
    #[error("{what} is not the file its index describes: sha256 {found} instead of {expected}")]
    NotAsIndexed {
        /// Path in the source.
        what: String,
        /// Hexadecimal.
        found: String,
        /// Hexadecimal.
        expected: String,
    },
    /// Something in the cache, or in a folder of the user, that is not used on purpose.
    #[error("{reason}")]
    Unsafe {
        /// Names the path.
        reason: String,
    },
    /// The file system says no.
    #[error("cannot {action}: {reason}")]
    Disk {
        /// What was tried, with the path.
        action: String,
        /// What happened.
        reason: String,
    },
    /// The content is not the pinned one.
    #[error("{reason}")]
    Pinned {
        /// Says what is pinned where, what there is instead, and what to do.
        reason: String,
    },
    /// The run was cancelled.
    #[error("fetching was cancelled")]
    Cancelled,
}

impl SourceError {
    pub(super) fn disk(action: &str, path: &Path, error: &io::Error) -> Self {
        Self::Disk { action: format!("{action} {}", path.display()), reason: error.to_string() }
    }

    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}
