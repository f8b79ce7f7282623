//! Lines of a stream that cannot be used.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// A line of a stream that cannot be used: an error of the run. As a record, what the file has in place of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputError {
    /// Number of the line, from 1.
    pub line: u64,
    /// Bytes of the stream before the line.
    pub offset: u64,
    /// Kind of the error, e.g. `unreadable_line`.
    pub error_type: String,
    /// The reason, without the position of the line.
    pub message: String,
    /// SHA-256 of the bytes of the line, without its line feed.
    pub content: Digest,
}
