//! Differences of documents.

use similar::{ChangeTag, TextDiff};

/// Lines around a difference.
const CONTEXT: usize = 3;

/// Returns the unified diff of two documents, without a header; empty if they are equal.
pub fn diff(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(CONTEXT).missing_newline_hint(false).to_string()
}

/// Returns the number of bytes that a unified diff removes and adds, to the word: lines around a change do not count, nor do words
/// of a changed line that stay.
pub fn changed(diff: &str) -> usize {
    let lines = |sign: char| {
        let lines = diff.lines().filter_map(|line| line.strip_prefix(sign));
        lines.collect::<Vec<_>>().join("\n")
    };
    let (before, after) = (lines('-'), lines('+'));
    let words = TextDiff::from_words(&before, &after);
    let changes = words.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    changes.map(|change| change.value().len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_difference_is_that_of_the_words() {
        let long = format!("a\n{}\nb", "the table is booked ".repeat(50));
        let small = diff(&long, &long.replacen("booked", "free", 1));
        let large = diff("a\nyes, of course\nb", "a\n\nb");
        assert!(small.len() > large.len());
        assert_eq!((changed(&small), changed(&large)), ("booked".len() + "free".len(), 14));
        assert_eq!(changed(&diff("a", "a")), 0);
    }
}
