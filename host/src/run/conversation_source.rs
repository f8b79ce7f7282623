//! Conversations that a run evaluates in place of those of trace files.

use std::{fmt, sync::Arc};

use crate::{conversation::Conversation, trace::ReadError};

/// Conversations that a run evaluates in place of those of trace files, e.g. changed ones. They are loaded on several threads
/// while others are evaluated, and dropped afterwards.
pub trait ConversationSource: fmt::Debug + Send + Sync {
    /// Returns the number of conversations.
    fn len(&self) -> usize;

    /// Returns true if there is no conversation.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the trace id of a conversation without loading it.
    fn trace_id(&self, number: usize) -> Arc<str>;

    /// Returns the number of conversations that decides how golden cases are found: a single conversation may be the one of a
    /// single case. Default: [`len`](Self::len).
    fn of_run(&self) -> usize {
        self.len()
    }

    /// Returns true if an evaluator is asked about a conversation; if not, its evaluation is `not_run`. Default: all are.
    fn asks(&self, _number: usize, _evaluator: &str) -> bool {
        true
    }

    /// Loads a conversation. Blocks. One that cannot be made has [`errors`](Conversation::errors).
    ///
    /// # Errors
    ///
    /// A file cannot be read any more, or has changed.
    fn load(&self, number: usize) -> Result<Conversation, ReadError>;
}
