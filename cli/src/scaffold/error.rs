//! What can go wrong.

use std::{fmt, io, path::PathBuf};

/// Why no evaluator was created. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScaffoldError {
    /// The name cannot be used.
    #[error("`{name}` cannot be the name of an evaluator: {problem}; try `{suggestion}`")]
    Name {
        /// The name as given.
        name: String,
        /// What is wrong with it.
        problem: NameProblem,
        /// A name like it that can be used.
        suggestion: String,
    },
    /// The name has the extension of a language this does not write.
    #[error(
        "`{name}` has the extension `{extension}`, but evaluators can be created as .rs, .py, .js or .ts"
    )]
    Extension {
        /// The name as given.
        name: String,
        /// The extension, with its dot.
        extension: String,
    },
    /// Two arguments ask for different languages.
    #[error(
        "{first} asks for {first_language}, {second} for {second_language}; leave one of them out"
    )]
    Contradiction {
        /// The first argument.
        first: String,
        /// What it asks for.
        first_language: &'static str,
        /// The other argument.
        second: String,
        /// What it asks for.
        second_language: &'static str,
    },
    /// Something has that name already.
    #[error("{} exists already; choose another name or remove it first", .path.display())]
    Exists {
        /// What exists.
        path: PathBuf,
    },
    /// The folder to create the evaluator in is not there.
    #[error("there is no folder {}; {}", .path.display(), if .path.exists() { "that is a file" } else { "create it first" })]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The file system said no.
    #[error("cannot create {}: {source}", .path.display())]
    Io {
        /// What was to be created.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What is wrong with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameProblem {
    /// It has no characters.
    Empty,
    /// It is longer than 64 characters.
    TooLong,
    /// It does not begin with a letter.
    FirstCharacter(char),
    /// It contains something else than ASCII letters in lower case, digits, `_` and `-`.
    Character(char),
    /// The language needs the name for itself.
    Taken {
        /// By whom or what, e.g. `is a keyword of Rust`.
        why: &'static str,
    },
}

impl fmt::Display for NameProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::TooLong => f.write_str("it is longer than 64 characters"),
            Self::FirstCharacter(found) => {
                write!(f, "it begins with {found:?}, not with a letter")
            }
            Self::Character(found) if found.is_ascii_uppercase() => {
                write!(f, "it contains {found:?}, but names are written in lower case")
            }
            Self::Character(found) => {
                write!(f, "it contains {found:?}, but only a-z, 0-9, `_` and `-` can be used")
            }
            Self::Taken { why } => write!(f, "it {why}"),
        }
    }
}
