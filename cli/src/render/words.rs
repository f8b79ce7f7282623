//! What is said of one evaluation in more than one form of report.

use std::{io, sync::Arc};

use evaluator_host::{
    json::Value,
    report::{EvaluationReport, Report},
};

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
        format!("{}, trace {}: {}", self.evaluator, self.trace_id, self.message())
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
    let mut text = match (evaluation.score, evaluation.threshold) {
        (Some(score), Some(threshold)) if score < threshold => {
            format!("score {score:.4} is below the threshold {threshold}")
        }
        (Some(_), _) if evaluation.failure_reason.is_some() => String::new(),
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
    if !below.is_empty() && !text.is_empty() {
        text.push_str(&format!(" ({})", below.join(", ")));
    }
    text
}

/// Lines of standard error that are shown beside an error.
const STDERR_LINES: usize = 20;

/// Why it broke, in full: the reason, and what it wrote to standard error, if that is not part of the reason.
pub(super) fn error_in_full(evaluation: &EvaluationReport) -> Option<String> {
    let error = evaluation.error.as_deref()?;
    Some(match stderr_beside(evaluation) {
        Some(stderr) => format!("{error}\nEvaluator stderr:\n{}", stderr.join("\n")),
        None => error.to_owned(),
    })
}

/// The last lines of what it wrote to standard error, where the error itself does not tell them.
pub(super) fn stderr_beside(evaluation: &EvaluationReport) -> Option<Vec<&str>> {
    let error = evaluation.error.as_deref()?;
    let stderr = evaluation.stderr.as_deref().filter(|stderr| !error.contains(stderr))?;
    let lines: Vec<&str> = stderr.lines().collect();
    Some(lines[lines.len().saturating_sub(STDERR_LINES)..].to_vec())
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
