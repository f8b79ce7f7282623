//! Several workers of one evaluator.

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

/// Up to so many workers of one evaluator. They are started when they are needed and kept for the next document.
///
/// A worker that dies or is late loses the document it was working on and no other: those that wait behind it go to another
/// worker, which is started if need be.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

impl Pool {
    /// A pool of at most `size` processes of `command`; none is started yet.
    ///
    /// Of `limits`, the timeout is not used: every document has its own.
    #[must_use]
    pub fn new(
        command: CommandSpec,
        size: NonZeroUsize,
        limits: Limits,
        cancellation: Cancellation,
    ) -> Self {
        Self { shared: Arc::new(Shared::new(command, size.get(), limits, cancellation)) }
    }

    /// The program [numbers](evaluator_protocol::Number) its answers, so it may be given documents ahead.
    #[must_use]
    pub fn numbered(self, numbered: bool) -> Self {
        self.with(|shared| shared.numbered = numbered)
    }

    /// What the program has to answer.
    #[must_use]
    pub(crate) fn expecting(self, expected: Expected) -> Self {
        self.with(|shared| shared.expected = expected)
    }

    /// A worker is busy only while it has one of these permits, which others may want, too. By default there are as many
    /// as workers.
    #[must_use]
    pub fn with_permits(self, permits: Arc<Semaphore>) -> Self {
        self.with(|shared| shared.permits = permits)
    }

    /// Before a worker is started, and once more when it was, this is asked: a verdict says why there are to be no more, and is
    /// that of the document the worker was started for.
    #[must_use]
    pub fn with_check(self, check: impl Fn() -> Option<Verdict> + Send + Sync + 'static) -> Self {
        self.with(|shared| shared.check = Check(Box::new(check)))
    }

    fn with(mut self, change: impl FnOnce(&mut Shared)) -> Self {
        // Nobody else has it before the first document comes.
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            change(shared);
        }
        self
    }

    /// Has one document evaluated by whichever worker has least to do. Line ends in the document become blanks.
    ///
    /// The clock of `timeout` does not start before a worker has nothing else to do. Dropping the future gives the document
    /// up, and with it a worker that is busy with it. Must be called inside a tokio runtime with time and I/O enabled.
    pub async fn evaluate(&self, document: impl Into<Document>, timeout: Duration) -> Evaluation {
        let begun = Instant::now();
        if self.shared.cancellation.is_cancelled() {
            return Evaluation::without_process(Verdict::Cancelled, begun.elapsed());
        }
        let (job, evaluation) = Job::new(document.into(), timeout);
        self.shared.submit(job);
        evaluation.await.unwrap_or_else(|_| {
            let reason = "its worker was given up".to_owned();
            Evaluation::without_process(Verdict::Lost { reason }, begun.elapsed())
        })
    }

    /// Ends all workers: closes their inputs, gives them `patience` to end by themselves, then ends them.
    ///
    /// # Errors
    ///
    /// [`WorkerFault`] when the answers of the workers cannot be relied on, because of how one of them behaved or ended.
    pub async fn shutdown(self, patience: Duration) -> Result<(), WorkerFault> {
        for task in self.shared.close(patience) {
            // A worker whose task has panicked is gone, too.
            let _ = task.await;
        }
        self.shared.fault().map_or(Ok(()), Err)
    }
}

impl Drop for Pool {
    /// Workers are ended as soon as the runtime gets to it.
    fn drop(&mut self) {
        self.shared.close(Duration::ZERO);
    }
}
