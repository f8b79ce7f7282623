//! A scanner: walks through a text without holding it, by the grammar of the parser, and skips values instead of building
//! them.
//!
//! To find a few members of a large document, a caller opens the objects and arrays on the way to them and skips the
//! rest. Everything that is passed is checked: if the scanner reaches the end of a text, the parser accepts the text, and
//! an error of the scanner is the error of the parser.

use crate::{
    error::ParseErrorKind as Kind,
    plain::{escaped, is_space, number, passable_length, unicode_escape},
    source::{Held, Interrupted, Source, Window},
    text,
    value::MAX_DEPTH,
};

/// Bytes of a text in memory that are scanned at a time.
const PIECE: usize = 4 << 10;

/// Error of a scan.
#[derive(Debug)]
pub enum ScanError {
    /// The text cannot be read.
    Interrupted(Interrupted),
    /// The text is not JSON.
    Json {
        /// The problem.
        kind: Kind,
        /// Its offset in bytes.
        offset: usize,
    },
}

impl From<Interrupted> for ScanError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}

/// One bit for each open container: set for an object.
type Kinds = [u64; MAX_DEPTH / 64 + 1];

/// A position in a text, and the containers that are open there.
#[derive(Debug)]
pub struct Scanner<'a> {
    pub(crate) window: Window<'a>,
    /// Number of open arrays and objects.
    depth: usize,
    /// Whether a line feed ends the text.
    by_line: bool,
    /// Number of lone surrogate escapes so far.
    pub lone_surrogates: usize,
}

impl<'a> Scanner<'a> {
    /// Returns a scanner at the start of a text.
    pub fn new(source: impl Source + 'a) -> Self {
        Self { window: Window::new(source), depth: 0, by_line: false, lone_surrogates: 0 }
    }

    /// Returns a scanner at the start of a text in memory.
    pub fn of_text(text: &'a str) -> Self {
        Self::inside(text, 0)
    }

    /// Returns a scanner at the start of a value that is inside `depth` arrays and objects.
    pub(crate) fn inside(text: &'a str, depth: usize) -> Self {
        Self { depth, ..Self::new(Held::new(text, PIECE)) }
    }

    /// Treats each line as a text of its own from here on. As where Python programs strip lines, whitespace of Unicode may
    /// surround it.
    pub fn by_line(mut self) -> Self {
        self.by_line = true;
        self
    }

    /// Offset in bytes.
    pub fn offset(&self) -> usize {
        self.window.offset()
    }

    /// Starts a text: moves to its first character that is not whitespace.
    ///
    /// # Errors
    ///
    /// This method and those below return the errors of the parser and of the source.
    pub fn begin(&mut self) -> Result<(), ScanError> {
        self.depth = 0;
        if self.by_line {
            self.skip_around()?;
        }
        if self.starts_with("\u{feff}")? {
            return Err(self.fail(Kind::ByteOrderMark));
        }
        self.skip_around()
    }

    /// Ends a text: only whitespace may follow.
    pub fn finish(&mut self) -> Result<(), ScanError> {
        self.skip_around()?;
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.fail(Kind::TrailingText)),
        }
    }

    /// Moves to the next line. Returns false at the end of the text.
    pub fn next_line(&mut self) -> Result<bool, Interrupted> {
        let Some(_) = self.window.byte(0)? else { return Ok(false) };
        self.window.at += 1;
        Ok(true)
    }

    /// Reads to the end, only to check that the text is UTF-8.
    pub fn drain(&mut self) -> Result<(), Interrupted> {
        self.window.drain()
    }

    /// Returns the next byte, or `None` at the end of the text.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, ScanError> {
        let byte = self.window.byte(0)?;
        Ok(byte.filter(|&byte| !(self.by_line && byte == b'\n')))
    }

    /// Enters the object that starts here. Returns true if it has a member, whose key is next.
    pub fn open_object(&mut self) -> Result<bool, ScanError> {
        self.open(b'}')
    }

    /// Enters the array that starts here. Returns true if it has an item, which is next.
    pub fn open_array(&mut self) -> Result<bool, ScanError> {
        self.open(b']')
    }

    /// Moves on after a value of an object. Returns true if another member follows; if not, the object has been left.
    pub fn next_member(&mut self) -> Result<bool, ScanError> {
        self.skip_space()?;
        self.goes_on(b'}', Kind::ExpectedCommaOrBrace)
    }

    /// Moves on after an item of an array. Returns true if another item follows; if not, the array has been left.
    pub fn next_item(&mut self) -> Result<bool, ScanError> {
        self.skip_space()?;
        self.goes_on(b']', Kind::ExpectedCommaOrBracket)
    }

    /// Keeps the text from here on in memory, for [`Scanner::value_since`], until [`Scanner::release`] is called with the
    /// result.
    pub fn hold(&mut self) -> Option<usize> {
        self.window.mark()
    }

    /// Ends the effect of [`Scanner::hold`].
    pub fn release(&mut self, held: Option<usize>) {
        self.window.unmark(held);
    }

    /// Skips the value that starts here.
    pub fn skip_value(&mut self) -> Result<(), ScanError> {
        let outside = self.depth;
        let mut is_object: Kinds = [0; MAX_DEPTH / 64 + 1];
        loop {
            match self.peek()? {
                Some(b'"') => self.skip_string()?,
                Some(b'{') => {
                    let bit = self.depth;
                    if self.open(b'}')? {
                        is_object[bit / 64] |= 1 << (bit % 64);
                        self.any_key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    let bit = self.depth;
                    if self.open(b']')? {
                        is_object[bit / 64] &= !(1 << (bit % 64));
                        continue;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.skip_number()?,
                Some(b'n') => self.skip_word("null")?,
                Some(b't') => self.skip_word("true")?,
                Some(b'f') => self.skip_word("false")?,
                Some(b'N') => self.skip_word("NaN")?,
                Some(b'I') => self.skip_word("Infinity")?,
                Some(_) => return Err(self.fail(Kind::ExpectedValue)),
                None if self.offset() == 0 => return Err(self.fail(Kind::ExpectedValue)),
                None => return Err(self.fail(Kind::UnexpectedEnd)),
            }
            // A container that ends with the value is itself such a value.
            loop {
                if self.depth == outside {
                    return Ok(());
                }
                let bit = self.depth - 1;
                if is_object[bit / 64] >> (bit % 64) & 1 == 1 {
                    if self.next_member()? {
                        self.any_key()?;
                        break;
                    }
                } else if self.next_item()? {
                    self.skip_space()?;
                    break;
                }
            }
        }
    }

    pub(crate) fn fail(&self, kind: Kind) -> ScanError {
        ScanError::Json { kind, offset: self.offset() }
    }

    fn open(&mut self, close: u8) -> Result<bool, ScanError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.fail(Kind::TooDeep { limit: MAX_DEPTH }));
        }
        self.window.at += 1;
        self.skip_space()?;
        if self.peek()? == Some(close) {
            self.window.at += 1;
            return Ok(false);
        }
        self.depth += 1;
        Ok(true)
    }

    fn goes_on(&mut self, close: u8, expected: Kind) -> Result<bool, ScanError> {
        if self.peek()? == Some(close) {
            self.window.at += 1;
            self.depth -= 1;
            return Ok(false);
        }
        self.expect(b',', expected)?;
        let offset = self.offset();
        self.window.at += 1;
        self.skip_space()?;
        if self.peek()? == Some(close) {
            return Err(ScanError::Json { kind: Kind::TrailingComma, offset });
        }
        Ok(true)
    }

    fn any_key(&mut self) -> Result<(), ScanError> {
        self.expect(b'"', Kind::ExpectedKey)?;
        self.skip_string()?;
        self.colon()
    }

    /// Moves from the end of a key to its value.
    pub fn colon(&mut self) -> Result<(), ScanError> {
        self.skip_space()?;
        self.expect(b':', Kind::ExpectedColon)?;
        self.window.at += 1;
        self.skip_space()
    }

    /// Checks the next byte; `otherwise` is the problem with any other one.
    pub(crate) fn expect(&mut self, byte: u8, otherwise: Kind) -> Result<(), ScanError> {
        match self.peek()? {
            Some(next) if next == byte => Ok(()),
            Some(_) => Err(self.fail(otherwise)),
            None => Err(self.fail(Kind::UnexpectedEnd)),
        }
    }

    #[inline]
    fn skip_space(&mut self) -> Result<(), ScanError> {
        while self.peek()?.is_some_and(is_space) {
            self.window.at += 1;
        }
        Ok(())
    }

    /// Skips whitespace before or after a text.
    fn skip_around(&mut self) -> Result<(), ScanError> {
        self.skip_space()?;
        while self.by_line {
            let bytes = self.next_bytes(4, |byte| byte != b'\n')?;
            let next = bytes.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
            let Some(space) = next.filter(|next| text::is_space(*next)) else { break };
            self.window.at += space.len_utf8();
        }
        Ok(())
    }

    /// Skips the string that starts here.
    pub(crate) fn skip_string(&mut self) -> Result<(), ScanError> {
        let opening = self.offset();
        let unterminated = ScanError::Json { kind: Kind::UnterminatedString, offset: opening };
        self.window.at += 1;
        loop {
            let rest = self.window.rest();
            let length = passable_length(rest);
            let stop = rest.get(length).copied();
            self.window.at += length;
            match stop {
                Some(b'"') => {
                    self.window.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.skip_escape(opening)?,
                Some(b'\n') if self.by_line => return Err(unterminated),
                Some(b'\r')
                    if self.by_line && self.window.byte(1)?.is_none_or(|it| it == b'\n') =>
                {
                    return Err(unterminated);
                }
                Some(_) => return Err(self.fail(Kind::ControlCharacter)),
                None if self.window.read_more()? => {}
                None => return Err(unterminated),
            }
        }
    }

    fn skip_escape(&mut self, opening: usize) -> Result<(), ScanError> {
        match self.window.byte(1)? {
            Some(byte) if escaped(byte).is_some() => self.window.at += 2,
            Some(b'u') => {
                let is_part = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b'\\' | b'u');
                let Some((length, character)) = unicode_escape(self.next_bytes(12, is_part)?)
                else {
                    return Err(self.fail(Kind::InvalidUnicodeEscape));
                };
                self.window.at += length;
                self.lone_surrogates += usize::from(character.is_none());
            }
            Some(byte) if !(self.by_line && byte == b'\n') => {
                return Err(self.fail(Kind::InvalidEscape));
            }
            _ => return Err(ScanError::Json { kind: Kind::UnterminatedString, offset: opening }),
        }
        Ok(())
    }

    /// Returns the next bytes of a kind, at most `most`.
    fn next_bytes(&mut self, most: usize, wanted: fn(u8) -> bool) -> Result<&[u8], ScanError> {
        let mut length = 0;
        while length < most && self.window.byte(length)?.is_some_and(wanted) {
            length += 1;
        }
        Ok(&self.window.rest()[..length])
    }

    fn skip_number(&mut self) -> Result<(), ScanError> {
        if self.starts_with("-I")? {
            return self.skip_word("-Infinity");
        }
        let is_part = |byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let number = number(self.next_bytes(usize::MAX, is_part)?);
        let Some((length, _)) = number else { return Err(self.fail(Kind::ExpectedValue)) };
        self.window.at += length;
        Ok(())
    }

    fn skip_word(&mut self, word: &str) -> Result<(), ScanError> {
        if !self.starts_with(word)? {
            return Err(self.fail(Kind::ExpectedValue));
        }
        self.window.at += word.len();
        Ok(())
    }

    fn starts_with(&mut self, text: &str) -> Result<bool, ScanError> {
        for (ahead, byte) in text.bytes().enumerate() {
            if self.window.byte(ahead)? != Some(byte) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
