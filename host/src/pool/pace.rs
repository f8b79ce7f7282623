//! How many documents a worker is given before it has answered the first of them.

use std::time::Duration;

/// How long documents may wait inside a worker. More gains nothing: what it takes to send one more is far less. And a
/// document that waits for a slow one cannot go to another worker.
const AHEAD: Duration = Duration::from_millis(2);

/// Documents given to a worker at a time, however fast it is.
const MOST: usize = 64;

/// Bytes of them, so that memory does not depend on how many workers there are.
const MOST_BYTES: usize = 256 << 10;

/// Learns from the answers of a worker how much it may be given at a time.
///
/// It begins with one document, so that a program that cannot work at all costs one; slow ones stay with one.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// Whether the worker may have more than one at all.
    ahead: bool,
    depth: usize,
    /// What a document takes, more or less.
    mean: Option<Duration>,
}

impl Pace {
    pub(super) fn new(ahead: bool) -> Self {
        Self { ahead, depth: 1, mean: None }
    }

    /// Whether a worker may be given another document that has so many, of so many bytes.
    pub(super) fn has_room(&self, documents: usize, bytes: usize) -> bool {
        documents == 0 || documents < self.depth && bytes < MOST_BYTES
    }

    /// An answer took this long.
    pub(super) fn answered(&mut self, took: Duration) {
        let mean = match self.mean {
            None => took,
            // What gets slow is noticed at once, what gets fast in the long run: answers are often read together.
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

    /// What a document takes; `None` when none was answered.
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
