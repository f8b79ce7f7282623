//! Latencies, token counts and call counts.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};

use super::{Counts, Latency, LlmCall, PerformanceMetrics, Stats, Tokens, Turn};
use crate::trace::Trace;

/// Measures a conversation. Without turns the roots of the traces stand for them.
pub(super) fn measure(turns: &[Turn], traces: &[&Trace]) -> PerformanceMetrics {
    let calls = || turns.iter().flat_map(|turn| &turn.llm_calls);
    let tools = || turns.iter().flat_map(|turn| &turn.tool_calls);
    let overall = if turns.is_empty() {
        let roots =
            traces.iter().flat_map(|trace| trace.roots.iter().map(|&root| &trace.spans[root]));
        Stats::of(roots.map(|span| milliseconds(span.end_ns.saturating_sub(span.start_ns).max(0))))
    } else {
        Stats::of(turns.iter().map(|turn| milliseconds(turn.end_ns.saturating_sub(turn.start_ns))))
    };
    PerformanceMetrics {
        latency: Latency {
            overall,
            llm_calls: Stats::of(
                calls().map(|call| milliseconds(call.end_ns.saturating_sub(call.start_ns))),
            ),
            tool_executions: Stats::of(
                tools()
                    .filter_map(|tool| tool.span)
                    .map(|(start, end)| milliseconds(end.saturating_sub(start).max(0))),
            ),
        },
        tokens: tokens(calls()),
        counts: Counts {
            llm_calls: calls().count(),
            tool_calls: tools().count(),
            invocations: turns.len(),
        },
        models: sorted(
            calls().filter_map(|call| {
                call.request_model.as_deref().or(call.response_model.as_deref())
            }),
        ),
        tool_names: sorted(tools().map(|tool| tool.name.as_str())),
    }
}

fn tokens<'a>(calls: impl Iterator<Item = &'a LlmCall>) -> Tokens {
    let mut tokens = Tokens::default();
    let mut per_call = Vec::new();
    for usage in calls.filter_map(|call| call.usage) {
        let total = usage.input_tokens.saturating_add(usage.output_tokens);
        tokens.total_prompt = tokens.total_prompt.saturating_add(usage.input_tokens);
        tokens.total_output = tokens.total_output.saturating_add(usage.output_tokens);
        tokens.total = tokens.total.saturating_add(total);
        tokens.cache_creation_tokens =
            tokens.cache_creation_tokens.saturating_add(usage.cache_creation_tokens);
        tokens.cache_read_tokens = tokens.cache_read_tokens.saturating_add(usage.cache_read_tokens);
        per_call.push(float(i128::from(total)));
    }
    tokens.per_llm_call = Stats::of(per_call);
    tokens
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
}

fn milliseconds(nanoseconds: i128) -> f64 {
    float(nanoseconds) / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "statistics are floats on the wire")]
fn float(int: i128) -> f64 {
    int as f64
}

impl Stats {
    /// The statistics of a sample.
    pub fn of(sample: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = sample.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Self::default();
        };
        let count = sorted.len();
        let middle = count / 2;
        let median = if count % 2 == 1 {
            sorted[middle]
        } else {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        };
        Self {
            min,
            median,
            max,
            count,
            p50: median,
            p95: percentile(&sorted, 0.95),
            p99: percentile(&sorted, 0.99),
        }
    }
}

/// The value at index `floor(n * part)` of a sorted, non-empty sample.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "an index below the length"
)]
fn percentile(sorted: &[f64], part: f64) -> f64 {
    let index = (sorted.len() as f64 * part) as usize;
    sorted[index.min(sorted.len() - 1)]
}

/// Latencies, token counts and call counts of all conversations of a run, in the wire's shape.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunPerformance {
    /// Token counts.
    pub tokens: RunTokens,
    /// Latencies in milliseconds.
    pub latency: RunLatency,
    /// Call counts.
    pub counts: RunCounts,
    /// Sorted names of the models used.
    pub models: Vec<String>,
    /// Number of conversations that were measured.
    pub trace_count: usize,
}

/// Token counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunTokens {
    /// Prompt tokens of all calls.
    pub total_prompt: i64,
    /// Completion tokens of all calls.
    pub total_output: i64,
    /// Both.
    pub total: i64,
    /// Per conversation that was measured.
    pub avg_per_trace: TokensPerTrace,
    /// Tokens written to the prompt cache.
    pub cache_creation_tokens: i64,
    /// Tokens read from the prompt cache.
    pub cache_read_tokens: i64,
}

/// Mean token counts of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TokensPerTrace {
    /// Prompt tokens.
    pub prompt: f64,
    /// Completion tokens.
    pub output: f64,
}

/// Latencies of a run in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunLatency {
    /// Over the median turn of each conversation; `None`, on the wire `{}`, when there is none.
    #[serde(serialize_with = "or_empty_object")]
    pub overall_per_trace: Option<Percentiles>,
}

/// Percentiles of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// Call counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunCounts {
    /// Conversations reported, whether measured or not.
    pub traces: usize,
    /// Logical LLM calls.
    pub total_llm_calls: usize,
    /// Tool calls.
    pub total_tool_calls: usize,
    /// LLM calls per conversation reported.
    pub avg_llm_calls_per_trace: f64,
    /// Tool calls per conversation reported.
    pub avg_tool_calls_per_trace: f64,
}

fn or_empty_object<S: Serializer>(
    percentiles: &Option<Percentiles>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match percentiles {
        Some(percentiles) => percentiles.serialize(serializer),
        None => serializer.collect_map::<&str, f64, _>([]),
    }
}

impl RunPerformance {
    /// Sums up the conversations of a run; `None` stands for one that could not be measured.
    ///
    /// `None` when none was measured.
    pub fn of<'a>(
        conversations: impl IntoIterator<Item = Option<&'a PerformanceMetrics>>,
    ) -> Option<Self> {
        let mut sums = RunSums::default();
        conversations.into_iter().for_each(|conversation| sums.add(conversation));
        sums.finish()
    }
}

/// [`RunPerformance`] while conversations are still added to it, in any order.
#[derive(Clone, Debug, Default)]
pub struct RunSums {
    run: RunPerformance,
    models: BTreeSet<String>,
    /// Wider than what they are sums of, so that the order does not decide where they end.
    tokens: [i128; 5],
    /// The median latency of each conversation.
    medians: Vec<f64>,
}

impl RunSums {
    /// Adds a conversation; `None` stands for one that could not be measured.
    pub fn add(&mut self, conversation: Option<&PerformanceMetrics>) {
        let run = &mut self.run;
        run.counts.traces += 1;
        let Some(PerformanceMetrics { latency, tokens, counts, models, .. }) = conversation else {
            return;
        };
        run.trace_count += 1;
        let counts_of_tokens = [
            tokens.total_prompt,
            tokens.total_output,
            tokens.total,
            tokens.cache_creation_tokens,
            tokens.cache_read_tokens,
        ];
        for (sum, count) in self.tokens.iter_mut().zip(counts_of_tokens) {
            *sum = sum.saturating_add(i128::from(count));
        }
        for (sum, count) in [
            (&mut run.counts.total_llm_calls, counts.llm_calls),
            (&mut run.counts.total_tool_calls, counts.tool_calls),
        ] {
            *sum = sum.saturating_add(count);
        }
        for model in models {
            if !self.models.contains(model) {
                self.models.insert(model.clone());
            }
        }
        if latency.overall.count > 0 {
            self.medians.push(latency.overall.median);
        }
    }

    /// `None` when no conversation was measured.
    pub fn finish(self) -> Option<RunPerformance> {
        let Self { mut run, models, tokens, medians } = self;
        if run.trace_count == 0 {
            return None;
        }
        let [total_prompt, total_output, total, cache_creation_tokens, cache_read_tokens] =
            tokens.map(nearest);
        run.tokens = RunTokens {
            total_prompt,
            total_output,
            total,
            avg_per_trace: TokensPerTrace {
                prompt: mean(i128::from(total_prompt), run.trace_count),
                output: mean(i128::from(total_output), run.trace_count),
            },
            cache_creation_tokens,
            cache_read_tokens,
        };
        let per_trace = |total: usize| mean(total as i128, run.counts.traces);
        run.counts.avg_llm_calls_per_trace = per_trace(run.counts.total_llm_calls);
        run.counts.avg_tool_calls_per_trace = per_trace(run.counts.total_tool_calls);
        if !medians.is_empty() {
            let Stats { p50, p95, p99, .. } = Stats::of(medians);
            run.latency.overall_per_trace = Some(Percentiles { p50, p95, p99 });
        }
        run.models = models.into_iter().collect();
        Some(run)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "it is within the bounds")]
fn nearest(sum: i128) -> i64 {
    sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

fn mean(sum: i128, count: usize) -> f64 {
    float(sum) / float(count as i128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_the_sample() {
        let stats = Stats::of((1..=20).rev().map(f64::from));
        assert_eq!((stats.min, stats.median, stats.max, stats.count), (1.0, 10.5, 20.0, 20));
        assert_eq!((stats.p50, stats.p95, stats.p99), (10.5, 20.0, 20.0));
        assert_eq!(Stats::of((1..=100).map(f64::from)).p95, 96.0);
        assert_eq!(Stats::of([7.0]).p99, 7.0);
        assert_eq!(Stats::of([]), Stats::default());
    }

    #[test]
    fn a_run_counts_conversations_that_could_not_be_measured() {
        let metrics = PerformanceMetrics {
            latency: Latency { overall: Stats::of([10.0]), ..Latency::default() },
            tokens: Tokens { total_prompt: 3, total_output: 1, total: 4, ..Tokens::default() },
            counts: Counts { llm_calls: 2, tool_calls: 1, invocations: 1 },
            models: vec!["m".to_owned()],
            ..PerformanceMetrics::default()
        };
        let run = RunPerformance::of([Some(&metrics), None]).unwrap();
        let expected = r#"{"tokens":{"total_prompt":3,"total_output":1,"total":4,"avg_per_trace":{"prompt":3.0,"output":1.0},"cache_creation_tokens":0,"cache_read_tokens":0},"latency":{"overall_per_trace":{"p50":10.0,"p95":10.0,"p99":10.0}},"counts":{"traces":2,"total_llm_calls":2,"total_tool_calls":1,"avg_llm_calls_per_trace":1.0,"avg_tool_calls_per_trace":0.5},"models":["m"],"trace_count":1}"#;
        assert_eq!(serde_json::to_string(&run).unwrap(), expected);
        assert_eq!(RunPerformance::of([None]), None);
        let unmeasured = RunPerformance::of([Some(&PerformanceMetrics::default())]).unwrap();
        let latency = serde_json::to_string(&unmeasured.latency).unwrap();
        assert_eq!(latency, r#"{"overall_per_trace":{}}"#);
    }
}
