//! Several workers of one evaluator.

use std::{
    num::NonZeroUsize,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Semaphore;

use crate::{
    process::{Cancellation, CommandSpec, Limits},
    verdict::{Evaluation, Verdict},
};

use super::Worker;

/// Up to so many workers of one evaluator. They are started when they are needed and kept for the next document.
///
/// A worker that dies or is late loses the document it was given and no other. It is replaced when the next document
/// comes, so a document never costs more than one start.
#[derive(Debug)]
pub struct Pool {
    command: CommandSpec,
    limits: Limits,
    cancellation: Cancellation,
    slots: Semaphore,
    /// The one used last is at the end.
    idle: Mutex<Vec<Worker>>,
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
        let slots = Semaphore::new(size.get().min(Semaphore::MAX_PERMITS));
        Self { command, limits, cancellation, slots, idle: Mutex::default() }
    }

    /// Has one document evaluated by whichever worker is free, or waits for one. Line ends in the document become
    /// blanks.
    ///
    /// The clock of `timeout` does not start before a worker is free, or has started. Dropping the future ends the worker.
    pub async fn evaluate(&self, document: &[u8], timeout: Duration) -> Evaluation {
        let slot = tokio::select! {
            biased;
            () = self.cancellation.cancelled() => None,
            slot = self.slots.acquire() => slot.ok(),
        };
        let begun = Instant::now();
        // Slots are never closed, so none means that the run was cancelled.
        let Some(_slot) = slot else {
            return Evaluation::without_process(Verdict::Cancelled, begun.elapsed());
        };
        let mut worker = match self.ready_worker().await {
            Some(worker) => worker,
            None => match self.new_worker().await {
                Ok(worker) => worker,
                Err(verdict) => return Evaluation::without_process(verdict, begun.elapsed()),
            },
        };
        let evaluation = worker.evaluate(document, timeout, &self.cancellation).await;
        if worker.is_ready().await {
            self.idle().push(worker);
        } else {
            worker.end(Duration::ZERO).await;
        }
        evaluation
    }

    /// Ends all workers: closes their inputs, gives them `patience` to end by themselves, then ends them.
    pub async fn shutdown(self, patience: Duration) {
        let mut workers = std::mem::take(&mut *self.idle());
        workers.iter_mut().for_each(Worker::close_input);
        // All of them know by now, so the waits overlap.
        let deadline = Instant::now() + patience;
        for worker in workers {
            worker.end(deadline.saturating_duration_since(Instant::now())).await;
        }
    }

    async fn new_worker(&self) -> Result<Worker, Verdict> {
        tokio::select! {
            biased;
            () = self.cancellation.cancelled() => Err(Verdict::Cancelled),
            worker = Worker::start(&self.command, &self.limits) => {
                worker.map_err(|error| Verdict::SpawnFailed { reason: error.to_string() })
            }
        }
    }

    /// A worker that waits for a document. Those that died while they waited are ended.
    async fn ready_worker(&self) -> Option<Worker> {
        loop {
            let mut worker = self.idle().pop()?;
            if worker.is_ready().await {
                return Some(worker);
            }
            worker.end(Duration::ZERO).await;
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Worker>> {
        // Nothing can panic halfway through a change, so the list is good whatever happened.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
