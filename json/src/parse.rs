//! The parser: Python's dialect of JSON, without recursion.

use std::mem;

use foldhash::fast::RandomState;

use crate::{
    error::{ParseError, ParseErrorKind as Kind},
    plain::{is_space, number, plain_length, unescape, unicode_escape},
    scan::{ScanError, Scanner},
    value::{MAX_DEPTH, Object, Value},
};

/// Options of [`parse`]. The default reads what Python's `json.loads` reads.
#[derive(Clone, Copy, Debug)]
pub struct ParseOptions {
    /// Maximum number of open arrays and objects, at most [`MAX_DEPTH`]. Default: [`MAX_DEPTH`].
    pub max_depth: usize,
    /// Whether `NaN`, `Infinity` and `-Infinity` are values. Default: `true`.
    pub non_finite: bool,
    /// Treatment of lone surrogate escapes. Default: [`Surrogates::Replace`].
    pub surrogates: Surrogates,
    /// Treatment of repeated keys. Default: [`RepeatedKeys::KeepLast`].
    pub repeated_keys: RepeatedKeys,
}

impl ParseOptions {
    const DEFAULT: Self = Self {
        max_depth: MAX_DEPTH,
        non_finite: true,
        surrogates: Surrogates::Replace,
        repeated_keys: RepeatedKeys::KeepLast,
    };
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The default options with [`RepeatedKeys::Mark`].
pub const MARKED: ParseOptions =
    ParseOptions { repeated_keys: RepeatedKeys::Mark, ..ParseOptions::DEFAULT };

/// Treatment of a key that an object has more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatedKeys {
    /// Use the last value, as Python does.
    #[default]
    KeepLast,
    /// Reject the text.
    Reject,
    /// Use the last value, and add the member `REPEATED_KEY` to the object.
    #[doc(hidden)]
    Mark,
}

/// The member that [`RepeatedKeys::Mark`] adds to an object; its value is the first repeated key.
pub const REPEATED_KEY: &str = "\0repeated key";

/// Treatment of a `\ud800`-like escape without its other half, which no Rust string can hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surrogates {
    /// Replace it by U+FFFD and count it.
    #[default]
    Replace,
    /// Reject the text.
    Reject,
}

/// A parsed text.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The value.
    pub value: Value,
    /// Number of lone surrogate escapes that became U+FFFD.
    pub replaced_surrogates: usize,
    /// Whether an object has a key more than once.
    pub repeated_keys: bool,
}

/// A step on the way from the top of a text to a value.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// To the items of an array.
    Items,
    /// To a member of an object.
    Member(&'static str),
    /// To the members of an object.
    Members,
}

/// Paths to values.
pub type Paths = &'static [&'static [Step]];

/// Reads one JSON value, surrounding whitespace allowed.
///
/// The last value of a repeated key counts, unless `options` reject repeated keys. Numbers without fraction and exponent
/// are integers of any size.
///
/// # Errors
///
/// The text is not JSON, or holds something that `options` reject. The error has the position.
pub fn parse(text: &str, options: &ParseOptions) -> Result<Parsed, ParseError> {
    parse_leaving(text, options, &[])
}

/// Reads one JSON value as [`parse`] does, but leaves arrays and objects at these paths as strings of their JSON.
///
/// Recordings repeat large values, such as tool results in the history of each model call, and hardly any of them is
/// used. Skipping one costs a small part of building it.
///
/// # Errors
///
/// See [`parse`].
pub fn parse_leaving(
    text: &str,
    options: &ParseOptions,
    opaque: Paths,
) -> Result<Parsed, ParseError> {
    Parser::new(text, options, opaque).run(Parser::document)
}

/// Reads the content of an array that is not empty, without its brackets. The value is that array.
///
/// # Errors
///
/// See [`parse`].
pub fn parse_items(text: &str, options: &ParseOptions) -> Result<Parsed, ParseError> {
    Parser::new(text, options, &[]).run(Parser::items)
}

/// Reads text found inside a recording with the default options; `None` when it is not JSON.
///
/// The text `null` gives [`Value::Null`].
pub fn parse_python(text: &str) -> Option<Value> {
    Parser::new(text, &ParseOptions::DEFAULT, &[]).document().ok()
}

/// An array or object that is still open, with the number of items or members before its first one.
#[derive(Clone, Copy)]
enum Open {
    Array(usize),
    Object(usize),
}

/// A member of an object that is still open.
struct Member {
    key: String,
    /// Offset of the key.
    at: usize,
    /// `null` until the value is read.
    value: Value,
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// Offset of the next byte; after an error, the offset of the error.
    at: usize,
    options: ParseOptions,
    opaque: Paths,
    has_repeated_keys: bool,
    replaced_surrogates: usize,
    /// Containers that are open, and what they contain so far: a container is allocated once, with its final length.
    open: Vec<Open>,
    items: Vec<Value>,
    members: Vec<Member>,
    /// Buffer for strings with escapes, so that each string is allocated once, with its final length.
    unescaped: Vec<u8>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, options: &ParseOptions, opaque: Paths) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            options: ParseOptions { max_depth: options.max_depth.min(MAX_DEPTH), ..*options },
            opaque,
            has_repeated_keys: false,
            replaced_surrogates: 0,
            open: Vec::new(),
            items: Vec::new(),
            members: Vec::new(),
            unescaped: Vec::new(),
        }
    }

    fn run(
        mut self,
        read: impl FnOnce(&mut Self) -> Result<Value, Kind>,
    ) -> Result<Parsed, ParseError> {
        let value = read(&mut self).map_err(|kind| ParseError::at(kind, self.text, self.at))?;
        let Self { replaced_surrogates, has_repeated_keys: repeated_keys, .. } = self;
        Ok(Parsed { value, replaced_surrogates, repeated_keys })
    }

    fn document(&mut self) -> Result<Value, Kind> {
        if self.text.starts_with('\u{feff}') {
            return Err(Kind::ByteOrderMark);
        }
        let value = self.value()?;
        if self.at < self.bytes.len() { Err(Kind::TrailingText) } else { Ok(value) }
    }

    fn items(&mut self) -> Result<Value, Kind> {
        let mut items = vec![self.value()?];
        while self.at < self.bytes.len() {
            self.expect(b',', Kind::ExpectedCommaOrBracket)?;
            self.at += 1;
            items.push(self.value()?);
        }
        Ok(Value::Array(items))
    }

    /// Reads a value and the whitespace around it.
    fn value(&mut self) -> Result<Value, Kind> {
        loop {
            self.skip_space();
            let Some(mut value) = self.start()? else { continue };
            // Put the value where it belongs; a container that ends with it is itself such a value.
            loop {
                self.skip_space();
                match self.open.last() {
                    None => return Ok(value),
                    Some(&Open::Array(first)) => {
                        self.items.push(value);
                        if self.goes_on(b']', Kind::ExpectedCommaOrBracket)? {
                            break;
                        }
                        value = Value::Array(self.items.split_off(first));
                    }
                    Some(&Open::Object(first)) => {
                        if let Some(member) = self.members.last_mut() {
                            member.value = value;
                        }
                        if self.goes_on(b'}', Kind::ExpectedCommaOrBrace)? {
                            self.member()?;
                            break;
                        }
                        value = Value::Object(self.object(first)?);
                    }
                }
                self.open.pop();
            }
        }
    }

    /// Returns the object of the members from this one on.
    fn object(&mut self, first: usize) -> Result<Object, Kind> {
        let length = self.members.len() - first;
        let mut object = Object::with_capacity_and_hasher(length, RandomState::default());
        for Member { key, at, value } in self.members.drain(first..) {
            let (index, replaced) = object.insert_full(key, value);
            if replaced.is_none() {
                continue;
            }
            self.has_repeated_keys = true;
            match (self.options.repeated_keys, object.get_index(index)) {
                (RepeatedKeys::Reject, _) => {
                    self.at = at;
                    return Err(Kind::RepeatedKey);
                }
                (RepeatedKeys::Mark, Some((key, _))) => {
                    let key = key.clone();
                    mark_repeated(&mut object, key);
                }
                _ => {}
            }
        }
        Ok(object)
    }

    /// Reads the key of a member.
    fn member(&mut self) -> Result<(), Kind> {
        let at = self.at;
        let key = self.key()?;
        self.members.push(Member { key, at, value: Value::Null });
        Ok(())
    }

    /// Reads a scalar, an empty container, or a value that stays text. The start of any other container is
    /// noted, and the result is `None`.
    fn start(&mut self) -> Result<Option<Value>, Kind> {
        Ok(Some(match self.peek() {
            None if self.at == 0 => return Err(Kind::ExpectedValue),
            None => return Err(Kind::UnexpectedEnd),
            Some(b'"') => Value::String(self.string()?),
            Some(b'{' | b'[') if self.is_opaque() => Value::String(self.skip(self.open.len())?),
            Some(b'{') => {
                self.enter()?;
                if self.peek() != Some(b'}') {
                    self.open.push(Open::Object(self.members.len()));
                    self.member()?;
                    return Ok(None);
                }
                self.at += 1;
                Value::Object(Object::default())
            }
            Some(b'[') => {
                self.enter()?;
                if self.peek() != Some(b']') {
                    self.open.push(Open::Array(self.items.len()));
                    return Ok(None);
                }
                self.at += 1;
                Value::Array(Vec::new())
            }
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'n') => self.word("null", Value::Null)?,
            Some(b't') => self.word("true", Value::Bool(true))?,
            Some(b'f') => self.word("false", Value::Bool(false))?,
            Some(b'N') => self.non_finite("NaN", f64::NAN)?,
            Some(b'I') => self.non_finite("Infinity", f64::INFINITY)?,
            Some(_) => return Err(Kind::ExpectedValue),
        }))
    }

    /// Skips a value inside `depth` containers. Returns its text.
    fn skip(&mut self, depth: usize) -> Result<String, Kind> {
        let start = self.at;
        let mut scanner = Scanner::inside(&self.text[start..], depth);
        let skipped = scanner.skip_value();
        self.at += scanner.offset();
        self.replaced_surrogates += scanner.lone_surrogates;
        match skipped {
            Ok(()) => Ok(self.text[start..self.at].to_owned()),
            Err(ScanError::Json { kind, offset }) => {
                self.at = start + offset;
                Err(kind)
            }
            // Text in memory can always be read.
            Err(ScanError::Interrupted(_)) => Err(Kind::UnexpectedEnd),
        }
    }

    /// Returns true if the next value of the innermost container is at one of the paths.
    fn is_opaque(&self) -> bool {
        let is_here = |path: &[Step]| {
            // The member whose value is read next is the last one before those of the next object.
            let mut end = self.members.len();
            path.len() == self.open.len()
                && path.iter().zip(&self.open).rev().all(|(step, open)| match (step, *open) {
                    (Step::Items, Open::Array(_)) => true,
                    (Step::Members, Open::Object(first)) => {
                        end = first;
                        true
                    }
                    (Step::Member(name), Open::Object(first)) => {
                        let is_it = self.members[end - 1].key == *name;
                        end = first;
                        is_it
                    }
                    _ => false,
                })
        };
        self.opaque.iter().any(|path| is_here(path))
    }

    fn enter(&mut self) -> Result<(), Kind> {
        if self.open.len() >= self.options.max_depth {
            return Err(Kind::TooDeep { limit: self.options.max_depth });
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    /// Reads the comma or the closing character after an item. Returns true if another item follows.
    fn goes_on(&mut self, close: u8, expected: Kind) -> Result<bool, Kind> {
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(false);
        }
        self.expect(b',', expected)?;
        let comma = self.at;
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(close) {
            self.at = comma;
            return Err(Kind::TrailingComma);
        }
        Ok(true)
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Result<String, Kind> {
        self.expect(b'"', Kind::ExpectedKey)?;
        let key = self.string()?;
        self.skip_space();
        self.expect(b':', Kind::ExpectedColon)?;
        self.at += 1;
        Ok(key)
    }

    /// Checks the next byte; `otherwise` is the problem with any other one.
    fn expect(&self, byte: u8, otherwise: Kind) -> Result<(), Kind> {
        match self.peek() {
            Some(next) if next == byte => Ok(()),
            Some(_) => Err(otherwise),
            None => Err(Kind::UnexpectedEnd),
        }
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
        if !self.options.non_finite {
            self.at = start;
            return Err(Kind::NonFinite);
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, Kind> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(b"-I") {
            return self.non_finite("-Infinity", f64::NEG_INFINITY);
        }
        let (length, is_float) = number(rest).ok_or(Kind::ExpectedValue)?;
        let text = &self.text[self.at..self.at + length];
        self.at += length;
        let value =
            if is_float { text.parse().ok().map(Value::Float) } else { Value::from_digits(text) };
        value.ok_or(Kind::ExpectedValue)
    }

    /// Reads a string, both quotes included.
    fn string(&mut self) -> Result<String, Kind> {
        let opening = self.at;
        self.at += 1;
        let start = self.at;
        self.at += plain_length(&self.bytes[start..]);
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(self.text[start..self.at - 1].to_owned());
        }
        let mut out = mem::take(&mut self.unescaped);
        out.clear();
        out.extend_from_slice(&self.bytes[start..self.at]);
        let read = self.rest_of_string(opening, &mut out);
        // Plain bytes end before ASCII characters, and escapes are characters, so the result is UTF-8.
        let text = read.and_then(|()| match simdutf8::basic::from_utf8(&out) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(Kind::InvalidEscape),
        });
        self.unescaped = out;
        text
    }

    /// Appends the rest of a string, without its closing quote, which is read.
    fn rest_of_string(&mut self, opening: usize, out: &mut Vec<u8>) -> Result<(), Kind> {
        loop {
            self.at += unescape(&self.bytes[self.at..], out);
            match self.bytes[self.at..] {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(());
                }
                [b'\\', b'u', ..] => {
                    let character = self.unicode_escape()?;
                    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                [] | [b'\\'] => {
                    self.at = opening;
                    return Err(Kind::UnterminatedString);
                }
                [b'\\', ..] => return Err(Kind::InvalidEscape),
                _ => return Err(Kind::ControlCharacter),
            }
        }
    }

    fn unicode_escape(&mut self) -> Result<char, Kind> {
        let escape = unicode_escape(&self.bytes[self.at..]);
        let (length, character) = escape.ok_or(Kind::InvalidUnicodeEscape)?;
        if character.is_none() && self.options.surrogates == Surrogates::Reject {
            return Err(Kind::LoneSurrogate);
        }
        self.at += length;
        self.replaced_surrogates += usize::from(character.is_none());
        Ok(character.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }
}

/// Marks a key of an object as repeated, as [`RepeatedKeys::Mark`] does.
pub fn mark_repeated(object: &mut Object, key: String) {
    object.entry(REPEATED_KEY.to_owned()).or_insert(Value::String(key));
}

/// Removes all marks of repeated keys, and returns the first such key in the order of the text.
pub fn take_repeated_key(object: &mut Object) -> Option<String> {
    let own = match object.shift_remove(REPEATED_KEY) {
        Some(Value::String(key)) => Some(key),
        _ => None,
    };
    object.values_mut().fold(own, take_from)
}

fn take_from(found: Option<String>, value: &mut Value) -> Option<String> {
    match value {
        Value::Object(object) => {
            let inside = take_repeated_key(object);
            found.or(inside)
        }
        Value::Array(items) => items.iter_mut().fold(found, take_from),
        _ => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use crate::{NonFinite, ParseOptions, Value, parse_leaving, parse_python, to_string};

    fn parse_python_leaving(text: &str, opaque: Paths) -> Option<Value> {
        parse_leaving(text, &ParseOptions::default(), opaque).ok().map(|parsed| parsed.value)
    }

    const PATHS: Paths = &[&[Step::Items, Step::Members, Step::Items, Step::Member("r")]];

    #[test]
    fn values_at_the_places_are_their_text() {
        let text = r#"[{"a": [{"r": {"x": [1, "\u00e9]"]}, "s": {"r": {}}, "q": 1}, {"r": 5}, {"r": "t"}], "r": {"r": []}}]"#;
        let value = parse_python_leaving(text, PATHS).unwrap();
        assert_eq!(
            to_string(&value, NonFinite::Literal),
            r#"[{"a":[{"r":"{\"x\": [1, \"\\u00e9]\"]}","s":{"r":{}},"q":1},{"r":5},{"r":"t"}],"r":{"r":[]}}]"#
        );
    }

    #[test]
    fn what_is_no_json_is_none_in_both_ways() {
        let deep = |levels: usize| {
            format!("[{{\"a\": [{{\"r\": {}{}}}]}}]", "[".repeat(levels), "]".repeat(levels))
        };
        for (text, is_json) in [
            (deep(996), true),
            (deep(997), false),
            ("[{\"a\": [{\"r\": [1,]}]}]".to_owned(), false),
            ("[{\"a\": [{\"r\": {\"\\x\": 1}}]}]".to_owned(), false),
            ("[{\"a\": [{\"r\": [1".to_owned(), false),
            ("[{\"a\": [{\"r\": []}]}] x".to_owned(), false),
            ("  \"r\"".to_owned(), true),
            ("prose".to_owned(), false),
        ] {
            assert_eq!(parse_python(&text).is_some(), is_json, "{text}");
            assert_eq!(parse_python_leaving(&text, PATHS).is_some(), is_json, "{text}");
        }
    }

    #[test]
    fn marks_are_found_at_any_depth_and_removed() {
        let text = r#"{"a": [{"b": 1, "b": {"c": 2}}], "d": {"e": 1, "e": 2}}"#;
        let Ok(Value::Object(mut object)) = parse(text, &MARKED).map(|parsed| parsed.value) else {
            panic!("an object");
        };
        assert_eq!(take_repeated_key(&mut object).as_deref(), Some("b"));
        assert_eq!(take_repeated_key(&mut object), None);
        let plain = crate::to_python_in_order(&Value::Object(object));
        assert_eq!(plain, r#"{"a": [{"b": {"c": 2}}], "d": {"e": 2}}"#);
    }

    #[test]
    fn rejected_keys_have_a_position() {
        let options =
            ParseOptions { repeated_keys: RepeatedKeys::Reject, ..ParseOptions::default() };
        let error = parse("{\"a\": 1,\n \"b\": 2, \"a\": 3}", &options).expect_err("repeated");
        assert_eq!((error.line, error.column), (2, 10));
        assert!(parse(r#"[{"a": 1}, {"a": 2}]"#, &options).is_ok());
    }
}
