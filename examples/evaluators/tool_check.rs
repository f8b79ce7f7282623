//! Is a tool called in every turn? An evaluator of agentevals' guide, where it is written in JavaScript.

use std::process::ExitCode;

use evaluator_sdk::{EvalResult, Score, Trajectory, evaluator};

/// Takes half a point away for every turn without a call of a tool, until there is nothing left.
#[evaluator]
fn tool_check(turns: Trajectory<'_>) -> EvalResult {
    let idle = turns.iter().filter(|turn| turn.intermediate_steps.tool_calls.is_empty()).count();
    EvalResult::new(match idle {
        0 => Score::ONE,
        1 => Score::ratio(1, 2),
        _ => Score::ZERO,
    })
}

fn main() -> ExitCode {
    tool_check::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_turn_without_a_tool_costs_half_a_point() {
        let mut input =
            testing::input("tool_check").turn("Noon?", "Yes.").tool_call("clock", json!({}));
        let score = |input: &testing::Input| tool_check(Trajectory(&input.invocations)).score.get();

        assert_eq!(score(&input), 1.0);
        for expected in [0.5, 0.0, 0.0] {
            input = input.turn("Sure?", "Sure.");
            assert_eq!(score(&input), expected);
        }
    }

    #[test]
    fn calls_are_not_counted_and_turns_have_no_scores_of_their_own() {
        let input = testing::input("tool_check")
            .turn("Noon?", "Yes.")
            .tool_call("clock", json!({}))
            .tool_call("clock", json!({}))
            .turn("Sure?", "Sure.");

        let result = tool_check(Trajectory(&input.invocations));

        testing::assert_score(&result, 0.5);
        assert_eq!(result.per_invocation_scores, []);
    }

    #[test]
    fn without_turns_no_tool_is_missing() {
        testing::assert_score(&tool_check(Trajectory(&[])), 1.0);
    }
}
