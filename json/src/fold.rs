//! Matching without case.

use unicase::UniCase;

use crate::space::is_space;

/// The text folded for comparison without case, like `str.casefold`: full Unicode folding, so `ß` becomes `ss`.
#[must_use]
pub fn casefold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    UniCase::unicode(text).to_folded_case()
}

/// The text for comparison of what users say: whitespace runs become one space, none at the ends, case folded.
#[must_use]
pub fn normalize(text: &str) -> String {
    let mut words = text.split(is_space).filter(|word| !word.is_empty());
    let mut out = words.next().unwrap_or_default().to_owned();
    for word in words {
        out.push(' ');
        out.push_str(word);
    }
    casefold(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
