//! Counts of a report, collected while its conversations are written.

use std::mem;

use evaluator_traces::conversation::{RunPerformance, RunSums};

use super::{
    CANCELLED, ConversationReport, EvaluationOutcome, EvaluationReport, Tally,
    run_warnings::{Place, RunWarnings},
};

/// Reason of an evaluation whose evaluator gives none.
const NO_REASON: &str = "the evaluator gives no reason";

/// Number of reasons that are kept for each evaluator.
const REASONS: usize = 10;

/// Counts of all evaluations. Only [reasons](Totals::not_evaluated) may depend on the order in which conversations are
/// counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) tally: Tally,
    /// Number of warnings of evaluations.
    pub(super) warnings: u64,
    /// Evaluations for which an evaluator was called, each repeat for itself.
    pub(super) asked: usize,
    /// Conversations that an evaluator did not evaluate.
    pub(super) dropped_out: u64,
    /// True if an evaluation was cancelled.
    pub(super) cancelled: bool,
    /// Warnings about the run.
    pub(super) run_warnings: RunWarnings,
    /// The evaluators that were called, in the order of the report when counting is finished.
    pub(super) evaluators: Vec<EvaluatorScores>,
    performance: RunSums,
}

/// An evaluator that was called, with the number of conversations that it scored.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct EvaluatorScores {
    /// Name of the evaluator.
    pub name: String,
    /// Number of conversations that it scored.
    pub scored: u64,
    /// Number of conversations that it was called for.
    pub asked: u64,
    /// Whether it has errors.
    pub broke: bool,
    /// First position: conversation and column.
    first: (Place, usize),
    /// Reasons why it did not evaluate conversations.
    reasons: Vec<Reason>,
    /// Number of conversations with other reasons. Which these are depends on the order in which conversations are counted.
    pub(super) others: u64,
    /// Name of the executor that contained all of its evaluations; `None` if none did, or not in all.
    pub(super) contained: Option<String>,
}

#[derive(Clone, Debug)]
struct Reason {
    text: String,
    count: u64,
    /// First conversation and column with it.
    first: (Place, usize),
}

/// Reasons why an evaluator did not evaluate conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotEvaluated {
    /// Name of the evaluator.
    pub evaluator: String,
    /// The first ten reasons, each with the number of its conversations, in the order of the report.
    pub reasons: Vec<(String, u64)>,
    /// Number of conversations with other reasons.
    pub others: u64,
}

impl Totals {
    /// Counts the conversation at this place.
    pub(super) fn count(&mut self, place: &Place, conversation: &ConversationReport) {
        self.run_warnings.count(place, conversation);
        self.performance.add(conversation.performance.as_ref());
        let is_dropped =
            |evaluation: &EvaluationReport| evaluation.outcome() == EvaluationOutcome::NotEvaluated;
        self.dropped_out += u64::from(conversation.evaluations.iter().any(is_dropped));
        for (column, evaluation) in conversation.evaluations.iter().enumerate() {
            evaluation.count_in(&mut self.tally);
            self.warnings += evaluation.warnings.len() as u64;
            self.cancelled |= evaluation.error_type == Some(CANCELLED);
            // Without a threshold no evaluator was asked.
            if evaluation.threshold.is_some() {
                self.asked += evaluation.each_repeat().count();
                self.evaluator((place, column), evaluation).count((place, column), evaluation);
            }
        }
    }

    fn evaluator(
        &mut self,
        (place, column): (&Place, usize),
        evaluation: &EvaluationReport,
    ) -> &mut EvaluatorScores {
        let name = &evaluation.name;
        find_or_add(
            &mut self.evaluators,
            column,
            |it| it.name == *name,
            || EvaluatorScores {
                name: name.clone(),
                first: (place.clone(), column),
                contained: evaluation.containment.as_ref().map(|it| it.executor.clone()),
                ..EvaluatorScores::default()
            },
        )
    }

    /// Finishes counting. Returns latencies, tokens and counts of all conversations, if one has them.
    pub(super) fn finish(&mut self) -> Option<RunPerformance> {
        self.evaluators.sort_by(|one, other| one.first.cmp(&other.first));
        mem::take(&mut self.performance).finish()
    }

    /// Returns the reasons of each evaluator that did not evaluate a conversation, in the order of the report.
    pub(super) fn not_evaluated(&self) -> Vec<NotEvaluated> {
        let mut evaluators = self.evaluators.clone();
        evaluators.retain(|evaluator| !evaluator.reasons.is_empty());
        for evaluator in &mut evaluators {
            evaluator.reasons.sort_by(|one, other| one.first.cmp(&other.first));
        }
        evaluators.sort_by(|one, other| one.reasons[0].first.cmp(&other.reasons[0].first));
        let finished = |EvaluatorScores { name, reasons, others, .. }| {
            let reasons = reasons.into_iter().map(|Reason { text, count, .. }| (text, count));
            NotEvaluated { evaluator: name, reasons: reasons.collect(), others }
        };
        evaluators.into_iter().map(finished).collect()
    }
}

impl EvaluatorScores {
    fn count(&mut self, position: (&Place, usize), evaluation: &EvaluationReport) {
        let outcome = evaluation.outcome();
        set_first(&mut self.first, position);
        let executor = evaluation.containment.as_ref().map(|it| &it.executor);
        if self.contained.as_ref() != executor {
            self.contained = None;
        }
        self.scored += u64::from(evaluation.is_scored());
        self.asked += u64::from(outcome != EvaluationOutcome::NotRun);
        self.broke |= outcome == EvaluationOutcome::Error;
        if outcome != EvaluationOutcome::NotEvaluated {
            return;
        }
        let text = evaluation.reason().unwrap_or(NO_REASON.into());
        let has_room = self.reasons.len() < REASONS;
        match self.reasons.iter_mut().find(|reason| reason.text == *text) {
            Some(reason) => {
                reason.count += 1;
                set_first(&mut reason.first, position);
            }
            None if has_room => {
                let first = (position.0.clone(), position.1);
                self.reasons.push(Reason { text: text.into_owned(), count: 1, first });
            }
            None => self.others += 1,
        }
    }
}

/// Keeps the first of two positions.
fn set_first(first: &mut (Place, usize), (place, column): (&Place, usize)) {
    if (place, column) < (&first.0, first.1) {
        *first = (place.clone(), column);
    }
}

/// Returns what is collected about an evaluator, which is added if it is new. Conversations have the same evaluators in the same
/// order, so that its column is likely its place.
pub(super) fn find_or_add<E>(
    all: &mut Vec<E>,
    column: usize,
    is_it: impl Fn(&E) -> bool,
    new: impl FnOnce() -> E,
) -> &mut E {
    let likely = Some(column).filter(|column| all.get(*column).is_some_and(&is_it));
    let place = likely.or_else(|| all.iter().position(is_it)).unwrap_or_else(|| {
        all.push(new());
        all.len() - 1
    });
    &mut all[place]
}

#[cfg(test)]
mod tests {
    use evaluator_json::{Object, Value};

    use super::*;
    use crate::Conversations;

    fn conversations(number: usize) -> Vec<ConversationReport> {
        let evaluation = |name: &str, reason: String| {
            let mut evaluation = EvaluationReport::new(name);
            let reason = ("reason".to_owned(), Value::String(reason));
            evaluation.details = Some(Object::from_iter([reason]));
            evaluation.threshold = Some(0.5);
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
            let mut collector = crate::Collector::new(0, reports.len());
            for (number, report) in reports.iter().enumerate().rev() {
                collector.put(number, report).unwrap();
            }
            let expected = Conversations::from(reports).not_evaluated().unwrap();
            assert_eq!(collector.finish().not_evaluated().unwrap(), expected, "{number}");
        }
    }
}
