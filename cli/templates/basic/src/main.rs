//! An evaluator: reads a conversation from standard input, writes a score to standard output.

use std::process::ExitCode;

use evaluator_sdk::{EvalInput, EvalResult, Score, evaluator};

/// Scores the share of turns that the agent answered.
#[evaluator]
fn {{crate_name}}(input: &EvalInput) -> EvalResult {
    EvalResult::mean_of(input.invocations.iter().map(|turn| {
        let answer = turn.final_response.as_deref().unwrap_or_default();
        Score::from(!answer.trim().is_empty())
    }))
}

fn main() -> ExitCode {
    {{crate_name}}::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{EvalStatus, testing};

    use super::*;

    #[test]
    fn answered_turns_score() {
        let input = testing::input("{{crate_name}}")
            .turn("Hello?", "Hello, what can I do for you?")
            .unanswered("Book a table.");

        let result = {{crate_name}}(&input);

        testing::assert_score(&result, 0.5);
        assert_eq!(result.per_invocation_scores, [Some(Score::ONE), Some(Score::ZERO)]);
    }

    #[test]
    fn an_agent_that_did_nothing_does_not_pass() {
        let input = || testing::input("{{crate_name}}");

        testing::assert_score(&{{crate_name}}(&input().unanswered("Hello?")), 0.0);
        testing::assert_score(&{{crate_name}}(&input().turn("Hello?", " ")), 0.0);
        assert_eq!({{crate_name}}(&input()).status, Some(EvalStatus::NotEvaluated));
    }

    #[test]
    fn documents_are_read_and_answered() {
        let document = r#"{"metric_name": "x", "invocations": [{"final_response": "Hi."}]}"#;

        let result = testing::run_json(&{{crate_name}}::EVALUATOR, document).unwrap();

        testing::assert_score(&result, 1.0);
    }
}
