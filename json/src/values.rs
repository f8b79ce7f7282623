//! Keys and values where a scanner is.

use crate::{
    error::ParseErrorKind as Kind,
    parse::{MARKED, parse},
    scan::{ScanError, Scanner},
    value::Value,
};

impl Scanner<'_> {
    /// Reads a key and moves to its value. Returns the index in `known` of the key.
    pub fn key(&mut self, known: &[&str]) -> Result<Option<usize>, ScanError> {
        self.expect(b'"', Kind::ExpectedKey)?;
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

    /// Returns the text of the value that started at `start` and was just skipped. It has to be held.
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
}
