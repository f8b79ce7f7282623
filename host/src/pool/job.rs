//! What workers have to do.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::verdict::{Evaluation, Verdict};

use super::{Document, WorkerFault};

/// How many times a document may be sent again because a worker was lost that had not begun it. After that it is given to
/// a worker of its own, so that it cannot suffer from others any more.
const RESENDS: u32 = 3;

/// A document that somebody wants to have evaluated.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) document: Document,
    pub(super) timeout: Duration,
    pub(super) begun: Instant,
    answer: oneshot::Sender<Evaluation>,
    /// How many times it was sent in vain.
    resent: u32,
    /// The bad exit of a worker that this document may be to blame for, or the one before it. If it has an answer in the
    /// end, it is not to blame.
    pub(super) suspected: Option<Box<WorkerFault>>,
}

impl Job {
    pub(super) fn new(
        document: Document,
        timeout: Duration,
    ) -> (Self, oneshot::Receiver<Evaluation>) {
        let (answer, evaluation) = oneshot::channel();
        (
            Self { document, timeout, begun: Instant::now(), answer, resent: 0, suspected: None },
            evaluation,
        )
    }

    /// Gives whoever waits what it came to. That nobody waits any more is not an error.
    pub(super) fn finish(self, evaluation: Evaluation) {
        let _ = self.answer.send(evaluation);
    }

    /// It was not even begun.
    pub(super) fn refuse(self, verdict: Verdict) {
        let waited = self.begun.elapsed();
        self.finish(Evaluation::without_process(verdict, waited));
    }

    /// Counts that it has to be sent once more.
    pub(super) fn again(mut self) -> Self {
        self.resent += 1;
        self
    }

    /// Whether it has to have a worker of its own.
    pub(super) fn wants_to_be_alone(&self) -> bool {
        self.resent > RESENDS
    }

    /// Whether nobody waits for it any more.
    pub(super) fn is_given_up(&self) -> bool {
        self.answer.is_closed()
    }

    /// Ready when nobody waits for it any more.
    pub(super) fn poll_given_up(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<()> {
        self.answer.poll_closed(context)
    }
}
