//! Does the agent know its tools, and does it give them what they need?

use std::{collections::BTreeMap, process::ExitCode};

use evaluator_sdk::{Config, EvalResult, Score, Trajectory, evaluator};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The tools there are, with the arguments each of them needs.
    tools: BTreeMap<String, Vec<String>>,
}

/// Scores the share of tool calls that name a known tool and give all the arguments it needs.
#[evaluator]
fn tool_call_checker(turns: Trajectory<'_>, Config(settings): Config<Settings>) -> EvalResult {
    let mut problems = Vec::new();
    let mut per_turn = Vec::new();
    for turn in turns {
        let calls = &turn.intermediate_steps.tool_calls;
        let before = problems.len();
        for call in calls {
            let Some(required) = settings.tools.get(&call.name) else {
                problems.push(format!("{}: no such tool", call.name));
                continue;
            };
            let missing: Vec<&str> = required
                .iter()
                .filter(|name| call.args.get(*name).is_none_or(|value| value.is_null()))
                .map(String::as_str)
                .collect();
            if !missing.is_empty() {
                problems.push(format!("{}: without {}", call.name, missing.join(", ")));
            }
        }
        let good = calls.len() - (problems.len() - before);
        // A turn without calls is neither good nor bad.
        per_turn.push((!calls.is_empty()).then(|| Score::ratio(good, calls.len())));
    }
    match Score::mean(per_turn.iter().copied().flatten()) {
        Some(score) => {
            EvalResult::new(score).per_invocation_scores(per_turn).detail("problems", problems)
        }
        None => EvalResult::not_evaluated("no tool was called"),
    }
}

fn main() -> ExitCode {
    tool_call_checker::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{EvalStatus, testing};
    use serde_json::json;

    use super::*;

    fn settings() -> Config<Settings> {
        let required = ["date", "seat"].map(str::to_owned).into();
        Config(Settings { tools: [("book_seat".to_owned(), required)].into() })
    }

    #[test]
    fn a_call_without_what_the_tool_needs_is_a_bad_call() {
        let input = testing::input("tool_call_checker")
            .turn("Book it.", "Booked.")
            .tool_call("book_seat", json!({"date": "2026-03-06", "seat": null}))
            .tool_call("book_seat", json!({"date": "2026-03-06", "seat": "window"}))
            .turn("Thanks!", "You are welcome.");

        let result = tool_call_checker(Trajectory(&input.invocations), settings());

        testing::assert_score(&result, 0.5);
        assert_eq!(result.per_invocation_scores, [Some(Score::ratio(1, 2)), None]);
        assert_eq!(result.details.unwrap()["problems"], json!(["book_seat: without seat"]));
    }

    #[test]
    fn an_unknown_tool_is_named() {
        let input = testing::input("tool_call_checker")
            .turn("Book it.", "Booked.")
            .tool_call("book_seats", json!({}));

        let result = tool_call_checker(Trajectory(&input.invocations), settings());

        testing::assert_score(&result, 0.0);
        assert_eq!(result.details.unwrap()["problems"][0], "book_seats: no such tool");
    }

    #[test]
    fn without_calls_there_is_nothing_to_judge() {
        let input = testing::input("tool_call_checker").turn("Hi", "Hello.");

        let result = tool_call_checker(Trajectory(&input.invocations), settings());

        assert_eq!(result.status, Some(EvalStatus::NotEvaluated));
    }
}
