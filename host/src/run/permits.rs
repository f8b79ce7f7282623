//! Who may begin: a bounded number at a time, and nobody after a stop.

use std::{num::NonZeroUsize, sync::Arc};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Permits to begin an evaluation. Where a run is to stop at its first failure or error, all that were not taken by then
/// are withdrawn.
#[derive(Debug)]
pub(super) struct Permits {
    places: Arc<Semaphore>,
    fail_fast: bool,
}

impl Permits {
    pub(super) fn new(jobs: NonZeroUsize, fail_fast: bool) -> Self {
        let places = Semaphore::new(jobs.get().min(Semaphore::MAX_PERMITS));
        Self { places: Arc::new(places), fail_fast }
    }

    /// Waits for a permit; `None` when nothing is to begin any more.
    pub(super) async fn take(&self) -> Option<SemaphorePermit<'_>> {
        let permit = self.places.acquire().await.ok()?;
        // It may have been handed over just before they were withdrawn.
        (!self.are_withdrawn()).then_some(permit)
    }

    /// The permits themselves, for those who take and give back many. They are closed when they are withdrawn.
    pub(super) fn shared(&self) -> Arc<Semaphore> {
        Arc::clone(&self.places)
    }

    /// Says that something failed or broke.
    pub(super) fn something_went_wrong(&self) {
        if self.fail_fast {
            self.places.close();
        }
    }

    /// Whether nothing is to begin any more.
    pub(super) fn are_withdrawn(&self) -> bool {
        self.places.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn after_a_failure_nobody_begins_if_the_run_is_to_stop() {
        let patient = Permits::new(NonZeroUsize::MIN, false);
        patient.something_went_wrong();
        assert!(patient.take().await.is_some());

        let strict = Permits::new(NonZeroUsize::MIN, true);
        let running = strict.take().await;
        assert!(running.is_some() && !strict.are_withdrawn());
        let waiting = strict.take();
        // Polled second, when the other one waits.
        let failing = async {
            // The one that waits is given the permit, and the failure comes before it looks.
            drop(running);
            strict.something_went_wrong();
        };
        let (late, ()) = tokio::join!(waiting, failing);
        assert!(late.is_none() && strict.take().await.is_none());
    }
}
