//! Work for workers: documents to evaluate.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::verdict::{Evaluation, Verdict};

use super::{Document, WorkerFault};

/// Number of times a document may be sent again because its worker was lost before it started with it. After that it
/// gets a worker of its own, so that other documents cannot affect it.
const MAX_ATTEMPTS: u32 = 3;

/// A document to evaluate, and the channel for its evaluation.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) document: Document,
    pub(super) timeout: Duration,
    pub(super) started: Instant,
    answer: oneshot::Sender<Evaluation>,
    /// Number of times it was sent without an answer.
    attempts: u32,
    /// Failed exit of a worker that this document, or the one before it, may have caused. If it gets an answer, it is
    /// not the cause.
    pub(super) suspected: Option<Box<WorkerFault>>,
}

impl Job {
    pub(super) fn new(
        document: Document,
        timeout: Duration,
    ) -> (Self, oneshot::Receiver<Evaluation>) {
        let (answer, evaluation) = oneshot::channel();
        let started = Instant::now();
        (Self { document, timeout, started, answer, attempts: 0, suspected: None }, evaluation)
    }

    /// Sends the evaluation to the caller, who may be gone.
    pub(super) fn finish(self, evaluation: Evaluation) {
        let _ = self.answer.send(evaluation);
    }

    /// Finishes with a verdict, without a process.
    pub(super) fn refuse(self, verdict: Verdict) {
        let waited = self.started.elapsed();
        self.finish(Evaluation::without_process(verdict, waited));
    }

    /// Counts one more attempt.
    pub(super) fn again(mut self) -> Self {
        self.attempts += 1;
        self
    }

    /// Returns true if it needs a worker of its own.
    pub(super) fn needs_own_worker(&self) -> bool {
        self.attempts > MAX_ATTEMPTS
    }

    /// Returns true if the caller has dropped the evaluation.
    pub(super) fn is_given_up(&self) -> bool {
        self.answer.is_closed()
    }

    /// Ready when the caller has dropped the evaluation.
    pub(super) fn poll_given_up(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<()> {
        self.answer.poll_closed(context)
    }
}
