//! Texts: blanks around them, and how they are shown.

use std::{fmt::Write as _, sync::LazyLock};

/// Takes away the characters at both ends that Python's `str.strip` takes away: whitespace as Unicode sees it, and the
/// four separators of ASCII, which Unicode does not count.
#[must_use]
pub fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c))
}

/// The text as Python's `repr` shows it.
#[must_use]
pub fn repr_text(text: &str) -> String {
    // Single quotes, unless that takes more escapes than double quotes.
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut shown = String::with_capacity(text.len() + 2);
    shown.push(quote);
    for c in text.chars() {
        // Writing to a string does not fail.
        let _ = match c {
            '\t' => shown.write_str("\\t"),
            '\n' => shown.write_str("\\n"),
            '\r' => shown.write_str("\\r"),
            '\\' => shown.write_str("\\\\"),
            c if c == quote => write!(shown, "\\{c}"),
            c if is_printable(c) => shown.write_char(c),
            c => match u32::from(c) {
                code @ ..=0xff => write!(shown, "\\x{code:02x}"),
                code @ ..=0xffff => write!(shown, "\\u{code:04x}"),
                code => write!(shown, "\\U{code:08x}"),
            },
        };
    }
    shown.push(quote);
    shown
}

/// Whether Python shows the character as it is: all but separators other than the space, and what is no character.
fn is_printable(c: char) -> bool {
    // The tables of character categories are there with the regular expressions already.
    static HIDDEN: LazyLock<Option<fancy_regex::Regex>> =
        LazyLock::new(|| fancy_regex::Regex::new(r"\A[\p{C}\p{Z}]").ok());
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let hidden = |hidden: &fancy_regex::Regex| hidden.is_match(c.encode_utf8(&mut [0; 4])).ok();
    !HIDDEN.as_ref().and_then(hidden).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_chosen_to_need_few_escapes() {
        assert_eq!(repr_text("plain"), "'plain'");
        assert_eq!(repr_text("it's"), "\"it's\"");
        assert_eq!(repr_text("it's \"so\""), "'it\\'s \"so\"'");
    }

    #[test]
    fn only_what_can_be_seen_is_shown_as_it_is() {
        assert_eq!(repr_text("a\tb\n\\\x07\x7f"), r"'a\tb\n\\\x07\x7f'");
        assert_eq!(repr_text("é😀e\u{301}"), "'é😀e\u{301}'");
        assert_eq!(
            repr_text("\u{a0}\u{ad}\u{2028}\u{feff}\u{e0001}"),
            r"'\xa0\xad\u2028\ufeff\U000e0001'"
        );
    }

    #[test]
    fn separators_of_ascii_are_blanks() {
        assert_eq!(strip("\u{a0}\x1f a \x1c\u{3000}"), "a");
        assert_eq!(strip("\u{feff}a\u{200b}"), "\u{feff}a\u{200b}");
    }
}
