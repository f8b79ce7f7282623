//! Errors of the parser, with their positions.

use std::io::{self, BufRead as _, BufReader, Read};

/// A text is not JSON. The position is the place at which parsing stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at line {line} column {column} (byte {offset})")]
pub struct ParseError {
    /// The problem.
    pub kind: ParseErrorKind,
    /// Line, counted from 1; lines end with `\n`.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// Offset in bytes, counted from 0.
    pub offset: usize,
}

impl ParseError {
    /// Returns the error at byte `offset` of a text, which is read up to there to count lines and columns.
    ///
    /// # Errors
    ///
    /// The text cannot be read.
    pub fn in_text(kind: ParseErrorKind, text: impl Read, offset: usize) -> io::Result<Self> {
        let mut text = BufReader::with_capacity(64 << 10, text).take(offset as u64);
        let mut error = Self { kind, line: 1, column: 1, offset };
        loop {
            let bytes = text.fill_buf()?;
            if bytes.is_empty() {
                return Ok(error);
            }
            error.advance(bytes);
            let length = bytes.len();
            text.consume(length);
        }
    }

    /// Returns the error at byte `offset` of `text`.
    pub(crate) fn at(kind: ParseErrorKind, text: &str, offset: usize) -> Self {
        let mut error = Self { kind, line: 1, column: 1, offset };
        error.advance(&text.as_bytes()[..offset.min(text.len())]);
        error
    }

    /// Moves line and column behind these bytes.
    fn advance(&mut self, bytes: &[u8]) {
        let mut last_line = bytes;
        if let Some(newline) = bytes.iter().rposition(|&byte| byte == b'\n') {
            self.line += bytes.iter().filter(|&&byte| byte == b'\n').count();
            self.column = 1;
            last_line = &bytes[newline + 1..];
        }
        // Characters are counted by their first bytes.
        self.column += last_line.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    }
}

/// The problem of a text that is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseErrorKind {
    /// The text starts with a byte order mark.
    #[error("unexpected byte order mark (save the text as UTF-8 without BOM)")]
    ByteOrderMark,
    /// A value should start here.
    #[error("expected a value")]
    ExpectedValue,
    /// The text ends inside a value.
    #[error("unexpected end of text")]
    UnexpectedEnd,
    /// An object should go on with a quoted key.
    #[error("expected a key in double quotes")]
    ExpectedKey,
    /// A key is not followed by a colon.
    #[error("expected ':' after the key")]
    ExpectedColon,
    /// An array should go on with a comma or end.
    #[error("expected ',' or ']'")]
    ExpectedCommaOrBracket,
    /// An object should go on with a comma or end.
    #[error("expected ',' or '}}'")]
    ExpectedCommaOrBrace,
    /// A comma is followed by the end of an array or object.
    #[error("trailing comma")]
    TrailingComma,
    /// Something follows the value.
    #[error("unexpected text after the value")]
    TrailingText,
    /// A string is not closed.
    #[error("unterminated string")]
    UnterminatedString,
    /// A string holds an unescaped control character.
    #[error("unescaped control character in a string")]
    ControlCharacter,
    /// A backslash is followed by a character that it does not escape.
    #[error("invalid escape in a string")]
    InvalidEscape,
    /// `\u` is not followed by four hexadecimal digits.
    #[error("expected four hexadecimal digits after '\\u'")]
    InvalidUnicodeEscape,
    /// A `\u` escape is half of a surrogate pair, which the options reject.
    #[error("lone surrogate escape in a string")]
    LoneSurrogate,
    /// `NaN` or `Infinity`, which the options reject.
    #[error("NaN and Infinity are not allowed here")]
    NonFinite,
    /// An object has a key more than once, which the options reject.
    #[error("the key is repeated in the same object")]
    RepeatedKey,
    /// Arrays and objects are nested deeper than this limit.
    #[error("arrays and objects nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
}
