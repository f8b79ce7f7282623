//! What is wrong with a text, and where.

use std::{
    fmt,
    io::{self, BufRead as _, BufReader, Read},
};

/// A text is not JSON. The position is where parsing could not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at line {line} column {column} (byte {offset})")]
#[non_exhaustive]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// Line, counted from 1; lines end with `\n`.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// Offset in bytes, counted from 0.
    pub offset: usize,
}

impl ParseError {
    /// An error at byte `offset` of a text that is read for its lines only.
    pub fn in_text(kind: ParseErrorKind, text: impl Read, offset: usize) -> io::Result<Self> {
        let mut text = BufReader::with_capacity(64 << 10, text).take(offset as u64);
        let (mut line, mut column) = (1, 1);
        loop {
            let bytes = text.fill_buf()?;
            if bytes.is_empty() {
                return Ok(Self { kind, line, column, offset });
            }
            let after_line = bytes.iter().rposition(|&byte| byte == b'\n').map(|at| at + 1);
            if after_line.is_some() {
                line += bytes.iter().filter(|&&byte| byte == b'\n').count();
                column = 1;
            }
            // Characters are counted by their first bytes.
            let last_line = &bytes[after_line.unwrap_or_default()..];
            column += last_line.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
            let length = bytes.len();
            text.consume(length);
        }
    }

    /// An error at byte `offset` of `text`.
    pub(crate) fn at(kind: ParseErrorKind, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            kind,
            line: 1 + before.bytes().filter(|&byte| byte == b'\n').count(),
            column: 1 + before[line_start..].chars().count(),
            offset,
        }
    }
}

/// What is wrong with a text that is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The text starts with a byte order mark.
    ByteOrderMark,
    /// A value should start here.
    ExpectedValue,
    /// The text ends inside a value.
    UnexpectedEnd,
    /// An object should go on with a quoted key.
    ExpectedKey,
    /// A key is not followed by a colon.
    ExpectedColon,
    /// An array should go on with a comma or end.
    ExpectedCommaOrBracket,
    /// An object should go on with a comma or end.
    ExpectedCommaOrBrace,
    /// A comma is followed by the end of an array or object.
    TrailingComma,
    /// Something follows the value.
    TrailingText,
    /// A string is not closed.
    UnterminatedString,
    /// A string holds an unescaped control character.
    ControlCharacter,
    /// A backslash is followed by a character that it does not escape.
    InvalidEscape,
    /// `\u` is not followed by four hexadecimal digits.
    InvalidUnicodeEscape,
    /// A `\u` escape is half of a surrogate pair, and those are refused.
    LoneSurrogate,
    /// `NaN` or `Infinity`, and those are refused.
    NonFinite,
    /// An object has a key more than once, and that is refused.
    RepeatedKey,
    /// Arrays and objects are nested deeper than this limit.
    TooDeep {
        /// The limit.
        limit: usize,
    },
}

impl fmt::Display for ParseErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ByteOrderMark => {
                "unexpected byte order mark (save the text as UTF-8 without BOM)"
            }
            Self::ExpectedValue => "expected a value",
            Self::UnexpectedEnd => "unexpected end of text",
            Self::ExpectedKey => "expected a key in double quotes",
            Self::ExpectedColon => "expected ':' after the key",
            Self::ExpectedCommaOrBracket => "expected ',' or ']'",
            Self::ExpectedCommaOrBrace => "expected ',' or '}'",
            Self::TrailingComma => "trailing comma",
            Self::TrailingText => "unexpected text after the value",
            Self::UnterminatedString => "unterminated string",
            Self::ControlCharacter => "unescaped control character in a string",
            Self::InvalidEscape => "invalid escape in a string",
            Self::InvalidUnicodeEscape => "expected four hexadecimal digits after '\\u'",
            Self::LoneSurrogate => "lone surrogate escape in a string",
            Self::NonFinite => "NaN and Infinity are not allowed here",
            Self::RepeatedKey => "the key is repeated in the same object",
            Self::TooDeep { limit } => {
                return write!(f, "arrays and objects nested deeper than {limit} levels");
            }
        })
    }
}
