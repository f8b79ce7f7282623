//! Patterns of Python's `re`, written again for the crate `fancy_regex`.
//!
//! The two dialects look the same, and a few parts mean different things: `$` also matches before a last line break in Python,
//! `\Z` is the very end, `\w` does not take combining marks, `[` in a class is a bracket. Those parts are replaced. What is
//! neither the same in both nor replaced is an error, so no pattern silently means something else.

use std::{error, fmt};

/// Steps after which a match is given up, about a second.
const MAX_STEPS: usize = 10_000_000;

/// Bytes that a compiled part of a pattern may take. The classes of Unicode are large, and repeats multiply them.
const MAX_SIZE: usize = 1 << 26;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Regex(fancy_regex::Regex);

/// Flags of a pattern, which it may also set at its start: `(?im)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Upper and lower case are the same.
    pub ignore_case: bool,
    /// `^` and `$` match at the start and end of every line.
    pub multi_line: bool,
    /// `.` is any character, also a line break.
    pub dot_all: bool,
}

/// Reason why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// Python refuses it, with this message.
    Invalid(String),
    /// It is not supported here, or Python refuses it with a message that is not known here.
    Unsupported(String),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(text) => f.write_str(text),
            Self::Unsupported(what) => write!(f, "the pattern cannot be used: {what}"),
        }
    }
}

impl error::Error for PatternError {}

impl Regex {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// [`PatternError`] if it is not a pattern, has parts that are not supported, or needs more memory than is reasonable.
    pub fn new(pattern: &str, flags: Flags) -> Result<Self, PatternError> {
        let (flags, start) = flags_at_start(pattern, flags);
        let translator = Translator {
            pattern: pattern.chars().collect(),
            next: start,
            flags,
            written: String::new(),
        };
        fancy_regex::RegexBuilder::new(&translator.translate()?)
            .case_insensitive(flags.ignore_case)
            .multi_line(flags.multi_line)
            .dot_matches_new_line(flags.dot_all)
            .backtrack_limit(MAX_STEPS)
            .delegate_size_limit(MAX_SIZE)
            .build()
            .map(Self)
            .map_err(|error| PatternError::Unsupported(error.to_string()))
    }

    /// Returns true if the pattern matches somewhere in the text.
    ///
    /// # Errors
    ///
    /// It takes too many steps to tell.
    pub fn is_match(&self, text: &str) -> Result<bool, TooManySteps> {
        self.0.is_match(text).map_err(|_| TooManySteps)
    }
}

/// A pattern that tries too many ways of matching a text, as `(a|a)*\1b` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManySteps;

impl fmt::Display for TooManySteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no end of trying after {MAX_STEPS} steps; make the pattern less ambiguous")
    }
}

impl error::Error for TooManySteps {}

/// Reads flags such as `(?im)`; returns them with the others and the number of their characters.
fn flags_at_start(pattern: &str, mut flags: Flags) -> (Flags, usize) {
    let letters = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
    let Some((letters, _)) = letters.filter(|(letters, _)| !letters.is_empty()) else {
        return (flags, 0);
    };
    for letter in letters.chars() {
        match letter {
            'i' => flags.ignore_case = true,
            'm' => flags.multi_line = true,
            's' => flags.dot_all = true,
            // Patterns are Unicode in any case.
            'u' => {}
            _ => return (flags, 0),
        }
    }
    (flags, letters.len() + 3)
}

/// What `\w`, `\d` and `\s` take, as it is written in a class. Python also takes the separators of ASCII for blanks.
fn category(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => r"\p{Nd}",
        'D' => r"\P{Nd}",
        's' => r"\s\x1C-\x1F",
        'S' => r"[^\s\x1C-\x1F]",
        'w' => r"\p{L}\p{N}_",
        'W' => r"[^\p{L}\p{N}_]",
        _ => return None,
    })
}

struct Translator {
    pattern: Vec<char>,
    next: usize,
    flags: Flags,
    written: String,
}

impl Translator {
    fn translate(mut self) -> Result<String, PatternError> {
        let mut open = Vec::new();
        let mut repeats = 0;
        while let Some(c) = self.take() {
            // Behind a repeat, `?` and `+` say how it is tried.
            repeats = if "*+?{".contains(c) { repeats + 1 } else { 0 };
            if repeats > 2 || (repeats == 2 && "*{".contains(c)) {
                return Err(self.invalid("multiple repeat", self.next - 1));
            }
            match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => {
                    open.push(self.next - 1);
                    self.written.push('(');
                    self.group()?;
                }
                ')' if open.pop().is_none() => {
                    return Err(self.invalid("unbalanced parenthesis", self.next - 1));
                }
                '{' => self.repeat()?,
                '$' if !self.flags.multi_line => self.written += r"(?=\n?\z)",
                ')' | '|' | '^' | '$' | '.' | '*' | '+' | '?' => self.written.push(c),
                _ => self.literal(c),
            }
        }
        match open.pop() {
            Some(start) => Err(self.invalid("missing ), unterminated subpattern", start)),
            None => Ok(self.written),
        }
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.next += 1;
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.pattern.get(self.next).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().eq(self.pattern.iter().skip(self.next).copied().take(text.len()))
    }

    /// Takes characters up to one that is not of this kind.
    fn take_while(&mut self, is_of_kind: impl Fn(char) -> bool) -> String {
        let start = self.next;
        while self.peek().is_some_and(&is_of_kind) {
            self.next += 1;
        }
        self.pattern[start..self.next].iter().collect()
    }

    fn invalid(&self, message: &str, position: usize) -> PatternError {
        PatternError::Invalid(format!("{message} at position {position}"))
    }

    fn unsupported(&self, start: usize, hint: &str) -> PatternError {
        let part: String = self.pattern.iter().skip(start).take(6).collect();
        PatternError::Unsupported(format!("`{part}` at position {start} is not supported; {hint}"))
    }

    /// Writes a character that stands for itself, also in a class.
    fn literal(&mut self, c: char) {
        self.written += &match c {
            c if c.is_ascii_alphanumeric() => c.to_string(),
            c => format!("\\x{{{:X}}}", u32::from(c)),
        };
    }

    /// Takes what follows `(`.
    fn group(&mut self) -> Result<(), PatternError> {
        if self.peek() != Some('?') {
            return Ok(());
        }
        for start in ["?:", "?=", "?!", "?<=", "?<!", "?>", "?P<", "?P="] {
            if self.starts_with(start) {
                self.next += start.len();
                self.written += start;
                if start.starts_with("?P") {
                    let name = self.take_while(|c| c.is_alphanumeric() || c == '_');
                    self.written += &name;
                    if start == "?P<" && self.peek() == Some('>') {
                        self.next += 1;
                        self.written.push('>');
                    }
                }
                return Ok(());
            }
        }
        Err(self.unsupported(self.next - 1, "flags stand at the start of the pattern: `(?im)`"))
    }

    /// Takes what follows `{`.
    fn repeat(&mut self) -> Result<(), PatternError> {
        let start = self.next - 1;
        let counts = self.take_while(|c| c.is_ascii_digit() || c == ',');
        if self.take() != Some('}') || !counts.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.unsupported(start, "write `{0,3}` for `{,3}`, and `\\{` for a brace"));
        }
        self.written += &format!("{{{counts}}}");
        Ok(())
    }

    /// Takes what follows a backslash outside of a class.
    fn escape(&mut self) -> Result<(), PatternError> {
        let word = "[\\p{L}\\p{N}_]";
        match self.peek() {
            Some('A') => self.written += r"\A",
            Some('Z') => self.written += r"\z",
            Some('b') => {
                self.written += &format!("(?:(?<={word})(?!{word})|(?<!{word})(?={word}))")
            }
            // There is no such position in an empty text.
            Some('B') => {
                self.written +=
                    &format!(r"(?:(?!\A\z)(?:(?<={word})(?={word})|(?<!{word})(?!{word})))");
            }
            Some(digit @ '1'..='9')
                if !self.pattern.get(self.next + 1).is_some_and(char::is_ascii_digit) =>
            {
                self.written += &format!("(?:\\{digit})");
            }
            Some(letter) if category(letter).is_some() => {
                self.written += &format!("[{}]", category(letter).unwrap_or_default());
            }
            _ => {
                let c = self.escaped_character()?;
                self.literal(c);
                return Ok(());
            }
        }
        self.next += 1;
        Ok(())
    }

    /// Takes what follows a backslash and stands for one character.
    fn escaped_character(&mut self) -> Result<char, PatternError> {
        let start = self.next - 1;
        let digits = match self.take() {
            Some('a') => return Ok('\x07'),
            Some('t') => return Ok('\t'),
            Some('n') => return Ok('\n'),
            Some('v') => return Ok('\x0b'),
            Some('f') => return Ok('\x0c'),
            Some('r') => return Ok('\r'),
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            Some(c) if !c.is_ascii_alphanumeric() => return Ok(c),
            _ => return Err(self.unsupported(start, "write the character itself, or as `\\uXXXX`")),
        };
        let found: String = self.pattern.iter().skip(self.next).take(digits).collect();
        self.next += digits;
        let is_number = found.len() == digits && found.chars().all(|c| c.is_ascii_hexdigit());
        let code = u32::from_str_radix(&found, 16).ok().filter(|_| is_number);
        code.and_then(char::from_u32)
            .ok_or_else(|| self.unsupported(start, "it is not the number of a character"))
    }

    /// Takes what follows `[`.
    fn class(&mut self) -> Result<(), PatternError> {
        let start = self.next - 1;
        self.written.push('[');
        if self.peek() == Some('^') {
            self.next += 1;
            self.written.push('^');
        }
        let (mut is_first, mut may_begin_range, mut ends_range) = (true, false, false);
        loop {
            let c = self.take().ok_or_else(|| self.invalid("unterminated character set", start))?;
            if c == ']' && !is_first {
                break;
            }
            is_first = false;
            if c == '-' && may_begin_range && self.peek() != Some(']') {
                self.written.push('-');
                (may_begin_range, ends_range) = (false, true);
                continue;
            }
            let category = self.peek().filter(|_| c == '\\').and_then(category);
            match category {
                Some(_) if ends_range => {
                    return Err(self.unsupported(start, "a range ends with a character"));
                }
                Some(category) => {
                    self.next += 1;
                    self.written += category;
                }
                None => {
                    let c = if c == '\\' { self.escaped_character()? } else { c };
                    self.literal(c);
                }
            }
            may_begin_range = category.is_none() && !ends_range;
            ends_range = false;
        }
        self.written.push(']');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Regex::new(pattern, Flags::default()).unwrap().is_match(text).unwrap()
    }

    #[test]
    fn parts_that_differ_mean_what_they_mean_in_python() {
        for (pattern, text) in [
            ("end$", "the end\n"),
            ("(?m)^b$", "a\nb\nc"),
            (r"^\d$", "٣"),
            (r"^\w\b", "e\u{301}"),
            (r"^\s$", "\x1f"),
            (r"^[\S\d]$", "x"),
            ("^[]a]+$", "]a"),
            ("^[[a&&b]+$", "[&"),
            (r"^[\w.-]+$", "a-b.c"),
            (r"^\x41\u00e9\<$", "Aé<"),
            ("(?i)straße", "STRAßE"),
            ("(?P<w>foo)(?=(?P=w))", "foofoo"),
            (r"(?<!\d)\d{2}(?!\d)", "x42."),
            ("(?>a+)b", "aab"),
            ("a*+b", "aab"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            (r"end\Z", "the end\n"),
            ("end$", "the end\n\n"),
            (r"\B", ""),
            (r"^\w+$", "cafe\u{301}"),
            (r"^[+-]$", ","),
            ("a++a", "aaa"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn patterns_that_python_refuses_have_its_message() {
        for (pattern, expected) in [
            ("(a", "missing ), unterminated subpattern at position 0"),
            ("a)", "unbalanced parenthesis at position 1"),
            ("a**", "multiple repeat at position 2"),
            ("[a", "unterminated character set at position 0"),
        ] {
            let error = Regex::new(pattern, Flags::default()).unwrap_err();
            assert_eq!(error, PatternError::Invalid(expected.to_owned()), "{pattern}");
        }
    }

    #[test]
    fn unsupported_parts_are_errors() {
        for pattern in [
            "*a",
            "[b-a]",
            r"[a-\d]",
            r"\q",
            "a\\",
            r"\1",
            r"\12",
            r"\0",
            r"[\b]",
            r"\x4",
            r"\N{BULLET}",
            "(?x)a b",
            "a(?i)",
            "(?i:a)b",
            "(?#a)",
            "(a)?(?(1)b|c)",
            "a{,2}",
            "a{x}",
            "a{99999999999}",
        ] {
            let error = Regex::new(pattern, Flags::default()).unwrap_err();
            assert!(matches!(error, PatternError::Unsupported(_)), "{pattern}: {error}");
        }
        let error = Regex::new("a{,2}", Flags::default()).unwrap_err().to_string();
        assert!(error.contains("`{,2}` at position 1") && error.contains("`{0,3}`"), "{error}");
    }
}
