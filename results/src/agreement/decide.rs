//! Whether kappa is high enough.

use evaluator_statistics::{Confusion, GateVerdict};

use super::model::{KappaEstimate, MinKappa};

/// Number of labels of each class below which nothing is decided: a few perfect ones have no standard error.
const LABELS: u64 = 30;

/// Decides whether kappa is at least the limit.
pub(super) fn decide(
    limit: f64,
    kappa: Option<&KappaEstimate>,
    confusion: Option<&Confusion>,
) -> MinKappa {
    let counts = confusion.copied().unwrap_or_default();
    let passes = counts.true_positives + counts.false_negatives;
    let failures = counts.true_negatives + counts.false_positives;
    let undecided = |reason| MinKappa { limit, verdict: GateVerdict::Inconclusive, reason };
    if passes.min(failures) < LABELS {
        return undecided(format!(
            "{passes} labels are passes and {failures} failures, and {LABELS} of each are needed"
        ));
    }
    let Some(kappa) = kappa else {
        return undecided("kappa is not defined, because both always say the same".to_owned());
    };
    let KappaEstimate { lower, upper, .. } = kappa;
    let reason = format!("kappa is {kappa}");
    let verdict = match (*lower >= limit, *upper < limit) {
        (true, _) => GateVerdict::Pass,
        (_, true) => GateVerdict::Fail,
        _ => GateVerdict::Inconclusive,
    };
    MinKappa { limit, verdict, reason }
}
