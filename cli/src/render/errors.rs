//! Errors of evaluators, each shown once with the number of its conversations, and their form in tables.

use std::{
    collections::{HashMap, hash_map::RandomState},
    fmt::{self, Write as _},
    hash::BuildHasher as _,
    io,
};

use evaluator_host::report::{EvaluationReport, Report};
use unicode_width::UnicodeWidthStr as _;

use super::{
    plain::{line_of, one_line},
    words::kind,
};

/// Maximum number of shown lines of standard error.
const STDERR_LINES: usize = 20;

/// The errors of a report. Only hashes are kept, since there may be as many errors as evaluations.
pub(super) struct Errors {
    hasher: RandomState,
    groups: HashMap<u64, Group>,
    conversations: usize,
}

#[derive(Default)]
struct Group {
    count: usize,
    was_shown: bool,
}

/// Form in which an error is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Showing {
    /// In full, with its extent.
    First(Extent),
    /// By reference to the first one.
    Again,
}

/// Number of conversations of a report with the same error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) count: usize,
    conversations: usize,
}

impl Extent {
    /// The extent in parentheses; empty for a single conversation.
    pub(super) fn suffix(self) -> String {
        if self.count > 1 { format!(" ({self})") } else { String::new() }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, conversations } = self;
        if count == conversations {
            write!(f, "all {count} conversations")
        } else {
            write!(f, "{count} of {conversations} conversations")
        }
    }
}

impl Errors {
    /// Counts the errors of all conversations.
    pub(super) fn of(report: &Report) -> io::Result<Self> {
        let mut errors = Self {
            hasher: RandomState::new(),
            groups: HashMap::new(),
            conversations: report.conversations.len(),
        };
        if report.tally().errored > 0 {
            for conversation in report.conversations.iter().outlines() {
                for evaluation in &conversation?.evaluations {
                    if let Some(key) = errors.key(evaluation) {
                        errors.groups.entry(key).or_default().count += 1;
                    }
                }
            }
        }
        Ok(errors)
    }

    /// Returns the form in which to show the error of an evaluation; `None` if there is no error, or it was not run.
    pub(super) fn showing(&mut self, evaluation: &EvaluationReport) -> Option<Showing> {
        let key = self.key(evaluation)?;
        let group = self.groups.entry(key).or_default();
        if std::mem::replace(&mut group.was_shown, true) {
            return Some(Showing::Again);
        }
        let count = group.count.max(1);
        Some(Showing::First(Extent { count, conversations: self.conversations }))
    }

    fn key(&self, evaluation: &EvaluationReport) -> Option<u64> {
        let text = full(evaluation).filter(|_| evaluation.was_run())?;
        Some(self.hasher.hash_one((&evaluation.name, kind(evaluation), text)))
    }
}

/// Returns the error in the wording of this project; it may have several lines.
fn full(evaluation: &EvaluationReport) -> Option<&str> {
    evaluation.error.as_deref().map(|error| evaluation.headline.as_deref().unwrap_or(error))
}

/// Returns the first line of the error; empty without an error.
pub(super) fn headline(evaluation: &EvaluationReport) -> String {
    let first = full(evaluation).unwrap_or_default().lines().find(|line| !line.trim().is_empty());
    one_line(first.unwrap_or_default().trim()).into_owned()
}

/// Returns the other lines of the error, and the end of standard error unless the error contains all of it. A prefix
/// distinguishes each line from lines of the report.
pub(super) fn below(evaluation: &EvaluationReport) -> Vec<String> {
    let Some(full) = full(evaluation) else { return Vec::new() };
    let lines = full.trim().lines().skip(1).map(|line| format!("| {}", line_of(line)));
    let stderr = evaluation.stderr.as_deref().map(str::trim).unwrap_or_default();
    let stderr: Vec<&str> = match stderr.strip_prefix("error: ").unwrap_or(stderr) {
        // The headline has the message without this program's own prefixes.
        message if full.contains(message) => Vec::new(),
        message if is_line_of(message, &evaluation.name, full) => Vec::new(),
        _ => stderr.lines().collect(),
    };
    let (shown, more) = excerpt(&stderr);
    let shown = shown.iter().map(|line| format!("stderr: {}", line_of(line)));
    let more = (more > 0).then(|| format!("stderr: ... ({more} more lines)"));
    lines.chain(shown).chain(more).collect()
}

/// Returns the lines of standard error that are shown, and the number of those behind them: the end, or the start of the
/// message and the frames of a panic in Rust. Its last frames are those of the start of every program.
fn excerpt<'l, 't>(stderr: &'l [&'t str]) -> (&'l [&'t str], usize) {
    let end = stderr.len().saturating_sub(STDERR_LINES);
    let panic = stderr
        .iter()
        .position(|line| line.starts_with("thread '") && line.contains(" panicked at "));
    match panic {
        Some(start) if start < end => {
            let behind = stderr.len() - start - STDERR_LINES;
            (&stderr[start..start + STDERR_LINES], behind)
        }
        _ => (&stderr[end..], 0),
    }
}

/// Returns true if the error contains the message after the name of the evaluator.
fn is_line_of(message: &str, name: &str, error: &str) -> bool {
    let message = message.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
    message.is_some_and(|message| error.contains(message))
}

/// Maximum width of an error in a table, in columns.
const FITS: usize = 160;

/// Width of the shown start of a longer error, in columns.
const SHOWN: usize = 70;

/// Cell of an error that was shown before.
pub(super) const AS_ABOVE: &str = "(as above)";

/// Returns the cell of an error: the error or its start, and the number of its conversations.
pub(super) fn cell(evaluation: &EvaluationReport, showing: Option<Showing>) -> String {
    match showing {
        // There is no error, or the evaluator was not run.
        None => headline(evaluation),
        Some(Showing::Again) => AS_ABOVE.to_owned(),
        Some(Showing::First(extent)) => shortened(&headline(evaluation)) + &extent.suffix(),
    }
}

fn shortened(error: &str) -> String {
    if error.width() <= FITS {
        return error.to_owned();
    }
    let mut cell = String::new();
    for word in error.split_inclusive(' ') {
        if cell.width() + word.width() > SHOWN && !cell.is_empty() {
            break;
        }
        cell.push_str(word);
    }
    // A single word may be too long.
    let cell: String = cell.trim_end().chars().take(SHOWN).collect();
    format!("{cell} ...")
}

/// Writes the rest of an error below the table: its kind, its whole text if the cell was cut, and standard error.
pub(super) fn whole(
    text: &mut String,
    evaluation: &EvaluationReport,
    extent: Extent,
    was_cut: bool,
) {
    let _ = writeln!(text, "  Error of {}: {}", one_line(&evaluation.name), kind(evaluation));
    let headline = headline(evaluation);
    if was_cut || headline.width() > FITS {
        let _ = writeln!(text, "    {headline}{}", extent.suffix());
    }
    for line in below(evaluation) {
        let _ = writeln!(text, "    {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_shows_its_message_and_its_first_frames() {
        let frames = |count: usize| (0..count).map(|frame| format!("  {frame}: frame")).collect();
        let panic = "thread 'main' (7) panicked at src/main.rs:5:3:";
        let with_panic = |before: usize, behind: usize| -> Vec<String> {
            let (before, behind): (Vec<String>, Vec<String>) = (frames(before), frames(behind));
            [before, vec![panic.to_owned()], behind].concat()
        };
        for (before, behind, first, more) in
            [(30, 40, panic, 21), (30, 19, panic, 0), (30, 5, "  16: frame", 0), (0, 3, panic, 0)]
        {
            let lines = with_panic(before, behind);
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let (shown, left) = excerpt(&lines);
            assert_eq!((shown[0], left), (first, more), "{before} {behind}");
            assert!(shown.len() <= STDERR_LINES);
        }
        let lines: Vec<String> = frames(25);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(excerpt(&lines), (&lines[5..], 0));
    }

    #[test]
    fn an_extent_has_its_denominator() {
        let extent = |count, conversations| Extent { count, conversations };
        assert_eq!(extent(3, 3).suffix(), " (all 3 conversations)");
        assert_eq!(extent(12, 40).suffix(), " (12 of 40 conversations)");
        assert_eq!(extent(1, 40).suffix(), "");
        assert_eq!(extent(1, 1).suffix(), "");
    }

    #[test]
    fn a_cell_has_bounded_width() {
        assert_eq!(shortened("exited with code 3: boom"), "exited with code 3: boom");
        for long in ["word ".repeat(50), "é".repeat(300)] {
            let cell = shortened(&long);
            assert!(cell.width() <= SHOWN + 4 && cell.ends_with(" ..."), "{cell}");
        }
    }
}
