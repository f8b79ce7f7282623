//! Passing over the smallest parts of a text: strings, numbers and words.

use super::{
    error::ParseErrorKind as Kind,
    plain::{escaped, passable_length},
    scan::{ScanError, Scanner},
    source::Source,
};

impl<S: Source> Scanner<S> {
    /// Passes the string that starts here.
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

    /// Passes a number. As in Python, what cannot belong to it ends it.
    pub(crate) fn skip_number(&mut self) -> Result<(), ScanError> {
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
    pub(crate) fn skip_word(&mut self, word: &str, start: usize) -> Result<(), ScanError> {
        for (ahead, byte) in word.bytes().enumerate() {
            if self.window.byte(ahead)? != Some(byte) {
                return Err(ScanError::Json { kind: Kind::ExpectedValue, offset: start });
            }
        }
        self.window.at += word.len();
        Ok(())
    }
}
