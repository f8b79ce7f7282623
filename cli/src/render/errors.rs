//! Errors of evaluators, each shown once with the number of conversations that it is in.

use std::{
    collections::{HashMap, hash_map::RandomState},
    fmt,
    hash::BuildHasher as _,
    io,
};

use evaluator_host::report::{EvaluationReport, Report};

use super::{
    plain::{line_of, one_line},
    words::kind,
};

/// Lines of standard error that are shown of an error.
const STDERR_LINES: usize = 20;

/// The errors of a report. Only a hash of each is kept, since there may be as many as evaluations.
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

/// How an error is to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Showing {
    /// In full, with its extent.
    First(Extent),
    /// By reference to the first one.
    Again,
}

/// How many conversations of a report have the same error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) count: usize,
    conversations: usize,
}

impl Extent {
    /// In parentheses, to stand behind the error; empty for a single conversation.
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
            for conversation in &report.conversations {
                for evaluation in &conversation?.evaluations {
                    if let Some(key) = errors.key(evaluation) {
                        errors.groups.entry(key).or_default().count += 1;
                    }
                }
            }
        }
        Ok(errors)
    }

    /// How the error of this evaluation is to be shown; `None` without an error, or where it was not run.
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

/// The error in the words of this project; it may have several lines.
fn full(evaluation: &EvaluationReport) -> Option<&str> {
    evaluation.error.as_deref().map(|error| evaluation.headline.as_deref().unwrap_or(error))
}

/// The error on one line; empty without one.
pub(super) fn headline(evaluation: &EvaluationReport) -> String {
    let first = full(evaluation).unwrap_or_default().lines().find(|line| !line.trim().is_empty());
    one_line(first.unwrap_or_default().trim()).into_owned()
}

/// What stands below the headline: the other lines of the error, and the end of standard error where the headline is not
/// all of it. Each line has a prefix, so that none can be mistaken for one of the report.
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
    let shown = &stderr[stderr.len().saturating_sub(STDERR_LINES)..];
    lines.chain(shown.iter().map(|line| format!("stderr: {}", line_of(line)))).collect()
}

/// Returns true if the error has the message behind the name of the evaluator.
fn is_line_of(message: &str, name: &str, error: &str) -> bool {
    let message = message.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
    message.is_some_and(|message| error.contains(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_has_its_denominator() {
        let extent = |count, conversations| Extent { count, conversations };
        assert_eq!(extent(3, 3).suffix(), " (all 3 conversations)");
        assert_eq!(extent(12, 40).suffix(), " (12 of 40 conversations)");
        assert_eq!(extent(1, 40).suffix(), "");
        assert_eq!(extent(1, 1).suffix(), "");
    }
}
