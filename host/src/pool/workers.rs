//! Several workers of one evaluator.

use std::{
    num::NonZeroUsize,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::{sync::Notify, time::timeout};

use crate::{
    process::{Cancellation, CommandSpec, Limits},
    verdict::{Evaluation, Verdict},
};

use super::Worker;

/// How long a document waits for a worker that is busy before another is started. Starting one takes about as long
/// (`cargo run` looks at all sources first), and evaluators that take less per document need no second one.
const PATIENCE: Duration = Duration::from_millis(150);

/// Up to so many workers of one evaluator. They are started when they are needed and kept for the next document.
///
/// A worker that dies or is late loses the document it was given and no other. It is replaced when the next document
/// comes, so a document never costs more than one start.
#[derive(Debug)]
pub struct Pool {
    command: CommandSpec,
    limits: Limits,
    cancellation: Cancellation,
    size: usize,
    state: Mutex<State>,
    /// Told when a worker is idle, or a place for one has become free.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The one used last is at the end.
    idle: Vec<Worker>,
    /// Workers that are being started or are busy.
    taken: usize,
    /// Those of them that are being started.
    starting: usize,
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
        Self {
            command,
            limits,
            cancellation,
            size: size.get(),
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Has one document evaluated by whichever worker is free, or waits for one. Line ends in the document become
    /// blanks.
    ///
    /// The clock of `timeout` does not start before a worker is free, or has started. Dropping the future ends the
    /// worker.
    pub async fn evaluate(&self, document: &[u8], timeout: Duration) -> Evaluation {
        let begun = Instant::now();
        let worker = tokio::select! {
            biased;
            () = self.cancellation.cancelled() => Err(Verdict::Cancelled),
            worker = self.worker() => worker,
        };
        let (place, mut worker) = match worker {
            Ok(taken) => taken,
            Err(verdict) => return Evaluation::without_process(verdict, begun.elapsed()),
        };
        let evaluation = worker.evaluate(document, timeout, &self.cancellation).await;
        if worker.is_ready().await {
            place.give_back(worker);
        } else {
            worker.end(Duration::ZERO).await;
        }
        evaluation
    }

    /// Ends all workers: closes their inputs, gives them `patience` to end by themselves, then ends them.
    pub async fn shutdown(self, patience: Duration) {
        let mut workers = std::mem::take(&mut self.state().idle);
        workers.iter_mut().for_each(Worker::close_input);
        // All of them know by now, so the waits overlap.
        let deadline = Instant::now() + patience;
        for worker in workers {
            worker.end(deadline.saturating_duration_since(Instant::now())).await;
        }
    }

    /// A worker that waits for a document: an idle one, or a new one if all are busy for longer.
    async fn worker(&self) -> Result<(Place<'_>, Worker), Verdict> {
        let mut patient = true;
        loop {
            let changed = self.changed.notified();
            match self.take(patient) {
                Some((place, Some(mut worker))) => {
                    if worker.is_ready().await {
                        return Ok((place, worker));
                    }
                    // It died while it waited.
                    worker.end(Duration::ZERO).await;
                }
                Some((mut place, None)) => {
                    let worker = Worker::start(&self.command, &self.limits).await;
                    place.started();
                    return worker.map(|worker| (place, worker)).map_err(Verdict::from);
                }
                None => patient = timeout(PATIENCE, changed).await.is_ok(),
            }
        }
    }

    /// An idle worker, or else the right to start one, if there is a place and it is worth it.
    fn take(&self, patient: bool) -> Option<(Place<'_>, Option<Worker>)> {
        let mut state = self.state();
        let worker = state.idle.pop();
        let starting = worker.is_none();
        if starting {
            let worth_it = state.taken == 0 || !patient && state.starting == 0;
            if state.taken == self.size || !worth_it {
                return None;
            }
            state.starting += 1;
        }
        state.taken += 1;
        Some((Place { pool: self, starting }, worker))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing can panic halfway through a change, so the state is good whatever happened.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a worker that is being started or busy; free again when dropped.
struct Place<'a> {
    pool: &'a Pool,
    starting: bool,
}

impl Place<'_> {
    fn started(&mut self) {
        if std::mem::take(&mut self.starting) {
            self.pool.state().starting -= 1;
        }
    }

    fn give_back(self, worker: Worker) {
        // The place is freed, and others are told, when this ends.
        self.pool.state().idle.push(worker);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.started();
        self.pool.state().taken -= 1;
        self.pool.changed.notify_one();
    }
}
