//! Whitespace.

/// Whether Python's `str.isspace` holds: Unicode whitespace and the four ASCII separators U+001C to U+001F.
#[must_use]
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\x1c'..='\x1f')
}

/// The text without whitespace at its ends, like `str.strip()`.
#[must_use]
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_what_python_strips() {
        assert_eq!(strip("\u{1c}\u{85}\u{a0}\u{2003} a b \u{3000}\t\n"), "a b");
        assert_eq!(strip("\u{200b}q\u{feff}"), "\u{200b}q\u{feff}");
    }
}
