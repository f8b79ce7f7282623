//! Is there an answer, is it long enough, and is it more than the question?

use std::process::ExitCode;

use evaluator_community::{
    python::{self, Number},
    result::{answer, scored},
};
use evaluator_sdk::{Config, EvalResult, Invocations, Score, evaluator};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(default)]
struct Settings {
    /// Characters (Unicode code points, without the blanks around them) that an answer must have.
    min_response_length: Number,
}

impl Default for Settings {
    fn default() -> Self {
        Self { min_response_length: 10.into() }
    }
}

/// Scores 1 for every good answer: 0.3 less if it is too short, 0.5 less if it repeats the user, 0 without an answer.
#[evaluator]
fn response_quality(turns: Invocations<'_>, Config(settings): Config<Settings>) -> EvalResult {
    let min_length = settings.min_response_length;
    let mut issues = Vec::new();
    let mut scores = Vec::new();
    for turn in turns {
        let id = &turn.invocation_id;
        if answer(turn).is_empty() {
            issues.push(format!("{id}: no response"));
            scores.push(Score::ZERO);
            continue;
        }
        let mut score = 1.0;
        let response = python::strip(answer(turn));
        let length = response.chars().count();
        if min_length > length {
            score -= 0.3;
            issues.push(format!("{id}: response too short ({length} < {min_length} chars)"));
        }
        let asked = &turn.user_content;
        if !asked.is_empty() && response.to_lowercase() == python::strip(asked).to_lowercase() {
            score -= 0.5;
            issues.push(format!("{id}: response is just the user input echoed back"));
        }
        scores.push(Score::clamped(score).unwrap_or(Score::ZERO));
    }
    scored(scores, "issues", issues)
}

fn main() -> ExitCode {
    response_quality::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;
    use serde_json::json;

    use super::*;

    fn judge(input: &testing::Input) -> EvalResult {
        response_quality(Invocations(&input.invocations), Config(Settings::default()))
    }

    #[test]
    fn short_answers_and_echoes_cost() {
        let input = testing::input("response_quality")
            .turn("What time is it?", "It is noon.")
            .turn("What time is it?", "Noon.")
            .turn("What time is it?", " what TIME is it? ")
            .turn("What?", "what?");

        let scores: Vec<f64> =
            judge(&input).per_invocation_scores.iter().map(|score| score.unwrap().get()).collect();

        assert_eq!(scores, [1.0, 0.7, 0.5, 1.0 - 0.3 - 0.5]);
    }

    #[test]
    fn an_empty_answer_is_none() {
        let result = judge(&testing::input("response_quality").turn("?", "").unanswered("?"));

        testing::assert_score(&result, 0.0);
        assert_eq!(result.details.unwrap()["issues"], json!([": no response", ": no response"]));
    }

    #[test]
    fn length_is_counted_in_code_points() {
        let result = judge(&testing::input("response_quality").turn("?", "😀😀😀😀😀😀😀😀😀"));

        assert_eq!(result.details.unwrap()["issues"][0], ": response too short (9 < 10 chars)");
    }

    #[test]
    fn a_length_in_quotes_is_an_error() {
        let input = testing::input("response_quality").config("min_response_length", "10");

        let failure = testing::run(&response_quality::EVALUATOR, &input).unwrap_err().to_string();

        assert!(failure.starts_with("config.min_response_length: "), "{failure}");
    }
}
