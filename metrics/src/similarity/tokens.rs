//! Tokens of texts: those of `mteval-v13a`, and single characters.

use std::borrow::Cow;

/// Returns the tokens of `mteval-v13a`: words, numbers and punctuation marks, in their case.
///
/// ```
/// assert_eq!(evaluator_metrics::tokens_13a("It costs 3.50, or less."), [
///     "It", "costs", "3.50", ",", "or", "less", "."
/// ]);
/// ```
pub fn tokens_13a(text: &str) -> Vec<String> {
    split(&spaced(text)).map(str::to_owned).collect()
}

/// Splits a text at white space.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|token| !token.is_empty())
}

/// Returns the text with white space between its tokens.
pub(super) fn spaced(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut text = text.replace("<skipped>", "").replace("-\n", "");
    if text.contains('&') {
        for (entity, character) in [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")]
        {
            text = text.replace(entity, character);
        }
    }
    let mut spaced = String::with_capacity(text.len() + text.len() / 4 + 2);
    for word in split(&text) {
        match word.strip_suffix(['.', ',']) {
            _ if is_plain(word) => spaced.push_str(word),
            Some(rest) if is_plain(rest) => spaced.extend([rest, " ", &word[rest.len()..]]),
            _ => spaced.push_str(&separated(word)),
        }
        spaced.push(' ');
    }
    Cow::Owned(spaced)
}

/// Returns true if no rule applies to the text.
fn is_plain(text: &str) -> bool {
    // Without an early end, so that many bytes are compared at a time.
    !text.bytes().fold(false, |any, byte| any | is_symbol(byte) | is_stop(byte) | (byte == b'-'))
}

/// Puts white space between the tokens of a word. The rules are about pairs of characters, and white space is like any
/// character that is not a digit, so words do not depend on each other.
fn separated(word: &str) -> String {
    let mut spaced = String::with_capacity(2 * word.len() + 2);
    spaced.push(' ');
    let mut done = 0;
    for at in positions(word, is_symbol) {
        spaced.extend([&word[done..at], " ", &word[at..=at], " "]);
        done = at + 1;
    }
    spaced.extend([&word[done..], " "]);
    behind_hyphens(&before_others(&behind_others(&spaced)))
}

/// Puts white space around a full stop or comma that follows anything but a digit.
fn behind_others(text: &str) -> String {
    let (mut spaced, mut done) = (String::with_capacity(text.len() + 8), 0);
    for at in positions(text, is_stop) {
        // The character before it may belong to the pair before.
        if at > done && !text.as_bytes()[at - 1].is_ascii_digit() {
            spaced.extend([&text[done..at], " ", &text[at..=at], " "]);
            done = at + 1;
        }
    }
    spaced + &text[done..]
}

/// Puts white space around a full stop or comma that anything but a digit follows.
fn before_others(text: &str) -> String {
    let (mut spaced, mut done) = (String::with_capacity(text.len() + 8), 0);
    for at in positions(text, is_stop).filter(|at| *at + 1 < text.len()) {
        if at >= done && !text.as_bytes()[at + 1].is_ascii_digit() {
            spaced.extend([&text[done..at], " ", &text[at..=at], " "]);
            // The next character belongs to this pair, so it is not the first one of another.
            let next = text[at + 1..].chars().next().map_or(0, char::len_utf8);
            spaced.push_str(&text[at + 1..at + 1 + next]);
            done = at + 1 + next;
        }
    }
    spaced + &text[done..]
}

/// Puts white space around a hyphen that follows a digit.
fn behind_hyphens(text: &str) -> String {
    let (mut spaced, mut done) = (String::with_capacity(text.len() + 8), 0);
    for at in positions(text, |byte| byte == b'-') {
        if at > done && text.as_bytes()[at - 1].is_ascii_digit() {
            spaced.extend([&text[done..at], " - "]);
            done = at + 1;
        }
    }
    spaced + &text[done..]
}

/// Returns the positions of these ASCII characters.
fn positions(text: &str, is_wanted: impl Fn(u8) -> bool) -> impl Iterator<Item = usize> {
    text.bytes().enumerate().filter(move |(_, byte)| is_wanted(*byte)).map(|(at, _)| at)
}

/// Returns the characters that are not white space, each as a token.
pub(super) fn characters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|character| !is_space(*character))
}

/// Returns true for the characters at which Python splits text.
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// ASCII punctuation that is a token wherever it stands: all but `'`, `,`, `-` and `.`.
fn is_symbol(byte: u8) -> bool {
    matches!(byte, b'!'..=b'&' | b'('..=b'+' | b'/' | b':'..=b'@' | b'['..=b'`' | b'{'..=b'~')
}

fn is_stop(byte: u8) -> bool {
    matches!(byte, b'.' | b',')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex_lite::Regex;

    use super::*;

    /// The rules as mteval-v13a has them.
    fn by_rules(text: &str) -> Vec<String> {
        const RULES: [(&str, &str); 4] = [
            (r"([\{-~\[-` -&\(-\+:-@/])", " $1 "),
            (r"([^0-9])([\.,])", "$1 $2 "),
            (r"([\.,])([^0-9])", " $1 $2"),
            (r"([0-9])(-)", "$1 $2 "),
        ];
        let line = format!(" {} ", text.replace("-\n", "").replace('\n', " "));
        let spaced = RULES.into_iter().fold(line, |line, (rule, by)| {
            Regex::new(rule).unwrap().replace_all(&line, by).into_owned()
        });
        spaced.split(is_space).filter(|it| !it.is_empty()).map(str::to_owned).collect()
    }

    proptest! {
        #[test]
        fn tokens_are_those_of_the_rules(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    ".", ",", "-", "'", " ", "\n", "1", "22", "a", "Zz", "\u{e9}", "\u{65e5}", "!", "/", "~", "\u{a0}",
                ]),
                0..20,
            ),
        ) {
            let text = parts.concat();
            prop_assert_eq!(tokens_13a(&text), by_rules(&text));
        }
    }
}
