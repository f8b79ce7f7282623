//! The JSON that Python's `json.loads` reads, and its complaints about the rest.
//!
//! Python reads more than JSON: `NaN`, `Infinity` and `-Infinity` are values, numbers may be too large for their type,
//! and escapes may name halves of characters. Nothing is built here: evaluators only ask whether a text is JSON.

use std::{error, fmt};

/// Brackets within each other that are still read. Python gives up at about this depth, with an error of another kind.
pub const MAX_DEPTH: usize = 995;

/// Digits of an integer that are still read, Python's guard against numbers that take minutes to convert.
const MAX_DIGITS: usize = 4300;

/// Python's own text for a `\u` that four hexadecimal digits do not follow, letter for letter.
const INVALID_ESCAPE: &str = "Invalid \\uXXXX escape";

/// Why a text is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// It is not JSON: Python's text.
    Invalid(String),
    /// It may be JSON, but is nested deeper than [`MAX_DEPTH`].
    TooDeep,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(text) => f.write_str(text),
            Self::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels"),
        }
    }
}

impl error::Error for Error {}

/// Checks that the text is JSON.
///
/// # Errors
///
/// [`Error`] at the first mistake.
pub fn check(text: &str) -> Result<(), Error> {
    let mut reader = Reader { text: text.chars().collect(), at: 0 };
    if text.starts_with('\u{feff}') {
        return Err(reader.error("Unexpected UTF-8 BOM (decode using utf-8-sig)", 0));
    }
    reader.blanks();
    reader.value()?;
    reader.blanks();
    if reader.at < reader.text.len() { Err(reader.error("Extra data", reader.at)) } else { Ok(()) }
}

/// A text and a place in it, both in characters, since that is what Python counts.
struct Reader {
    text: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = word.chars().eq(self.text[self.at..].iter().copied().take(word.len()));
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.at += 1;
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    /// Reads a value with all that is in it. The brackets that are open are kept in a list instead of on the stack.
    fn value(&mut self) -> Result<(), Error> {
        let mut open = Vec::new();
        loop {
            match self.peek() {
                Some('[' | '{') if open.len() == MAX_DEPTH => return Err(Error::TooDeep),
                Some('[') => {
                    self.at += 1;
                    self.blanks();
                    if !self.eat(']') {
                        open.push(']');
                        continue;
                    }
                }
                Some('{') => {
                    self.at += 1;
                    self.blanks();
                    if !self.eat('}') {
                        self.key()?;
                        open.push('}');
                        continue;
                    }
                }
                Some('"') => self.string()?,
                _ => self.word_or_number()?,
            }
            loop {
                let Some(close) = open.last().copied() else { return Ok(()) };
                self.blanks();
                if self.eat(close) {
                    open.pop();
                    continue;
                }
                if !self.eat(',') {
                    return Err(self.error("Expecting ',' delimiter", self.at));
                }
                self.blanks();
                if close == '}' {
                    self.key()?;
                }
                break;
            }
        }
    }

    fn key(&mut self) -> Result<(), Error> {
        if self.peek() != Some('"') {
            return Err(self.error("Expecting property name enclosed in double quotes", self.at));
        }
        self.string()?;
        self.blanks();
        if !self.eat(':') {
            return Err(self.error("Expecting ':' delimiter", self.at));
        }
        self.blanks();
        Ok(())
    }

    fn word_or_number(&mut self) -> Result<(), Error> {
        let words = ["null", "true", "false", "NaN", "Infinity", "-Infinity"];
        if words.iter().any(|word| self.eat_word(word)) {
            return Ok(());
        }
        let start = self.at;
        self.eat('-');
        // A zero stands alone: what follows it is not part of the number.
        let digits = if self.eat('0') { 1 } else { self.digits() };
        if digits == 0 {
            return Err(self.error("Expecting value", start));
        }
        let fraction = self.tail(|reader| reader.eat('.'));
        let exponent = self.tail(|reader| {
            let found = reader.eat('e') || reader.eat('E');
            if !reader.eat('+') {
                reader.eat('-');
            }
            found
        });
        if digits > MAX_DIGITS && !fraction && !exponent {
            return Err(Error::Invalid(format!(
                "Exceeds the limit ({MAX_DIGITS} digits) for integer string conversion: value has {digits} digits; \
                 use sys.set_int_max_str_digits() to increase the limit"
            )));
        }
        Ok(())
    }

    /// Reads what `start` reads and digits after it, or nothing.
    fn tail(&mut self, start: impl FnOnce(&mut Self) -> bool) -> bool {
        let before = self.at;
        let found = start(self) && self.digits() > 0;
        if !found {
            self.at = before;
        }
        found
    }

    fn string(&mut self) -> Result<(), Error> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(self.error("Unterminated string starting at", start)),
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => self.escape(start)?,
                Some(c) if c <= '\x1f' => {
                    return Err(self.error("Invalid control character at", self.at));
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self, start: usize) -> Result<(), Error> {
        let backslash = self.at;
        self.at += 1;
        match self.peek() {
            None => Err(self.error("Unterminated string starting at", start)),
            Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => {
                self.at += 1;
                Ok(())
            }
            Some('u') => {
                self.at += 1;
                let digits = self.text.get(self.at..self.at + 4);
                let is_hex =
                    digits.is_some_and(|digits| digits.iter().all(char::is_ascii_hexdigit));
                // The four digits may not be the end of the text: a quote has to follow.
                if !is_hex || self.at + 4 == self.text.len() {
                    return Err(self.error(INVALID_ESCAPE, self.at - 1));
                }
                self.at += 4;
                Ok(())
            }
            Some(_) => Err(self.error("Invalid \\escape", backslash)),
        }
    }

    fn error(&self, message: &str, at: usize) -> Error {
        let before = &self.text[..at];
        let line = 1 + before.iter().filter(|c| **c == '\n').count();
        let column = 1 + before.iter().rev().take_while(|c| **c != '\n').count();
        Error::Invalid(format!("{message}: line {line} column {column} (char {at})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_reads_more_than_json() {
        for text in [
            "NaN",
            "[Infinity, -Infinity]",
            "{\"a\": 1, \"a\": 2}",
            "\"\\ud800\"",
            "1e999",
            " [ ] ",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn places_are_counted_in_characters() {
        let error = check("{\"é\": 1,\n  'b': 2}").unwrap_err().to_string();

        assert_eq!(
            error,
            "Expecting property name enclosed in double quotes: line 2 column 3 (char 11)"
        );
    }

    #[test]
    fn every_mistake_has_its_text() {
        for (text, expected) in [
            ("", "Expecting value: line 1 column 1 (char 0)"),
            ("[", "Expecting value: line 1 column 2 (char 1)"),
            ("[1,]", "Expecting value: line 1 column 4 (char 3)"),
            ("01", "Extra data: line 1 column 2 (char 1)"),
            ("1.", "Extra data: line 1 column 2 (char 1)"),
            ("[1e+]", "Expecting ',' delimiter: line 1 column 3 (char 2)"),
            ("-", "Expecting value: line 1 column 1 (char 0)"),
            ("{\"a\" 1}", "Expecting ':' delimiter: line 1 column 6 (char 5)"),
            ("\"\\u12g4\"", &format!("{INVALID_ESCAPE}: line 1 column 3 (char 2)")),
            ("\"\\u1234", &format!("{INVALID_ESCAPE}: line 1 column 3 (char 2)")),
            ("\"\\", "Unterminated string starting at: line 1 column 1 (char 0)"),
        ] {
            assert_eq!(check(text), Err(Error::Invalid(expected.to_owned())), "{text}");
        }
    }

    #[test]
    fn depth_is_an_error_of_its_own() {
        let nested = |depth| check(&("[".repeat(depth) + &"]".repeat(depth)));

        assert_eq!(nested(MAX_DEPTH), Ok(()));
        assert_eq!(nested(MAX_DEPTH + 1), Err(Error::TooDeep));
        assert_eq!(nested(1_000_000), Err(Error::TooDeep));
    }

    #[test]
    fn long_integers_are_refused_and_long_floats_are_not() {
        let digits = "1".repeat(MAX_DIGITS + 1);

        assert!(check(&digits).unwrap_err().to_string().contains("value has 4301 digits"));
        assert_eq!(check(&(digits + ".5")), Ok(()));
    }
}
