//! Counts of a report, collected while its conversations are written.

use std::mem;

use super::{ConversationReport, EvaluationOutcome, EvaluationReport};
use crate::{
    conversation::{RunPerformance, RunSums},
    verdict::{Tally, Verdict},
};

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
