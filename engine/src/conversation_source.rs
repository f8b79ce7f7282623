//! Conversations that a run evaluates in place of those of trace files.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use crate::{
    conversation::Conversation,
    report::{ConversationReport, run_file::InputError},
    trace::ReadError,
};

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

/// Conversations that arrive while others are evaluated, e.g. the lines of a stream. Their number is not known before the end.
pub trait ConversationStream: fmt::Debug + Send {
    /// Returns the next conversation; `None` at the end. It is not polled while enough conversations wait for evaluators, so
    /// that a bounded number of them is in memory.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Arrival>>;

    /// Receives the report of a conversation when it is written. Default: does nothing.
    fn finished(&mut self, _number: usize, _report: &ConversationReport) {}

    /// Returns the number of conversations that have come and were not given, at the end of the stream: the run is partial
    /// then. Default: 0.
    fn unfinished(&self) -> usize {
        0
    }
}

/// Traces of a conversation of a stream.
#[derive(Clone, Debug)]
pub struct JoinedTraces {
    /// Name of the session that joins them.
    pub session: Arc<str>,
    /// Their ids, if there are several.
    pub traces: Vec<Arc<str>>,
}

impl JoinedTraces {
    /// Adds them to the report of their conversation.
    pub(crate) fn add_to(self, report: &mut ConversationReport) {
        report.session = Some(self.session);
        report.traces = self.traces;
    }
}

/// A conversation of a stream.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Position in the order of the report. A conversation that arrives again under its number is evaluated again, after its
    /// earlier evaluations.
    pub number: usize,
    /// Length of its text in bytes.
    pub bytes: usize,
    /// The session that joins its traces, if there is one.
    pub session: Option<JoinedTraces>,
    /// The conversation, or why there is none: an error of the run.
    pub loaded: Result<Conversation, InputError>,
}
