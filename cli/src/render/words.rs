//! What is said of one evaluation in more than one form of report.

use std::{io, sync::Arc};

use evaluator_host::{
    json::Value,
    report::{EvaluationReport, Report},
};

use super::plain::one_line;

/// What the answers of an evaluator say against themselves: the first such answer, and how many things more there are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Contradictions {
    pub(super) evaluator: String,
    pub(super) trace_id: Arc<str>,
    pub(super) first: String,
    pub(super) more: usize,
}

impl Contradictions {
    /// Whose they are, and the first one.
    pub(super) fn sentence(&self) -> String {
        let text = format!("{}, trace {}: {}", self.evaluator, self.trace_id, self.message());
        one_line(&text).into_owned()
    }

    /// The first one, and how many more there are.
    pub(super) fn message(&self) -> String {
        match self.more {
            0 => self.first.clone(),
            more => format!("{} (and {more} more of its kind)", self.first),
        }
    }
}

/// One for each evaluator that has some, in the order of the report.
pub(super) fn contradictions(report: &Report) -> io::Result<Vec<Contradictions>> {
    let mut found: Vec<Contradictions> = Vec::new();
    if report.conversations.warnings() == 0 {
        return Ok(found);
    }
    for conversation in &report.conversations {
        let conversation = conversation?;
        for evaluation in conversation.evaluations {
            let more = evaluation.warnings.len();
            let Some(first) = evaluation.warnings.into_iter().next() else { continue };
            match found.iter_mut().find(|known| known.evaluator == evaluation.name) {
                Some(known) => known.more += more,
                None => found.push(Contradictions {
                    evaluator: evaluation.name,
                    trace_id: Arc::clone(&conversation.trace_id),
                    first,
                    more: more - 1,
                }),
            }
        }
    }
    Ok(found)
}

/// What is wrong with a golden case that no conversation was compared with.
pub(super) const NO_RECORDING: &str = "golden case without a recording";

/// Golden cases that are named one by one.
const UNRECORDED: usize = 20;

/// The golden cases without a recording, by their ids in quotes; the last line counts those beyond the first ones.
pub(super) fn unrecorded(report: &Report) -> Vec<String> {
    let cases = &report.unrecorded_cases;
    let shown = cases.iter().take(UNRECORDED).map(|case| format!("{case:?}"));
    let more = cases.len().saturating_sub(UNRECORDED);
    shown.chain((more > 0).then(|| format!("and {more} more"))).collect()
}

/// A score with four decimals, or with as many as it takes to see on which side of the threshold it is.
pub(super) fn score_text(score: f64, threshold: Option<f64>) -> String {
    let Some(threshold) = threshold else { return format!("{score:.4}") };
    let is_told = |text: &String| {
        text.parse::<f64>().is_ok_and(|shown| (shown < threshold) == (score < threshold))
    };
    (4..=17)
        .map(|decimals| format!("{score:.decimals$}"))
        .find(is_told)
        .unwrap_or_else(|| score.to_string())
}

/// Why an evaluation failed: what is missing; its score, what was asked for, and the turns below it.
pub(super) fn failure(evaluation: &EvaluationReport) -> String {
    let score = score_of_failure(evaluation);
    match &evaluation.failure_reason {
        Some(reason) if score.is_empty() => reason.clone(),
        Some(reason) => format!("{reason}; {score}"),
        None => score,
    }
}

/// The score of a failure, what was asked for, and the turns below it; empty where the score is good enough.
fn score_of_failure(evaluation: &EvaluationReport) -> String {
    let threshold = evaluation.threshold;
    let mut text = match (evaluation.score, threshold) {
        (Some(score), Some(asked)) if score < asked => {
            format!("score {} is below the threshold {asked}", score_text(score, threshold))
        }
        (Some(_), _) if evaluation.failure_reason.is_some() => String::new(),
        // The evaluator decided, whatever the threshold is.
        (Some(score), _) => format!("failed by the evaluator itself, with score {score:.4}"),
        (None, _) => "failed without a score".to_owned(),
    };
    let below: Vec<String> = (1..)
        .zip(&evaluation.per_invocation_scores)
        .filter_map(|(turn, score)| {
            let score = score.filter(|score| threshold.is_some_and(|asked| *score < asked))?;
            Some(format!("turn {turn}: {}", score_text(score, threshold)))
        })
        .collect();
    if !below.is_empty() && !text.is_empty() {
        text.push_str(&format!(" ({})", below.join(", ")));
    }
    text
}

/// What kind of error it is, in a word.
pub(super) fn kind(evaluation: &EvaluationReport) -> &'static str {
    evaluation.error_type.unwrap_or("error")
}

/// Why nothing was judged, in the evaluator's words if it has any.
pub(super) fn reason(evaluation: &EvaluationReport) -> String {
    let details = evaluation.details.as_ref();
    let reason = details.and_then(|details| details.get("reason")).and_then(Value::as_str);
    reason.unwrap_or("not evaluated").to_owned()
}

/// An error outside of any conversation, and what lies behind it.
pub(super) fn with_cause(error: &str, cause: Option<&str>) -> String {
    match cause {
        Some(cause) => format!("{error} ({cause})"),
        None => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_shown_on_its_side_of_the_threshold() {
        for (score, threshold, text) in [
            (0.5, None, "0.5000"),
            (0.8, Some(0.8), "0.8000"),
            (0.799_999, Some(0.8), "0.799999"),
            (0.999_96, Some(1.0), "0.99996"),
            (0.3, Some(0.1 + 0.2), "0.3000"),
            (0.1 + 0.2, Some(0.3), "0.3000"),
            (1.0 / 3.0, Some(0.333_33), "0.33333"),
            (0.0, Some(f64::MIN_POSITIVE), "0.0000"),
            (0.0, Some(0.5), "0.0000"),
        ] {
            assert_eq!(score_text(score, threshold), text, "{score} {threshold:?}");
        }
    }
}
