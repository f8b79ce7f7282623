//! Metrics: those that are computed, and those that a model judges.

use evaluator_judging::judge::JudgeMetric;
pub use evaluator_metrics::*;

/// Returns all built-in metrics.
pub fn built_in() -> Metrics {
    let mut metrics = Metrics::default();
    JudgeMetric::all().for_each(|metric| metrics.register(metric));
    metrics
}
