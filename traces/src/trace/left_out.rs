//! Parts of a trace file that cannot be used, and where they are.

use std::fmt;

use crate::json::{Value, to_python};

/// Parts that are described one by one; those beyond are only counted.
const LISTED: usize = 10;
/// Characters that are shown of what a trace API reported.
const REPORTED_CHARS: usize = 200;

/// Parts of one or more trace files that were left out because they cannot be used.
///
/// What they recorded was not evaluated, so a run with such parts is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many parts of each kind, in the order in which the kinds were first seen.
    counts: Vec<(Part, u64)>,
    /// Place and reason of the first ones.
    listed: Vec<String>,
}

/// A kind of part of a trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Span,
    /// The spans or log records of one instrumentation scope.
    Scope,
    Resource,
    /// A trace of a Jaeger document.
    Trace,
    LogRecord,
    /// A list at the top of a document.
    List,
    /// An error that the source of the file reported beside the traces.
    ReportedError,
}

impl Part {
    fn noun(self) -> &'static str {
        match self {
            Self::Span => "span",
            Self::Scope => "scope",
            Self::Resource => "resource",
            Self::Trace => "trace",
            Self::LogRecord => "log record",
            Self::List => "list",
            Self::ReportedError => "reported error",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Self::Span => "spans",
            Self::Scope => "scopes",
            Self::Resource => "resources",
            Self::Trace => "traces",
            Self::LogRecord => "log records",
            Self::List => "lists",
            Self::ReportedError => "reported errors",
        }
    }
}

impl LeftOut {
    /// Returns true if nothing was left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Returns the number of parts of each kind; the kind is a plural noun, e.g. `spans`.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.iter().map(|(part, count)| (part.plural(), *count))
    }

    /// Returns the counts as text, e.g. `2 spans, 1 resource`.
    #[must_use]
    pub fn counted(&self) -> String {
        let texts: Vec<String> = self
            .counts
            .iter()
            .map(|(part, count)| {
                format!("{count} {}", if *count == 1 { part.noun() } else { part.plural() })
            })
            .collect();
        texts.join(", ")
    }

    /// Adds the parts of another file.
    pub fn add(&mut self, other: &Self) {
        for (part, count) in &other.counts {
            self.count(*part, *count);
        }
        let room = LISTED.saturating_sub(self.listed.len());
        self.listed.extend(other.listed.iter().take(room).cloned());
    }

    /// Notes a part. `reason` reads after the place.
    pub(super) fn note(&mut self, part: Part, position: &Position, reason: impl fmt::Display) {
        self.count(part, 1);
        if self.listed.len() < LISTED {
            self.listed.push(format!("{position}{reason}"));
        }
    }

    /// Notes the errors that a trace API reports in its answer beside the traces.
    pub(super) fn note_reported(&mut self, errors: &Value) {
        let errors = match errors {
            Value::Array(errors) => errors.as_slice(),
            Value::Null => &[],
            other => std::slice::from_ref(other),
        };
        for error in errors {
            let text: String = to_python(error).chars().take(REPORTED_CHARS).collect();
            self.note(Part::ReportedError, &Position::default(), format_args!("errors: {text}"));
        }
    }

    fn count(&mut self, part: Part, count: u64) {
        match self.counts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, known)) => *known += count,
            None => self.counts.push((part, count)),
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} left out: {}", self.counted(), self.listed.join("; "))?;
        let all: u64 = self.counts.iter().map(|(_, count)| *count).sum();
        match all - self.listed.len() as u64 {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// Where a part is in a file: its line in a file of JSON lines, and its path in the document.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    /// Counted from 1; 0 in a file that is one document.
    pub(super) line: usize,
    path: [(&'static str, usize); 3],
    depth: usize,
}

impl Position {
    /// Returns the position in a line of a file.
    pub(super) fn in_line(line: usize) -> Self {
        Self { line, ..Self::default() }
    }

    /// Moves to item `index` of the list `key`, which is at this depth. The levels below are forgotten.
    pub(super) fn move_to(&mut self, depth: usize, key: &'static str, index: usize) {
        self.path[depth] = (key, index);
        self.depth = depth + 1;
    }

    /// Leaves the levels from this depth on.
    pub(super) fn leave(&mut self, depth: usize) {
        self.depth = depth;
    }

    /// Returns the path of a member here, e.g. `resourceSpans[0].scopeSpans`.
    pub(super) fn member(&self, key: &str) -> String {
        let mut path = String::new();
        for (key, index) in &self.path[..self.depth] {
            path += &format!("{key}[{index}].");
        }
        path + key
    }
}

/// The position and a separator; empty for the document itself.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        for (number, (key, index)) in self.path[..self.depth].iter().enumerate() {
            let separator = if number > 0 { "." } else { "" };
            write!(f, "{separator}{key}[{index}]")?;
        }
        if self.depth > 0 { f.write_str(": ") } else { Ok(()) }
    }
}

/// Why a span is left out; `None` if both of its ids can be used. The keys are those of the format.
pub(super) fn missing_id(
    (trace_id, trace_key): (bool, &str),
    (span_id, span_key): (bool, &str),
) -> Option<String> {
    match (trace_id, span_id) {
        (true, true) => None,
        (false, true) => Some(format!("the span has no usable `{trace_key}`")),
        (true, false) => Some(format!("the span has no usable `{span_key}`")),
        (false, false) => Some(format!("the span has no usable `{trace_key}` and `{span_key}`")),
    }
}

/// Why something that should be an object or an array is left out; `name` says what it is.
pub(super) fn wrong_kind(name: &str, found: &str, expected: &str) -> String {
    format!("{name} is {found} instead of {expected}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_and_the_first_ones_listed() {
        let mut position = Position::in_line(3);
        position.move_to(0, "resourceSpans", 1);
        position.move_to(1, "scopeSpans", 0);
        assert_eq!(position.member("spans"), "resourceSpans[1].scopeSpans[0].spans");
        let mut left_out = LeftOut::default();
        left_out.note(Part::Scope, &position, "no `spans`");
        position.leave(1);
        for _ in 0..11 {
            left_out.note(Part::Resource, &position, "odd");
        }
        assert_eq!(left_out.counted(), "1 scope, 11 resources");
        let text = left_out.to_string();
        assert!(
            text.starts_with(
                "1 scope, 11 resources left out: line 3: resourceSpans[1].scopeSpans[0]: no `spans`; line 3: \
                 resourceSpans[1]: odd; "
            ),
            "{text}"
        );
        assert!(text.ends_with("; and 2 more"), "{text}");
    }
}
