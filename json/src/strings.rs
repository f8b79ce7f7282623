//! The part of the parser that reads strings.

use std::mem;

use super::{
    error::ParseErrorKind as Kind,
    parse::{Parser, Surrogates},
    plain::{plain_length, unescape},
};

impl Parser<'_> {
    /// Reads a string, both quotes included.
    pub(crate) fn string(&mut self) -> Result<String, Kind> {
        let opening = self.at;
        self.at += 1;
        let run = self.at;
        self.at += plain_length(&self.bytes[run..]);
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(self.text[run..self.at - 1].to_owned());
        }
        let mut out = mem::take(&mut self.unescaped);
        out.clear();
        out.extend_from_slice(&self.bytes[run..self.at]);
        let read = self.rest_of_string(opening, &mut out);
        // Runs end before ASCII characters and escapes are characters, so it is text.
        let text = read.and_then(|()| match simdutf8::basic::from_utf8(&out) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(Kind::InvalidEscape),
        });
        self.unescaped = out;
        text
    }

    /// Appends a string from here on, without its closing quote.
    fn rest_of_string(&mut self, opening: usize, out: &mut Vec<u8>) -> Result<(), Kind> {
        loop {
            self.at += unescape(&self.bytes[self.at..], out);
            match self.peek() {
                None => {
                    self.at = opening;
                    return Err(Kind::UnterminatedString);
                }
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    let character = self.long_escape(opening)?;
                    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(_) => return Err(Kind::ControlCharacter),
            }
        }
    }

    /// Reads an escape of more than two characters, the backslash included.
    fn long_escape(&mut self, opening: usize) -> Result<char, Kind> {
        match self.bytes.get(self.at + 1) {
            None => {
                self.at = opening;
                Err(Kind::UnterminatedString)
            }
            Some(b'u') => self.unicode_escape(),
            Some(_) => Err(Kind::InvalidEscape),
        }
    }

    fn unicode_escape(&mut self) -> Result<char, Kind> {
        let first = self.hex(self.at + 2).ok_or(Kind::InvalidUnicodeEscape)?;
        if let Some(character) = char::from_u32(first) {
            self.at += 6;
            return Ok(character);
        }
        let second = match self.bytes.get(self.at + 6..self.at + 8) {
            Some(b"\\u") => self.hex(self.at + 8),
            _ => None,
        };
        if let (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) = (first, second) {
            let scalar = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            if let Some(character) = char::from_u32(scalar) {
                self.at += 12;
                return Ok(character);
            }
        }
        if self.surrogates == Surrogates::Reject {
            return Err(Kind::LoneSurrogate);
        }
        self.at += 6;
        self.replaced_surrogates += 1;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&self, from: usize) -> Option<u32> {
        let digits = self.bytes.get(from..from + 4)?;
        digits
            .iter()
            .try_fold(0, |number, &byte| Some(number * 16 + char::from(byte).to_digit(16)?))
    }
}
