//! The streaming form: one line for each document, when many pass through one process.
//!
//! An evaluator reads one input document per line and answers each with one line, in order: its result, or an error
//! object. A line that cannot be answered does not end the stream.
//!
//! # Numbered lines
//!
//! Numbers link the lines of a stream, for hosts that send documents before earlier ones are answered. A program with
//! [`Capability::Numbered`](crate::Capability::Numbered) answers the line `7 {"metric_name": ..}` by the line
//! `7 {"score": ..}`. Before it reads that document it writes the [mark](Number::mark) of the number to standard error, so
//! that the host can assign messages, and the end of the process, to a document. For the same reason each answer is
//! flushed before the next document is started.
//!
//! Lines without a number are answered by lines without one, and not marked.
//!
//! # Target proxies
//!
//! A host may offer an evaluator a model through a proxy, with an address and a token for each document. A process for one
//! document gets them in variables of its environment. A program that evaluates several documents and has
//! [`Capability::Target`](crate::Capability::Target) gets them in a line of their own, a [`TargetAccess`], directly before
//! the numbered line of the document. They are valid until the document is answered.

use std::fmt;

use crate::{EvalResult, object::object};

/// One line of an evaluator's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// Result of the evaluation.
    Result(EvalResult),
    /// The evaluation failed.
    Error(ErrorBody),
}

object! {
    /// The error of one document.
    #[derive(Default, Eq)]
    pub struct ErrorBody: sparse {
        /// Kind of the error: `input` (the document), `config`, `evaluator` (it returned an error), `panic`, `answer` (its
        /// result cannot be written), or one of the evaluator's own.
        kind: String = required,
        /// Message for people.
        message: String = required,
        /// Exit code the program would have ended with if this document had been its only one. Set for numbered lines, so
        /// that an error is the same in both forms.
        exit_code: Option<u8>,
    }
}

impl ErrorBody {
    /// Creates an error of that kind.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into(), exit_code: None }
    }
}

object! {
    /// The line of an error.
    struct ErrorLine: sparse {
        error: ErrorBody = required,
    }
}

impl Frame {
    /// Returns the line, with its line feed.
    ///
    /// # Errors
    ///
    /// A detail of the result cannot be written as JSON.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut line = match self {
            Self::Result(result) => serde_json::to_vec(result)?,
            Self::Error(error) => serde_json::to_vec(&ErrorLine { error: error.clone() })?,
        };
        line.push(b'\n');
        Ok(line)
    }

    /// Reads a line.
    ///
    /// # Errors
    ///
    /// [`DecodeError`](crate::DecodeError): it is neither a result nor an error object.
    pub fn from_line(line: &[u8]) -> Result<Self, crate::DecodeError> {
        match serde_json::from_slice::<ErrorLine>(line) {
            Ok(ErrorLine { error }) => Ok(Self::Error(error)),
            Err(_) => crate::decode(line).map(Self::Result),
        }
    }
}

/// First byte of a mark: ASCII's "record separator", which ordinary text does not contain.
pub const MARK: u8 = 0x1e;

/// The number of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u64);

impl Number {
    /// Splits a line into its number and the rest; `None` if the line has no number.
    ///
    /// ```
    /// use evaluator_protocol::Number;
    ///
    /// assert_eq!(Number::split(b"7 {}"), Some((Number(7), &b"{}"[..])));
    /// assert_eq!(Number::split(b"{}"), None);
    /// ```
    pub fn split(line: &[u8]) -> Option<(Self, &[u8])> {
        let digits = line.iter().position(|byte| !byte.is_ascii_digit())?;
        let (number, rest) = (Self::read(&line[..digits])?, &line[digits..]);
        rest.strip_prefix(b" ").map(|rest| (number, rest))
    }

    /// Parses decimal digits without leading zeros.
    pub fn read(digits: &[u8]) -> Option<Self> {
        if digits.first() == Some(&b'0') && digits.len() > 1 {
            return None;
        }
        digits
            .iter()
            .try_fold(0_u64, |number, digit| {
                let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
                number.checked_mul(10)?.checked_add(digit)
            })
            .filter(|_| !digits.is_empty())
            .map(Self)
    }

    /// Returns the line that precedes everything written to standard error because of this line's document.
    pub fn mark(self) -> String {
        format!("{}{self}\n", char::from(MARK))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Address and token of the target proxy for one document.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TargetAccess {
    /// Address, such as `http://127.0.0.1:4100`.
    pub url: String,
    /// Token.
    pub token: String,
}

/// Shows no token.
impl fmt::Debug for TargetAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TargetAccess").field("url", &self.url).finish_non_exhaustive()
    }
}

object! {
    /// The JSON in the line of an access.
    struct AccessLine: sparse {
        url: String = required,
        token: String = required,
    }
}

impl TargetAccess {
    /// Creates an access.
    pub fn new(url: impl Into<String>, token: impl Into<String>) -> Self {
        Self { url: url.into(), token: token.into() }
    }

    /// Returns the line for the document of a number, with its line feed: the [mark](Number::mark) of the number without
    /// its line feed, a blank, and the access as JSON.
    pub fn to_line(&self, number: Number) -> String {
        // Two strings can always be written.
        let Self { url, token } = self.clone();
        let access = serde_json::to_string(&AccessLine { url, token }).unwrap_or_default();
        format!("{}{number} {access}\n", char::from(MARK))
    }

    /// Reads a line; `None` if it is not one of an access.
    pub fn from_line(line: &[u8]) -> Option<(Number, Self)> {
        let (number, access) = Number::split(line.strip_prefix(&[MARK])?)?;
        let AccessLine { url, token } = crate::decode(access).ok()?;
        Some((number, Self { url, token }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_a_line_that_is_no_document() {
        let access = TargetAccess::new("http://127.0.0.1:4100", "t0ken");
        let line = access.to_line(Number(7));
        assert_eq!(line, "\u{1e}7 {\"url\":\"http://127.0.0.1:4100\",\"token\":\"t0ken\"}\n");
        assert_eq!(TargetAccess::from_line(line.as_bytes()), Some((Number(7), access)));
        assert_eq!(Number::split(line.as_bytes()), None);
        assert!(!format!("{:?}", TargetAccess::from_line(line.as_bytes())).contains("t0ken"));
        for other in ["7 {}", "\u{1e}7", "\u{1e}7 {}", "\u{1e}7 []", "\u{1e}{}"] {
            assert_eq!(TargetAccess::from_line(other.as_bytes()), None, "{other:?}");
        }
    }

    #[test]
    fn what_is_a_number() {
        for number in [0, 7, 10, u64::MAX] {
            let line = format!("{} rest of it", Number(number));
            assert_eq!(Number::split(line.as_bytes()), Some((Number(number), &b"rest of it"[..])));
        }
        for line in
            ["", "7", "7\t{}", "07 {}", "-1 {}", " 7 {}", "18446744073709551616 {}", "{}", "7a {}"]
        {
            assert_eq!(Number::split(line.as_bytes()), None, "{line:?}");
        }
        assert_eq!(Number::split(b"0  {}"), Some((Number(0), &b" {}"[..])));
        assert_eq!(Number::read(b""), None);
        assert_eq!(Number(12).mark(), "\u{1e}12\n");
    }
}
