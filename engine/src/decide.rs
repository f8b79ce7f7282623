//! Runs that end as soon as their gates are decided.
//!
//! Cases are evaluated in an order that a seed decides, and their results count in that order: those that are finished early
//! wait. So the report does not depend on the number of jobs.

use std::collections::{BTreeMap, HashMap};

use super::prepared::PreparedEvaluator;
use crate::report::{
    Cases, ConversationReport, EvaluationReport, Gate, NOT_RUN, RunningGate, case_order,
};

/// The cases of a run in the order of their evaluation.
#[derive(Debug, Default)]
pub struct CaseOrder {
    /// The conversations of each case.
    cases: Vec<Vec<usize>>,
    /// The place of the case of each conversation.
    places: Vec<usize>,
    /// The report of each conversation if it is not evaluated.
    unread: Vec<ConversationReport>,
}

impl CaseOrder {
    /// Shuffles the cases of conversations, whose reports have no evaluations.
    pub fn new(unread: Vec<ConversationReport>, seed: u64) -> Self {
        let mut known = Cases::default();
        let mut cases: Vec<Vec<usize>> = Vec::new();
        for (number, report) in unread.iter().enumerate() {
            let case = known.add(report);
            cases.resize(cases.len().max(case + 1), Vec::new());
            cases[case].push(number);
        }
        let order = case_order(seed, cases.len());
        let cases: Vec<Vec<usize>> =
            order.into_iter().map(|case| std::mem::take(&mut cases[case])).collect();
        let mut places = vec![0; unread.len()];
        for (place, conversations) in cases.iter().enumerate() {
            conversations.iter().for_each(|number| places[*number] = place);
        }
        Self { cases, places, unread }
    }

    /// Returns the conversations in their order.
    pub(crate) fn conversations(&self) -> Vec<usize> {
        self.cases.concat()
    }
}

/// The gates of a run while cases come.
#[derive(Debug)]
pub(crate) struct Decider {
    order: CaseOrder,
    evaluators: Vec<Column>,
    /// Reports of conversations whose cases were not looked at yet.
    held: BTreeMap<usize, ConversationReport>,
}

/// The gates of an evaluator.
#[derive(Debug)]
struct Column {
    gates: Vec<RunningGate>,
    /// Number of cases that were looked at.
    next: usize,
    /// Evaluations that were not looked at, by their conversations; `None` if there is none.
    finished: HashMap<usize, Option<EvaluationReport>>,
}

impl Column {
    fn is_decided(&self) -> bool {
        self.gates.iter().all(RunningGate::is_decided)
    }

    /// Looks at the cases that are finished, until the gates are decided.
    fn look(&mut self, order: &CaseOrder) {
        while !self.is_decided()
            && let Some(case) = order.cases.get(self.next)
            && case.iter().all(|number| self.finished.contains_key(number))
        {
            let taken: Vec<_> = case.iter().filter_map(|it| self.finished.remove(it)).collect();
            let taken: Vec<&EvaluationReport> = taken.iter().flatten().collect();
            self.gates.iter_mut().for_each(|gate| gate.take(&taken));
            self.next += 1;
        }
    }
}

impl Decider {
    /// Starts the gates of these evaluators.
    pub(crate) fn new<'n>(
        order: CaseOrder,
        evaluators: impl Iterator<Item = &'n str>,
        gates: &[Gate],
    ) -> Self {
        let column = |name: &str| Column {
            gates: gates
                .iter()
                .filter(|it| it.evaluator == name)
                .filter_map(RunningGate::new)
                .collect(),
            next: 0,
            finished: HashMap::new(),
        };
        Self { evaluators: evaluators.map(column).collect(), order, held: BTreeMap::new() }
    }

    /// Returns true if the gates of an evaluator are decided, so that it is not asked again.
    pub(crate) fn is_decided(&self, column: usize) -> bool {
        self.evaluators[column].is_decided()
    }

    /// Returns true if all gates are decided.
    pub(crate) fn are_all_decided(&self) -> bool {
        self.evaluators.iter().all(Column::is_decided)
    }

    /// Returns the report of an evaluator that is not asked again.
    pub(crate) fn not_run(evaluator: &PreparedEvaluator) -> EvaluationReport {
        let mut report = evaluator.report(evaluator.not_started());
        if report.error_type == Some(NOT_RUN) {
            let reason = "was not run, because its gate was decided before";
            report.error = Some(format!("Evaluator '{}' {reason}", evaluator.name()));
            report.headline = Some(reason.to_owned());
        }
        report
    }

    /// Returns the report of a conversation that is not evaluated.
    pub(crate) fn unread(&self, number: usize) -> ConversationReport {
        self.order.unread[number].clone()
    }

    /// Returns the number of conversations that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.held.len()
    }

    /// Takes the result of an evaluator; `None` if the conversation cannot be evaluated.
    pub(crate) fn take(
        &mut self,
        number: usize,
        column: usize,
        evaluation: Option<EvaluationReport>,
    ) {
        let evaluator = &mut self.evaluators[column];
        if !evaluator.is_decided() {
            evaluator.finished.insert(number, evaluation);
            evaluator.look(&self.order);
        }
    }

    /// Returns true if an evaluator looked at the case of a conversation.
    pub(crate) fn counts(&self, number: usize) -> bool {
        self.evaluators.iter().any(|it| self.order.places[number] < it.next)
    }

    /// Takes the report of a conversation, which waits until its case was looked at.
    pub(crate) fn hold(&mut self, number: usize, report: ConversationReport) {
        self.held.insert(number, report);
    }

    /// Returns the conversations whose cases were looked at, or all if no further case is. `not_run` makes the report of an
    /// evaluator whose gates were decided before.
    pub(crate) fn release(
        &mut self,
        is_over: bool,
        not_run: impl Fn(usize) -> EvaluationReport,
    ) -> Vec<(usize, ConversationReport)> {
        let Self { order, evaluators, held } = self;
        let is_settled = |number: &usize| {
            let place = order.places[*number];
            is_over || evaluators.iter().all(|it| it.is_decided() || place < it.next)
        };
        let ready: Vec<usize> = held.keys().copied().filter(is_settled).collect();
        let mut released = Vec::new();
        for number in ready {
            let Some(mut report) = held.remove(&number) else { continue };
            let place = order.places[number];
            let counts = |it: &Column| !it.is_decided() || place < it.next;
            if !evaluators.iter().any(counts) {
                // As if it had not been loaded.
                report = order.unread[number].clone();
                report.evaluations = (0..evaluators.len()).map(&not_run).collect();
            } else if report.evaluations.len() == evaluators.len() {
                for (column, evaluator) in evaluators.iter().enumerate() {
                    if !counts(evaluator) {
                        report.evaluations[column] = not_run(column);
                    }
                }
            }
            released.push((number, report));
        }
        released
    }
}
