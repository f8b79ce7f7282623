//! Writing values as text.

use std::{borrow::Cow, fmt, fmt::Write};

use serde::{Serialize, Serializer};

use crate::{text::with_float_repr, value::Value};

/// How `NaN`, `Infinity` and `-Infinity` are written, which standard JSON does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonFinite {
    /// `null`.
    Null,
    /// The literals `NaN`, `Infinity` and `-Infinity`.
    Literal,
    /// The same literals as strings. An integer beyond the range of a double is a string of its digits, too, because strict
    /// readers reject the number.
    Text,
}

/// How values are written.
#[derive(Clone, Copy)]
struct Style {
    layout: Layout,
    non_finite: NonFinite,
    /// Whether non-ASCII characters are escaped.
    ascii: bool,
    /// Whether keys are sorted by code point.
    sorted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Without spaces.
    Compact,
    /// With `", "` and `": "`.
    Spaced,
    /// One item per line, indented by two spaces.
    Indented,
}

const fn compact(non_finite: NonFinite) -> Style {
    Style { layout: Layout::Compact, non_finite, ascii: false, sorted: false }
}

const fn indented(non_finite: NonFinite) -> Style {
    Style { layout: Layout::Indented, non_finite, ascii: true, sorted: false }
}

const fn spaced(sorted: bool) -> Style {
    Style { layout: Layout::Spaced, non_finite: NonFinite::Literal, ascii: true, sorted }
}

fn written(value: &Value, style: Style, depth: usize) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = Writer { out: &mut out, style }.value(value, depth);
    out
}

/// Writes `value` without spaces and with non-ASCII characters as they are.
///
/// # Errors
///
/// `out` reports an error.
pub fn write(value: &Value, out: &mut impl Write, non_finite: NonFinite) -> fmt::Result {
    Writer { out, style: compact(non_finite) }.value(value, 0)
}

/// Writes a string as [`write()`] does.
pub fn write_string(text: &str, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = Writer { out, style: compact(NonFinite::Null) }.string(text);
}

/// Returns the text of [`write()`].
pub fn to_string(value: &Value, non_finite: NonFinite) -> String {
    written(value, compact(non_finite), 0)
}

/// Returns the text for a report: indented by two spaces, ASCII only, with the literals `NaN`, `Infinity` and `-Infinity`.
pub fn to_pretty(value: &Value) -> String {
    written(value, indented(NonFinite::Literal), 0)
}

/// Returns the text with lines indented by two spaces, non-ASCII characters as they are, and `null` for numbers that are not
/// finite: what Python's pydantic writes with `indent=2`.
pub fn to_indented(value: &Value) -> String {
    written(value, Style { ascii: false, ..indented(NonFinite::Null) }, 0)
}

/// Returns the text of [`to_pretty`] for a value that is nested `depth` levels deep. The text is valid JSON for every
/// value: see [`NonFinite::Text`].
pub fn to_pretty_inside(value: &Value, depth: usize) -> String {
    written(value, indented(NonFinite::Text), depth)
}

/// Appends the text of [`to_pretty_inside`].
pub fn write_pretty_inside(value: &Value, depth: usize, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = Writer { out, style: indented(NonFinite::Text) }.value(value, depth);
}

/// Appends valid JSON as [`write_pretty_inside`] writes its value, which is faster than to read it. Escapes and integers stay as
/// they are.
pub fn reindent_inside(text: &str, depth: usize, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = Writer { out, style: indented(NonFinite::Text) }.text(text, depth);
}

/// Returns the text of Python's `json.dumps(value, sort_keys=True)`: keys sorted by code point, `", "` and `": "`, ASCII
/// only.
pub fn to_python(value: &Value) -> String {
    written(value, spaced(true), 0)
}

/// Returns the text of Python's `json.dumps(value)`: that of [`to_python`] with keys in their own order.
pub fn to_python_in_order(value: &Value) -> String {
    written(value, spaced(false), 0)
}

/// Formats a value in one line for people: as [`to_python_in_order`], with all characters as they are.
pub fn to_line(value: &Value) -> String {
    written(value, Style { ascii: false, ..spaced(false) }, 0)
}

/// Returns the text of a result for places that take only text: empty for `null`, a string as it is, else [`to_python`].
pub fn output_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(to_python(other)),
    }
}

/// A value that is serialized as valid JSON without loss: see [`NonFinite::Text`].
#[derive(Clone, Copy, Debug)]
pub struct AsText<'v>(pub &'v Value);

impl Serialize for AsText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Float(float) if !float.is_finite() => serializer.serialize_str(literal(*float)),
            Value::BigInt(digits) if is_beyond_double(digits) => serializer.serialize_str(digits),
            Value::Array(items) => serializer.collect_seq(items.iter().map(AsText)),
            Value::Object(object) => {
                serializer.collect_map(object.iter().map(|(key, value)| (key, AsText(value))))
            }
            other => other.serialize(serializer),
        }
    }
}

struct Writer<'a, W> {
    out: &'a mut W,
    style: Style,
}

impl<W: Write> Writer<'_, W> {
    fn value(&mut self, value: &Value, depth: usize) -> fmt::Result {
        match value {
            Value::Null => self.out.write_str("null"),
            Value::Bool(value) => self.out.write_str(if *value { "true" } else { "false" }),
            Value::Int(int) => write!(self.out, "{int}"),
            Value::BigInt(digits)
                if self.style.non_finite == NonFinite::Text && is_beyond_double(digits) =>
            {
                self.string(digits)
            }
            Value::BigInt(digits) => self.out.write_str(digits),
            Value::Float(float) => self.float(*float),
            Value::String(text) => self.string(text),
            Value::Array(items) => self.container('[', ']', items.iter(), depth, |writer, item| {
                writer.value(item, depth + 1)
            }),
            Value::Object(object) => {
                if !self.style.sorted {
                    return self.members(object.iter(), depth);
                }
                let mut members: Vec<(&String, &Value)> = object.iter().collect();
                // The order of UTF-8 bytes is the order of code points.
                members.sort_unstable_by_key(|(key, _)| *key);
                self.members(members.into_iter(), depth)
            }
        }
    }

    fn text(&mut self, text: &str, mut depth: usize) -> fmt::Result {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let start = at;
            at += 1;
            match byte {
                b'{' | b'[' => {
                    self.out.write_str(&text[start..at])?;
                    at += bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                    depth += 1;
                    if !matches!(bytes.get(at), Some(b'}' | b']')) {
                        self.line(depth)?;
                    }
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    let before = text[..start].trim_ascii_end();
                    if !before.ends_with(['{', '[']) {
                        self.line(depth)?;
                    }
                    self.out.write_str(&text[start..at])?;
                }
                b',' => {
                    self.out.write_char(',')?;
                    self.line(depth)?;
                }
                b':' => self.out.write_str(": ")?,
                b'"' => {
                    while bytes.get(at).is_some_and(|byte| *byte != b'"') {
                        at += if bytes[at] == b'\\' { 2 } else { 1 };
                    }
                    at = (at + 1).min(bytes.len());
                    self.escaped(&text[start..at], |byte| byte >= 0x7f)?;
                }
                byte if byte.is_ascii_whitespace() => {}
                _ => {
                    let is_end = |byte: &u8| b",]} \t\r\n".contains(byte);
                    at += bytes[at..].iter().take_while(|byte| !is_end(byte)).count();
                    let token = &text[start..at];
                    match token.parse() {
                        Ok(float) if token.contains(['.', 'e', 'E']) => self.float(float)?,
                        _ => self.out.write_str(token)?,
                    }
                }
            }
        }
        Ok(())
    }

    fn members<'v>(
        &mut self,
        members: impl ExactSizeIterator<Item = (&'v String, &'v Value)>,
        depth: usize,
    ) -> fmt::Result {
        self.container('{', '}', members, depth, |writer, (key, value)| {
            writer.string(key)?;
            writer.out.write_str(if writer.style.layout == Layout::Compact {
                ":"
            } else {
                ": "
            })?;
            writer.value(value, depth + 1)
        })
    }

    fn container<T>(
        &mut self,
        open: char,
        close: char,
        items: impl ExactSizeIterator<Item = T>,
        depth: usize,
        mut item: impl FnMut(&mut Self, T) -> fmt::Result,
    ) -> fmt::Result {
        let is_empty = items.len() == 0;
        self.out.write_char(open)?;
        for (index, content) in items.enumerate() {
            if index > 0 {
                self.out.write_str(if self.style.layout == Layout::Spaced { ", " } else { "," })?;
            }
            self.line(depth + 1)?;
            item(self, content)?;
        }
        if !is_empty {
            self.line(depth)?;
        }
        self.out.write_char(close)
    }

    /// Starts a new line where lines are used.
    fn line(&mut self, depth: usize) -> fmt::Result {
        const SPACES: &str = "                                ";
        if self.style.layout != Layout::Indented {
            return Ok(());
        }
        self.out.write_char('\n')?;
        let mut missing = depth * 2;
        while missing > 0 {
            let some = missing.min(SPACES.len());
            self.out.write_str(&SPACES[..some])?;
            missing -= some;
        }
        Ok(())
    }

    fn float(&mut self, float: f64) -> fmt::Result {
        if float.is_finite() {
            return with_float_repr(float, |text| self.out.write_str(text));
        }
        match self.style.non_finite {
            NonFinite::Null => self.out.write_str("null"),
            NonFinite::Literal => self.out.write_str(literal(float)),
            NonFinite::Text => self.string(literal(float)),
        }
    }

    fn string(&mut self, text: &str) -> fmt::Result {
        self.out.write_char('"')?;
        // Python escapes DEL too where it escapes all that is not ASCII.
        let first_escaped = if self.style.ascii { 0x7f } else { u8::MAX };
        self.escaped(text, |byte| matches!(byte, b'"' | b'\\' | 0..0x20) || byte >= first_escaped)?;
        self.out.write_char('"')
    }

    /// Writes a text in which the characters with these bytes are escaped.
    fn escaped(&mut self, text: &str, is_escaped: impl Fn(u8) -> bool) -> fmt::Result {
        let mut rest = text;
        // No byte of a character that is written as it is looks like one that is escaped: UTF-8 has no 0xff.
        while let Some(at) = rest.bytes().position(&is_escaped) {
            self.out.write_str(&rest[..at])?;
            let mut characters = rest[at..].chars();
            if let Some(character) = characters.next() {
                self.escape(character)?;
            }
            rest = characters.as_str();
        }
        self.out.write_str(rest)
    }

    fn escape(&mut self, character: char) -> fmt::Result {
        match character {
            '"' => self.out.write_str("\\\""),
            '\\' => self.out.write_str("\\\\"),
            '\n' => self.out.write_str("\\n"),
            '\r' => self.out.write_str("\\r"),
            '\t' => self.out.write_str("\\t"),
            '\x08' => self.out.write_str("\\b"),
            '\x0c' => self.out.write_str("\\f"),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(self.out, "\\u{unit:04x}")?;
                }
                Ok(())
            }
        }
    }
}

/// Returns Python's literal of a number that is not finite.
fn literal(float: f64) -> &'static str {
    match float {
        _ if float.is_nan() => "NaN",
        _ if float > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}

/// Returns true if the integer is larger than every double.
fn is_beyond_double(digits: &str) -> bool {
    digits.parse::<f64>().is_ok_and(f64::is_infinite)
}
