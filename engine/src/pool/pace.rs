//! Number of documents that a worker is sent before it has answered the first of them.

use std::time::Duration;

/// Time for which documents may wait inside a worker. More gains nothing: sending a document takes far less. And a
/// document that waits behind a slow one cannot go to another worker.
const AHEAD: Duration = Duration::from_millis(2);

/// Maximum number of documents inside a worker.
const MOST: usize = 64;

/// Maximum bytes of documents inside a worker, so that memory does not depend on the number of workers.
const MOST_BYTES: usize = 256 << 10;

/// Learns from the answers of a worker how many documents it may hold.
///
/// The first limit is one document, so that a program that cannot work at all costs one; slow programs stay at one.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// True if the worker may hold more than one at all.
    ahead: bool,
    depth: usize,
    /// Moving average of the duration of a document.
    mean: Option<Duration>,
}

impl Pace {
    pub(super) fn new(ahead: bool) -> Self {
        Self { ahead, depth: 1, mean: None }
    }

    /// Returns true if a worker that holds `documents` documents of `bytes` bytes may get another one.
    pub(super) fn has_room(&self, documents: usize, bytes: usize) -> bool {
        documents == 0 || documents < self.depth && bytes < MOST_BYTES
    }

    /// Adds the duration of an answer.
    pub(super) fn answered(&mut self, took: Duration) {
        let mean = match self.mean {
            None => took,
            // A slowdown counts at once, a speedup slowly: several answers are often read together.
            Some(mean) if took > mean => mean.saturating_add(took) / 2,
            Some(mean) => mean.saturating_sub(mean / 8).saturating_add(took / 8),
        };
        self.mean = Some(mean);
        if self.ahead {
            let fit = AHEAD.as_nanos().checked_div(mean.as_nanos()).unwrap_or(u128::MAX);
            let fit = usize::try_from(fit).unwrap_or(usize::MAX).clamp(1, MOST);
            self.depth = fit.min(self.depth * 2);
        }
    }

    /// Average duration of a document; `None` before the first answer.
    pub(super) fn mean(&self) -> Option<Duration> {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Duration = Duration::from_micros(10);

    fn depth(pace: &Pace) -> usize {
        (0..=MOST).find(|documents| !pace.has_room(*documents, 0)).unwrap_or(usize::MAX)
    }

    #[test]
    fn fast_workers_are_given_more_step_by_step() {
        let mut pace = Pace::new(true);
        let mut depths = vec![depth(&pace)];
        for _ in 0..8 {
            pace.answered(FAST);
            depths.push(depth(&pace));
        }
        assert_eq!(depths, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
        assert!(!pace.has_room(1, MOST_BYTES) && pace.has_room(0, usize::MAX));
    }

    #[test]
    fn slow_ones_are_given_one() {
        let mut pace = Pace::new(true);
        (0..10).for_each(|_| pace.answered(FAST));
        pace.answered(Duration::from_secs(1));
        assert_eq!(depth(&pace), 1);
        (0..200).for_each(|_| pace.answered(FAST));
        assert_eq!(depth(&pace), MOST, "it recovers");
        let mut careful = Pace::new(false);
        (0..10).for_each(|_| careful.answered(FAST));
        assert_eq!(depth(&careful), 1);
    }
}
