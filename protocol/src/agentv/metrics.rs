//! Performance metrics of a conversation, in the terms of the default contract.

use serde_json::{Value, json};

use super::{CodeJudgeInput, TraceSummary};
use crate::{JsonObject, agentevals::statistics};

/// Returns the metrics, under the names of agentevals where they exist and those of AgentV otherwise; `None` when nothing was
/// measured.
pub(super) fn of(document: &CodeJudgeInput, turns: usize) -> Option<JsonObject> {
    let unknown = TraceSummary::default();
    let summary = document.trace_summary().unwrap_or(&unknown);
    let mut metrics = JsonObject::new();
    put(&mut metrics, "latency", latency(document, summary));
    put(&mut metrics, "tokens", tokens(document));
    let counted =
        [("llm_calls", summary.llm_call_count), ("tool_calls", tool_calls(document, summary))];
    let counts: JsonObject = counted
        .into_iter()
        .filter_map(|(key, count)| Some((key.to_owned(), count?.into())))
        .collect();
    put(&mut metrics, "counts", counts);
    put_value(&mut metrics, "event_count", summary.event_count);
    put_value(&mut metrics, "error_count", summary.error_count);
    put_value(&mut metrics, "cost_usd", document.cost_usd());
    put_value(&mut metrics, "start_time", document.start_time());
    put_value(&mut metrics, "end_time", document.end_time());
    if !summary.tool_names.is_empty() {
        let mut names = summary.tool_names.clone();
        names.sort();
        metrics.insert("tool_names".to_owned(), json!(names));
    }
    put(&mut metrics, "tool_calls_by_name", object(&summary.tool_calls_by_name));
    put(&mut metrics, "tool_durations", object(&summary.tool_durations));
    if metrics.is_empty() {
        return None;
    }
    if let Some(Value::Object(counts)) = metrics.get_mut("counts") {
        counts.insert("invocations".to_owned(), turns.into());
    }
    Some(metrics)
}

/// Returns the number of calls in the transcript, or in the summary.
fn tool_calls(document: &CodeJudgeInput, summary: &TraceSummary) -> Option<u64> {
    let by_name = &summary.tool_calls_by_name;
    let counted = (!by_name.is_empty())
        .then(|| by_name.values().fold(0, |sum: u64, calls| sum.saturating_add(*calls)));
    // Without a trace nothing was measured, and evaluators can count the calls in the turns.
    document.trace_summary()?;
    counted.or_else(|| u64::try_from(document.tool_calls()?.count()).ok())
}

fn latency(document: &CodeJudgeInput, summary: &TraceSummary) -> JsonObject {
    let mut latency = JsonObject::new();
    let overall: Vec<f64> = document.duration_ms().into_iter().collect();
    let tools: Vec<f64> = summary.tool_durations.values().flatten().copied().collect();
    for (key, durations) in [("overall", overall), ("tool_executions", tools)] {
        if !durations.is_empty() {
            latency.insert(key.to_owned(), statistics(durations));
        }
    }
    latency
}

fn tokens(document: &CodeJudgeInput) -> JsonObject {
    let Some(usage) = document.token_usage() else { return JsonObject::new() };
    let mut tokens = usage.other.clone();
    put_value(&mut tokens, "total_prompt", usage.input);
    put_value(&mut tokens, "total_output", usage.output);
    if let (Some(input), Some(output)) = (usage.input, usage.output) {
        tokens.insert("total".to_owned(), input.saturating_add(output).into());
    }
    put_value(&mut tokens, "cache_read_tokens", usage.cached);
    tokens
}

fn object<V: Clone + Into<Value>>(map: &std::collections::BTreeMap<String, V>) -> JsonObject {
    map.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect()
}

fn put(metrics: &mut JsonObject, key: &str, part: JsonObject) {
    if !part.is_empty() {
        metrics.insert(key.to_owned(), part.into());
    }
}

fn put_value(metrics: &mut JsonObject, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        metrics.insert(key.to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_measured_is_nothing() {
        assert_eq!(of(&CodeJudgeInput::new("q", "a"), 1), None);
        // A missing number is not 0.
        let timed = CodeJudgeInput::from_json(br#"{"output": "a", "duration_ms": 5}"#).unwrap();
        let metrics = of(&timed, 1).unwrap();
        assert_eq!(metrics.keys().collect::<Vec<_>>(), ["latency"]);
    }
}
