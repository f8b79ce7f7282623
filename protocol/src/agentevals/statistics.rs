//! Statistics of measured values, in the form in which agentevals gives them.

use serde_json::{Value, json};

/// Sums up values: the median is the mean of the middle two, a percentile is the value at that share of the sorted list.
pub(crate) fn statistics(mut values: Vec<f64>) -> Value {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let at = |index: usize| values.get(index).or(values.last()).copied().unwrap_or_default();
    let percentile = |share: f64| at((count as f64 * share) as usize);
    let median = (at(count.saturating_sub(1) / 2) + at(count / 2)) / 2.0;
    json!({
        "min": at(0),
        "median": median,
        "max": at(count),
        "count": count,
        "p50": median,
        "p95": percentile(0.95),
        "p99": percentile(0.99),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_summed_up_as_agentevals_does() {
        let summed = |values: &[f64]| statistics(values.to_vec());
        assert_eq!(
            summed(&[250.0]),
            json!({"min": 250.0, "median": 250.0, "max": 250.0, "count": 1, "p50": 250.0, "p95": 250.0, "p99": 250.0})
        );
        assert_eq!(
            summed(&[4.0, 1.0, 3.0, 2.0]),
            json!({"min": 1.0, "median": 2.5, "max": 4.0, "count": 4, "p50": 2.5, "p95": 4.0, "p99": 4.0})
        );
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(summed(&hundred)["p95"], 96.0);
        assert_eq!(
            summed(&[]),
            json!({"min": 0.0, "median": 0.0, "max": 0.0, "count": 0, "p50": 0.0, "p95": 0.0, "p99": 0.0})
        );
    }
}
