//! Checks of the text of the answer.

use evaluator_json::{ParseOptions, parse};

use super::{Row, Score};
use crate::{json_text::trim, model::TextCheck};

/// Returns true if the check searches by a pattern, which may take long.
pub fn needs_search(check: &TextCheck) -> bool {
    matches!(check, TextCheck::Matches(_))
}

/// Checks an answer.
pub fn grade(check: &TextCheck, answer: &str) -> Score {
    let row = match check {
        TextCheck::Contains { values, all, ignore_case } => {
            return contains(values, *all, *ignore_case, answer);
        }
        TextCheck::StartsWith(text) => {
            Row::new(format!("starts with {text:?}"), trim(answer).starts_with(trim(text)))
        }
        TextCheck::EndsWith(text) => {
            Row::new(format!("ends with {text:?}"), trim(answer).ends_with(trim(text)))
        }
        TextCheck::Equals(text) => Row::new(format!("is {text:?}"), trim(answer) == trim(text)),
        TextCheck::Matches(pattern) => {
            Row::new(format!("matches {pattern}"), pattern.occurs_in(answer))
        }
        TextCheck::IsJson => {
            let options = ParseOptions { non_finite: false, ..ParseOptions::default() };
            Row::new("is JSON", parse(answer, &options).is_ok())
        }
    };
    Score::of(row.passed, vec![row])
}

fn contains(values: &[String], all: bool, ignore_case: bool, answer: &str) -> Score {
    let fold = |text: &str| if ignore_case { text.to_lowercase() } else { text.to_owned() };
    let answer = fold(answer);
    let rows: Vec<Row> = values
        .iter()
        .map(|value| Row::new(format!("contains {value:?}"), answer.contains(&fold(value))))
        .collect();
    let mut found = rows.iter().map(|row| row.passed);
    let holds = if all { found.all(|found| found) } else { found.any(|found| found) };
    Score::of(holds, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_checks() {
        let contains = |values: &[&str], all, ignore_case| TextCheck::Contains {
            values: values.iter().map(|&value| value.to_owned()).collect(),
            all,
            ignore_case,
        };
        for (check, answer, expected) in [
            (contains(&["Paris"], true, false), "In Paris.", 1.0),
            (contains(&["paris"], true, false), "In Paris.", 0.0),
            (contains(&["pARIS"], true, true), "In Paris.", 1.0),
            (contains(&["Rome", "Paris"], false, false), "In Paris.", 1.0),
            (contains(&["Rome", "Paris"], true, false), "In Paris.", 0.0),
            (TextCheck::StartsWith(" In ".to_owned()), "\n In Paris", 1.0),
            (TextCheck::EndsWith("Paris ".to_owned()), "In Paris\n", 1.0),
            (TextCheck::Equals("Paris".to_owned()), "\u{feff} Paris\n", 1.0),
            (TextCheck::Equals("Paris".to_owned()), "paris", 0.0),
            (TextCheck::IsJson, " [1, null] \n", 1.0),
            (TextCheck::IsJson, "\"text\"", 1.0),
            (TextCheck::IsJson, "```json\n{}\n```", 0.0),
            (TextCheck::IsJson, "NaN", 0.0),
            (TextCheck::IsJson, "", 0.0),
        ] {
            assert_eq!(grade(&check, answer).score, expected, "{check:?} of {answer:?}");
        }
    }
}
