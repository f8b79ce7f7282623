//! Walks through a text without holding it: the grammar of the parser, with values skipped instead of built.
//!
//! Whoever looks for a few members of a large document opens the objects and arrays on the way to them, and skips the
//! rest. Everything that is passed is checked: a text that is walked to its end is one that the parser reads, and
//! where the parser would complain, so does the walk.

use super::{
    MARKED, Value,
    error::ParseErrorKind as Kind,
    parse::{MAX_DEPTH, is_space, parse},
    source::{Held, Interrupted, Source},
    window::Window,
};

/// Why a walk cannot go on.
#[derive(Debug)]
pub enum ScanError {
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
pub struct Scanner<S> {
    pub(crate) window: Window<S>,
    /// Arrays and objects that are open here.
    depth: usize,
    /// Whether a line feed ends the text that is walked through.
    pub(crate) by_line: bool,
    /// How many lone surrogate escapes were passed.
    pub lone_surrogates: usize,
}

impl<'a> Scanner<Held<'a>> {
    /// A walk through a value inside of so many arrays and objects, of which `piece` bytes are looked at together.
    pub(crate) fn inside(text: &'a str, piece: usize, depth: usize) -> Self {
        Self { depth, ..Self::new(Held::new(text, piece)) }
    }
}

impl<S: Source> Scanner<S> {
    /// A walk through a text.
    pub fn new(source: S) -> Self {
        Self { window: Window::new(source), depth: 0, by_line: false, lone_surrogates: 0 }
    }

    /// From here on each line is a text of its own.
    pub fn by_line(mut self) -> Self {
        self.by_line = true;
        self
    }

    /// Bytes before this place.
    pub fn offset(&self) -> usize {
        self.window.offset()
    }

    /// Begins a text, at its first character that is not blank.
    pub fn begin(&mut self) -> Result<(), ScanError> {
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
    pub fn finish(&mut self) -> Result<(), ScanError> {
        self.skip_space()?;
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.fail(Kind::TrailingText)),
        }
    }

    /// Goes to the next line; whether there is one.
    pub fn next_line(&mut self) -> Result<bool, ScanError> {
        let Some(_) = self.window.byte(0)? else { return Ok(false) };
        self.window.at += 1;
        Ok(true)
    }

    /// Reads to the end, only to see whether it is UTF-8.
    pub fn drain(&mut self) -> Result<(), ScanError> {
        Ok(self.window.drain()?)
    }

    /// The byte at this place; `None` at the end of the text.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, ScanError> {
        let byte = self.window.byte(0)?;
        Ok(byte.filter(|&byte| !(self.by_line && byte == b'\n')))
    }

    /// Enters the object that starts here; whether it has a member, whose key is next.
    pub fn open_object(&mut self) -> Result<bool, ScanError> {
        self.open(b'}')
    }

    /// Enters the array that starts here; whether it has an item, which is next.
    pub fn open_array(&mut self) -> Result<bool, ScanError> {
        self.open(b']')
    }

    /// After a value of an object: whether another member follows. If not, the object has been left.
    pub fn next_member(&mut self) -> Result<bool, ScanError> {
        self.skip_space()?;
        self.goes_on(b'}', Kind::ExpectedCommaOrBrace)
    }

    /// After an item of an array: whether another follows. If not, the array has been left.
    pub fn next_item(&mut self) -> Result<bool, ScanError> {
        self.skip_space()?;
        self.goes_on(b']', Kind::ExpectedCommaOrBracket)
    }

    /// Reads a key up to its value: which of `known` it is.
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

    /// Reads the value that starts here: which of `known` it is, if it is a string.
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
        let mark = self.window.mark();
        let value = match self.skip_value() {
            Ok(()) => self.value_since(start),
            Err(error) => Err(error),
        };
        self.window.unmark(mark);
        value
    }

    /// Begins to hold on to what is passed, for [`Scanner::value_since`]. To be ended by [`Scanner::release`].
    pub fn hold(&mut self) -> Option<usize> {
        self.window.mark()
    }

    /// Ends what [`Scanner::hold`] began.
    pub fn release(&mut self, held: Option<usize>) {
        self.window.unmark(held);
    }

    /// The value that started at `start` and was just passed, with marks of repeated keys. It has to be held.
    pub fn value_since(&self, start: usize) -> Result<Value, ScanError> {
        let bytes = self.window.since(start);
        let text = str::from_utf8(bytes).map_err(|_| self.fail(Kind::ExpectedValue))?;
        match parse(text, &MARKED) {
            Ok(parsed) => Ok(parsed.value),
            Err(error) => Err(ScanError::Json { kind: error.kind, offset: start + error.offset }),
        }
    }

    /// Passes the value that starts here.
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

    #[inline]
    fn skip_space(&mut self) -> Result<(), ScanError> {
        while self.peek()?.is_some_and(is_space) {
            self.window.at += 1;
        }
        Ok(())
    }
}
