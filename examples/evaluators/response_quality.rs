//! Are the answers long enough, and does the agent commit itself?

use std::process::ExitCode;

use evaluator_sdk::{Config, EvalInput, EvalResult, Score, evaluator};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// Answers of at least this many characters score in full, shorter ones in part.
    min_length: usize,
    /// Phrases that halve the score of an answer, in lower case.
    hedges: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let hedges = ["i guess", "not sure", "as an ai"].map(str::to_owned).into();
        Self { min_length: 40, hedges }
    }
}

/// Scores the length of every answer, and takes half away for hedging.
#[evaluator]
fn response_quality(input: &EvalInput, Config(settings): Config<Settings>) -> EvalResult {
    let mut issues = Vec::new();
    let mut scores = Vec::new();
    for (number, turn) in (1..).zip(&input.invocations) {
        let answer = turn.final_response.as_deref().unwrap_or_default().trim().to_lowercase();
        let length = answer.chars().count();
        let mut score = Score::ratio(length, settings.min_length);
        if score < Score::ONE {
            issues.push(format!("turn {number}: {length} characters of {}", settings.min_length));
        }
        if let Some(hedge) = settings.hedges.iter().find(|hedge| answer.contains(hedge.as_str())) {
            score = Score::mean([score, Score::ZERO]).unwrap_or(Score::ZERO);
            issues.push(format!("turn {number}: says {hedge:?}"));
        }
        scores.push(score);
    }
    EvalResult::mean_of(scores).detail("issues", issues)
}

fn main() -> ExitCode {
    response_quality::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;

    use super::*;

    #[test]
    fn short_answers_score_in_part() {
        let input =
            testing::input("response_quality").turn("When?", "At noon.").unanswered("Sure?");
        let settings = Settings { min_length: 16, ..Settings::default() };

        let result = response_quality(&input, Config(settings));

        testing::assert_score(&result, 0.25);
        assert_eq!(result.details.unwrap()["issues"][0], "turn 1: 8 characters of 16");
    }

    #[test]
    fn hedging_costs_half() {
        let input = testing::input("response_quality")
            .turn("Which platform?", "I guess it leaves from platform 7, as it did yesterday.");

        testing::assert_score(&response_quality(&input, Config(Settings::default())), 0.5);
    }

    #[test]
    fn a_typo_in_the_config_is_an_error() {
        let input = testing::input("response_quality").turn("Hi", "Hello.").config("min_lenght", 3);

        let failure = testing::run(&response_quality::EVALUATOR, &input).unwrap_err();

        assert!(failure.to_string().contains("min_lenght"), "{failure}");
    }
}
