//! An evaluator with settings: reads a conversation from standard input, writes a score to standard output.

use std::process::ExitCode;

use evaluator_sdk::{Config, EvalInput, EvalResult, Score, evaluator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `config:` may hold. A key of the wrong type or with a value out of range is an error that names it.
#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// Answers of at least this many characters score in full.
    min_length: MinLength,
    /// Words that must not be in an answer; upper or lower case makes no difference.
    forbidden: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { min_length: MinLength(20), forbidden: Vec::new() }
    }
}

/// A number of characters, at least 1. What `try_from` refuses is an error of the configuration, as a wrong type is.
// `Serialize` puts the default into the schema, `extend` the range.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "usize")]
#[schemars(extend("minimum" = 1))]
struct MinLength(usize);

impl TryFrom<usize> for MinLength {
    type Error = &'static str;

    fn try_from(length: usize) -> Result<Self, Self::Error> {
        if length == 0 {
            return Err("must be at least 1");
        }
        Ok(Self(length))
    }
}

/// Scores whether answers are long enough and free of forbidden words.
#[evaluator]
fn {{crate_name}}(input: &EvalInput, Config(settings): Config<Settings>) -> EvalResult {
    let mut issues = Vec::new();
    let mut scores = Vec::new();
    for (number, turn) in (1..).zip(&input.invocations) {
        let answer = turn.final_response.as_deref().unwrap_or_default().to_lowercase();
        let found = settings.forbidden.iter().find(|word| answer.contains(&word.to_lowercase()));
        scores.push(if let Some(word) = found {
            issues.push(format!("turn {number} says {word:?}"));
            Score::ZERO
        } else {
            Score::ratio(answer.trim().chars().count(), settings.min_length.0)
        });
    }
    EvalResult::mean_of(scores).detail("issues", issues)
}

fn main() -> ExitCode {
    {{crate_name}}::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;

    use super::*;

    fn settings(min_length: usize, forbidden: &[&str]) -> Config<Settings> {
        let forbidden = forbidden.iter().map(|word| (*word).to_owned()).collect();
        Config(Settings { min_length: MinLength(min_length), forbidden })
    }

    fn conversation() -> testing::Input {
        testing::input("{{crate_name}}")
            .turn("When?", "At seven.")
            .turn("Sure?", "I guess it is seven, or eight.")
    }

    #[test]
    fn short_answers_score_in_part() {
        let result = {{crate_name}}(&conversation(), settings(18, &[]));

        assert_eq!(result.per_invocation_scores, [Some(Score::ratio(1, 2)), Some(Score::ONE)]);
    }

    #[test]
    fn forbidden_words_are_named() {
        let result = {{crate_name}}(&conversation(), settings(1, &["i guess"]));

        testing::assert_score(&result, 0.5);
        assert_eq!(result.details.unwrap()["issues"][0], "turn 2 says \"i guess\"");
    }

    #[test]
    fn no_answer_is_too_short() {
        let input = testing::input("{{crate_name}}").unanswered("When?").turn("When?", " ");

        testing::assert_score(&{{crate_name}}(&input, settings(1, &[])), 0.0);
    }

    #[test]
    fn a_setting_that_is_out_of_range_is_an_error() {
        let input = conversation().config("min_length", 0);

        let failure = testing::run(&{{crate_name}}::EVALUATOR, &input).unwrap_err();

        assert_eq!(failure.kind(), "config");
        assert_eq!(failure.message(), "config.min_length: must be at least 1");
    }

    #[test]
    fn a_setting_that_does_not_exist_is_an_error() {
        let input = conversation().config("min_lenght", 18);

        let failure = testing::run(&{{crate_name}}::EVALUATOR, &input).unwrap_err();

        assert!(failure.to_string().contains("min_lenght"), "{failure}");
    }
}
