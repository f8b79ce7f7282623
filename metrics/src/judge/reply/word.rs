//! The word with which a verdict starts.

/// Returns the first word of a verdict in lower case, without marks like `**`; `None` if it has none, or names several words to
/// choose from, as in `yes or no`.
pub(super) fn first_word(verdict: &str) -> Option<String> {
    let is_end = |c: char| c.is_whitespace() || ",;:()\u{2013}\u{2014}".contains(c);
    let mut words = verdict.split(is_end).map(|word| {
        let is_mark = |c: char| !c.is_alphanumeric();
        word.trim_matches(is_mark).to_lowercase()
    });
    let mut words = words.by_ref().filter(|word| !word.is_empty());
    let first = words.next()?;
    let is_choice = matches!(words.next().as_deref(), Some("or" | "and"));
    (!is_choice).then_some(first)
}
