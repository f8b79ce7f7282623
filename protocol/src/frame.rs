//! One line per document, when many pass through one process.
//!
//! In the streaming form an evaluator reads one input document per line and answers each with one line, in order: its
//! result, or an error object. A line that cannot be answered does not end the stream.

use serde::{Deserialize, Serialize};

use crate::EvalResult;

/// One line of an evaluator's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// The evaluator judged the document.
    Result(EvalResult),
    /// It could not.
    Error(ErrorBody),
}

/// Why an evaluator could not judge one document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErrorBody {
    /// Kind of the error: `input` (the document), `config`, `evaluator` (it returned an error), `panic`, `answer`
    /// (its result cannot be written), or one of the evaluator's own.
    pub kind: String,
    /// What a person should read.
    pub message: String,
    /// The exit code with which the program would have ended if this document had been its only one. Said of numbered
    /// lines, so that an error is the same error in both forms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
}

impl ErrorBody {
    /// An error of that kind.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into(), exit_code: None }
    }
}

#[derive(Serialize, Deserialize)]
struct ErrorLine<E> {
    error: E,
}

impl Frame {
    /// The line, with its line feed.
    ///
    /// # Errors
    ///
    /// When a detail of the result cannot be written as JSON.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut line = match self {
            Self::Result(result) => serde_json::to_vec(result)?,
            Self::Error(error) => serde_json::to_vec(&ErrorLine { error })?,
        };
        line.push(b'\n');
        Ok(line)
    }

    /// Reads a line.
    ///
    /// # Errors
    ///
    /// [`DecodeError`](crate::DecodeError) when it is neither a result nor an error object.
    pub fn from_line(line: &[u8]) -> Result<Self, crate::DecodeError> {
        match serde_json::from_slice::<ErrorLine<ErrorBody>>(line) {
            Ok(ErrorLine { error }) => Ok(Self::Error(error)),
            Err(_) => crate::decode(line).map(Self::Result),
        }
    }
}
