//! Points in time that are computed without overflow.

use std::time::Duration;

use tokio::time::Instant;

/// As far ahead as every clock can count, which is as good as never.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// The time `wait` after `start`, at most some thirty years ahead.
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
