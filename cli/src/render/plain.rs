//! Text from recordings, evaluators and file names, made safe to print.
//!
//! Text of agents and evaluators must not move the cursor, reorder a line, start a line of its own or be taken for a
//! command by the CI system that reads the log. Every form of report prints such text with [`one_line`], or line by
//! line after a prefix. [`printable`] is the last safeguard for all output to a terminal or a log.

use std::{borrow::Cow, fmt::Write as _};

/// Prefixes of workflow commands in the logs of GitHub: at the start of a line, and anywhere in a line.
const COMMAND: &str = "::";
pub(super) const OLD_COMMAND: &str = "##[";

/// Escapes text to be part of a line: also line feeds and tabs.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_unsafe(c) || matches!(c, '\n' | '\t'))
}

/// Escapes a text of several lines.
pub(super) fn line_of(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe)
}

/// Escapes complete lines of output: all but line feeds and tabs, and the start of workflow commands.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    let text = line_of(text);
    if !text.contains(OLD_COMMAND) && !text.lines().any(is_command) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for line in text.split_inclusive('\n') {
        let start = line.len() - line.trim_start().len();
        safe.push_str(&line[..start]);
        if is_command(line) {
            safe.push('\\');
        }
        safe.push_str(&line[start..].replace(OLD_COMMAND, "#\\#["));
    }
    Cow::Owned(safe)
}

/// Returns true if the log of a GitHub workflow takes the line for a command.
fn is_command(line: &str) -> bool {
    line.trim_start().starts_with(COMMAND)
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            c if !is_escaped(c) => escaped.push(c),
            '\n' | '\r' | '\t' => escaped.extend(character.escape_default()),
            c => {
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    Cow::Owned(escaped)
}

/// Returns true for characters that change how the text around them is shown: control characters, line separators, and
/// those that set the direction of text.
fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_change_the_text_around_it_is_shown_as_an_escape() {
        for (text, safe) in [
            ("a\nb\r\n\tc", "a\\nb\\r\\n\\tc"),
            ("\x1b[2J\x07\0\x7f\u{9b}31m\u{85}", "\\u{1b}[2J\\u{7}\\u{0}\\u{7f}\\u{9b}31m\\u{85}"),
            ("\u{202e}cod\u{2066}e\u{2028}\u{feff}", "\\u{202e}cod\\u{2066}e\\u{2028}\\u{feff}"),
            ("Ünï ☀ 日本 👩‍👩‍👧 \\n", "Ünï ☀ 日本 👩‍👩‍👧 \\n"),
        ] {
            assert_eq!(one_line(text), safe);
        }
        assert_eq!(line_of("\tcode\r"), "\tcode\\r");
    }

    #[test]
    fn no_line_is_a_command_of_a_ci_system() {
        for (text, safe) in [
            ("a ::error::b\n", "a ::error::b\n"),
            ("a\n::error::b\n \t::add-mask::c", "a\n\\::error::b\n \t\\::add-mask::c"),
            ("a ##[add-mask]b", "a #\\#[add-mask]b"),
            ("\u{b}::x", "\\u{b}::x"),
        ] {
            assert_eq!(printable(text), safe);
        }
        // Readers of logs also skip white space that is not a control character.
        assert_eq!(printable("\u{a0}::x"), "\u{a0}\\::x");
    }
}
