//! What is known of a turn that can be measured.

use crate::conversation::{LlmCall, ToolCall, Turn, Usage};

/// The facts of one turn; what is `None` was not recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Calls of tools.
    pub(super) tool_calls: usize,
    /// Calls of models.
    pub(super) inference_calls: Option<usize>,
    /// Token counts of each call that has any.
    pub(super) usage: Vec<TokenCounts>,
    /// From the start of the turn to its end, in seconds.
    pub(super) seconds: Option<f64>,
    /// How much of that a model was running.
    pub(super) model_seconds: Option<f64>,
    /// How much of that a tool was running.
    pub(super) tool_seconds: Option<f64>,
}

/// Token counts of one call of a model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TokenCounts {
    pub(super) prompt: Option<i64>,
    /// Results of tools that the prompt holds beside its text.
    pub(super) tool_use: Option<i64>,
    pub(super) candidates: Option<i64>,
    pub(super) reasoning: Option<i64>,
    /// How many of the prompt's tokens came from a cache.
    pub(super) cached: Option<i64>,
}

impl Facts {
    /// What a recording says of a turn.
    ///
    /// Spans do not tell tokens of reasoning and of tool results apart from the others, so those two stay unknown.
    pub(super) fn of(turn: &Turn) -> Self {
        let calls = &turn.llm_calls;
        // What a model does for a tool happens while the tool runs, and is counted there.
        let own = calls.iter().filter(|call| !call.delegated);
        let own: Vec<(i128, i128)> =
            own.map(|call: &LlmCall| (call.start_ns, call.end_ns)).collect();
        let tools: Option<Vec<(i128, i128)>> =
            turn.tool_calls.iter().map(|call: &ToolCall| call.span).collect();
        Self {
            tool_calls: turn.tool_calls.len(),
            inference_calls: Some(calls.len()).filter(|calls| *calls > 0),
            usage: calls.iter().filter_map(|call| call.usage.map(TokenCounts::of)).collect(),
            seconds: Some(seconds(turn.end_ns.saturating_sub(turn.start_ns)))
                .filter(|seconds| *seconds >= 0.0),
            model_seconds: (!own.is_empty()).then(|| seconds(covered(own))),
            // Calls without a span took a time that nobody wrote down.
            tool_seconds: tools.map(|tools| seconds(covered(tools))),
        }
    }
}

impl TokenCounts {
    fn of(usage: Usage) -> Self {
        Self {
            prompt: Some(usage.input_tokens),
            candidates: Some(usage.output_tokens),
            // A zero says either that nothing was cached or that nobody counted.
            cached: Some(usage.cache_read_tokens).filter(|tokens| *tokens > 0),
            ..Self::default()
        }
    }
}

/// Length of the union: what runs at the same time is counted once.
fn covered(mut intervals: Vec<(i128, i128)>) -> i128 {
    intervals.sort_unstable();
    let mut total: i128 = 0;
    let mut until = i128::MIN;
    for (start, end) in intervals {
        let start = start.max(until);
        if end > start {
            total = total.saturating_add(end.saturating_sub(start));
            until = end;
        }
    }
    total
}

/// Nanoseconds in seconds, to the millisecond.
fn seconds(nanoseconds: i128) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "rounded to the millisecond anyway")]
    super::measure::round_to_milli(nanoseconds as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_at_the_same_time_is_counted_once() {
        assert_eq!(covered(vec![]), 0);
        assert_eq!(covered(vec![(5, 9), (0, 2)]), 6);
        assert_eq!(covered(vec![(0, 10), (2, 4), (8, 12), (12, 13)]), 13);
        assert_eq!(covered(vec![(3, 1), (1, 2)]), 1);
        assert_eq!(covered(vec![(i128::MIN, i128::MAX)]), i128::MAX);
    }
}
