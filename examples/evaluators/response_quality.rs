//! Is there an answer, and is it long enough? The first evaluator of agentevals' guide.

use std::process::ExitCode;

use evaluator_sdk::{Config, EvalInput, EvalResult, InvocationData, Score, evaluator};
use serde::Deserialize;

#[derive(Deserialize)]
struct Settings {
    /// Characters, without the blanks around them, from which on an answer is long enough.
    #[serde(default = "ten")]
    min_length: usize,
}

fn ten() -> usize {
    10
}

/// Scores every turn 1 for an answer that is long enough, 0.5 for a shorter one, 0 for none.
#[evaluator]
fn response_quality(input: &EvalInput, Config(settings): Config<Settings>) -> EvalResult {
    let quality = |turn: &InvocationData| match turn.final_response.as_deref() {
        None | Some("") => Score::ZERO,
        Some(text) if text.trim().chars().count() < settings.min_length => Score::ratio(1, 2),
        Some(_) => Score::ONE,
    };
    let scores: Vec<Score> = input.invocations.iter().map(quality).collect();
    // Where there are no turns, there is no answer.
    let mean = Score::mean(scores.iter().copied()).unwrap_or(Score::ZERO);
    EvalResult::new(mean).per_invocation_scores(scores)
}

fn main() -> ExitCode {
    response_quality::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;

    use super::*;

    fn judge(input: &testing::Input, min_length: usize) -> EvalResult {
        response_quality(input, Config(Settings { min_length }))
    }

    #[test]
    fn long_short_and_missing_answers_are_distinguished() {
        let input = testing::input("response_quality")
            .turn("When?", "At noon, sharp.")
            .turn("When?", "Noon.")
            .unanswered("When?")
            .turn("When?", "");

        let result = judge(&input, 10);

        testing::assert_score(&result, 0.375);
        let scores = [Score::ONE, Score::ratio(1, 2), Score::ZERO, Score::ZERO];
        assert_eq!(result.per_invocation_scores, scores.map(Some));
    }

    #[test]
    fn blanks_around_an_answer_make_it_no_longer_and_characters_count_not_bytes() {
        let score = |answer: &str, min_length| {
            judge(&testing::input("response_quality").turn("?", answer), min_length).score.get()
        };

        assert_eq!(score("  \n noon \t", 5), 0.5);
        assert_eq!(score("  \n noon \t", 4), 1.0);
        assert_eq!(score("äöüß", 5), 0.5);
        // There is an answer, if one of blanks alone.
        assert_eq!(score("   ", 1), 0.5);
        assert_eq!(score("   ", 0), 1.0);
    }

    #[test]
    fn without_turns_there_is_no_quality() {
        let result = judge(&testing::input("response_quality"), 10);

        testing::assert_score(&result, 0.0);
        assert_eq!(result.status, None);
    }

    #[test]
    fn ten_characters_are_enough_unless_the_config_says_otherwise() {
        let input =
            testing::input("response_quality").turn("?", "ten chars!").turn("?", "nine char");
        let score = |input: &testing::Input| {
            testing::run(&response_quality::EVALUATOR, input).map(|result| result.score.get())
        };

        assert_eq!(score(&input), Ok(0.75));
        assert_eq!(score(&input.clone().config("min_length", 11)), Ok(0.5));
        let failure = score(&input.config("min_length", "11")).unwrap_err().to_string();
        assert!(failure.starts_with("config.min_length: invalid type: string"), "{failure}");
    }
}
