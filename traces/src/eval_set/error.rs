//! Errors of loading eval sets.

use std::{fmt, io, path::PathBuf};

use crate::json::ParseError;

/// An eval set could not be loaded.
#[derive(Debug, thiserror::Error)]
#[error("Failed to load eval set '{}': {kind}", path.display())]
#[non_exhaustive]
pub struct EvalSetError {
    /// The file, as it was given.
    pub path: PathBuf,
    /// The problem.
    #[source]
    pub kind: EvalSetErrorKind,
}

/// The problem of an eval set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalSetErrorKind {
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[source] io::Error),
    /// The file is not UTF-8.
    #[error("not UTF-8: invalid byte 0x{byte:02x} at offset {offset}")]
    NotUtf8 {
        /// Offset of the first invalid byte.
        offset: usize,
        /// That byte.
        byte: u8,
    },
    /// The file is not JSON.
    #[error("invalid JSON: {0}")]
    Json(#[source] ParseError),
    /// A field has the wrong shape.
    #[error("{path}: {problem}")]
    Field {
        /// Path in the document: `eval_cases[0].conversation[1].user_content`.
        path: String,
        /// The problem.
        problem: FieldProblem,
    },
}

/// The problem of a field of an eval set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldProblem {
    /// The field is required and absent.
    Missing {
        /// A similar key that is present.
        found: Option<String>,
    },
    /// The key is unknown.
    Unknown {
        /// A similar known key.
        meant: Option<String>,
    },
    /// The value has the wrong type.
    WrongType {
        /// The expected type, with its article.
        expected: &'static str,
        /// The type of the value, with its article.
        found: &'static str,
    },
    /// The field is present in both spellings of its key.
    Twice,
    /// A case has both or neither of `conversation` and `conversation_scenario`.
    NotExactlyOne,
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { found: None } => f.write_str("required field is missing"),
            Self::Missing { found: Some(found) } => {
                write!(f, "required field is missing ('{found}' is not read here)")
            }
            Self::Unknown { meant: None } => f.write_str("unknown key"),
            Self::Unknown { meant: Some(meant) } => {
                write!(f, "unknown key (did you mean '{meant}'?)")
            }
            Self::WrongType { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::Twice => f.write_str("the key is there in `camelCase`, too"),
            Self::NotExactlyOne => {
                f.write_str("expected exactly one of 'conversation' and 'conversation_scenario'")
            }
        }
    }
}
