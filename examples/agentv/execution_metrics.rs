//! Did the agent get there in few steps, without errors? A judge of AgentV's.

use std::process::ExitCode;

use evaluator_sdk::{
    Config, Score,
    agentv::{Assertion, CodeJudgeInput, CodeJudgeResult},
    evaluator,
};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(default)]
struct Settings {
    /// So many tool calls are fine; more cost in proportion.
    max_tool_calls: u64,
    /// Milliseconds that are fine. Not looked at by default: they differ from machine to machine.
    max_duration_ms: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_tool_calls: 10, max_duration_ms: None }
    }
}

/// Scores the number of tool calls, errors among them, and, if it is configured, the time it took.
#[evaluator(contract = agentv)]
fn execution_metrics(
    input: &CodeJudgeInput,
    Config(settings): Config<Settings>,
) -> CodeJudgeResult {
    let Some(summary) = input.trace_summary() else {
        return CodeJudgeResult::new(Score::ratio(1, 2))
            .reasoning("there is no trace, so nothing is known of the way to the answer");
    };
    let mut result = CodeJudgeResult::default();
    let mut scores = Vec::new();
    let mut look = |text: String, score: Score| {
        scores.push(score);
        result.assertions.push(Assertion::new(text, score == Score::ONE));
    };
    if let Some(calls) = summary.event_count {
        let max = settings.max_tool_calls;
        look(format!("{calls} tool calls, {max} are fine"), share(max as f64, calls as f64));
    }
    if let Some(errors) = summary.error_count {
        look(format!("{errors} errors"), Score::from(errors == 0));
    }
    if let Some((duration, max)) = input.duration_ms().zip(settings.max_duration_ms) {
        look(format!("{duration} ms, {max} are fine"), share(max, duration));
    }
    match Score::mean(scores) {
        Some(score) => result.score = score,
        None => {
            return CodeJudgeResult::new(Score::ratio(1, 2))
                .reasoning("the trace says nothing of tool calls and errors");
        }
    }
    if let Some(cost) = input.cost_usd() {
        result = result.detail("cost_usd", cost);
    }
    result
}

/// How much of it is fine.
fn share(fine: f64, all: f64) -> Score {
    if all <= fine { Score::ONE } else { Score::clamped(fine / all).unwrap_or(Score::ZERO) }
}

fn main() -> ExitCode {
    execution_metrics::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{agentv::TraceSummary, testing};

    use super::*;

    fn judged(summary: TraceSummary) -> CodeJudgeResult {
        let input = CodeJudgeInput::new("q", "a").with_trace_summary(summary);
        let settings = Settings { max_tool_calls: 4, max_duration_ms: Some(1000.0) };
        execution_metrics(&input, Config(settings))
    }

    #[test]
    fn a_short_way_scores_in_full() {
        let result = judged(TraceSummary::new(4).error_count(0).duration_ms(999.5));

        testing::agentv::assert_score(&result, 1.0);
        assert_eq!(
            result.hits(),
            ["4 tool calls, 4 are fine", "0 errors", "999.5 ms, 1000 are fine"]
        );
    }

    #[test]
    fn detours_and_errors_cost() {
        let result = judged(TraceSummary::new(8).error_count(2).cost_usd(0.5));

        testing::agentv::assert_score(&result, 0.25);
        assert_eq!(result.misses(), ["8 tool calls, 4 are fine", "2 errors"]);
        assert_eq!(result.details.unwrap()["cost_usd"], 0.5);
    }

    #[test]
    fn without_a_trace_it_is_neither_good_nor_bad() {
        let result = execution_metrics(&CodeJudgeInput::new("q", "a"), Config(Settings::default()));

        testing::agentv::assert_score(&result, 0.5);
        assert!(result.reasoning.unwrap().starts_with("there is no trace"));
        testing::agentv::assert_score(&judged(TraceSummary::default()), 0.5);
    }

    #[test]
    fn the_config_has_defaults() {
        let input = CodeJudgeInput::new("q", "a").with_trace_summary(TraceSummary::new(20));

        let result = testing::agentv::run(&execution_metrics::EVALUATOR, &input).unwrap();

        testing::agentv::assert_score(&result, 0.5);
        assert_eq!(result.misses(), ["20 tool calls, 10 are fine"]);
    }
}
