//! Tokens of texts: those of `mteval-v13a`, and single characters.

/// Returns the tokens of `mteval-v13a`: words, numbers and punctuation marks, in their case.
///
/// ```
/// assert_eq!(evaluator_metrics::tokens_13a("It costs 3.50, or less."), [
///     "It", "costs", "3.50", ",", "or", "less", "."
/// ]);
/// ```
#[must_use]
pub fn tokens_13a(text: &str) -> Vec<String> {
    split(&spaced(text)).map(str::to_owned).collect()
}

/// Splits a text at white space.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|token| !token.is_empty())
}

/// Returns the text with white space between its tokens.
pub(super) fn spaced(text: &str) -> String {
    let mut line = text.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    if line.contains('&') {
        for (entity, character) in [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")]
        {
            line = line.replace(entity, character);
        }
    }
    let mut spaced = String::with_capacity(line.len() + line.len() / 4 + 2);
    spaced.push(' ');
    for character in line.chars() {
        if is_symbol(character) {
            spaced.extend([' ', character, ' ']);
        } else {
            spaced.push(character);
        }
    }
    spaced.push(' ');
    let is_stop = |character: char| matches!(character, '.' | ',');
    let is_digit = |character: char| character.is_ascii_digit();
    let rest = pairs(&spaced, |x, y| (!is_digit(x) && is_stop(y)).then_some([x, ' ', y, ' ']));
    let rest = pairs(&rest, |x, y| (is_stop(x) && !is_digit(y)).then_some([' ', x, ' ', y]));
    pairs(&rest, |x, y| (is_digit(x) && y == '-').then_some([x, ' ', y, ' ']))
}

/// Returns the characters that are not white space, each as a token.
pub(super) fn characters(text: &str) -> Vec<String> {
    text.chars().filter(|character| !is_space(*character)).map(String::from).collect()
}

/// Returns true for the characters at which Python splits text.
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// ASCII punctuation that is a token wherever it stands: all but `'`, `,`, `-` and `.`.
fn is_symbol(character: char) -> bool {
    matches!(character, ' '..='&' | '('..='+' | '/' | ':'..='@' | '['..='`' | '{'..='~')
}

/// Replaces pairs of neighbours from left to right. Pairs do not overlap.
fn pairs(text: &str, replace: impl Fn(char, char) -> Option<[char; 4]>) -> String {
    let mut replaced = String::with_capacity(text.len() + text.len() / 8);
    let mut characters = text.chars().peekable();
    while let Some(first) = characters.next() {
        match characters.peek().and_then(|second| replace(first, *second)) {
            Some(by) => {
                replaced.extend(by);
                characters.next();
            }
            None => replaced.push(first),
        }
    }
    replaced
}
