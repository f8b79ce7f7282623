//! What is said of one evaluation in more than one form of report.

use evaluator_host::{json::Value, report::EvaluationReport};

/// Why an evaluation failed: its score, what was asked for, and the turns below it.
pub(super) fn failure(evaluation: &EvaluationReport) -> String {
    let mut text = match (evaluation.score, evaluation.threshold) {
        (Some(score), Some(threshold)) if score < threshold => {
            format!("score {score:.4} is below the threshold {threshold}")
        }
        // The evaluator decided, whatever the threshold is.
        (Some(score), _) => format!("failed by the evaluator itself, with score {score:.4}"),
        (None, _) => "failed without a score".to_owned(),
    };
    let below: Vec<String> = (1..)
        .zip(&evaluation.per_invocation_scores)
        .filter_map(|(turn, score)| {
            let score = score
                .filter(|score| evaluation.threshold.is_some_and(|threshold| *score < threshold))?;
            Some(format!("turn {turn}: {score:.4}"))
        })
        .collect();
    if !below.is_empty() {
        text.push_str(&format!(" ({})", below.join(", ")));
    }
    text
}

/// Why nothing was judged, in the evaluator's words if it has any.
pub(super) fn reason(evaluation: &EvaluationReport) -> String {
    let details = evaluation.details.as_ref();
    let reason = details.and_then(|details| details.get("reason")).and_then(Value::as_str);
    reason.unwrap_or("not evaluated").to_owned()
}
