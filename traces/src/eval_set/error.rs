//! Why an eval set could not be loaded.

use std::{fmt, io, path::PathBuf};

use crate::json::ParseError;

/// An eval set could not be loaded.
#[derive(Debug, thiserror::Error)]
#[error("Failed to load eval set '{}': {kind}", path.display())]
#[non_exhaustive]
pub struct EvalSetError {
    /// The file, as it was given.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub kind: EvalSetErrorKind,
}

/// What is wrong with an eval set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalSetErrorKind {
    /// It cannot be read.
    #[error("{0}")]
    Read(#[source] io::Error),
    /// It is not UTF-8.
    #[error("not UTF-8: invalid byte 0x{byte:02x} at offset {offset}")]
    NotUtf8 {
        /// Offset of the first byte that does not belong.
        offset: usize,
        /// That byte.
        byte: u8,
    },
    /// It is not JSON.
    #[error("invalid JSON: {0}")]
    Json(#[source] ParseError),
    /// A field is not as it should be.
    #[error("{path}: {problem}")]
    Field {
        /// Where in the document: `eval_cases[0].conversation[1].user_content`.
        path: String,
        /// What is wrong there.
        problem: FieldProblem,
    },
}

/// What is wrong with a field of an eval set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldProblem {
    /// It has to be there and is not.
    Missing {
        /// The key that was perhaps meant to be it.
        found: Option<String>,
    },
    /// Its key means nothing there.
    Unknown {
        /// The key that was perhaps meant.
        meant: Option<String>,
    },
    /// It has the wrong type.
    WrongType {
        /// What it should be, with its article.
        expected: &'static str,
        /// What it is, with its article.
        found: &'static str,
    },
    /// It is there twice, in either spelling of its key.
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
