//! Permits for evaluations: a bounded number at a time, and none after the run has stopped.

use std::{num::NonZeroUsize, sync::Arc};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Permits to start an evaluation. With `fail_fast`, none is given after the first failure or error.
#[derive(Debug)]
pub struct Permits {
    semaphore: Arc<Semaphore>,
    /// For evaluations that wait for models. They use no processor, so they are not among the others.
    judged: Semaphore,
    fail_fast: bool,
}

impl Permits {
    /// Permits this number of concurrent evaluations.
    pub fn new(jobs: NonZeroUsize, fail_fast: bool) -> Self {
        let semaphore = Semaphore::new(jobs.get().min(Semaphore::MAX_PERMITS));
        Self { semaphore: Arc::new(semaphore), judged: Semaphore::new(0), fail_fast }
    }

    /// Permits this number of evaluations that wait for models.
    pub(crate) fn permit_judged(&self, number: usize) {
        self.judged.add_permits(number.min(Semaphore::MAX_PERMITS));
    }

    /// Waits for a permit of an evaluation that asks models; `None` if the run has stopped. Permits are given in the order of
    /// the calls.
    pub(crate) async fn take_judged(&self) -> Option<SemaphorePermit<'_>> {
        let permit = self.judged.acquire().await.ok()?;
        (!self.is_closed()).then_some(permit)
    }

    /// Waits for a permit; `None` if the run has stopped.
    pub(crate) async fn take(&self) -> Option<SemaphorePermit<'_>> {
        let permit = self.semaphore.acquire().await.ok()?;
        // It may have been acquired just before the semaphore was closed.
        (!self.is_closed()).then_some(permit)
    }

    /// Returns the semaphore, for workers. It is closed when the run stops.
    pub(crate) fn shared(&self) -> Arc<Semaphore> {
        Arc::clone(&self.semaphore)
    }

    /// Stops the run after a failure or error, if it is to.
    pub fn record_failure(&self) {
        if self.fail_fast {
            self.semaphore.close();
            self.judged.close();
        }
    }

    /// Returns true if a failure or error stops the run.
    pub(crate) fn fails_fast(&self) -> bool {
        self.fail_fast
    }

    /// Returns true if the run has stopped.
    pub fn is_closed(&self) -> bool {
        self.semaphore.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn after_a_failure_a_strict_run_gives_no_permits() {
        let patient = Permits::new(NonZeroUsize::MIN, false);
        patient.record_failure();
        assert!(patient.take().await.is_some());

        let strict = Permits::new(NonZeroUsize::MIN, true);
        let running = strict.take().await;
        assert!(running.is_some() && !strict.is_closed());
        let waiting = strict.take();
        // Polled second, when the other one waits.
        let failing = async {
            // The waiting task gets the permit, and the failure happens before it is polled.
            drop(running);
            strict.record_failure();
        };
        let (late, ()) = tokio::join!(waiting, failing);
        assert!(late.is_none() && strict.take().await.is_none());
    }
}
