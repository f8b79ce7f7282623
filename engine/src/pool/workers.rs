//! The pool of workers of one evaluator.

use std::{
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::Semaphore;

use crate::{
    process::{Cancellation, CommandSpec, Limits},
    verdict::{Evaluation, Expected, Verdict},
};

use super::{
    document::Document,
    fault::WorkerFault,
    job::Job,
    shared::{Check, Shared},
};

/// A bounded number of workers of one evaluator, started on demand and kept for the next document.
///
/// A worker that dies or is late loses the document in progress and no other: those that wait behind it go to another
/// worker.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

impl Pool {
    /// Creates a pool of at most `size` processes of `command`; none is started yet.
    ///
    /// The timeout of `limits` is not used: every document has its own.
    pub fn new(
        command: CommandSpec,
        size: NonZeroUsize,
        limits: Limits,
        cancellation: Cancellation,
    ) -> Self {
        Self { shared: Arc::new(Shared::new(command, size.get(), limits, cancellation)) }
    }

    /// Sets whether the program [numbers](evaluator_protocol::Number) its answers, so that it may be sent documents
    /// ahead.
    #[must_use]
    pub fn numbered(self, numbered: bool) -> Self {
        self.with(|shared| shared.numbered = numbered)
    }

    /// Sets what the program has to answer.
    #[must_use]
    pub(crate) fn expecting(self, expected: Expected) -> Self {
        self.with(|shared| shared.expected = expected)
    }

    /// Sets the permits that busy workers hold, which may be shared with others. The default is one for each worker.
    #[must_use]
    pub fn with_permits(self, permits: Arc<Semaphore>) -> Self {
        self.with(|shared| shared.permits = permits)
    }

    /// Sets a check that is called before and after the start of each worker: a verdict ends the start, and is that of
    /// the document for which the worker was started.
    #[must_use]
    pub fn with_check(self, check: impl Fn() -> Option<Verdict> + Send + Sync + 'static) -> Self {
        self.with(|shared| shared.check = Check(Box::new(check)))
    }

    fn with(mut self, change: impl FnOnce(&mut Shared)) -> Self {
        // There is no other reference before the first document.
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            change(shared);
        }
        self
    }

    /// Evaluates one document by the worker with the fewest documents. Line ends in the document become blanks.
    ///
    /// The clock of `timeout` starts when a worker starts with the document. Dropping the future abandons the document,
    /// and a worker that is busy with it. Must be called inside a tokio runtime with time and I/O enabled.
    pub async fn evaluate(&self, document: impl Into<Document>, timeout: Duration) -> Evaluation {
        let started = Instant::now();
        if self.shared.cancellation.is_cancelled() {
            return Evaluation::without_process(Verdict::Cancelled, started.elapsed());
        }
        let (job, evaluation) = Job::new(document.into(), timeout);
        self.shared.submit(job);
        evaluation.await.unwrap_or_else(|_| {
            let reason = "its worker was abandoned".to_owned();
            Evaluation::without_process(Verdict::Lost { reason }, started.elapsed())
        })
    }

    /// Ends all workers: closes their inputs, waits `grace` for their exit, then kills them.
    ///
    /// # Errors
    ///
    /// [`WorkerFault`] if the answers of the workers are unreliable, because of how one of them behaved or exited.
    pub async fn shutdown(self, grace: Duration) -> Result<(), WorkerFault> {
        for task in self.shared.close(grace) {
            // A worker whose task has panicked has ended, too.
            let _ = task.await;
        }
        self.shared.fault().map_or(Ok(()), Err)
    }
}

impl Drop for Pool {
    /// Ends the workers without waiting.
    fn drop(&mut self) {
        self.shared.close(Duration::ZERO);
    }
}
