//! Python's regular expressions, as far as evaluators ask whether one matches somewhere.
//!
//! A pattern is read by the rules of Python's `re`, with its complaints, and written again for the crate `fancy_regex`.
//! The two dialects look the same and mean different things: `$` also stands before a last line break in Python, `\Z` is
//! the very end, `\w` does not take combining marks, `[` in a class is a bracket, `{,3}` repeats.

mod escape;
mod group;
mod parse;
mod scan;
mod set;
mod write;

use std::{error, fmt};

/// Steps after which a match is given up, about a second.
const MAX_STEPS: usize = 10_000_000;

/// Bytes that a compiled part of a pattern may take. The classes of Unicode are large, and repeats multiply them.
const MAX_SIZE: usize = 1 << 26;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Regex(fancy_regex::Regex);

/// How a pattern is meant. Patterns may change that for parts of themselves: `(?i:..)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Upper and lower case are the same.
    pub ignore_case: bool,
    /// `^` and `$` stand at every line's start and end.
    pub multi_line: bool,
    /// `.` is any character, also a line break.
    pub dot_all: bool,
    /// Blanks and comments in the pattern mean nothing.
    pub verbose: bool,
    /// `\w`, `\d`, `\s`, `\b` and cases are those of ASCII.
    pub ascii: bool,
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// Python refuses it, with this message.
    Invalid(String),
    /// It is one for Python, but not here.
    Unsupported(String),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(text) => f.write_str(text),
            Self::Unsupported(what) => write!(f, "the pattern cannot be used: {what}"),
        }
    }
}

impl error::Error for PatternError {}

impl Regex {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// [`PatternError`] when it is not a pattern, or needs what is not here: characters by name (`\N{..}`),
    /// conditions on groups that are open or empty, or more memory than is reasonable.
    pub fn new(pattern: &str, flags: Flags) -> Result<Self, PatternError> {
        let written = parse::translate(pattern, flags)?;
        fancy_regex::RegexBuilder::new(&written)
            .backtrack_limit(MAX_STEPS)
            .delegate_size_limit(MAX_SIZE)
            .build()
            .map(Self)
            .map_err(|error| PatternError::Unsupported(error.to_string()))
    }

    /// Whether the pattern matches somewhere in the text.
    ///
    /// # Errors
    ///
    /// When it takes too many steps to tell.
    pub fn is_match(&self, text: &str) -> Result<bool, TooManySteps> {
        self.0.is_match(text).map_err(|_| TooManySteps)
    }
}

/// A pattern that tries too many ways of matching a text, as `(a|a)*\1b` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManySteps;

impl fmt::Display for TooManySteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no end of trying after {MAX_STEPS} steps; make the pattern less ambiguous")
    }
}

impl error::Error for TooManySteps {}

#[cfg(test)]
mod tests;
