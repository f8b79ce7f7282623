//! Counts of a report, collected while its conversations are written.

use std::mem;

use super::{ConversationReport, EvaluationOutcome, EvaluationReport};
use crate::{
    conversation::{RunPerformance, RunSums},
    json::Value,
    verdict::{Tally, Verdict},
};

/// Number of reasons that are kept for each evaluator.
const REASONS: usize = 10;

/// Counts of all evaluations. The order in which conversations are counted changes none of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) tally: Tally,
    /// Number of warnings of evaluations.
    pub(super) warnings: u64,
    /// Evaluations for which an evaluator was asked.
    pub(super) asked: usize,
    /// True if an evaluation was cancelled.
    pub(super) cancelled: bool,
    pub(super) reasons: Reasons,
    evaluators: Vec<Asked>,
    performance: RunSums,
}

/// An evaluator that was asked.
#[derive(Clone, Debug)]
struct Asked {
    name: String,
    /// First position: conversation and column.
    first: (usize, usize),
    /// True if it has a score.
    scored: bool,
    /// True if it has an error.
    broke: bool,
}

impl Totals {
    /// Counts the conversation with this number.
    pub(super) fn count(&mut self, number: usize, conversation: &ConversationReport) {
        self.performance.add(conversation.performance.as_ref());
        for (column, evaluation) in conversation.evaluations.iter().enumerate() {
            evaluation.count_in(&mut self.tally);
            self.warnings += evaluation.warnings.len() as u64;
            self.cancelled |= evaluation.error_type == Verdict::Cancelled.error_type();
            self.reasons.count((number, column), evaluation);
            // Without a threshold no evaluator was asked.
            if evaluation.threshold.is_some() {
                self.asked += 1;
                self.count_score((number, column), evaluation);
            }
        }
    }

    fn count_score(&mut self, first: (usize, usize), evaluation: &EvaluationReport) {
        let outcome = evaluation.outcome();
        let scored = matches!(outcome, EvaluationOutcome::Passed | EvaluationOutcome::Failed);
        let broke = outcome == EvaluationOutcome::Error;
        let is_it = |asked: &Asked| asked.name == evaluation.name;
        // Conversations have the same evaluators in the same order.
        let likely = Some(first.1).filter(|column| self.evaluators.get(*column).is_some_and(is_it));
        match likely.or_else(|| self.evaluators.iter().position(is_it)) {
            Some(place) => {
                let asked = &mut self.evaluators[place];
                asked.scored |= scored;
                asked.broke |= broke;
                asked.first = asked.first.min(first);
            }
            None => {
                let name = evaluation.name.clone();
                self.evaluators.push(Asked { name, first, scored, broke });
            }
        }
    }

    /// Finishes counting. Returns latencies, tokens and counts of all conversations, if one has them.
    pub(super) fn finish(&mut self) -> Option<RunPerformance> {
        self.evaluators.sort_by_key(|asked| asked.first);
        mem::take(&mut self.performance).finish()
    }

    /// Returns the evaluators that were asked and have no score, in the order of the report.
    pub(super) fn without_score(&self) -> impl Iterator<Item = &str> {
        self.evaluators.iter().filter(|asked| !asked.scored).map(|asked| asked.name.as_str())
    }

    /// Returns the evaluators that have errors and no score, in the order of the report.
    pub(super) fn never_worked(&self) -> impl Iterator<Item = &str> {
        let never = self.evaluators.iter().filter(|asked| asked.broke && !asked.scored);
        never.map(|asked| asked.name.as_str())
    }
}

/// Reasons why an evaluator did not evaluate conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotEvaluated {
    /// Name of the evaluator.
    pub evaluator: String,
    /// The first ten reasons, each with the number of its conversations, in the order of the report.
    pub reasons: Vec<(String, u64)>,
    /// Number of conversations with other reasons.
    pub others: u64,
}

/// [`NotEvaluated`] of all evaluators, while conversations are counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Reasons(Vec<Evaluator>);

#[derive(Clone, Debug)]
struct Evaluator {
    name: String,
    reasons: Vec<Reason>,
    others: u64,
}

#[derive(Clone, Debug)]
struct Reason {
    text: String,
    count: u64,
    /// First conversation and column with it.
    first: (usize, usize),
}

impl Reasons {
    /// Counts the reason of the evaluation at this conversation and column, if it has one.
    pub(super) fn count(&mut self, place: (usize, usize), evaluation: &EvaluationReport) {
        let details = evaluation
            .details
            .as_ref()
            .filter(|_| evaluation.outcome() == EvaluationOutcome::NotEvaluated);
        let Some(text) = details.and_then(|it| it.get("reason")).and_then(Value::as_str) else {
            return;
        };
        let known = self.0.iter().position(|it| it.name == evaluation.name).unwrap_or_else(|| {
            let name = evaluation.name.clone();
            self.0.push(Evaluator { name, reasons: Vec::new(), others: 0 });
            self.0.len() - 1
        });
        let Evaluator { reasons, others, .. } = &mut self.0[known];
        let has_room = reasons.len() < REASONS;
        match reasons.iter_mut().find(|reason| reason.text == text) {
            Some(reason) => {
                reason.count += 1;
                reason.first = reason.first.min(place);
            }
            None if has_room => {
                reasons.push(Reason { text: text.to_owned(), count: 1, first: place });
            }
            None => *others += 1,
        }
    }

    /// Returns true if the result is the same in whatever order conversations are counted.
    pub(super) fn are_all_kept(&self) -> bool {
        self.0.iter().all(|evaluator| evaluator.others == 0)
    }

    /// The reasons of each evaluator, in the order of the report.
    pub(super) fn finish(mut self) -> Vec<NotEvaluated> {
        for evaluator in &mut self.0 {
            evaluator.reasons.sort_by_key(|reason| reason.first);
        }
        self.0.sort_by_key(|evaluator| evaluator.reasons.first().map(|reason| reason.first));
        let finished = |Evaluator { name, reasons, others }| {
            let reasons = reasons.into_iter().map(|Reason { text, count, .. }| (text, count));
            NotEvaluated { evaluator: name, reasons: reasons.collect(), others }
        };
        self.0.into_iter().map(finished).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{json::Object, report::Conversations};

    fn conversations(number: usize) -> Vec<ConversationReport> {
        let evaluation = |name: &str, reason: String| {
            let mut evaluation = EvaluationReport::new(name);
            let reason = ("reason".to_owned(), Value::String(reason));
            evaluation.details = Some(Object::from_iter([reason]));
            evaluation
        };
        let conversation = |number| {
            let mut report = ConversationReport::new("t".into());
            report.evaluations = vec![
                evaluation("odd", format!("reason {number}")),
                evaluation("even", "always the same".to_owned()),
            ];
            report
        };
        (0..number).chain([0]).map(conversation).collect()
    }

    #[test]
    fn an_evaluator_with_a_reason_for_each_conversation_has_few_of_them() {
        let found = Conversations::from(conversations(100)).not_evaluated().unwrap();
        let [odd, even] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((odd.evaluator.as_str(), odd.reasons.len(), odd.others), ("odd", REASONS, 90));
        assert_eq!(odd.reasons[0], ("reason 0".to_owned(), 2));
        assert_eq!(even.reasons, [("always the same".to_owned(), 101)]);
        assert_eq!(even.others, 0);
    }

    #[test]
    fn reasons_do_not_depend_on_the_order_in_which_conversations_finish() {
        for number in [3, REASONS, REASONS + 1, 40] {
            let reports = conversations(number);
            let mut collector = crate::report::Collector::new(0, reports.len());
            for (number, report) in reports.iter().enumerate().rev() {
                collector.put(number, report).unwrap();
            }
            let expected = Conversations::from(reports).not_evaluated().unwrap();
            assert_eq!(collector.finish().not_evaluated().unwrap(), expected, "{number}");
        }
    }
}
