//! Problems in files that people write, with their positions.

use std::{
    cell::RefCell,
    fmt, mem,
    path::{Path, PathBuf},
};

use crate::Span;

/// A file that cannot be used, with everything that is wrong with it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConfigError {
    /// File as it was given.
    pub file: PathBuf,
    /// Text of the file, for showing excerpts; empty if it could not be read.
    pub source_text: String,
    /// At least one problem, in the order of the file.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Message that names the key.
    pub message: String,
    /// Position; `None` if the problem is the file itself.
    pub place: Option<Place>,
    /// Suggested correction.
    pub hint: Option<String>,
}

/// Position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

impl ConfigError {
    /// Creates an error with one problem that concerns the whole file.
    pub fn new(file: &Path, message: String, hint: Option<String>) -> Self {
        Self::with(file, "", vec![Problem::new(message, None, hint)])
    }

    /// Creates an error from at least one problem in `text`. Sorts the problems by position.
    pub fn with(file: &Path, text: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.place.map(|place| place.start));
        Self { file: file.to_owned(), source_text: text.to_owned(), problems }
    }
}

impl Problem {
    /// Creates a problem.
    pub fn new(message: String, place: Option<Place>, hint: Option<String>) -> Self {
        Self { message, place, hint }
    }
}

impl Place {
    /// Converts a byte range of `text`. The range is extended to whole characters.
    pub fn new(text: &str, span: Span) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = (span.end.clamp(before.len(), text.len())..text.len())
            .find(|&end| text.is_char_boundary(end));
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            start: before.len(),
            end: end.unwrap_or(text.len()),
        }
    }
}

impl fmt::Display for ConfigError {
    /// Writes one line per problem: `FILE:LINE:COLUMN: MESSAGE (HINT)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index > 0 { "\n" } else { "" };
            write!(f, "{separator}{}:", self.file.display())?;
            if let Some(place) = problem.place {
                write!(f, "{}:{}:", place.line, place.column)?;
            }
            write!(f, " {}", problem.message)?;
            if let Some(hint) = &problem.hint {
                write!(f, " ({hint})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// Syntax of a text. It decides how messages name the types of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Mappings, lists and nothing.
    Yaml,
    /// Objects, arrays and null.
    Json,
}

/// Problems, warnings and notes that were found in a text so far.
#[derive(Debug)]
pub struct Problems<'t> {
    text: &'t str,
    syntax: Syntax,
    found: RefCell<[Vec<Problem>; 3]>,
}

#[derive(Clone, Copy, Debug)]
enum Severity {
    Error,
    Warning,
    Note,
}

/// A problem that was just added; takes a hint.
#[derive(Debug)]
pub struct Report<'p> {
    problems: &'p Problems<'p>,
    severity: Severity,
}

impl<'t> Problems<'t> {
    /// Creates an empty list for `text`.
    pub fn new(text: &'t str, syntax: Syntax) -> Self {
        Self { text, syntax, found: RefCell::default() }
    }

    /// Adds a problem.
    pub fn add(&self, span: Span, message: impl Into<String>) -> Report<'_> {
        self.push(Severity::Error, span, message.into())
    }

    /// Adds a problem that concerns the whole file.
    pub fn add_to_file(&self, message: impl Into<String>) -> Report<'_> {
        let problem = Problem::new(message.into(), None, None);
        self.found.borrow_mut()[Severity::Error as usize].push(problem);
        Report { problems: self, severity: Severity::Error }
    }

    /// Adds a warning: something that can be used, but was probably not intended.
    pub fn warn(&self, span: Span, message: impl Into<String>) -> Report<'_> {
        self.push(Severity::Warning, span, message.into())
    }

    /// Adds a note: something that has no effect, as expected.
    pub fn note(&self, span: Span, message: impl Into<String>) {
        self.push(Severity::Note, span, message.into());
    }

    fn push(&self, severity: Severity, span: Span, message: String) -> Report<'_> {
        let problem = Problem::new(message, Some(self.place(span)), None);
        self.found.borrow_mut()[severity as usize].push(problem);
        Report { problems: self, severity }
    }

    /// Returns the position of a byte range.
    pub fn place(&self, span: Span) -> Place {
        Place::new(self.text, span)
    }

    /// Returns the part of the text at a byte range; empty if the range is not in the text.
    pub fn source(&self, span: Span) -> &'t str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    /// Returns the number of problems.
    pub fn count(&self) -> usize {
        self.found.borrow()[Severity::Error as usize].len()
    }

    /// Takes the problems as an error; `None` if there are none.
    pub fn error(&self, file: &Path) -> Option<ConfigError> {
        let found = self.take(Severity::Error);
        (!found.is_empty()).then(|| ConfigError::with(file, self.text, found))
    }

    /// Takes the warnings and the notes.
    pub fn remarks(&self) -> (Vec<Problem>, Vec<Problem>) {
        (self.take(Severity::Warning), self.take(Severity::Note))
    }

    fn take(&self, severity: Severity) -> Vec<Problem> {
        mem::take(&mut self.found.borrow_mut()[severity as usize])
    }

    /// Returns true for [`Syntax::Json`].
    pub(crate) fn is_json(&self) -> bool {
        self.syntax == Syntax::Json
    }
}

impl Report<'_> {
    /// Adds a suggestion.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.maybe_hint(Some(hint.into()))
    }

    /// Adds a suggestion, if there is one.
    pub fn maybe_hint(self, hint: Option<String>) -> Self {
        if let Some(last) = self.problems.found.borrow_mut()[self.severity as usize].last_mut() {
            last.hint = hint;
        }
        self
    }

    /// Returns `None`, for readers that give no value after a problem.
    pub fn none<T>(self) -> Option<T> {
        None
    }
}

/// Returns a hint with the closest of `known`, if one is so close to `word` that `word` is probably a misspelling.
pub fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    // Words with half of their letters in common are other words: `path` is no misspelling of `gate`.
    let is_close = |distance: usize, length: usize| {
        distance <= 1 || (distance <= 1 + length / 4 && distance * 2 < length)
    };
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| is_close(*distance, candidate.chars().count()))
        .min()
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}
