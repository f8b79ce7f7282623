//! Parts of patterns in the dialect of `fancy_regex`, each complete in itself so that it can be repeated.

use super::Flags;

/// Matches nothing: what Python looks for here cannot be in a text.
pub(super) const NEVER: &str = r"[^\s\S]";

/// What a letter of a category means: the letters of an escape such as `\w`.
pub(super) fn category(letter: char, flags: Flags) -> Option<&'static str> {
    Some(match (letter, flags.ascii) {
        ('d', false) => r"\p{Nd}",
        ('d', true) => "0-9",
        ('D', false) => r"\P{Nd}",
        ('D', true) => "[^0-9]",
        // Python also takes the separators of ASCII for blanks.
        ('s', false) => r"\s\x1C-\x1F",
        ('s', true) => r"\x09-\x0D\x20",
        ('S', false) => r"[^\s\x1C-\x1F]",
        ('S', true) => r"[^\x09-\x0D\x20]",
        ('w', false) => r"\p{L}\p{N}_",
        ('w', true) => "0-9A-Za-z_",
        ('W', false) => r"[^\p{L}\p{N}_]",
        ('W', true) => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

/// A place instead of a character: `^`, `$`, or the letter of an escape.
pub(super) fn place(sign: char, flags: Flags) -> Option<String> {
    let text = match sign {
        '^' if flags.multi_line => "(?m:^)",
        '$' if flags.multi_line => "(?m:$)",
        '^' | 'A' => r"\A",
        '$' => r"(?=\n?\z)",
        'Z' => r"\z",
        'b' | 'B' => {
            let word = format!("[{}]", category('w', flags)?);
            return Some(if sign == 'b' {
                format!("(?:(?<={word})(?!{word})|(?<!{word})(?={word}))")
            } else {
                // There is no such place in an empty text.
                format!(r"(?:(?!\A\z)(?:(?<={word})(?={word})|(?<!{word})(?!{word})))")
            });
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// `.`
pub(super) fn any(flags: Flags) -> &'static str {
    if flags.dot_all { "(?s:.)" } else { r"[^\n]" }
}

/// A character that stands for itself, also within a class; `None` for half of one.
pub(super) fn character(code: u32) -> Option<String> {
    char::from_u32(code).map(|c| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => c.to_string(),
        _ => format!("\\x{{{code:X}}}"),
    })
}
