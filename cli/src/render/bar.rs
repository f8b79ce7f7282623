//! How far a run has come, in a line.

use std::time::Duration;

/// Cells of the bar.
const CELLS: u64 = 24;

/// Evaluations of a run that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) done: usize,
    pub(super) total: usize,
    pub(super) errored: usize,
}

impl Counts {
    /// For a line that changes: `[=====>    ] 12/24, 3.4/s, 1 broke, 4 s`.
    pub(super) fn bar(self, elapsed: Duration) -> String {
        let Self { done, total, .. } = self;
        let filled = (CELLS * done as u64).checked_div(total as u64).unwrap_or(CELLS).min(CELLS);
        let bar: String = (0..CELLS)
            .map(|cell| match cell {
                cell if cell < filled => '=',
                cell if cell == filled => '>',
                _ => ' ',
            })
            .collect();
        let (rate, seconds) = (self.rate(elapsed), elapsed.as_secs());
        format!("[{bar}] {done}/{total}, {rate}/s{}, {seconds} s", self.broke())
    }

    /// For a line of its own: `evaluated 12 of 24, 1 broke (3.4/s, 4 s)`.
    pub(super) fn line(self, elapsed: Duration) -> String {
        let (rate, seconds) = (self.rate(elapsed), elapsed.as_secs());
        format!("evaluated {} of {}{} ({rate}/s, {seconds} s)", self.done, self.total, self.broke())
    }

    /// Evaluations per second since the beginning.
    fn rate(self, elapsed: Duration) -> String {
        let rate = self.done as f64 / elapsed.as_secs_f64().max(0.001);
        if rate < 100.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
    }

    fn broke(self) -> String {
        if self.errored > 0 { format!(", {} broke", self.errored) } else { String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(done: usize, total: usize, errored: usize) -> Counts {
        Counts { done, total, errored }
    }

    #[test]
    fn a_bar_fills_from_nothing_to_everything() {
        let seconds = Duration::from_secs;
        assert_eq!(counts(0, 10, 0).bar(seconds(3)), "[>                       ] 0/10, 0.0/s, 3 s");
        assert_eq!(
            counts(12, 24, 1).bar(seconds(4)),
            "[============>           ] 12/24, 3.0/s, 1 broke, 4 s"
        );
        assert_eq!(
            counts(2400, 2400, 0).bar(seconds(4)),
            "[========================] 2400/2400, 600/s, 4 s"
        );
        // Conversations without turns make a run shorter than it seemed.
        for (done, total) in [(5, 4), (0, 0)] {
            assert!(counts(done, total, 0).bar(seconds(0)).contains("=] "));
        }
        let longest = counts(usize::MAX / 100, usize::MAX / 100, 999_999_999).bar(seconds(99_999));
        assert!(longest.starts_with("[=") && longest.contains("] 18"), "{longest}");
    }

    #[test]
    fn a_line_says_the_same() {
        assert_eq!(
            counts(12, 24, 1).line(Duration::from_millis(2500)),
            "evaluated 12 of 24, 1 broke (4.8/s, 2 s)"
        );
        assert_eq!(counts(0, 24, 0).line(Duration::ZERO), "evaluated 0 of 24 (0.0/s, 0 s)");
    }
}
