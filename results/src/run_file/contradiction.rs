//! Contradictions within the records of a run file. A checksum detects damaged lines, not forged ones.

use super::{EvaluatorEntry, Header};
use crate::{ALL_EVALUATORS, ConversationReport, EvaluationReport, Status, contradiction};

/// Returns a contradiction in a conversation of a run with this header; no run writes one.
pub(super) fn of_conversation(
    conversation: &ConversationReport,
    header: &Header,
) -> Option<&'static str> {
    let (evaluations, entries) = (&conversation.evaluations, &header.evaluators);
    if let [only] = &evaluations[..]
        && only.name == ALL_EVALUATORS
        && only.error.is_some()
    {
        return None;
    }
    let names = evaluations.iter().map(|evaluation| &evaluation.name);
    if !names.eq(entries.iter().map(|entry| &entry.name)) {
        return Some("its evaluations are not those of the evaluators in the header");
    }
    evaluations.iter().zip(entries).find_map(|(evaluation, entry)| of_evaluation(evaluation, entry))
}

/// Returns a contradiction in an evaluation of this evaluator; no run writes one.
pub(super) fn of_evaluation(
    evaluation: &EvaluationReport,
    entry: &EvaluatorEntry,
) -> Option<&'static str> {
    if !evaluation.repeats.is_empty() {
        return of_combination(evaluation, entry);
    }
    let EvaluationReport { score, threshold, status, failure_reason, warnings, .. } = evaluation;
    // Each case of a suite has a threshold of its own.
    let is_other = |threshold: f64| threshold != entry.threshold && entry.kind != "suite";
    if threshold.is_some_and(is_other) {
        return Some("a threshold is not that of the evaluator in the header");
    }
    if *status != Status::NotEvaluated && score.is_some_and(|score| !(0.0..=1.0).contains(&score)) {
        return Some("a score is not from 0 to 1");
    }
    if *status != Status::Passed {
        return None;
    }
    if failure_reason.is_some() {
        return Some("an evaluation has passed, and has a reason why it failed");
    }
    // A metric has a rule of its own, such as that every turn has to pass.
    if matches!(&*entry.kind, "builtin" | "grader") {
        return None;
    }
    // The answer of a program may contain such a contradiction; its evaluation then has a warning.
    let below = contradiction(*status, *score, threshold.unwrap_or(entry.threshold));
    let is_below = below.is_some_and(|warning| !warnings.contains(&warning));
    is_below.then_some("an evaluation has passed with a score below its threshold")
}

/// Returns a contradiction in an evaluation that combines repeats, or in one of these.
fn of_combination(evaluation: &EvaluationReport, entry: &EvaluatorEntry) -> Option<&'static str> {
    let is_nested = |repeat: &EvaluationReport| !repeat.repeats.is_empty();
    let combined = EvaluationReport::combine(evaluation.repeats.clone());
    let decides = |it: &EvaluationReport| (it.outcome(), it.score.map(f64::to_bits));
    if evaluation.repeats.iter().any(is_nested) || decides(&combined) != decides(evaluation) {
        return Some("an evaluation is not what its repeats amount to");
    }
    evaluation.repeats.iter().find_map(|repeat| of_evaluation(repeat, entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_decides_by_its_score_cannot_pass_below_its_threshold() {
        let evaluation = EvaluationReport {
            score: Some(0.25),
            threshold: Some(0.5),
            status: Status::Passed,
            ..EvaluationReport::new("check")
        };
        for (kind, is_consistent) in [
            ("code", false),
            ("linked", false),
            ("judge", false),
            ("builtin", true),
            ("grader", true),
        ] {
            let (name, kind) = ("check".to_owned(), kind.to_owned());
            let entry = EvaluatorEntry { name, kind, threshold: 0.5, ..EvaluatorEntry::default() };
            assert_eq!(of_evaluation(&evaluation, &entry).is_none(), is_consistent, "{entry:?}");
            let beyond = EvaluationReport { score: Some(7.5), ..evaluation.clone() };
            assert_eq!(of_evaluation(&beyond, &entry), Some("a score is not from 0 to 1"));
        }
    }
}
