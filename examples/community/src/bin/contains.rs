//! Does every answer contain a certain text?

use std::process::ExitCode;

use evaluator_community::{
    python,
    result::{answer, not_evaluated, without_issues},
};
use evaluator_sdk::{Config, EvalResult, Invocations, evaluator};
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Settings {
    /// The text to look for; blanks around it do not count. Without it nothing is judged.
    #[serde(deserialize_with = "python::text")]
    substring: Option<String>,
    /// Whether upper and lower case are the same.
    #[serde(deserialize_with = "python::truth")]
    case_insensitive: bool,
}

/// Scores 1 for every answer that contains the text, 0 for the others.
#[evaluator]
fn contains(turns: Invocations<'_>, Config(settings): Config<Settings>) -> EvalResult {
    let Some(substring) = settings.substring else {
        return not_evaluated(&turns, "missing config: substring");
    };
    let found_in = |answer: &str| match settings.case_insensitive {
        true => answer.to_lowercase().contains(&substring.to_lowercase()),
        false => answer.contains(&substring),
    };
    let wanted = python::repr_text(&substring);
    let issue =
        |turn| (!found_in(answer(turn))).then(|| format!("response does not contain {wanted}"));
    without_issues(&turns, "issues", turns.iter().map(issue).collect())
}

fn main() -> ExitCode {
    contains::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{EvalStatus, testing};

    use super::*;

    fn judge(input: &testing::Input, substring: &str, case_insensitive: bool) -> EvalResult {
        let substring = Some(substring.to_owned());
        contains(Invocations(&input.invocations), Config(Settings { substring, case_insensitive }))
    }

    #[test]
    fn no_answer_contains_nothing() {
        let input = testing::input("contains").turn("When?", "At noon.").unanswered("Sure?");

        let result = judge(&input, "noon", false);

        testing::assert_score(&result, 0.5);
        assert_eq!(result.details.unwrap()["issues"][0], ": response does not contain 'noon'");
    }

    #[test]
    fn case_counts_by_default() {
        let input = testing::input("contains").turn("Où?", "À L'ÉCOLE");

        testing::assert_score(&judge(&input, "école", false), 0.0);
        testing::assert_score(&judge(&input, "école", true), 1.0);
    }

    #[test]
    fn a_text_of_blanks_is_none() {
        let input =
            testing::input("contains").turn("When?", "At noon.").config("substring", " \u{a0}");

        let result = testing::run(&contains::EVALUATOR, &input).unwrap();

        assert_eq!(result.status, Some(EvalStatus::NotEvaluated));
        assert_eq!(result.per_invocation_scores, [None]);
    }

    #[test]
    fn a_number_is_not_a_text() {
        let input = testing::input("contains").turn("How many?", "4").config("substring", 4);

        let failure = testing::run(&contains::EVALUATOR, &input).unwrap_err();

        assert_eq!(failure.to_string(), "config.substring: expected a text, found 4");
    }
}
