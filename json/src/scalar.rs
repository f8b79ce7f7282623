//! The text of scalars.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::Value;
use crate::number::float_repr;

/// The text of Python's `str()` for a scalar: `True`, `None`, `12.5`, a string as it is; `None` for arrays and objects.
#[must_use]
pub fn scalar_text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(int) => int.to_string(),
        Value::BigInt(digits) => digits.to_string(),
        Value::Float(float) => float_repr(*float),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => return None,
    })
}

/// The text in the quotes Python's `repr()` would choose: single ones, unless only a single quote is in the text.
///
/// What cannot be seen is escaped; other characters stay as they are.
#[must_use]
pub fn string_repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if character == quote => out.extend(['\\', quote]),
            _ if is_printable(character) => out.push(character),
            _ => out.push_str(&match u32::from(character) {
                code @ ..=0xff => format!("\\x{code:02x}"),
                code @ ..=0xffff => format!("\\u{code:04x}"),
                code => format!("\\U{code:08x}"),
            }),
        }
    }
    out.push(quote);
    out
}

/// Whether a character can be seen, as Python's `str.isprintable` has it: everything but separators, of which only the
/// blank counts, and what is no character at all.
#[must_use]
pub fn is_printable(character: char) -> bool {
    character == ' '
        || !matches!(
            character.general_category_group(),
            GeneralCategoryGroup::Other | GeneralCategoryGroup::Separator
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars() {
        for (value, expected) in [
            (Value::Null, Some("None")),
            (Value::Bool(true), Some("True")),
            (Value::Float(12.5), Some("12.5")),
            (Value::BigInt("-100000000000000000000".into()), Some("-100000000000000000000")),
            (Value::from("é"), Some("é")),
            (Value::Array(vec![]), None),
        ] {
            assert_eq!(scalar_text(&value).as_deref(), expected);
        }
    }

    #[test]
    fn quotes() {
        assert_eq!(string_repr("a/b.json"), "'a/b.json'");
        assert_eq!(string_repr("it's"), "\"it's\"");
        assert_eq!(string_repr("'\"\\\n\x01é"), "'\\'\"\\\\\\n\\x01é'");
        assert_eq!(
            string_repr("\u{85}\u{a0}\u{2028}\u{e0001}日"),
            "'\\x85\\xa0\\u2028\\U000e0001日'"
        );
    }
}
