//! Values of cases: what gates decide by.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use evaluator_statistics::pass_at_k;

use super::rule::Measure;
use crate::{ALL_EVALUATORS, ConversationReport, EvaluationOutcome, EvaluationReport};

/// Values of all cases. A case is a golden case; a conversation without one is a case of its own.
///
/// Takes 16 bytes for each case and evaluator.
#[derive(Debug, Default)]
pub(crate) struct Values {
    evaluators: Vec<EvaluatorValues>,
    /// Numbers of golden cases.
    golden: HashMap<Arc<str>, usize>,
    /// Number of cases.
    cases: usize,
    /// Clusters of cases, if there are any.
    clusters: Vec<Option<Arc<str>>>,
    /// Errors of conversations that could not be evaluated at all, by case.
    errors: BTreeMap<usize, u32>,
}

/// Values of one evaluator.
#[derive(Debug, Default)]
pub(crate) struct EvaluatorValues {
    pub(crate) name: String,
    pub(crate) counts: Counts,
    /// By the number of the case; cases behind the last one have no value.
    cases: Vec<CaseValue>,
    /// Errors by case.
    errors: BTreeMap<usize, u32>,
}

/// Numbers of evaluations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Evaluations that fail whatever their score is.
    pub(crate) failed_regardless: u64,
    pub(crate) errors: u64,
    pub(crate) not_evaluated: u64,
    pub(crate) not_run: u64,
}

/// Sums over the conversations of a case that have a value.
#[derive(Clone, Copy, Debug, Default)]
struct CaseValue {
    score: f64,
    passed: u32,
    conversations: u32,
}

/// Values of cases that are one sample.
#[derive(Debug)]
pub(crate) struct Sample<'v> {
    pub(crate) values: Vec<f64>,
    /// A cluster for each value, if there are any.
    pub(crate) clusters: Option<Vec<Option<&'v str>>>,
    /// Whether each value is that of one conversation.
    pub(crate) are_single: bool,
    /// Numbers of cases with fewer conversations than are needed.
    pub(crate) left_out: Vec<usize>,
}

impl Values {
    /// Adds a conversation. Cases with the same cluster are not independent.
    pub(crate) fn add(&mut self, conversation: &ConversationReport, cluster: Option<&Arc<str>>) {
        let case = self.case(conversation.eval_case_id.as_ref());
        if let Some(cluster) = cluster {
            self.clusters.resize(self.cases, None);
            self.clusters[case].get_or_insert_with(|| Arc::clone(cluster));
        }
        for (column, evaluation) in conversation.evaluations.iter().enumerate() {
            if evaluation.name != ALL_EVALUATORS {
                self.evaluator(column, &evaluation.name).add(case, evaluation);
            } else if evaluation.outcome() == EvaluationOutcome::Error {
                *self.errors.entry(case).or_default() += 1;
            }
        }
    }

    /// The evaluators, in the order of the report.
    pub(crate) fn evaluators(&self) -> &[EvaluatorValues] {
        &self.evaluators
    }

    /// The evaluator with this name.
    pub(crate) fn named(&self, name: &str) -> Option<&EvaluatorValues> {
        self.evaluators.iter().find(|evaluator| evaluator.name == name)
    }

    /// Number of conversations that could not be evaluated at all.
    pub(crate) fn unevaluated(&self) -> u64 {
        self.errors.values().copied().map(u64::from).sum()
    }

    /// Ids of those of these cases that are golden cases, in their order.
    pub(crate) fn ids(&self, cases: &[usize]) -> Vec<Arc<str>> {
        let golden = self.golden.iter().filter(|(_, case)| cases.binary_search(case).is_ok());
        let mut golden: Vec<_> = golden.collect();
        golden.sort_by_key(|(_, case)| **case);
        golden.into_iter().map(|(id, _)| Arc::clone(id)).collect()
    }

    /// Returns the values of an evaluator. With `errors_are_failures`, every error is a conversation with a value of 0.
    pub(crate) fn sample(
        &self,
        evaluator: &EvaluatorValues,
        measure: Measure,
        errors_are_failures: bool,
    ) -> Sample<'_> {
        let has_clusters = self.clusters.iter().any(Option::is_some);
        let mut sample = Sample {
            values: Vec::new(),
            clusters: has_clusters.then(Vec::new),
            are_single: true,
            left_out: Vec::new(),
        };
        for case in 0..self.cases {
            let mut value = evaluator.cases.get(case).copied().unwrap_or_default();
            if errors_are_failures {
                for errors in [&self.errors, &evaluator.errors] {
                    value.conversations += errors.get(&case).copied().unwrap_or_default();
                }
            }
            if value.conversations == 0 {
                continue;
            }
            match value.measured(measure) {
                None => sample.left_out.push(case),
                Some(measured) => {
                    sample.values.push(measured);
                    sample.are_single &= value.conversations == 1;
                    if let Some(clusters) = &mut sample.clusters {
                        clusters.push(self.clusters.get(case).and_then(Option::as_deref));
                    }
                }
            }
        }
        sample
    }

    /// Returns the number of a golden case, or of a new one.
    fn case(&mut self, id: Option<&Arc<str>>) -> usize {
        let next = self.cases;
        let case = match id {
            Some(id) => *self.golden.entry(Arc::clone(id)).or_insert(next),
            None => next,
        };
        self.cases = self.cases.max(case + 1);
        case
    }

    fn evaluator(&mut self, column: usize, name: &str) -> &mut EvaluatorValues {
        let is_it = |evaluator: &EvaluatorValues| evaluator.name == name;
        // Conversations have the same evaluators in the same order.
        let likely = Some(column).filter(|column| self.evaluators.get(*column).is_some_and(is_it));
        let known = likely.or_else(|| self.evaluators.iter().position(is_it));
        let index = known.unwrap_or_else(|| {
            let name = name.to_owned();
            self.evaluators.push(EvaluatorValues { name, ..EvaluatorValues::default() });
            self.evaluators.len() - 1
        });
        &mut self.evaluators[index]
    }
}

impl EvaluatorValues {
    fn add(&mut self, case: usize, evaluation: &EvaluationReport) {
        let counts = &mut self.counts;
        let passed = match evaluation.outcome() {
            EvaluationOutcome::Passed => true,
            EvaluationOutcome::Failed => false,
            EvaluationOutcome::NotEvaluated => return counts.not_evaluated += 1,
            EvaluationOutcome::NotRun => return counts.not_run += 1,
            EvaluationOutcome::Error => {
                counts.errors += 1;
                *self.errors.entry(case).or_default() += 1;
                return;
            }
        };
        let is_regardless = evaluation.failure_reason.is_some() && !passed;
        *if passed { &mut counts.passed } else { &mut counts.failed } += 1;
        counts.failed_regardless += u64::from(is_regardless);
        if self.cases.len() <= case {
            self.cases.resize(case + 1, CaseValue::default());
        }
        let value = &mut self.cases[case];
        let score = if is_regardless { 0.0 } else { evaluation.score.unwrap_or(f64::from(passed)) };
        value.score += score.clamp(0.0, 1.0);
        value.passed += u32::from(passed);
        value.conversations += 1;
    }

    /// Number of cases with a value.
    pub(crate) fn cases(&self) -> u64 {
        self.cases.iter().filter(|case| case.conversations > 0).count() as u64
    }
}

impl CaseValue {
    /// Returns the value of the case; `None` if it has too few conversations.
    fn measured(self, measure: Measure) -> Option<f64> {
        let Self { score, passed, conversations } = self;
        let all = f64::from(conversations);
        match measure {
            Measure::Mean => Some((score / all).min(1.0)),
            Measure::PassRate => Some(f64::from(passed) / all),
            Measure::PassHat(k) => {
                pass_at_k(passed.into(), conversations.into(), k.into()).ok().map(|it| it.all)
            }
        }
    }
}
