//! Did the agent get there in few steps? A code judge of AgentV's guide.

use std::process::ExitCode;

use evaluator_sdk::{
    Config, Score,
    agentv::{CodeJudgeInput, CodeJudgeResult},
    evaluator,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Settings {
    /// Number of tool calls that is still efficient.
    #[serde(default = "ten")]
    max_tool_calls: u64,
}

fn ten() -> u64 {
    10
}

/// Scores 1 for an efficient execution, 0.5 for one with too many tool calls and where there is no trace to tell.
#[evaluator(contract = agentv)]
fn execution_metrics(
    input: &CodeJudgeInput,
    Config(settings): Config<Settings>,
) -> Result<CodeJudgeResult, &'static str> {
    let half = CodeJudgeResult::new(Score::ratio(1, 2));
    let Some(summary) = input.trace_summary() else {
        return Ok(half.reasoning("No trace available"));
    };
    let calls = summary.event_count.ok_or("the trace does not say how many events there were")?;
    Ok(match calls <= settings.max_tool_calls {
        true => CodeJudgeResult::new(Score::ONE).hit("Efficient execution"),
        false => half.miss("Too many tool calls"),
    })
}

fn main() -> ExitCode {
    execution_metrics::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{agentv::TraceSummary, testing};

    use super::*;

    fn input(summary: TraceSummary) -> CodeJudgeInput {
        CodeJudgeInput::new("q", "a").with_trace_summary(summary)
    }

    #[test]
    fn tool_calls_up_to_the_limit_are_efficient() {
        let judged = |calls| {
            let settings = Settings { max_tool_calls: 4 };
            execution_metrics(&input(TraceSummary::new(calls)), Config(settings)).unwrap()
        };

        testing::agentv::assert_score(&judged(0), 1.0);
        testing::agentv::assert_score(&judged(4), 1.0);
        assert_eq!(judged(4).hits(), ["Efficient execution"]);
        testing::agentv::assert_score(&judged(5), 0.5);
        assert_eq!(judged(5).misses(), ["Too many tool calls"]);
        testing::agentv::assert_score(&judged(5000), 0.5);
    }

    #[test]
    fn without_a_trace_it_is_neither_good_nor_bad() {
        let input = CodeJudgeInput::new("q", "a");

        let result = testing::agentv::run(&execution_metrics::EVALUATOR, &input).unwrap();

        testing::agentv::assert_score(&result, 0.5);
        assert_eq!(result.reasoning.as_deref(), Some("No trace available"));
    }

    #[test]
    fn ten_calls_are_fine_unless_the_config_says_otherwise() {
        let score = |input: &CodeJudgeInput| {
            testing::agentv::run(&execution_metrics::EVALUATOR, input).unwrap().score.get()
        };

        assert_eq!(score(&input(TraceSummary::new(10))), 1.0);
        assert_eq!(score(&input(TraceSummary::new(11))), 0.5);
        assert_eq!(score(&input(TraceSummary::new(11)).with_config("max_tool_calls", 11)), 1.0);
    }

    #[test]
    fn a_trace_that_does_not_count_says_nothing() {
        let input = input(TraceSummary::default().cost_usd(0.5));

        let failure = testing::agentv::run(&execution_metrics::EVALUATOR, &input).unwrap_err();

        assert_eq!(failure.message(), "the trace does not say how many events there were");
    }
}
