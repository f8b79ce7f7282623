//! Blocks with performance metrics.

use std::fmt::Write as _;

use evaluator_host::conversation::{PerformanceMetrics, RunPerformance, Stats};

use super::{plain::one_line, words::milliseconds};

/// Writes the block below the table of a conversation.
pub(super) fn conversation(text: &mut String, metrics: &PerformanceMetrics) {
    text.push_str("  Performance Metrics:\n");
    if !metrics.models.is_empty() {
        let _ = writeln!(text, "    Model: {}", one_line(&metrics.models.join(", ")));
    }
    let counts = &metrics.counts;
    let counts = [
        (counts.llm_calls, "LLM calls"),
        (counts.tool_calls, "tool calls"),
        (counts.invocations, "invocations"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, noun)| format!("{n} {noun}")).collect();
    if !counts.is_empty() {
        let _ = writeln!(text, "    Counts: {}", counts.join(", "));
    }
    latency(text, "Overall", &metrics.latency.overall);
    latency(text, "LLM", &metrics.latency.llm_calls);
    latency(text, "Tool", &metrics.latency.tool_executions);
    let tokens = &metrics.tokens;
    let cache = match cache(tokens.cache_read_tokens, tokens.cache_creation_tokens) {
        cache if cache.is_empty() => cache,
        cache => format!(" [{cache}]"),
    };
    let (total, prompt, output) = (tokens.total, tokens.total_prompt, tokens.total_output);
    let _ = writeln!(text, "    Tokens: {total} total ({prompt} prompt + {output} output){cache}");
    text.push('\n');
}

/// Writes the block at the end of a report.
pub(super) fn run(text: &mut String, run: &RunPerformance) {
    let counts = &run.counts;
    text.push_str("Overall Performance:\n");
    let _ = writeln!(
        text,
        "  Traces: {}, LLM Calls: {}, Tool Calls: {}",
        counts.traces, counts.total_llm_calls, counts.total_tool_calls
    );
    if !run.models.is_empty() {
        let _ = writeln!(text, "  Models: {}", one_line(&run.models.join(", ")));
    }
    if let Some(latency) = run.latency.overall_per_trace.filter(|latency| latency.p50 > 0.0) {
        let [p50, p95, p99] = [latency.p50, latency.p95, latency.p99].map(milliseconds);
        let _ = writeln!(text, "  Latency per Trace: p50={p50}, p95={p95}, p99={p99}");
    }
    let tokens = &run.tokens;
    let (total, prompt, output) = (tokens.total, tokens.total_prompt, tokens.total_output);
    let _ = writeln!(text, "  Total Tokens: {total} ({prompt} prompt + {output} output)");
    let per_trace = &tokens.avg_per_trace;
    let _ = writeln!(
        text,
        "  Avg per Trace: {:.0} prompt, {:.0} output",
        per_trace.prompt, per_trace.output
    );
    let cache = cache(tokens.cache_read_tokens, tokens.cache_creation_tokens);
    if !cache.is_empty() {
        let _ = writeln!(text, "  Cache Tokens: {cache}");
    }
    text.push('\n');
}

fn latency(text: &mut String, name: &str, stats: &Stats) {
    if stats.count > 0 {
        let [min, median, max] = [stats.min, stats.median, stats.max].map(milliseconds);
        let _ = writeln!(text, "    {name} Latency: min={min}, median={median}, max={max}");
    }
}

/// Returns the numbers of tokens read from and written to a cache, unless they are zero.
fn cache(read: i64, written: i64) -> String {
    let counts = [(read, "cache read"), (written, "cache write")];
    let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, noun)| format!("{n} {noun}"));
    counts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_cached_is_named() {
        assert_eq!(cache(0, 0), "");
        assert_eq!(cache(6, 0), "6 cache read");
        assert_eq!(cache(0, 5), "5 cache write");
        assert_eq!(cache(6, 5), "6 cache read, 5 cache write");
    }

    #[test]
    fn tokens_are_shown_even_if_there_are_none() {
        let mut text = String::new();
        conversation(&mut text, &PerformanceMetrics::default());
        assert_eq!(text, "  Performance Metrics:\n    Tokens: 0 total (0 prompt + 0 output)\n\n");
    }
}
