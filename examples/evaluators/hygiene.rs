//! Two evaluators in one program. The host says which one it wants by the name of its entry.

use std::{collections::HashSet, process::ExitCode};

use evaluator_sdk::{EvalResult, Score, Trajectory, evaluator, run_any};

/// Scores the share of tool calls that were not made before, with the same arguments, in the same turn. A turn without
/// tool calls is not scored.
#[evaluator]
fn no_repeated_calls(turns: Trajectory<'_>) -> EvalResult {
    let mut repeated = Vec::new();
    let scores: Vec<Option<Score>> = turns
        .iter()
        .map(|turn| {
            let calls = &turn.intermediate_steps.tool_calls;
            let mut seen = HashSet::new();
            for call in calls {
                if !seen.insert((&call.name, &call.args)) {
                    repeated.push(call.name.clone());
                }
            }
            Score::checked_ratio(seen.len(), calls.len())
        })
        .collect();
    EvalResult::mean_of(scores).detail("repeated", repeated)
}

/// Scores whether all tools did what they were asked to do. Without tool responses there is nothing to judge.
#[evaluator]
fn no_failed_tools(turns: Trajectory<'_>) -> EvalResult {
    let mut responses =
        turns.iter().flat_map(|turn| &turn.intermediate_steps.tool_responses).peekable();
    if responses.peek().is_none() {
        return EvalResult::not_evaluated("no tool has responded");
    }
    EvalResult::new(Score::from(responses.all(|response| !response.is_error())))
}

fn main() -> ExitCode {
    run_any(&[no_repeated_calls::EVALUATOR, no_failed_tools::EVALUATOR])
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{EvalStatus, InvocationData, ToolResponseData, testing};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_call_twice_in_a_turn_is_once_too_often() {
        let input = testing::input("no_repeated_calls")
            .turn("Is it on time?", "Yes.")
            .tool_call("status", json!({"train": "ICE 225"}))
            .tool_call("status", json!({"train": "IC 141"}))
            .tool_call("status", json!({"train": "ICE 225"}))
            .tool_call("status", json!({"train": "ICE 225"}))
            .turn("Still?", "Yes.")
            .tool_call("status", json!({"train": "ICE 225"}));

        let result = no_repeated_calls(Trajectory(&input.invocations));

        assert_eq!(result.per_invocation_scores, [Some(Score::ratio(1, 2)), Some(Score::ONE)]);
        assert_eq!(result.details.unwrap()["repeated"], json!(["status", "status"]));
    }

    #[test]
    fn one_failed_tool_is_too_many() {
        let works = ToolResponseData::new("status", "on time");
        let fails = ToolResponseData::new("status", "no such train").failed();
        let good = InvocationData::new("Is it on time?", "Yes.").tool_response(works);
        let bad = good.clone().tool_response(fails);

        testing::assert_score(&no_failed_tools(Trajectory(&[good])), 1.0);
        testing::assert_score(&no_failed_tools(Trajectory(&[bad])), 0.0);
    }

    #[test]
    fn without_tools_there_is_nothing_to_judge() {
        let idle = [InvocationData::new("Is it on time?", "Yes.")];

        for result in [no_repeated_calls(Trajectory(&idle)), no_failed_tools(Trajectory(&idle))] {
            assert_eq!(result.status, Some(EvalStatus::NotEvaluated));
        }
    }
}
