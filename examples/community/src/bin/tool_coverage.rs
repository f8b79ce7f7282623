//! Does the agent use its tools in every turn?

use std::process::ExitCode;

use evaluator_community::{python::Number, result::without_issues};
use evaluator_sdk::{Config, EvalResult, InvocationData, Invocations, evaluator};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(default)]
struct Settings {
    /// Tool calls that a turn must have.
    min_tool_calls: Number,
}

impl Default for Settings {
    fn default() -> Self {
        Self { min_tool_calls: 1.into() }
    }
}

/// Scores 1 for every turn with enough tool calls, 0 for the others.
#[evaluator]
fn tool_coverage(turns: Invocations<'_>, Config(settings): Config<Settings>) -> EvalResult {
    let wanted = settings.min_tool_calls;
    let issue = |turn: &InvocationData| {
        let calls = turn.intermediate_steps.tool_calls.len();
        (wanted > calls).then(|| format!("expected >= {wanted} tool calls, got {calls}"))
    };
    without_issues(&turns, "missing_tools", turns.iter().map(issue).collect())
}

fn main() -> ExitCode {
    tool_coverage::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;
    use serde_json::json;

    use super::*;

    fn input() -> testing::Input {
        testing::input("tool_coverage")
            .turn("Weather?", "Sunny.")
            .tool_call("get_weather", json!({"city": "Utrecht"}))
            .turn("And tomorrow?", "Sunny, too.")
    }

    fn judge(min_tool_calls: u32) -> EvalResult {
        let settings = Settings { min_tool_calls: min_tool_calls.into() };
        tool_coverage(Invocations(&input().invocations), Config(settings))
    }

    #[test]
    fn turns_without_enough_calls_are_listed() {
        let result = judge(1);

        testing::assert_score(&result, 0.5);
        let details = result.details.unwrap();
        assert_eq!(details["missing_tools"], json!([": expected >= 1 tool calls, got 0"]));
    }

    #[test]
    fn none_are_always_enough() {
        testing::assert_score(&judge(0), 1.0);
    }

    #[test]
    fn a_count_in_quotes_is_an_error() {
        let input = input().config("min_tool_calls", "2");

        let failure = testing::run(&tool_coverage::EVALUATOR, &input).unwrap_err().to_string();

        assert!(failure.starts_with("config.min_tool_calls: "), "{failure}");
    }
}
