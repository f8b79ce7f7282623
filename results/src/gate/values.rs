//! Values of cases: what gates decide, and comparisons compare.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use evaluator_statistics::pass_at_k;

use super::{cases::Cases, rule::Measure};
use crate::{ALL_EVALUATORS, ConversationReport, EvaluationOutcome, EvaluationReport};

/// Values of all [cases](Cases) of a run.
///
/// Takes the ids of the cases, 16 bytes for each of them, and 16 for each case and evaluator.
#[derive(Debug, Default)]
pub struct CaseValues {
    evaluators: Vec<EvaluatorValues>,
    cases: Cases,
    /// Errors of conversations that could not be evaluated at all, by case.
    errors: BTreeMap<usize, u32>,
}

/// What an evaluator measured in one case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaseValue<'v> {
    /// Id of the case.
    pub case: &'v str,
    /// Unit of the case: its cluster, or one that this is joined to. `None` if the run has no clusters.
    pub cluster: Option<&'v str>,
    /// Number of conversations with a value: those that passed or failed.
    pub conversations: u32,
    /// Number of conversations that passed.
    pub passed: u32,
    /// Number of their repeats, and of those that passed; `None` if nothing was repeated.
    pub repeats: Option<(u32, u32)>,
    /// Number of errors, also of conversations that could not be evaluated at all.
    pub errors: u32,
    /// Mean score of the conversations; those that fail whatever their score is count as 0. `None` if none has a value.
    pub mean: Option<f64>,
}

/// Values of one evaluator.
#[derive(Debug, Default)]
pub(crate) struct EvaluatorValues {
    pub(crate) name: String,
    pub(crate) counts: Counts,
    /// By the number of the case; cases behind the last one have no value.
    cases: Vec<Sums>,
    /// Repeats by case, if there are any.
    repeats: BTreeMap<usize, Repeats>,
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
struct Sums {
    score: f64,
    passed: u32,
    conversations: u32,
}

/// Sums over the repeats of the conversations of a case.
#[derive(Clone, Copy, Debug, Default)]
struct Repeats {
    /// Sum over the conversations of the share that passed.
    share: f64,
    passed: u32,
    all: u32,
}

/// Values of cases that are one sample.
#[derive(Debug)]
pub(crate) struct Sample<'v> {
    pub(crate) values: Vec<f64>,
    /// A cluster for each value, if there are any.
    pub(crate) clusters: Option<Vec<Option<&'v str>>>,
    /// Whether each value is that of one conversation, evaluated once.
    pub(crate) are_single: bool,
    /// Numbers of cases with fewer conversations than are needed.
    pub(crate) left_out: Vec<usize>,
}

impl CaseValues {
    /// Adds a conversation.
    pub(crate) fn add(&mut self, conversation: &ConversationReport) {
        let case = self.cases.add(conversation);
        for (column, evaluation) in conversation.evaluations.iter().enumerate() {
            if evaluation.name != ALL_EVALUATORS {
                self.evaluator(column, &evaluation.name).add(case, evaluation);
            } else if evaluation.outcome() == EvaluationOutcome::Error {
                *self.errors.entry(case).or_default() += 1;
            }
        }
    }

    /// Returns the part of a conversation that [`add`](Self::add) takes.
    pub(crate) fn part_of(conversation: &ConversationReport) -> ConversationReport {
        fn evaluation(it: &EvaluationReport) -> EvaluationReport {
            EvaluationReport {
                score: it.score,
                status: it.status,
                failure_reason: it.failure_reason.as_ref().map(|_| String::new()),
                error: it.error.as_ref().map(|_| String::new()),
                error_type: it.error_type,
                repeats: it.repeats.iter().map(evaluation).collect(),
                ..EvaluationReport::new(&it.name)
            }
        }
        ConversationReport {
            eval_case_id: conversation.eval_case_id.clone(),
            case: conversation.case.clone(),
            cluster: conversation.cluster.clone(),
            content: conversation.content,
            evaluations: conversation.evaluations.iter().map(evaluation).collect(),
            ..ConversationReport::new(Arc::clone(&conversation.trace_id))
        }
    }

    /// Names of the evaluators, in the order of the configuration.
    pub fn evaluators(&self) -> impl Iterator<Item = &str> {
        self.evaluators.iter().map(|evaluator| &*evaluator.name)
    }

    /// Ids of all cases, in the order of the input.
    pub(crate) fn cases(&self) -> impl Iterator<Item = &str> {
        (0..self.cases.len()).map(|case| self.cases.id(case))
    }

    /// What this evaluator measured in each case, in the order of the input; nothing if it is unknown.
    pub fn of<'v>(&'v self, evaluator: &str) -> impl Iterator<Item = CaseValue<'v>> + use<'v> {
        let cases = self.named(evaluator).into_iter();
        cases.flat_map(|evaluator| (0..self.cases.len()).map(|case| self.value(evaluator, case)))
    }

    /// What an evaluator measured in the case with this number; `None` if it has neither a score nor an error there.
    pub(crate) fn known(&self, evaluator: &EvaluatorValues, case: usize) -> Option<CaseValue<'_>> {
        Some(self.value(evaluator, case)).filter(|it| it.mean.is_some() || it.errors > 0)
    }

    /// Returns true if all cases of both runs have the same recordings, and there is one.
    pub(crate) fn have_same_recordings(&self, other: &Self) -> bool {
        self.cases.have_same_recordings(&other.cases)
    }

    /// Number of conversations.
    pub(crate) fn conversations(&self) -> u64 {
        self.cases.conversations()
    }

    /// Returns the number of failed evaluations of an evaluator in these cases.
    pub(crate) fn failed_of(&self, evaluator: &str, cases: &HashSet<String>) -> u64 {
        if cases.is_empty() {
            return 0;
        }
        let wanted = self.of(evaluator).filter(|it| cases.contains(it.case));
        wanted.map(|it| u64::from(it.conversations - it.passed)).sum()
    }

    /// The values of all evaluators.
    pub(crate) fn by_evaluator(&self) -> &[EvaluatorValues] {
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

    /// Number of cases.
    pub(crate) fn len(&self) -> usize {
        self.cases.len()
    }

    /// Returns true if a conversation was evaluated several times, or a case has several conversations.
    pub(crate) fn has_groups(&self) -> bool {
        let mut evaluators = self.evaluators.iter();
        evaluators
            .any(|it| !it.repeats.is_empty() || it.cases.iter().any(|case| case.conversations > 1))
    }

    /// Id of the case with this number.
    pub(crate) fn id(&self, case: usize) -> &str {
        self.cases.id(case)
    }

    /// Returns the number of cases with several clusters, which are one unit therefore.
    pub fn in_several_clusters(&self) -> u64 {
        self.cases.in_several_clusters()
    }

    /// Returns the values of an evaluator. With `errors_are_failures`, every error is a conversation with a value of 0.
    pub(crate) fn sample(
        &self,
        evaluator: &EvaluatorValues,
        measure: Measure,
        errors_are_failures: bool,
    ) -> Sample<'_> {
        let mut sample = Sample {
            values: Vec::with_capacity(self.cases.len()),
            clusters: self.cases.are_clustered().then(Vec::new),
            are_single: true,
            left_out: Vec::new(),
        };
        for case in 0..self.cases.len() {
            let errors = if errors_are_failures { self.errors(evaluator, case) } else { 0 };
            match evaluator.measured(case, measure, errors) {
                None => {}
                Some(Err(TooFew)) => sample.left_out.push(case),
                Some(Ok(measured)) => {
                    sample.values.push(measured);
                    sample.are_single &= evaluator.is_single(case, errors);
                    if let Some(clusters) = &mut sample.clusters {
                        clusters.push(self.cases.cluster(case));
                    }
                }
            }
        }
        sample
    }

    fn value<'v>(&'v self, evaluator: &EvaluatorValues, case: usize) -> CaseValue<'v> {
        let sums = evaluator.sums(case);
        CaseValue {
            case: self.cases.id(case),
            cluster: self.cases.cluster(case),
            conversations: sums.conversations,
            passed: sums.passed,
            repeats: evaluator.repeats.get(&case).map(|it| (it.all, it.passed)),
            errors: self.errors(evaluator, case),
            mean: sums.measured(Measure::Mean, None).filter(|_| sums.conversations > 0),
        }
    }

    /// Number of errors of a case.
    pub(crate) fn errors(&self, evaluator: &EvaluatorValues, case: usize) -> u32 {
        [&self.errors, &evaluator.errors].into_iter().filter_map(|errors| errors.get(&case)).sum()
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

/// A case has fewer conversations than a measure needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooFew;

impl EvaluatorValues {
    pub(crate) fn add(&mut self, case: usize, evaluation: &EvaluationReport) {
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
            self.cases.resize(case + 1, Sums::default());
        }
        let scores: Vec<f64> = evaluation.each_repeat().filter_map(score_of).collect();
        let value = &mut self.cases[case];
        value.score += scores.iter().sum::<f64>() / scores.len().max(1) as f64;
        value.passed += u32::from(passed);
        value.conversations += 1;
        if let Some((passed, all)) = evaluation.passed_of_scored() {
            let repeats = self.repeats.entry(case).or_default();
            repeats.share += passed as f64 / all.max(1) as f64;
            repeats.passed =
                repeats.passed.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX));
            repeats.all = repeats.all.saturating_add(u32::try_from(all).unwrap_or(u32::MAX));
        }
    }

    /// Returns the value of a case with this number of further conversations, which have a value of 0; `None` if no conversation
    /// has a value.
    pub(crate) fn measured(
        &self,
        case: usize,
        measure: Measure,
        failures: u32,
    ) -> Option<Result<f64, TooFew>> {
        let mut sums = self.sums(case);
        sums.conversations += failures;
        let measured = || sums.measured(measure, self.repeats.get(&case)).ok_or(TooFew);
        (sums.conversations > 0).then(measured)
    }

    /// Returns true if the value of a case is that of one conversation, evaluated once.
    fn is_single(&self, case: usize, failures: u32) -> bool {
        self.sums(case).conversations + failures == 1 && !self.repeats.contains_key(&case)
    }

    fn sums(&self, case: usize) -> Sums {
        self.cases.get(case).copied().unwrap_or_default()
    }

    /// Number of cases with a value.
    pub(crate) fn cases(&self) -> u64 {
        self.cases.iter().filter(|case| case.conversations > 0).count() as u64
    }
}

/// Returns the score with which an evaluation counts; `None` if it has no value.
pub(crate) fn score_of(evaluation: &EvaluationReport) -> Option<f64> {
    let passed = match evaluation.outcome() {
        EvaluationOutcome::Passed => true,
        EvaluationOutcome::Failed => false,
        _ => return None,
    };
    let is_regardless = evaluation.failure_reason.is_some() && !passed;
    let score = evaluation.score.unwrap_or(f64::from(passed)).clamp(0.0, 1.0);
    Some(if is_regardless { 0.0 } else { score })
}

impl Sums {
    /// Returns the value of the case; `None` if it has too few conversations.
    fn measured(self, measure: Measure, repeats: Option<&Repeats>) -> Option<f64> {
        let Self { score, passed, conversations } = self;
        let all = f64::from(conversations);
        match measure {
            Measure::Mean => Some((score / all).min(1.0)),
            Measure::PassRate => {
                Some(repeats.map_or(f64::from(passed), |it| it.share.min(all)) / all)
            }
            Measure::PassHat(k) => {
                pass_at_k(passed.into(), conversations.into(), k.into()).ok().map(|it| it.all)
            }
        }
    }
}
