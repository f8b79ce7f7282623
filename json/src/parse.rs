//! The parser: Python's dialect of JSON, without recursion.

use super::{
    error::{ParseError, ParseErrorKind as Kind},
    opaque::{Paths, is_opaque, pass},
    value::{Object, Value},
};

/// The deepest nesting the parser ever accepts, whatever its options say.
///
/// It bounds everything that walks a [`Value`] by recursion (writing, comparing, cloning, dropping), so that none of
/// it can overflow a thread's stack.
pub const MAX_DEPTH: usize = 1000;

/// How to read a text. The default reads what Python's `json.loads` reads.
#[derive(Clone, Copy, Debug)]
pub struct ParseOptions {
    /// How many arrays and objects may be open at once. More than [`MAX_DEPTH`] counts as [`MAX_DEPTH`], the default.
    pub max_depth: usize,
    /// Whether `NaN`, `Infinity` and `-Infinity` are values. Default: yes.
    pub non_finite: bool,
    /// What to do with escapes of single surrogates. Default: [`Surrogates::Replace`].
    pub surrogates: Surrogates,
    /// What to do with a key that an object has more than once. Default: [`RepeatedKeys::KeepLast`].
    pub repeated_keys: RepeatedKeys,
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self {
            max_depth: MAX_DEPTH,
            non_finite: true,
            surrogates: Surrogates::Replace,
            repeated_keys: RepeatedKeys::KeepLast,
        }
    }
}

/// What to do with a key that an object has more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatedKeys {
    /// Use the last value, as Python does.
    #[default]
    KeepLast,
    /// Refuse the text.
    Reject,
    /// Use the last value, and add the member `REPEATED_KEY` to the object.
    #[doc(hidden)]
    Mark,
}

/// The member that [`RepeatedKeys::Mark`] adds to an object; its value is the list of repeated keys.
pub const REPEATED_KEY: &str = "\0repeated key";

/// What to do with a `\ud800`-like escape that is not half of a pair: no Rust string can hold it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surrogates {
    /// Put U+FFFD in its place and count it.
    #[default]
    Replace,
    /// Refuse the text.
    Reject,
}

/// A text that was read.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The value.
    pub value: Value,
    /// How many lone surrogate escapes became U+FFFD.
    pub replaced_surrogates: usize,
    /// Whether an object has a key more than once.
    pub repeated_keys: bool,
}

/// Reads one JSON value, surrounding whitespace allowed.
///
/// Of a repeated key the last value counts, unless `options` refuse it. Numbers without fraction and exponent are integers of
/// any size.
///
/// # Errors
///
/// The text is not JSON, or holds what `options` refuse; the error says where.
pub fn parse(text: &str, options: &ParseOptions) -> Result<Parsed, ParseError> {
    parse_leaving(text, options, &[])
}

/// As [`parse`], but arrays and objects at these places become strings that hold their JSON.
pub fn parse_leaving(
    text: &str,
    options: &ParseOptions,
    opaque: Paths,
) -> Result<Parsed, ParseError> {
    let mut parser = Parser::new(text, options, opaque);
    match parser.document() {
        Ok(value) => Ok(parser.parsed(value)),
        Err(kind) => Err(ParseError::at(kind, text, parser.at)),
    }
}

/// Reads what could stand in the brackets of an array that is not empty; the value is that array.
pub fn parse_items(text: &str, options: &ParseOptions) -> Result<Parsed, ParseError> {
    let mut parser = Parser::new(text, options, &[]);
    match parser.items() {
        Ok(items) => Ok(parser.parsed(Value::Array(items))),
        Err(kind) => Err(ParseError::at(kind, text, parser.at)),
    }
}

/// Reads text found inside a recording with the default options; `None` when it is not JSON.
///
/// Callers that read "null" as "nothing there" have to look for [`Value::Null`] themselves.
#[must_use]
pub fn parse_python(text: &str) -> Option<Value> {
    // Most texts that are asked about are prose: one look at the first character spares the position of an error.
    let first = text.bytes().find(|byte| !is_space(*byte))?;
    if !matches!(first, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' | b'N' | b'I')
    {
        return None;
    }
    parse(text, &ParseOptions::default()).ok().map(|parsed| parsed.value)
}

/// An array or object that is still open.
pub(crate) enum Open {
    Array(Vec<Value>),
    /// With the key whose value is being read.
    Object(Object, String),
}

/// What was read when a value was expected.
enum Step {
    /// A complete value.
    Value(Value),
    /// The start of a container that is not empty.
    Opened(Open),
}

pub(crate) struct Parser<'a> {
    pub(crate) text: &'a str,
    pub(crate) bytes: &'a [u8],
    /// Where to go on; where the error is once a method failed.
    pub(crate) at: usize,
    non_finite: bool,
    pub(crate) surrogates: Surrogates,
    repeated_keys: RepeatedKeys,
    has_repeated_keys: bool,
    max_depth: usize,
    pub(crate) replaced_surrogates: usize,
    opaque: Paths,
    /// Where strings with escapes grow, so that each is allocated once, as large as it is.
    pub(crate) unescaped: Vec<u8>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, options: &ParseOptions, opaque: Paths) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            non_finite: options.non_finite,
            surrogates: options.surrogates,
            repeated_keys: options.repeated_keys,
            has_repeated_keys: false,
            max_depth: options.max_depth.min(MAX_DEPTH),
            replaced_surrogates: 0,
            opaque,
            unescaped: Vec::new(),
        }
    }

    fn parsed(&self, value: Value) -> Parsed {
        let (replaced_surrogates, repeated_keys) =
            (self.replaced_surrogates, self.has_repeated_keys);
        Parsed { value, replaced_surrogates, repeated_keys }
    }

    fn document(&mut self) -> Result<Value, Kind> {
        if self.text.starts_with('\u{feff}') {
            return Err(Kind::ByteOrderMark);
        }
        let value = self.value()?;
        if self.at < self.bytes.len() { Err(Kind::TrailingText) } else { Ok(value) }
    }

    fn items(&mut self) -> Result<Vec<Value>, Kind> {
        let mut items = vec![self.value()?];
        while self.at < self.bytes.len() {
            if self.peek() != Some(b',') {
                return Err(Kind::ExpectedCommaOrBracket);
            }
            self.at += 1;
            items.push(self.value()?);
        }
        Ok(items)
    }

    /// Reads a value and the whitespace around it.
    fn value(&mut self) -> Result<Value, Kind> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.skip_space();
            let stays_text = !self.opaque.is_empty()
                && matches!(self.peek(), Some(b'{' | b'['))
                && is_opaque(&open, self.opaque);
            let mut value = if stays_text {
                Value::String(self.pass(open.len())?)
            } else {
                match self.step(open.len())? {
                    Step::Opened(container) => {
                        open.push(container);
                        continue;
                    }
                    Step::Value(value) => value,
                }
            };
            // Put the value where it belongs; a container that ends with it is itself such a value.
            loop {
                self.skip_space();
                match open.pop() {
                    None => return Ok(value),
                    Some(Open::Array(mut items)) => {
                        items.push(value);
                        if self.goes_on(b']', Kind::ExpectedCommaOrBracket)? {
                            open.push(Open::Array(items));
                            break;
                        }
                        value = Value::Array(items);
                    }
                    Some(Open::Object(mut members, key)) => {
                        self.insert(&mut members, key, value);
                        if self.goes_on(b'}', Kind::ExpectedCommaOrBrace)? {
                            let key = self.next_key(&members)?;
                            open.push(Open::Object(members, key));
                            break;
                        }
                        value = Value::Object(members);
                    }
                }
            }
        }
    }

    fn insert(&mut self, members: &mut Object, key: String, value: Value) {
        let (index, replaced) = members.insert_full(key, value);
        if replaced.is_none() {
            return;
        }
        self.has_repeated_keys = true;
        if self.repeated_keys == RepeatedKeys::Mark
            && let Some((key, _)) = members.get_index(index)
        {
            let key = Value::String(key.clone());
            match members.get_mut(REPEATED_KEY) {
                Some(Value::Array(keys)) => keys.push(key),
                _ => {
                    members.insert(REPEATED_KEY.to_owned(), Value::Array(vec![key]));
                }
            }
        }
    }

    /// Reads the key that follows other members.
    fn next_key(&mut self, members: &Object) -> Result<String, Kind> {
        let start = self.at;
        let key = self.key()?;
        if self.repeated_keys == RepeatedKeys::Reject && members.contains_key(&key) {
            self.at = start;
            return Err(Kind::RepeatedKey);
        }
        Ok(key)
    }

    /// Passes over a value; its text.
    fn pass(&mut self, depth: usize) -> Result<String, Kind> {
        let start = self.at;
        match pass(&self.text[start..], depth) {
            Ok((length, lone_surrogates)) => {
                self.at += length;
                self.replaced_surrogates += lone_surrogates;
                Ok(self.text[start..self.at].to_owned())
            }
            Err((kind, offset)) => {
                self.at += offset;
                Err(kind)
            }
        }
    }

    /// Reads a scalar, an empty container, or the start of a container.
    fn step(&mut self, depth: usize) -> Result<Step, Kind> {
        let value = match self.peek() {
            None => {
                return Err(if self.at == 0 { Kind::ExpectedValue } else { Kind::UnexpectedEnd });
            }
            Some(b'"') => Value::String(self.string()?),
            Some(b'{') => {
                self.enter(depth)?;
                if self.peek() == Some(b'}') {
                    self.at += 1;
                    Value::Object(Object::default())
                } else {
                    let key = self.key()?;
                    return Ok(Step::Opened(Open::Object(Object::default(), key)));
                }
            }
            Some(b'[') => {
                self.enter(depth)?;
                if self.peek() == Some(b']') {
                    self.at += 1;
                    Value::Array(Vec::new())
                } else {
                    return Ok(Step::Opened(Open::Array(Vec::new())));
                }
            }
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'n') => self.word("null", Value::Null)?,
            Some(b't') => self.word("true", Value::Bool(true))?,
            Some(b'f') => self.word("false", Value::Bool(false))?,
            Some(b'N') => self.non_finite("NaN", f64::NAN)?,
            Some(b'I') => self.non_finite("Infinity", f64::INFINITY)?,
            Some(_) => return Err(Kind::ExpectedValue),
        };
        Ok(Step::Value(value))
    }

    fn enter(&mut self, depth: usize) -> Result<(), Kind> {
        if depth >= self.max_depth {
            return Err(Kind::TooDeep { limit: self.max_depth });
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    /// After an item: whether another follows. The comma or the closing character is read.
    fn goes_on(&mut self, close: u8, expected: Kind) -> Result<bool, Kind> {
        match self.peek() {
            Some(b',') => {
                let comma = self.at;
                self.at += 1;
                self.skip_space();
                if self.peek() == Some(close) {
                    self.at = comma;
                    return Err(Kind::TrailingComma);
                }
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            Some(_) => Err(expected),
            None => Err(Kind::UnexpectedEnd),
        }
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Result<String, Kind> {
        match self.peek() {
            Some(b'"') => {}
            Some(_) => return Err(Kind::ExpectedKey),
            None => return Err(Kind::UnexpectedEnd),
        }
        let key = self.string()?;
        self.skip_space();
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(_) => return Err(Kind::ExpectedColon),
            None => return Err(Kind::UnexpectedEnd),
        }
        Ok(key)
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Kind> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(Kind::ExpectedValue);
        }
        self.at += word.len();
        Ok(value)
    }

    fn non_finite(&mut self, word: &str, float: f64) -> Result<Value, Kind> {
        let start = self.at;
        let value = self.word(word, Value::Float(float))?;
        if !self.non_finite {
            self.at = start;
            return Err(Kind::NonFinite);
        }
        Ok(value)
    }

    /// Reads a number. As in Python, what cannot belong to it ends it: `01` is `0` followed by trailing text.
    fn number(&mut self) -> Result<Value, Kind> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
            if self.peek() == Some(b'I') {
                let infinity = self.non_finite("Infinity", f64::NEG_INFINITY);
                if infinity.is_err() {
                    self.at = start;
                }
                return infinity;
            }
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.at = self.end_of_digits(self.at),
            _ => {
                self.at = start;
                return Err(Kind::ExpectedValue);
            }
        }
        let mut float = false;
        if self.peek() == Some(b'.') {
            let end = self.end_of_digits(self.at + 1);
            if end > self.at + 1 {
                self.at = end;
                float = true;
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            let sign = usize::from(matches!(self.bytes.get(self.at + 1), Some(b'+' | b'-')));
            let digits = self.at + 1 + sign;
            let end = self.end_of_digits(digits);
            if end > digits {
                self.at = end;
                float = true;
            }
        }
        let text = &self.text[start..self.at];
        let value =
            if float { text.parse().ok().map(Value::Float) } else { Value::from_digits(text) };
        value.ok_or(Kind::ExpectedValue)
    }

    fn end_of_digits(&self, from: usize) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
