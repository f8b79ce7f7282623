//! Suggestions for misspelt names.

/// Returns the known name that is close enough to the written one to be suggested.
pub(crate) fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let written = plain(written);
    let nearest = known.iter().map(|name| (distance(&written, &plain(name)), *name)).min()?;
    let (distance, name) = nearest;
    // One error in three letters is still close.
    (distance <= written.chars().count().min(name.len()) / 3).then_some(name)
}

/// Returns the number of insertions, deletions, substitutions and transpositions of neighbours.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let exchanged = last[column] + usize::from(letter != other);
            let mut cost = exchanged.min(last[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *letter == to[column - 1] && from[row - 1] == *other {
                cost = cost.min(before_last[column - 1] + 1);
            }
            current.push(cost);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] =
        ["eval_metric", "actual_invocations", "expected_invocations", "conversation_scenario"];

    #[test]
    fn slips_are_seen() {
        for (written, meant) in [
            ("expected_invocation", "expected_invocations"),
            ("actualInvocations", "actual_invocations"),
            ("EVAL_METRIC", "eval_metric"),
            ("metric", "eval_metric"),
            ("eval_metirc", "eval_metric"),
            ("scenario", "conversation_scenario"),
            ("invocations", "actual_invocations"),
        ] {
            let far = ["metric", "scenario", "invocations"].contains(&written);
            assert_eq!(nearest(written, &KNOWN), (!far).then_some(meant), "{written}");
        }
    }

    #[test]
    fn what_is_far_from_all_is_no_slip() {
        for written in ["", "x", "config", "é", "answer"] {
            assert_eq!(nearest(written, &KNOWN), None, "{written}");
        }
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn distances() {
        for (from, to, expected) in [
            ("", "", 0),
            ("", "ab", 2),
            ("ab", "ba", 1),
            ("abc", "axc", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
            assert_eq!(distance(to, from), expected, "{to} {from}");
        }
    }
}
