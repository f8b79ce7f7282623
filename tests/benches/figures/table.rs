//! The table: measured values next to their targets.

use std::fmt;

use evaluator_tests::bench::measure::Usage;

const COLUMNS: [&str; 6] = ["work", "agentevals", "to reach", "ours", "ratio", ""];

/// Rows, as they are measured.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<[String; COLUMNS.len()]>,
}

/// Target; empty where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Aim {
    /// Seconds of wall time.
    pub(crate) wall: Option<f64>,
    /// MB of the largest process.
    pub(crate) peak: Option<f64>,
}

impl Table {
    /// Adds work that whole programs did.
    pub(crate) fn add(&mut self, work: &str, theirs: Option<Usage>, aim: Aim, ours: Usage) {
        let ratio = theirs.map_or_else(String::new, |theirs| {
            format!("{:.0} x, CPU {:.0} x", theirs.wall / ours.wall, theirs.cpu() / ours.cpu())
        });
        let theirs = theirs.map_or_else(|| "-".to_owned(), usage);
        self.add_text([work, &theirs, &aim.text(), &usage(ours), &ratio, &aim.verdict(ours)]);
    }

    /// Adds a row of another kind.
    pub(crate) fn add_text(&mut self, cells: [&str; COLUMNS.len()]) {
        self.rows.push(cells.map(str::to_owned));
    }
}

impl Aim {
    pub(crate) fn text(self) -> String {
        let parts = [self.wall.map(seconds), self.peak.map(|peak| format!("{peak:.0} MB"))];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn verdict(self, ours: Usage) -> String {
        let [wall, peak] = [(self.wall, ours.wall), (self.peak, ours.peak)]
            .map(|(aim, ours)| aim.map(|aim| ours <= aim));
        if wall.or(peak).is_none() {
            return String::new();
        }
        verdict(wall != Some(false) && peak != Some(false))
    }
}

/// The last cell of a row.
pub(crate) fn verdict(is_reached: bool) -> String {
    if is_reached { "reached" } else { "MISSED" }.to_owned()
}

/// Usage of a program, formatted for the table.
pub(crate) fn usage(usage: Usage) -> String {
    format!("{} (CPU {}) {:>3.0} MB", seconds(usage.wall), seconds(usage.cpu()), usage.peak)
}

fn seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1000.0) } else { format!("{seconds:.1} s") }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = COLUMNS.map(str::to_owned);
        let lines = || [&head].into_iter().chain(&self.rows);
        let widths: [usize; COLUMNS.len()] = std::array::from_fn(|column| {
            lines().map(|cells| cells[column].chars().count()).max().unwrap_or_default()
        });
        for cells in lines() {
            let padded: Vec<String> =
                cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            writeln!(f, "{}", padded.join("  ").trim_end())?;
        }
        Ok(())
    }
}
