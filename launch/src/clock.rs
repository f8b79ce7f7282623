//! Points in time, computed without overflow.

use std::time::Duration;

use tokio::time::Instant;

/// A wait in the range of every clock that is as good as infinite.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// Returns the time `wait` after `start`, at most about thirty years later.
pub fn after(start: Instant, wait: Duration) -> Instant {
    start.checked_add(wait).or_else(|| start.checked_add(FAR)).unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wait_ends_in_the_future() {
        let now = Instant::now();
        assert_eq!(after(now, Duration::from_secs(1)).duration_since(now), Duration::from_secs(1));
        assert_eq!(after(now, Duration::MAX).duration_since(now), FAR);
    }
}
