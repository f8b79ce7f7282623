//! Latencies, tokens and counts of a conversation, in the form in which agentevals gives them.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Invocation, usage::sum};
use crate::{JsonObject, agentevals::statistics};

/// What was measured; `None` when nothing was.
///
/// | key | from |
/// |---|---|
/// | `latency.overall` | `duration`, as milliseconds, over the turns |
/// | `latency.model_per_turn`, `latency.tools_per_turn` | `model_duration` and `tool_duration`, likewise; agentevals has single calls instead (`llm_calls`, `tool_executions`), which ADK does not measure |
/// | `tokens.total_prompt`, `total_output`, `total` | input and output of the model calls, with results of tools and thoughts |
/// | `tokens.per_llm_call` | their sum over the model calls that have any |
/// | `tokens.cache_read_tokens` | `cached_content_token_count` |
/// | `counts` | model calls (where there are events), calls of tools, turns |
/// | `models`, `tool_names` | names, sorted |
pub(super) fn metrics(turns: &[Invocation]) -> Option<JsonObject> {
    let mut metrics = JsonObject::new();
    let latency = latency(turns);
    let events = || turns.iter().flat_map(Invocation::events);
    let calls = events().filter(|event| event.is_model_call()).count();
    if latency.is_empty() && calls == 0 {
        return None;
    }
    if !latency.is_empty() {
        metrics.insert("latency".to_owned(), latency.into());
    }
    let usage: Vec<_> = events().filter_map(|event| event.usage_metadata.as_ref()).collect();
    let input = sum(usage.iter().map(|usage| usage.input_tokens()));
    let output = sum(usage.iter().map(|usage| usage.output_tokens()));
    if let Some(total) = sum([input, output]) {
        let of_call =
            usage.iter().filter_map(|usage| sum([usage.input_tokens(), usage.output_tokens()]));
        let cached = sum(usage.iter().map(|usage| usage.cached_content_token_count));
        let tokens = json!({
            "total_prompt": input.unwrap_or_default(),
            "total_output": output.unwrap_or_default(),
            "total": total,
            "per_llm_call": statistics(of_call.map(|tokens| tokens as f64).collect()),
            "cache_read_tokens": cached.unwrap_or_default(),
        });
        metrics.insert("tokens".to_owned(), tokens);
    }
    let mut counts = JsonObject::new();
    if calls > 0 {
        counts.insert("llm_calls".to_owned(), calls.into());
    }
    let tools = || turns.iter().flat_map(Invocation::tool_uses);
    counts.insert("tool_calls".to_owned(), tools().count().into());
    counts.insert("invocations".to_owned(), turns.len().into());
    metrics.insert("counts".to_owned(), counts.into());
    let models: BTreeSet<&str> =
        events().filter_map(|event| event.model_version.as_deref()).collect();
    metrics.insert("models".to_owned(), models.into_iter().collect());
    let names: BTreeSet<&str> = tools().filter_map(|call| call.name.as_deref()).collect();
    metrics.insert("tool_names".to_owned(), names.into_iter().collect());
    Some(metrics)
}

fn latency(turns: &[Invocation]) -> JsonObject {
    let measured = |seconds: fn(&Invocation) -> Option<f64>| -> Vec<f64> {
        turns.iter().filter_map(seconds).map(|seconds| seconds * 1000.0).collect()
    };
    [
        ("overall", measured(|turn| turn.duration)),
        ("model_per_turn", measured(|turn| turn.model_duration)),
        ("tools_per_turn", measured(|turn| turn.tool_duration)),
    ]
    .into_iter()
    .filter(|(_, values)| !values.is_empty())
    .map(|(name, values)| (name.to_owned(), statistics(values)))
    .collect()
}
