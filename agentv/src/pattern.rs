//! Regular expressions of JavaScript.

use std::sync::Arc;

use regress::{Flags, Regex};
use serde::{Serialize, Serializer};

/// A compiled pattern with its flags.
#[derive(Clone, Debug, derive_more::Display)]
#[display("/{source}/{flags}")]
pub struct Pattern {
    source: String,
    flags: String,
    regex: Arc<Regex>,
    is_unicode: bool,
    is_sticky: bool,
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// JavaScript has no such flag or flags, or the pattern is not valid. The text says why.
    pub fn new(source: &str, flags: &str) -> Result<Self, String> {
        for (index, flag) in flags.char_indices() {
            if !"dgimsuvy".contains(flag) {
                return Err(format!(
                    "there is no flag `{flag}`; the flags are d, g, i, m, s, u, v, y"
                ));
            }
            if flags[..index].contains(flag) {
                return Err(format!("the flag `{flag}` is given twice"));
            }
        }
        let has = |flag: char| flags.contains(flag);
        if has('u') && has('v') {
            return Err("the flags `u` and `v` exclude each other".to_owned());
        }
        let options = Flags {
            icase: has('i'),
            multiline: has('m'),
            dot_all: has('s'),
            no_opt: false,
            unicode: has('u'),
            unicode_sets: has('v'),
        };
        // Without `u` and `v`, JavaScript reads a pattern as UTF-16 units.
        let is_unicode = has('u') || has('v');
        let regex = if is_unicode {
            Regex::with_flags(source, options)
        } else {
            Regex::from_unicode(source.encode_utf16().map(u32::from), options)
        };
        Ok(Self {
            source: source.to_owned(),
            flags: flags.to_owned(),
            regex: Arc::new(regex.map_err(|error| error.to_string())?),
            is_unicode,
            is_sticky: has('y'),
        })
    }

    /// Returns the pattern without its flags.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns true if the pattern occurs in a text; with the flag `y`, at its start. The search may take exponential time, as in
    /// JavaScript.
    pub fn occurs_in(&self, text: &str) -> bool {
        let units: Vec<u16> = text.encode_utf16().collect();
        let found = if self.is_unicode {
            self.regex.find_from_utf16(&units, 0).next()
        } else {
            self.regex.find_from_ucs2(&units, 0).next()
        };
        found.is_some_and(|found| !self.is_sticky || found.start() == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurs(source: &str, flags: &str, text: &str) -> bool {
        Pattern::new(source, flags).unwrap().occurs_in(text)
    }

    #[test]
    fn flags_and_syntax_are_those_of_javascript() {
        for (source, flags, text, expected) in [
            ("cap.tal", "", "the capital", true),
            ("^paris", "i", "Paris", true),
            ("^paris", "", "Paris", false),
            ("^second$", "m", "first\nsecond\n", true),
            ("^second$", "", "first\nsecond\n", false),
            ("a.b", "", "a\nb", false),
            ("a.b", "s", "a\nb", true),
            ("b", "y", "ab", false),
            ("a", "y", "ab", true),
            ("b", "g", "ab", true),
            (r"(?<=\$)\d+", "", "costs $42", true),
            (r"(\w)\1", "", "oo", true),
            (r"^.$", "", "\u{1f600}", false),
            (r"^..$", "", "\u{1f600}", true),
            (r"^.$", "u", "\u{1f600}", true),
            ("\u{1f600}", "", "a \u{1f600}", true),
            (r"\p{Lu}", "u", "\u{c4}", true),
            (r"[\p{L}--[a-z]]", "v", "x", false),
            (r"\d", "", "\u{661}", false),
            ("^$", "", "", true),
        ] {
            assert_eq!(occurs(source, flags, text), expected, "/{source}/{flags} in {text:?}");
        }
    }

    #[test]
    fn invalid_patterns_and_flags_are_refused() {
        for (source, flags) in
            [("(", ""), ("[", ""), ("a", "x"), ("a", "ii"), ("a", "uv"), (r"\p{Nope}", "u")]
        {
            assert!(Pattern::new(source, flags).is_err(), "/{source}/{flags}");
        }
    }
}
