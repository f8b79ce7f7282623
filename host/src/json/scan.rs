//! Walks through a text without holding it: the grammar of the parser, with values skipped instead of built.
//!
//! Whoever looks for a few members of a large document opens the objects and arrays on the way to them, and skips the
//! rest. Everything that is passed is checked: a text that is walked to its end is one that the parser reads, and
//! where the parser would complain, so does the walk.

use std::io::Read;

use super::{
    Value,
    error::ParseErrorKind as Kind,
    parse::{MAX_DEPTH, ParseOptions, is_space, parse},
    plain::{escaped, passable_length},
    window::{Interrupted, Window},
};

/// Why a walk cannot go on.
#[derive(Debug)]
pub(crate) enum ScanError {
    /// The text cannot be read.
    Interrupted(Interrupted),
    /// It is not JSON.
    Json {
        /// What is wrong.
        kind: Kind,
        /// Where, in bytes.
        offset: usize,
    },
}

impl From<Interrupted> for ScanError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}

/// Bits that say of each open container whether it is an object.
type Kinds = [u64; MAX_DEPTH / 64 + 1];

/// A place in a text, and how deep it is.
#[derive(Debug)]
pub(crate) struct Scanner<R> {
    window: Window<R>,
    /// Arrays and objects that are open here.
    depth: usize,
    /// Whether a line feed ends the text that is walked through.
    by_line: bool,
    /// How many lone surrogate escapes were passed.
    pub(crate) lone_surrogates: usize,
}

impl<R: Read> Scanner<R> {
    /// A walk through the text of `source`, of which `chunk` bytes are read at a time.
    pub(crate) fn new(source: R, chunk: usize) -> Self {
        Self { window: Window::new(source, chunk), depth: 0, by_line: false, lone_surrogates: 0 }
    }

    /// A walk through a value inside of so many arrays and objects, whose text is known to be UTF-8.
    pub(super) fn inside(source: R, chunk: usize, depth: usize) -> Self {
        let window = Window::trusted(source, chunk);
        Self { window, depth, by_line: false, lone_surrogates: 0 }
    }

    /// From here on each line is a text of its own.
    pub(crate) fn by_line(mut self) -> Self {
        self.by_line = true;
        self
    }

    /// Bytes before this place.
    pub(crate) fn offset(&self) -> usize {
        self.window.offset()
    }

    /// Begins a text, at its first character that is not blank.
    pub(crate) fn begin(&mut self) -> Result<(), ScanError> {
        self.depth = 0;
        if self.window.byte(0)? == Some(0xef)
            && self.window.byte(1)? == Some(0xbb)
            && self.window.byte(2)? == Some(0xbf)
        {
            return Err(self.fail(Kind::ByteOrderMark));
        }
        self.skip_space()
    }

    /// Ends a text: nothing but blanks may follow.
    pub(crate) fn finish(&mut self) -> Result<(), ScanError> {
        self.skip_space()?;
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.fail(Kind::TrailingText)),
        }
    }

    /// Goes to the next line; whether there is one.
    pub(crate) fn next_line(&mut self) -> Result<bool, ScanError> {
        let Some(_) = self.window.byte(0)? else { return Ok(false) };
        self.window.at += 1;
        Ok(true)
    }

    /// Reads to the end, only to see whether it is UTF-8.
    pub(crate) fn drain(&mut self) -> Result<(), ScanError> {
        Ok(self.window.drain()?)
    }

    /// The byte at this place; `None` at the end of the text.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, ScanError> {
        let byte = self.window.byte(0)?;
        Ok(byte.filter(|&byte| !(self.by_line && byte == b'\n')))
    }

    /// Enters the object that starts here; whether it has a member, whose key is next.
    pub(crate) fn open_object(&mut self) -> Result<bool, ScanError> {
        self.open(b'}')
    }

    /// Enters the array that starts here; whether it has an item, which is next.
    pub(crate) fn open_array(&mut self) -> Result<bool, ScanError> {
        self.open(b']')
    }

    /// After a value of an object: whether another member follows. If not, the object has been left.
    pub(crate) fn next_member(&mut self) -> Result<bool, ScanError> {
        self.skip_space()?;
        self.goes_on(b'}', Kind::ExpectedCommaOrBrace)
    }

    /// After an item of an array: whether another follows. If not, the array has been left.
    pub(crate) fn next_item(&mut self) -> Result<bool, ScanError> {
        self.skip_space()?;
        self.goes_on(b']', Kind::ExpectedCommaOrBracket)
    }

    /// Reads a key up to its value: which of `known` it is.
    pub(crate) fn key(&mut self, known: &[&str]) -> Result<Option<usize>, ScanError> {
        match self.peek()? {
            Some(b'"') => {}
            Some(_) => return Err(self.fail(Kind::ExpectedKey)),
            None => return Err(self.fail(Kind::UnexpectedEnd)),
        }
        let found = self.string_among(known)?;
        self.colon()?;
        Ok(found)
    }

    /// Reads the value that starts here: which of `known` it is, if it is a string.
    pub(crate) fn value_among(&mut self, known: &[&str]) -> Result<Option<usize>, ScanError> {
        if self.peek()? == Some(b'"') {
            return self.string_among(known);
        }
        self.skip_value()?;
        Ok(None)
    }

    /// Reads the value that starts here.
    pub(crate) fn value(&mut self) -> Result<Value, ScanError> {
        let start = self.offset();
        let mark = self.window.mark();
        let value = match self.skip_value() {
            Ok(()) => self.value_since(start),
            Err(error) => Err(error),
        };
        self.window.unmark(mark);
        value
    }

    /// Begins to hold on to what is passed, for [`Scanner::value_since`]. To be ended by [`Scanner::release`].
    pub(crate) fn hold(&mut self) -> Option<usize> {
        self.window.mark()
    }

    /// Ends what [`Scanner::hold`] began.
    pub(crate) fn release(&mut self, held: Option<usize>) {
        self.window.unmark(held);
    }

    /// The value that started at `start` and was just passed. It has to be held.
    pub(crate) fn value_since(&self, start: usize) -> Result<Value, ScanError> {
        let bytes = self.window.since(start);
        let text = str::from_utf8(bytes).map_err(|_| self.fail(Kind::ExpectedValue))?;
        match parse(text, &ParseOptions::default()) {
            Ok(parsed) => Ok(parsed.value),
            Err(error) => Err(ScanError::Json { kind: error.kind, offset: start + error.offset }),
        }
    }

    /// Passes the value that starts here.
    pub(crate) fn skip_value(&mut self) -> Result<(), ScanError> {
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
        match self.peek()? {
            Some(b',') => {
                let offset = self.offset();
                self.window.at += 1;
                self.skip_space()?;
                if self.peek()? == Some(close) {
                    return Err(ScanError::Json { kind: Kind::TrailingComma, offset });
                }
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.window.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            Some(_) => Err(self.fail(expected)),
            None => Err(self.fail(Kind::UnexpectedEnd)),
        }
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

    /// Passes the string that starts here: which of `known` it is.
    fn string_among(&mut self, known: &[&str]) -> Result<Option<usize>, ScanError> {
        let start = self.offset();
        let mark = self.window.mark();
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
        self.window.unmark(mark);
        found
    }

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
            Some(b'\n') if self.by_line => {
                return Err(ScanError::Json { kind: Kind::UnterminatedString, offset: opening });
            }
            Some(_) => return Err(self.fail(Kind::InvalidEscape)),
            None => {
                return Err(ScanError::Json { kind: Kind::UnterminatedString, offset: opening });
            }
        }
        Ok(())
    }

    /// Four hexadecimal digits this far ahead.
    fn hex(&mut self, ahead: usize) -> Result<Option<u32>, ScanError> {
        let mut number = 0;
        for ahead in ahead..ahead + 4 {
            let digit = self.window.byte(ahead)?.and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else { return Ok(None) };
            number = number * 16 + digit;
        }
        Ok(Some(number))
    }

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

    /// Passes a word; without it no value starts at `start`.
    fn skip_word(&mut self, word: &str, start: usize) -> Result<(), ScanError> {
        for (ahead, byte) in word.bytes().enumerate() {
            if self.window.byte(ahead)? != Some(byte) {
                return Err(ScanError::Json { kind: Kind::ExpectedValue, offset: start });
            }
        }
        self.window.at += word.len();
        Ok(())
    }

    #[inline]
    fn skip_space(&mut self) -> Result<(), ScanError> {
        while self.peek()?.is_some_and(is_space) {
            self.window.at += 1;
        }
        Ok(())
    }
}
