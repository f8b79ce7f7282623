//! Writing values as text.

use std::{borrow::Cow, fmt, fmt::Write};

use super::value::Value;
use crate::float_repr;

/// What to write for `NaN`, `Infinity` and `-Infinity`, which JSON proper does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonFinite {
    /// `null`.
    Null,
    /// The literals `NaN`, `Infinity` and `-Infinity`.
    Literal,
    /// The same words as strings. Integers that no double can hold are strings of their digits, too: strict readers refuse
    /// them.
    Text,
}

/// Writes `value` without spaces and with non-ASCII characters as they are.
///
/// # Errors
///
/// Only what `out` itself reports.
pub fn write(value: &Value, out: &mut impl Write, non_finite: NonFinite) -> fmt::Result {
    let layout = Layout::Compact;
    Writer { out, layout, outside: 0, non_finite, ascii: false, sorted: false }.value(value, 0)
}

/// Writes a string as [`write()`] does.
pub fn write_string(text: &str, out: &mut String) {
    let (layout, non_finite) = (Layout::Compact, NonFinite::Null);
    // Writing to a string cannot fail.
    let _ =
        Writer { out, layout, outside: 0, non_finite, ascii: false, sorted: false }.string(text);
}

/// The text of [`write()`].
#[must_use]
pub fn to_string(value: &Value, non_finite: NonFinite) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(value, &mut out, non_finite);
    out
}

/// The text for a report: indented by two spaces, ASCII only, with the literals `NaN`, `Infinity` and `-Infinity`.
#[must_use]
pub fn to_pretty(value: &Value) -> String {
    pretty(value, 0, NonFinite::Literal)
}

/// As [`to_pretty`] but valid JSON whatever the value is, for a value inside of `outside` others: see [`NonFinite::Text`].
pub fn to_pretty_inside(value: &Value, outside: usize) -> String {
    pretty(value, outside, NonFinite::Text)
}

fn pretty(value: &Value, outside: usize, non_finite: NonFinite) -> String {
    let mut out = String::new();
    let layout = Layout::Indented;
    let mut writer =
        Writer { out: &mut out, layout, outside, non_finite, ascii: true, sorted: false };
    // Writing to a string cannot fail.
    let _ = writer.value(value, 0);
    out
}

/// The text of Python's `json.dumps(value, sort_keys=True)`: keys sorted by code point, `", "` and `": "`, ASCII only.
#[must_use]
pub fn to_python(value: &Value) -> String {
    python_text(value, true)
}

/// As [`to_python`], with keys in the order they have: the text of Python's `json.dumps(value)`.
#[must_use]
pub fn to_python_in_order(value: &Value) -> String {
    python_text(value, false)
}

fn python_text(value: &Value, sorted: bool) -> String {
    let mut out = String::new();
    let layout = Layout::Spaced;
    let mut writer = Writer {
        out: &mut out,
        layout,
        outside: 0,
        non_finite: NonFinite::Literal,
        ascii: true,
        sorted,
    };
    // Writing to a string cannot fail.
    let _ = writer.value(value, 0);
    out
}

/// The text that stands for a result where only text can: nothing for `null`, a string as it is, else [`to_python`].
#[must_use]
pub fn output_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(to_python(other)),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Compact,
    Spaced,
    Indented,
}

struct Writer<'a, W> {
    out: &'a mut W,
    layout: Layout,
    /// How many arrays and objects the value stands in.
    outside: usize,
    non_finite: NonFinite,
    ascii: bool,
    sorted: bool,
}

impl<W: Write> Writer<'_, W> {
    fn value(&mut self, value: &Value, depth: usize) -> fmt::Result {
        match value {
            Value::Null => self.out.write_str("null"),
            Value::Bool(true) => self.out.write_str("true"),
            Value::Bool(false) => self.out.write_str("false"),
            Value::Int(int) => write!(self.out, "{int}"),
            Value::BigInt(digits)
                if self.non_finite == NonFinite::Text && is_beyond_double(digits) =>
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
                let mut members: Vec<(&String, &Value)> = Vec::new();
                if self.sorted {
                    members.extend(object);
                    // The order of UTF-8 bytes is the order of code points.
                    members.sort_unstable_by_key(|(key, _)| *key);
                    return self.members(members.into_iter(), depth);
                }
                self.members(object.iter(), depth)
            }
        }
    }

    fn members<'v>(
        &mut self,
        members: impl ExactSizeIterator<Item = (&'v String, &'v Value)>,
        depth: usize,
    ) -> fmt::Result {
        self.container('{', '}', members, depth, |writer, (key, value)| {
            writer.string(key)?;
            writer.out.write_str(if writer.layout == Layout::Compact { ":" } else { ": " })?;
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
        let empty = items.len() == 0;
        self.out.write_char(open)?;
        for (index, content) in items.enumerate() {
            if index > 0 {
                self.out.write_str(if self.layout == Layout::Spaced { ", " } else { "," })?;
            }
            self.line(depth + 1)?;
            item(self, content)?;
        }
        if !empty {
            self.line(depth)?;
        }
        self.out.write_char(close)
    }

    /// Starts a new line where lines are used.
    fn line(&mut self, depth: usize) -> fmt::Result {
        const SPACES: &str = "                                ";
        if self.layout != Layout::Indented {
            return Ok(());
        }
        self.out.write_char('\n')?;
        let mut missing = (self.outside + depth) * 2;
        while missing > 0 {
            let some = missing.min(SPACES.len());
            self.out.write_str(&SPACES[..some])?;
            missing -= some;
        }
        Ok(())
    }

    fn float(&mut self, float: f64) -> fmt::Result {
        if float.is_finite() {
            return self.out.write_str(&float_repr(float));
        }
        let word = match float {
            _ if float.is_nan() => "NaN",
            _ if float > 0.0 => "Infinity",
            _ => "-Infinity",
        };
        match self.non_finite {
            NonFinite::Null => self.out.write_str("null"),
            NonFinite::Literal => self.out.write_str(word),
            NonFinite::Text => self.string(word),
        }
    }

    fn string(&mut self, text: &str) -> fmt::Result {
        self.out.write_char('"')?;
        // Python escapes DEL too where it escapes all that is not ASCII.
        let first_escaped = if self.ascii { 0x7f } else { u8::MAX };
        let is_escaped = |byte: u8| matches!(byte, b'"' | b'\\' | 0..0x20) || byte >= first_escaped;
        let mut rest = text;
        // No byte of a character that is written as it is looks like one that is escaped: UTF-8 has no 0xff.
        while let Some(at) = rest.bytes().position(is_escaped) {
            self.out.write_str(&rest[..at])?;
            let mut characters = rest[at..].chars();
            if let Some(character) = characters.next() {
                self.escape(character)?;
            }
            rest = characters.as_str();
        }
        self.out.write_str(rest)?;
        self.out.write_char('"')
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

/// Returns true if the integer is larger than every double.
fn is_beyond_double(digits: &str) -> bool {
    digits.parse::<f64>().is_ok_and(f64::is_infinite)
}
