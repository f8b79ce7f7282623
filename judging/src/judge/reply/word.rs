//! The word with which a verdict starts.

/// Words behind the first one that make it one of several to choose from.
const CHOICES: [&str; 9] = [
    "or",
    "and",
    "yes",
    "no",
    "supported",
    "unsupported",
    "contradictory",
    "disputed",
    "not_applicable",
];

/// Returns the first word of a verdict in lower case, without marks like `**`; `None` if it has none, or names several words to
/// choose from, as in `yes or no` and `yes | no`.
pub(super) fn first_word(verdict: &str) -> Option<String> {
    let is_end = |c: char| c.is_whitespace() || ",;:()\u{2013}\u{2014}".contains(c);
    let mut words = verdict.split(is_end).map(|word| {
        let is_mark = |c: char| !c.is_alphanumeric();
        word.trim_matches(is_mark).to_lowercase()
    });
    let mut words = words.by_ref().filter(|word| !word.is_empty());
    let first = words.next()?;
    let is_choice = words.next().is_some_and(|word| CHOICES.contains(&&*word));
    (!is_choice).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_words_to_choose_from_are_no_vote() {
        for verdict in
            ["yes or no", "yes | no", "yes no", "supported / unsupported", "**Yes**/ No", " ** "]
        {
            assert_eq!(first_word(verdict), None, "{verdict}");
        }
        for (verdict, word) in [("**Yes**, it does", "yes"), ("no: never", "no"), ("No.", "no")] {
            assert_eq!(first_word(verdict).as_deref(), Some(word), "{verdict}");
        }
    }
}
