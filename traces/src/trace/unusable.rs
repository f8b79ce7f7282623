//! Parts of a trace file that cannot be used, and their positions.
//!
//! Nothing that was recorded is dropped silently: a part that cannot be used is counted and makes the run an error.
//! Contradictions (spans with one id and different content) and unreadable content (messages that are not JSON) are
//! errors of their conversation; dropping them would look like an agent that did less.

use std::fmt;

use crate::json::{ScanError, Scanner, Value, to_python};

/// Maximum number of parts that are described; the others are only counted.
const LISTED: usize = 10;
/// Maximum length in characters of an error that a trace API reported.
const REPORTED_CHARS: usize = 200;

/// Whether a part of a file has spans or log records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Spans,
    Logs,
}

impl Side {
    /// Returns the kind of an item of the innermost list, and its name in a message.
    pub(super) fn part(self) -> (Part, &'static str) {
        match self {
            Self::Spans => (Part::Span, "the span"),
            Self::Logs => (Part::LogRecord, "the log record"),
        }
    }
}

/// Parts of one or more trace files that cannot be used.
///
/// Their content is not evaluated, so a run with such parts is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct UnusableParts {
    /// Number of parts of each kind, in the order in which the kinds were first seen.
    counts: Vec<(Part, u64)>,
    /// Position and reason of the first parts.
    listed: Vec<String>,
}

/// A kind of part of a trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// An error that the source of the file reported next to the traces.
    ReportedError,
}

impl Part {
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

impl UnusableParts {
    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Returns the number of parts of each kind; the kind is a plural noun, e.g. `spans`.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.iter().map(|(part, count)| (part.plural(), *count))
    }

    /// Returns the counts as text, e.g. `2 spans, 1 resource`.
    pub fn counted(&self) -> String {
        let text = |(parts, count): (&str, u64)| match count {
            1 => format!("1 {}", parts.trim_end_matches('s')),
            _ => format!("{count} {parts}"),
        };
        self.counts().map(text).collect::<Vec<_>>().join(", ")
    }

    /// Returns true if a span of its own, or a member that holds spans, is among them.
    pub(super) fn have_spans(&self) -> bool {
        self.counts.iter().any(|(part, _)| matches!(part, Part::Span | Part::List))
    }

    /// Adds the parts of another file.
    pub fn append(&mut self, other: &Self) {
        for (part, count) in &other.counts {
            self.count(*part, *count);
        }
        let room = LISTED.saturating_sub(self.listed.len());
        self.listed.extend(other.listed.iter().take(room).cloned());
    }

    /// Adds a part. The message is the position followed by `reason`.
    pub(super) fn add(&mut self, part: Part, position: &Position, reason: impl fmt::Display) {
        self.count(part, 1);
        if self.listed.len() < LISTED {
            self.listed.push(format!("{position}{reason}"));
        }
    }

    /// Adds the errors that a trace API reports next to the traces.
    pub(super) fn add_reported(&mut self, errors: &Value) {
        let errors = match errors {
            Value::Array(errors) => errors.as_slice(),
            Value::Null => &[],
            other => std::slice::from_ref(other),
        };
        for error in errors {
            let text: String = to_python(error).chars().take(REPORTED_CHARS).collect();
            self.add(Part::ReportedError, &Position::default(), format_args!("errors: {text}"));
        }
    }

    fn count(&mut self, part: Part, count: u64) {
        match self.counts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, known)) => *known = known.saturating_add(count),
            None => self.counts.push((part, count)),
        }
    }
}

impl fmt::Display for UnusableParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} left out: {}", self.counted(), self.listed.join("; "))?;
        let all = self.counts.iter().fold(0, |all: u64, (_, count)| all.saturating_add(*count));
        match all.saturating_sub(self.listed.len() as u64) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// The position of a part in a file: its line in a file of JSON lines, and its path in the document.
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

    /// Moves to item `index` of the list `key` at this depth.
    pub(super) fn move_to(&mut self, depth: usize, key: &'static str, index: usize) {
        self.path[depth] = (key, index);
        self.depth = depth + 1;
    }

    /// Leaves the list at this depth.
    pub(super) fn leave(&mut self, depth: usize) {
        self.depth = depth;
    }

    /// Returns the path of a member at this position, e.g. `resourceSpans[0].scopeSpans`.
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

/// Returns the reason why a span without usable ids is skipped, `None` if both of them are usable. The keys are those of the
/// format for the ids of the trace and of the span.
pub(super) fn missing_id(keys: [&str; 2], usable: [bool; 2]) -> Option<String> {
    let [trace, span] = keys;
    match usable {
        [true, true] => None,
        [false, true] => Some(format!("the span has no usable `{trace}`")),
        [true, false] => Some(format!("the span has no usable `{span}`")),
        [false, false] => Some(format!("the span has no usable `{trace}` and `{span}`")),
    }
}

/// Returns the reason why a part of the wrong type is skipped.
pub(super) fn wrong_kind(name: &str, found: &str, expected: &str) -> String {
    format!("{name} is {found} instead of {expected}")
}

/// Maximum depth at which spans are searched in a member that is not read: more than documents have around their spans.
const DEPTH: usize = 16;
/// Keys of a span in the spellings of all formats: first those of its id, from `MARKS` on others. Links and exemplars have an
/// id only.
pub(super) const SPAN_KEYS: [&str; 10] = [
    "spanId",
    "span_id",
    "spanID",
    "SpanId",
    "SpanID",
    "name",
    "operationName",
    "startTime",
    "startTimeUnixNano",
    "start_time_unix_nano",
];
const MARKS: usize = 5;

/// The kinds of keys of a span that an object has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpanKeys {
    id: bool,
    mark: bool,
}

impl SpanKeys {
    /// Notes a key, which may be any.
    pub(super) fn add(&mut self, key: &str) {
        if let Some(number) = SPAN_KEYS.iter().position(|known| *known == key) {
            self.add_number(number);
        }
    }

    fn add_number(&mut self, number: usize) {
        *(if number < MARKS { &mut self.id } else { &mut self.mark }) = true;
    }

    /// Returns true if they are the keys of a span.
    pub(super) fn are_of_span(self) -> bool {
        self.id && self.mark
    }
}

/// Skips the value that starts here. Returns true if it holds an object with the keys of a span.
pub(super) fn scan_unread(scanner: &mut Scanner<'_>) -> Result<bool, ScanError> {
    skip_to(scanner, DEPTH)
}

/// Reads the value that starts here. Returns true, too, if it holds an object with the keys of a span.
pub(super) fn read_searched(scanner: &mut Scanner<'_>) -> Result<(bool, Value), ScanError> {
    if !matches!(scanner.peek()?, Some(b'{' | b'[')) {
        return Ok((false, scanner.value()?));
    }
    let start = scanner.offset();
    let held = scanner.hold();
    let read = scan_unread(scanner).and_then(|found| Ok((found, scanner.value_since(start)?)));
    scanner.release(held);
    read
}

fn skip_to(scanner: &mut Scanner<'_>, depth: usize) -> Result<bool, ScanError> {
    let mut found = false;
    match (scanner.peek()?, depth.checked_sub(1)) {
        (Some(b'['), Some(depth)) => {
            let mut more = scanner.open_array()?;
            while more {
                found |= skip_to(scanner, depth)?;
                more = scanner.next_item()?;
            }
        }
        (Some(b'{'), Some(depth)) => {
            let mut keys = SpanKeys::default();
            let mut more = scanner.open_object()?;
            while more {
                if let Some(key) = scanner.key(&SPAN_KEYS)? {
                    keys.add_number(key);
                }
                found |= skip_to(scanner, depth)?;
                more = scanner.next_member()?;
            }
            found |= keys.are_of_span();
        }
        _ => scanner.skip_value()?,
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Checked;

    #[test]
    fn parts_are_counted_and_the_first_ones_listed() {
        let mut position = Position::in_line(3);
        position.move_to(0, "resourceSpans", 1);
        position.move_to(1, "scopeSpans", 0);
        assert_eq!(position.member("spans"), "resourceSpans[1].scopeSpans[0].spans");
        let mut parts = UnusableParts::default();
        parts.add(Part::Scope, &position, "no `spans`");
        position.leave(1);
        for _ in 0..11 {
            parts.add(Part::Resource, &position, "odd");
        }
        assert_eq!(parts.counted(), "1 scope, 11 resources");
        let text = parts.to_string();
        assert!(
            text.starts_with(
                "1 scope, 11 resources left out: line 3: resourceSpans[1].scopeSpans[0]: no `spans`; line 3: \
                 resourceSpans[1]: odd; "
            ),
            "{text}"
        );
        assert!(text.ends_with("; and 2 more"), "{text}");
    }

    #[test]
    fn spans_are_found_by_their_keys() {
        let nested = |levels: usize| {
            format!("{}{{\"spanId\": 1, \"name\": 2}}{}", "[".repeat(levels), "]".repeat(levels))
        };
        for (text, expected) in [
            (r#"{"spanId": "1", "name": "x"}"#.to_owned(), true),
            (r#"[1, {"a": [{"x": {}, "spanID": null, "startTime": 0}]}]"#.to_owned(), true),
            (r#"{"links": [{"traceId": "1", "spanId": "2"}]}"#.to_owned(), false),
            (
                r#"[{"spanId": "1", "timeUnixNano": "1", "asDouble": 1}, {"name": "x"}]"#
                    .to_owned(),
                false,
            ),
            (r#"{"spanId": {"name": "x"}}"#.to_owned(), false),
            ("5".to_owned(), false),
            (nested(DEPTH - 1), true),
            (nested(DEPTH), false),
        ] {
            let mut scanner = Scanner::new(Checked::new(text.as_bytes(), 7));
            assert_eq!(scan_unread(&mut scanner).unwrap(), expected, "{text}");
            assert_eq!(scanner.offset(), text.len());
        }
    }
}
