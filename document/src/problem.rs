//! What can be wrong with a file that people write, and where.

use std::{fmt, path::PathBuf};

use super::yaml::Span;

/// Why a configuration, or the manifest of an evaluator, cannot be used: everything that is wrong with it, not only the first thing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConfigError {
    /// The file, as it was given.
    pub file: PathBuf,
    /// Its text, for showing the places; empty when it could not be read.
    pub source_text: String,
    /// At least one problem, in the order of the file.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// What is wrong; names the key.
    pub message: String,
    /// Where; `None` when the problem is the file itself.
    pub place: Option<Place>,
    /// What to write instead.
    pub hint: Option<String>,
}

/// A place in the text.
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

impl Place {
    pub(crate) fn new(text: &str, span: Span) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        // Whoever shows the place cuts the text there, so it ends with a whole character.
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
    /// One line per problem: `FILE:LINE:COLUMN: MESSAGE (HINT)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}:", self.file.display())?;
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
