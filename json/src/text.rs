//! Text as Python treats it: whitespace, case, the spelling of keys, numbers in text, and the text of scalars.

use std::borrow::Cow;

use unicase::UniCase;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::Value;

/// The zeros of all decimal digits (general category Nd) except ASCII; nine more digits follow each.
const DIGIT_ZEROS: &[u32] = &[
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66,
    0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90,
    0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
    0x104A0, 0x10D30, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650,
    0x116C0, 0x11730, 0x118E0, 0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0, 0x16B50,
    0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0,
];

/// Reads an integer as Python's `int(text)` does: [`Value::Int`] or [`Value::BigInt`].
///
/// Surrounding whitespace, a sign, leading zeros, single `_` between digits, and decimal digits of any script are
/// read; fractions and exponents are not.
pub fn parse_int(text: &str) -> Option<Value> {
    Value::from_digits(&plain_number(text)?)
}

/// Reads a float as Python's `float(text)` does: as [`parse_int`], with fractions, exponents, `nan` and `inf`/`infinity` in
/// any case. Overflow gives infinity.
pub fn parse_float(text: &str) -> Option<f64> {
    // Rust reads the same syntax once the `_` are gone.
    plain_number(text)?.parse().ok()
}

/// Returns the text without surrounding whitespace, with ASCII digits and without `_`; `None` if a `_` is not between
/// digits.
fn plain_number(text: &str) -> Option<String> {
    let text = strip(text);
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().map(ascii_digit).peekable();
    let mut after_digit = false;
    while let Some(character) = characters.next() {
        if character == '_' {
            let before_digit = characters.peek().is_some_and(char::is_ascii_digit);
            if !(after_digit && before_digit) {
                return None;
            }
            after_digit = false;
        } else {
            after_digit = character.is_ascii_digit();
            out.push(character);
        }
    }
    Some(out)
}

/// Returns the ASCII digit of the same value for a decimal digit of another script, and other characters unchanged.
fn ascii_digit(character: char) -> char {
    if character.is_ascii() {
        return character;
    }
    let code = u32::from(character);
    let next = DIGIT_ZEROS.partition_point(|&zero| zero <= code);
    let offset = next.checked_sub(1).map(|last| code - DIGIT_ZEROS[last]);
    offset.and_then(|offset| char::from_digit(offset, 10)).unwrap_or(character)
}

/// Returns the shortest text that reads back as the same float, as Python writes it: `1.0`, `0.0001`, `1e-05`, `1e+16`,
/// `nan`, `inf`, `-inf`.
pub fn float_repr(float: f64) -> String {
    with_float_repr(float, str::to_owned)
}

/// Passes the text of [`float_repr`], which is not allocated for most numbers.
pub(crate) fn with_float_repr<T>(float: f64, take: impl FnOnce(&str) -> T) -> T {
    let magnitude = float.abs();
    // The bounds are exact: no float lies between them and the decimal values they stand for.
    if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        // It keeps `.0` on whole numbers, and uses no exponent in this range.
        return take(zmij::Buffer::new().format_finite(float));
    }
    take(&with_exponent(float))
}

fn with_exponent(float: f64) -> String {
    let text = format!("{float:e}").to_ascii_lowercase();
    // NaN and infinities have no exponent.
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// Returns the result of Python's `str.isspace`: true for Unicode whitespace and the four ASCII separators U+001C to U+001F.
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\x1c'..='\x1f')
}

/// Returns the text without whitespace at its ends, like `str.strip()`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Returns the text folded for comparison without case, like `str.casefold`: full Unicode folding, so `ß` becomes `ss`.
pub fn casefold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    UniCase::unicode(text).to_folded_case()
}

/// Returns the text for comparisons of user messages: each run of whitespace becomes one space, none remains at the
/// ends, and case is folded.
pub fn normalize(text: &str) -> String {
    let words: Vec<&str> = text.split(is_space).filter(|word| !word.is_empty()).collect();
    casefold(&words.join(" "))
}

/// Returns the camel-case spelling of a `snake_case` key; a key without `_` is returned unchanged.
pub fn camel_case(key: &str) -> Cow<'_, str> {
    let mut words = key.split('_');
    let Some(first) = words.next().filter(|first| first.len() < key.len()) else {
        return Cow::Borrowed(key);
    };
    let mut out = first.to_owned();
    for word in words {
        let mut characters = word.chars();
        out.extend(characters.next().into_iter().flat_map(char::to_uppercase));
        out.push_str(characters.as_str());
    }
    Cow::Owned(out)
}

/// Returns the text of Python's `str()` for a scalar: `True`, `None`, `12.5`, a string as it is; `None` for arrays and objects.
pub fn scalar_text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => "None".to_owned(),
        Value::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        Value::Int(int) => int.to_string(),
        Value::BigInt(digits) => digits.to_string(),
        Value::Float(float) => float_repr(*float),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => return None,
    })
}

/// Returns the text in the quotes of Python's `repr()`: single ones, unless the text contains single quotes and no double
/// quotes.
///
/// Characters that are not printable are escaped.
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

/// Returns the result of Python's `str.isprintable`: false for separators other than the space, control characters and
/// unassigned code points.
pub fn is_printable(character: char) -> bool {
    character == ' '
        || !matches!(
            character.general_category_group(),
            GeneralCategoryGroup::Other | GeneralCategoryGroup::Separator
        )
}

#[cfg(test)]
mod tests {
    use super::camel_case;
    use super::*;
    use crate::to_python;

    #[test]
    fn integers() {
        let int = |text| parse_int(text).map(|value| to_python(&value));
        for (text, expected) in [
            (" 12 ", "12"),
            ("+5", "5"),
            ("-0", "0"),
            ("007", "7"),
            ("1_000", "1000"),
            ("\u{85}\u{663}_\u{ff11}\u{2028}", "31"),
            ("-\u{1d7ff}", "-9"),
            ("100000000000000000000", "100000000000000000000"),
        ] {
            assert_eq!(int(text).as_deref(), Some(expected), "{text:?}");
        }
        for text in [
            "", " ", "-", "- 5", "_1", "1_", "1__0", "+_1", "1 2", "0x10", "1.0", "1e3", "\u{b2}",
            "nan",
        ] {
            assert_eq!(int(text), None, "{text:?}");
        }
    }

    #[test]
    fn floats() {
        for (text, expected) in [
            ("1_0.5", 10.5),
            ("1.", 1.0),
            (".5", 0.5),
            ("1e1_0", 1e10),
            ("\u{661}.5", 1.5),
            (" -Infinity", f64::NEG_INFINITY),
            ("INF", f64::INFINITY),
            ("1e999", f64::INFINITY),
        ] {
            assert_eq!(parse_float(text), Some(expected), "{text:?}");
        }
        assert!(parse_float("+NaN").is_some_and(f64::is_nan));
        for text in [
            "",
            ".",
            "1_.5",
            "1._5",
            "1e",
            "1e_5",
            "1_e5",
            "infin",
            "0x1p3",
            "\u{661}\u{66b}5",
            "1 ",
        ] {
            assert_eq!(parse_float(text).is_some(), text == "1 ", "{text:?}");
        }
    }

    #[test]
    fn digits_of_other_scripts() {
        assert!(DIGIT_ZEROS.is_sorted());
        for &zero in DIGIT_ZEROS {
            for value in 0..10 {
                let digit = char::from_u32(zero + value).expect("a character");
                assert!(digit.is_numeric(), "{digit:?}");
                assert_eq!(ascii_digit(digit).to_digit(10), Some(value));
            }
        }
        for other in ['\u{65f}', '\u{66a}', '\u{b2}', '\u{2460}', '\u{10ffff}', 'é'] {
            assert_eq!(ascii_digit(other), other);
        }
    }

    #[test]
    fn float_text() {
        for (float, expected) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.0001, "0.0001"),
            (0.00009999, "9.999e-05"),
            (9999999999999998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (3_746_073_315_725_633.0 / 4.0, "936518328931408.2"),
            (1.5e300, "1.5e+300"),
            (5e-324, "5e-324"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float_repr(float), expected);
        }
    }

    #[test]
    fn strips_what_python_strips() {
        assert_eq!(strip("\u{1c}\u{85}\u{a0}\u{2003} a b \u{3000}\t\n"), "a b");
        assert_eq!(strip("\u{200b}q\u{feff}"), "\u{200b}q\u{feff}");
    }

    #[test]
    fn folds_fully() {
        assert_eq!(casefold("Straße ΑΣς"), "strasse ασσ");
        assert_eq!(casefold("\u{130}I \u{131}"), "i\u{307}i \u{131}");
        assert_eq!(casefold("\u{ab70}\u{13a0}"), "\u{13a0}\u{13a0}");
    }

    #[test]
    fn normalizes() {
        assert_eq!(normalize("  A \u{1c} b\tC\n"), "a b c");
        assert_eq!(normalize("\u{200b}Q"), "\u{200b}q");
        assert_eq!(normalize(" \u{3000} "), "");
    }

    #[test]
    fn words_are_joined() {
        for (key, expected) in [
            ("start_time_unix_nano", "startTimeUnixNano"),
            ("traceId", "traceId"),
            ("", ""),
            ("_", ""),
            ("_a__b_", "AB"),
            ("a_é_1", "aÉ1"),
        ] {
            assert_eq!(camel_case(key), expected, "{key:?}");
        }
    }

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

    proptest::proptest! {
        #[test]
        fn floats_in_the_range_without_exponent_are_the_shortest_that_read_back(
            bits: u64, exponent in -13..53_i32,
        ) {
            let fraction = 1.0 + (bits >> 12) as f64 / (1_u64 << 52) as f64;
            let float = fraction * f64::from_bits(((1023 + exponent) as u64) << 52);
            for float in [float, -float, float.round(), f64::from_bits(bits)] {
                if (1e-4..1e16).contains(&float.abs()) || float == 0.0 {
                    let text = float_repr(float);
                    proptest::prop_assert_eq!(text.parse::<f64>(), Ok(float));
                    // Of two texts that are equally short and near, Python takes the even digit, the standard library does not.
                    proptest::prop_assert_eq!(text.len(), format!("{float:?}").len());
                }
            }
        }
    }
}
