//! An evaluator of tool calls: reads a conversation and its golden turns from standard input, writes a score to
//! standard output.

use std::process::ExitCode;

use evaluator_sdk::{EvalInput, EvalResult, Score, evaluator};

/// Scores the share of expected tools that the agent called, in the expected order. Calls in between do no harm.
///
/// A turn that expects no tools is not scored. An agent that stopped before the last expected turn scores 0.
#[evaluator]
fn {{crate_name}}(input: &EvalInput) -> EvalResult {
    let Some(golden) = &input.expected_invocations else {
        return EvalResult::not_evaluated("no golden turns: give the run an eval set");
    };
    let mut missing = Vec::new();
    let turns = input.invocations.iter().enumerate();
    let scores: Vec<Option<Score>> = turns
        .map(|(index, turn)| {
            let golden = golden.get(index)?;
            let called: Vec<&str> = turn.tool_names().collect();
            let mut rest = called.as_slice();
            let mut found = 0;
            for expected in golden.tool_names() {
                if let Some(position) = rest.iter().position(|name| *name == expected) {
                    rest = &rest[position + 1..];
                    found += 1;
                } else {
                    missing.push(format!("{}: {expected}", turn.invocation_id));
                }
            }
            Score::checked_ratio(found, golden.tool_names().len())
        })
        .collect();
    if golden.len() > scores.len() {
        return EvalResult::new(Score::ZERO)
            .detail("missing", format!("turn {} and later", scores.len() + 1));
    }
    EvalResult::mean_of(scores).detail("missing", missing)
}

fn main() -> ExitCode {
    {{crate_name}}::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{EvalStatus, InvocationData, ToolCallData};

    use super::*;

    fn turn(tools: &[&str]) -> InvocationData {
        tools.iter().fold(InvocationData::new("Book a table.", "Done."), |turn, tool| {
            turn.tool_call(ToolCallData::new(*tool))
        })
    }

    #[test]
    fn a_missing_tool_costs_its_share_and_is_named() {
        let input = EvalInput::new("{{crate_name}}")
            .invocation(turn(&["search", "look_at_weather", "book"]).invocation_id("t1"))
            .expected(turn(&["search", "book", "confirm", "thank"]));

        let result = {{crate_name}}(&input);

        assert_eq!(result.score, Score::ratio(2, 4));
        assert_eq!(result.details.unwrap()["missing"][0], "t1: confirm");
    }

    #[test]
    fn the_order_counts() {
        let input = EvalInput::new("{{crate_name}}")
            .invocation(turn(&["book", "search"]))
            .expected(turn(&["search", "book"]));

        assert_eq!({{crate_name}}(&input).score, Score::ratio(1, 2));
    }

    #[test]
    fn a_turn_that_expects_no_tools_is_not_scored() {
        let input = EvalInput::new("{{crate_name}}")
            .invocation(turn(&[]))
            .expected(turn(&[]))
            .invocation(turn(&["book"]))
            .expected(turn(&["book"]));

        let result = {{crate_name}}(&input);

        assert_eq!(result.per_invocation_scores, [None, Some(Score::ONE)]);
    }

    #[test]
    fn an_agent_that_stopped_early_does_not_pass() {
        let input = EvalInput::new("{{crate_name}}")
            .invocation(turn(&["search"]))
            .expected(turn(&["search"]))
            .expected(turn(&["book"]));

        let result = {{crate_name}}(&input);

        assert_eq!(result.score, Score::ZERO);
        assert_eq!(result.details.unwrap()["missing"], "turn 2 and later");
    }

    #[test]
    fn without_golden_turns_there_is_nothing_to_judge() {
        let input = EvalInput::new("{{crate_name}}").invocation(turn(&["search"]));

        assert_eq!({{crate_name}}(&input).status, Some(EvalStatus::NotEvaluated));
    }
}
