//! Conversations as an execution takes them, wherever they come from.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use super::conversation_source::{Arrival, ConversationStream, JoinedTraces};
use crate::{
    conversation::Conversation,
    report::{ConversationReport, run_file::InputError},
};

/// Source of the conversations of an execution: an index whose conversations are loaded in advance, or a stream.
pub(crate) trait Feed {
    /// Returns the number of conversations; `None` if it is not known before the last one.
    fn len(&self) -> Option<usize>;

    /// Returns the number of batches that were started and not taken.
    fn started(&self) -> usize;

    /// Starts the next batch. Returns false if there is none, or enough are started.
    fn start(&mut self) -> bool;

    /// Takes the batch that was started first; `None` if there is none.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<Taken>>>;

    /// Gives up a conversation that was not started; `None` if there is no further one. A stream ends.
    fn skip(&mut self) -> Option<Unread>;

    /// Returns true if waiting for the next batch may take any time.
    fn is_open(&self) -> bool;

    /// Waits for its threads, after all batches were taken. If it is dropped instead, they exit after their current batches.
    fn end(self: Box<Self>) {}

    /// Receives the report of a conversation when it is written.
    fn finished(&mut self, _number: usize, _report: &ConversationReport) {}

    /// Returns true if there are, or may be, conversations that it did not give.
    fn is_unfinished(&self) -> bool {
        false
    }
}

/// A conversation of a feed.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) number: usize,
    /// Length of its text in bytes.
    pub(crate) bytes: usize,
    /// The session that joins its traces, of a stream.
    pub(crate) session: Option<JoinedTraces>,
    pub(crate) loaded: Loaded,
}

/// Result of loading a conversation.
#[derive(Debug)]
pub(crate) enum Loaded {
    Conversation(Box<Conversation>),
    /// It could not be read any more.
    Failed(Unread, String),
    /// The text in its place is not a conversation.
    Unusable(InputError),
}

/// A conversation that was not loaded.
#[derive(Clone, Debug)]
pub(crate) struct Unread {
    pub(crate) number: usize,
    pub(crate) trace_id: Arc<str>,
    pub(crate) trace_file: Option<Arc<str>>,
}

/// The conversations of a stream.
#[derive(Debug)]
pub(crate) struct StreamFeed {
    stream: Box<dyn ConversationStream>,
    /// Whether there is room for another one. While there is not, the stream is not polled.
    is_wanted: bool,
    is_ended: bool,
    /// Whether it was ended before its end.
    is_given_up: bool,
}

impl StreamFeed {
    pub(crate) fn new(stream: Box<dyn ConversationStream>) -> Self {
        Self { stream, is_wanted: false, is_ended: false, is_given_up: false }
    }
}

impl Feed for StreamFeed {
    fn len(&self) -> Option<usize> {
        None
    }

    fn started(&self) -> usize {
        0
    }

    fn start(&mut self) -> bool {
        self.is_wanted = true;
        false
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<Taken>>> {
        if self.is_ended {
            return Poll::Ready(None);
        }
        if !self.is_wanted {
            // There are evaluations, and when one has ended, the execution asks again.
            return Poll::Pending;
        }
        let Some(arrival) = ready!(self.stream.poll_next(context)) else {
            self.is_ended = true;
            // The execution decides again what it waits for.
            return Poll::Ready(Some(Vec::new()));
        };
        self.is_wanted = false;
        let Arrival { number, bytes, session, loaded } = arrival;
        let loaded = match loaded {
            Ok(conversation) => Loaded::Conversation(Box::new(conversation)),
            Err(error) => Loaded::Unusable(error),
        };
        Poll::Ready(Some(vec![Taken { number, bytes, session, loaded }]))
    }

    fn skip(&mut self) -> Option<Unread> {
        self.is_given_up |= !self.is_ended;
        self.is_ended = true;
        None
    }

    fn is_open(&self) -> bool {
        !self.is_ended
    }

    fn finished(&mut self, number: usize, report: &ConversationReport) {
        self.stream.finished(number, report);
    }

    fn is_unfinished(&self) -> bool {
        self.is_given_up || self.stream.unfinished() > 0
    }
}
