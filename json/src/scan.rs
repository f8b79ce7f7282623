//! A scanner: walks through a text without holding it, by the grammar of the parser, and skips values instead of building
//! them.
//!
//! To find a few members of a large document, a caller opens the objects and arrays on the way to them and skips the
//! rest. Everything that is passed is checked: if the scanner reaches the end of a text, the parser accepts the text, and
//! an error of the scanner is the error of the parser.

use crate::{
    error::ParseErrorKind as Kind,
    parse::{MARKED, MAX_DEPTH, is_space, parse},
    plain::{escaped, passable_length},
    source::{Held, Interrupted, Source, Window},
    value::Value,
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
    window: Window<'a>,
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

    /// Returns a scanner at the start of a value that is inside `depth` arrays and objects.
    pub(crate) fn inside(text: &'a str, depth: usize) -> Self {
        Self { depth, ..Self::new(Held::new(text, PIECE)) }
    }

    /// Treats each line as a text of its own from here on.
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
        if self.starts_with("\u{feff}")? {
            return Err(self.fail(Kind::ByteOrderMark));
        }
        self.skip_space()
    }

    /// Ends a text: only whitespace may follow.
    pub fn finish(&mut self) -> Result<(), ScanError> {
        self.skip_space()?;
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.fail(Kind::TrailingText)),
        }
    }

    /// Moves to the next line. Returns false if there is none.
    pub fn next_line(&mut self) -> Result<bool, ScanError> {
        let Some(_) = self.window.byte(0)? else { return Ok(false) };
        self.window.at += 1;
        Ok(true)
    }

    /// Reads to the end, only to check that the text is UTF-8.
    pub fn drain(&mut self) -> Result<(), ScanError> {
        Ok(self.window.drain()?)
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

    /// Reads a key and moves to its value. Returns the index in `known` of the key.
    pub fn key(&mut self, known: &[&str]) -> Result<Option<usize>, ScanError> {
        match self.peek()? {
            Some(b'"') => {}
            Some(_) => return Err(self.fail(Kind::ExpectedKey)),
            None => return Err(self.fail(Kind::UnexpectedEnd)),
        }
        let found = self.string_among(known)?;
        self.colon()?;
        Ok(found)
    }

    /// Skips the value that starts here. Returns its index in `known` if it is one of these strings.
    pub fn value_among(&mut self, known: &[&str]) -> Result<Option<usize>, ScanError> {
        if self.peek()? == Some(b'"') {
            return self.string_among(known);
        }
        self.skip_value()?;
        Ok(None)
    }

    /// Reads the value that starts here.
    pub fn value(&mut self) -> Result<Value, ScanError> {
        let start = self.offset();
        let held = self.hold();
        let value = self.skip_value().and_then(|()| self.value_since(start));
        self.release(held);
        value
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

    /// Returns the text of the value that started at `start` and was just skipped. It has to be held.
    #[must_use]
    pub fn text_since(&self, start: usize) -> &[u8] {
        self.window.since(start)
    }

    /// Returns the value that started at `start` and was just skipped, with marks of repeated keys. Its text has to be
    /// held.
    pub fn value_since(&self, start: usize) -> Result<Value, ScanError> {
        let text =
            str::from_utf8(self.text_since(start)).map_err(|_| self.fail(Kind::ExpectedValue))?;
        match parse(text, &MARKED) {
            Ok(parsed) => Ok(parsed.value),
            Err(error) => Err(ScanError::Json { kind: error.kind, offset: start + error.offset }),
        }
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
                Some(b'n') => self.skip_word("null", self.offset())?,
                Some(b't') => self.skip_word("true", self.offset())?,
                Some(b'f') => self.skip_word("false", self.offset())?,
                Some(b'N') => self.skip_word("NaN", self.offset())?,
                Some(b'I') => self.skip_word("Infinity", self.offset())?,
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

    fn fail(&self, kind: Kind) -> ScanError {
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
        let byte = self.peek()?;
        match byte {
            None => return Err(self.fail(Kind::UnexpectedEnd)),
            Some(byte) if byte != close && byte != b',' => return Err(self.fail(expected)),
            Some(_) => {}
        }
        let offset = self.offset();
        self.window.at += 1;
        if byte == Some(close) {
            self.depth -= 1;
            return Ok(false);
        }
        self.skip_space()?;
        if self.peek()? == Some(close) {
            return Err(ScanError::Json { kind: Kind::TrailingComma, offset });
        }
        Ok(true)
    }

    fn any_key(&mut self) -> Result<(), ScanError> {
        match self.peek()? {
            Some(b'"') => self.skip_string()?,
            Some(_) => return Err(self.fail(Kind::ExpectedKey)),
            None => return Err(self.fail(Kind::UnexpectedEnd)),
        }
        self.colon()
    }

    fn colon(&mut self) -> Result<(), ScanError> {
        self.skip_space()?;
        match self.peek()? {
            Some(b':') => self.window.at += 1,
            Some(_) => return Err(self.fail(Kind::ExpectedColon)),
            None => return Err(self.fail(Kind::UnexpectedEnd)),
        }
        self.skip_space()
    }

    /// Skips the string that starts here. Returns its index in `known`.
    fn string_among(&mut self, known: &[&str]) -> Result<Option<usize>, ScanError> {
        let start = self.offset();
        let held = self.hold();
        let skipped = self.skip_string();
        let found = skipped.and_then(|()| {
            let quoted = self.window.since(start);
            if !quoted.contains(&b'\\') {
                let bare = &quoted[1..quoted.len() - 1];
                return Ok(known.iter().position(|known| known.as_bytes() == bare));
            }
            let value = self.value_since(start)?;
            Ok(known.iter().position(|known| Some(*known) == value.as_str()))
        });
        self.release(held);
        found
    }

    #[inline]
    fn skip_space(&mut self) -> Result<(), ScanError> {
        while self.peek()?.is_some_and(is_space) {
            self.window.at += 1;
        }
        Ok(())
    }

    /// Skips the string that starts here.
    fn skip_string(&mut self) -> Result<(), ScanError> {
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
                let Some(first) = self.hex(2)? else {
                    return Err(self.fail(Kind::InvalidUnicodeEscape));
                };
                let is_pair = matches!(first, 0xd800..=0xdbff)
                    && self.window.byte(6)? == Some(b'\\')
                    && self.window.byte(7)? == Some(b'u')
                    && matches!(self.hex(8)?, Some(0xdc00..=0xdfff));
                if !is_pair && matches!(first, 0xd800..=0xdfff) {
                    self.lone_surrogates += 1;
                }
                self.window.at += if is_pair { 12 } else { 6 };
            }
            Some(byte) if !(self.by_line && byte == b'\n') => {
                return Err(self.fail(Kind::InvalidEscape));
            }
            _ => return Err(ScanError::Json { kind: Kind::UnterminatedString, offset: opening }),
        }
        Ok(())
    }

    /// Returns the number of four hexadecimal digits that start `ahead` bytes from here.
    fn hex(&mut self, ahead: usize) -> Result<Option<u32>, ScanError> {
        let mut number = 0;
        for ahead in ahead..ahead + 4 {
            let digit = self.window.byte(ahead)?.and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else { return Ok(None) };
            number = number * 16 + digit;
        }
        Ok(Some(number))
    }

    /// Skips a number. As in Python, it ends before the first character that cannot belong to it.
    fn skip_number(&mut self) -> Result<(), ScanError> {
        let start = self.offset();
        if self.peek()? == Some(b'-') {
            self.window.at += 1;
            if self.peek()? == Some(b'I') {
                return self.skip_word("Infinity", start);
            }
        }
        match self.peek()? {
            Some(b'0') => self.window.at += 1,
            Some(b'1'..=b'9') => self.skip_digits()?,
            _ => return Err(ScanError::Json { kind: Kind::ExpectedValue, offset: start }),
        }
        let is_digit = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_digit());
        if self.peek()? == Some(b'.') && is_digit(self.window.byte(1)?) {
            self.window.at += 1;
            self.skip_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek()? {
            let sign = usize::from(matches!(self.window.byte(1)?, Some(b'+' | b'-')));
            if is_digit(self.window.byte(1 + sign)?) {
                self.window.at += 1 + sign;
                self.skip_digits()?;
            }
        }
        Ok(())
    }

    fn skip_digits(&mut self) -> Result<(), ScanError> {
        while self.window.byte(0)?.is_some_and(|byte| byte.is_ascii_digit()) {
            self.window.at += 1;
        }
        Ok(())
    }

    /// Skips a word. If another text is here, no value starts at `start`.
    fn skip_word(&mut self, word: &str, start: usize) -> Result<(), ScanError> {
        if !self.starts_with(word)? {
            return Err(ScanError::Json { kind: Kind::ExpectedValue, offset: start });
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
