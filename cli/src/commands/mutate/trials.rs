//! Trials of evaluators: the undamaged conversations, then edits of those that they pass.

use std::{cmp::Reverse, collections::HashMap, sync::Arc};

use evaluator_agentv::run::Plan;
use evaluator_host::{
    config::Config,
    report::{ALL_EVALUATORS, EvaluationReport, Status},
    run::{ConversationSource, Request, Runner},
};
use evaluator_mutation::{
    Choice, Draft, Effect, Expectations, Mutation, NOTICED, Observed, Operator, Subject, Trial,
    Tried, Undamaged as Conversations,
};

use super::{
    calls::meets as meets_test,
    graders::graders,
    sources::{Bases, Mutant, Mutants, Originals, Undamaged},
};
use crate::commands::{broken, unusable, watched};

/// Smallest number of conversations that an evaluator has to pass.
pub(super) const FEWEST: usize = 5;

/// Maximum number of failures that are evaluated with a higher threshold.
const MOST_RAISED: usize = 25;

/// Name of the relation that no failure passes with a higher threshold.
pub(super) const RAISED: &str = "raised_threshold";

/// A conversation that an evaluator passes.
#[derive(Clone, Debug)]
struct Passed {
    number: usize,
    score: f64,
    /// Difference between its two evaluations.
    noise: f64,
}

/// A conversation that an evaluator fails, evaluated with a higher threshold.
#[derive(Clone, Debug)]
pub(super) struct Raised {
    pub(super) number: usize,
    /// The thresholds before and now.
    pub(super) thresholds: [f64; 2],
    pub(super) observed: Observed,
}

/// An evaluator that is tried.
#[derive(Debug, Default)]
pub(super) struct Subjected {
    pub(super) name: Arc<str>,
    pub(super) expectations: Expectations,
    threshold: f64,
    pub(super) conversations: Conversations,
    passed: Vec<Passed>,
    /// Numbers of conversations that it fails.
    failed: Vec<usize>,
    /// What it makes of them with a higher threshold.
    pub(super) raised: Vec<Raised>,
    pub(super) refusal: Option<String>,
    /// Operators with their effect, and the number of conversations without a place for them.
    pub(super) operators: Vec<(&'static Operator, Effect, usize)>,
    pub(super) tried: Vec<Tried>,
}

impl Subjected {
    /// Creates one of what `noun` names: conversations or tests.
    pub(super) fn new(
        name: &str,
        expectations: Expectations,
        threshold: f64,
        noun: &'static str,
    ) -> Self {
        let conversations = Conversations { noun, ..Conversations::default() };
        Self { name: name.into(), expectations, threshold, conversations, ..Self::default() }
    }

    /// Adds the result of an undamaged conversation.
    fn add(&mut self, number: usize, case: &str, evaluation: &EvaluationReport) {
        let counts = &mut self.conversations;
        if evaluation.error.is_some() {
            counts.errors += 1;
            return;
        }
        let (noise, is_stable) = spread(evaluation);
        if !is_stable {
            counts.unstable.push(case.to_owned());
            return;
        }
        match (evaluation.status, evaluation.score) {
            (Status::Passed, Some(score)) => {
                counts.passed += 1;
                self.passed.push(Passed { number, score, noise });
            }
            (Status::NotEvaluated, _) => counts.not_evaluated += 1,
            _ => {
                counts.failed += 1;
                self.failed.push(number);
            }
        }
    }

    /// Notes why the evaluator is not tried, if it passes too little: of a single case, nothing.
    fn refuse_few(&mut self, case: Option<&str>) {
        let Conversations { noun, passed, failed, not_evaluated, errors, unstable } =
            &self.conversations;
        if *passed >= case.map_or(FEWEST, |_| 1) {
            return;
        }
        let all = passed + failed + not_evaluated + errors + unstable.len();
        let others = [
            (*failed, "fail"),
            (*not_evaluated, "are not evaluated"),
            (*errors, "are errors"),
            (unstable.len(), "are unstable"),
        ];
        let others: Vec<String> = others
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let others =
            if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
        let needed = match case {
            None => format!(", and at least {FEWEST} are needed"),
            Some(case) => format!("; only `{case}` was asked for"),
        };
        self.refusal =
            Some(format!("nothing to damage: it passes {passed} of {all} {noun}s{others}{needed}"));
    }
}

/// Returns the difference between the repeats of an evaluation, and whether it is small.
fn spread(evaluation: &EvaluationReport) -> (f64, bool) {
    let scores = evaluation.repeats.iter().filter_map(|it| it.score);
    let (low, high) = scores.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), score| {
        (low.min(score), high.max(score))
    });
    let noise = (high - low).max(0.0);
    let same = |it: &EvaluationReport| {
        it.status == evaluation.status && it.score.is_some() == evaluation.score.is_some()
    };
    (noise, noise <= NOTICED && evaluation.repeats.iter().all(same))
}

/// Names of a conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) case: String,
    pub(super) trace_id: String,
}

/// The evaluators that are tried, and with what.
pub(super) struct Tested {
    pub(super) originals: Arc<dyn Originals>,
    /// The tests of an eval file.
    pub(super) tests: Option<Arc<Plan>>,
    pub(super) config: Config,
    pub(super) subjected: Vec<Subjected>,
    /// Paths of programs that were given by them, by their names.
    pub(super) paths: HashMap<String, String>,
}

/// What is run, and how.
pub(super) struct Laboratory<'r> {
    pub(super) runner: &'r Runner,
    pub(super) config: Config,
    pub(super) originals: Arc<dyn Originals>,
    /// The tests whose outputs are the conversations; `None` for those of traces.
    pub(super) tests: Option<Arc<Plan>>,
    pub(super) verbose: u8,
    /// Names of conversations, by their numbers.
    pub(super) names: HashMap<usize, Names>,
}

impl Laboratory<'_> {
    /// Evaluates the conversations of a source. Calls `result` for each evaluation.
    fn evaluate(
        &self,
        mut config: Config,
        source: Arc<dyn ConversationSource>,
        repeat: u32,
        mut result: impl FnMut(usize, &Names, &EvaluationReport),
    ) -> Result<(), u8> {
        for evaluator in &mut config.evaluators {
            evaluator.repeat = Some(repeat);
        }
        let request = match &self.tests {
            Some(tests) => {
                config.repeat = Some(repeat);
                tests.edited(source, config)
            }
            None => {
                let mut request = Request::new(Vec::<String>::new(), config);
                request.source = Some(source);
                request
            }
        };
        let report =
            watched(self.verbose, async |on_event| self.runner.run(&request, on_event).await)?;
        if self.runner.cancellation.is_cancelled() {
            return Err(broken("it was interrupted; there is no report"));
        }
        if !report.errors.is_empty() {
            return Err(broken(report.errors.join("\n")));
        }
        for (number, conversation) in report.conversations.iter().enumerate() {
            let conversation = conversation.map_err(broken)?;
            let names = Names {
                case: conversation.case().to_string(),
                trace_id: conversation.trace_id.to_string(),
            };
            for evaluation in &conversation.evaluations {
                result(number, &names, evaluation);
                if self.tests.is_some() {
                    graders(evaluation).iter().for_each(|it| result(number, &names, it));
                }
            }
        }
        Ok(())
    }

    /// Returns the names of the graders of a test that have no result, because the evaluation of the test broke.
    fn unasked(&self, number: usize, evaluation: &EvaluationReport) -> Vec<&str> {
        let Some(tests) = self
            .tests
            .as_ref()
            .filter(|tests| evaluation.error.is_some() && evaluation.name == tests.name())
        else {
            return Vec::new();
        };
        let asked = graders(evaluation);
        let names = tests.tests().nth(number).into_iter().flat_map(|test| &test.evaluators);
        names
            .map(|grader| grader.name.as_str())
            .filter(|name| asked.iter().all(|it| it.name != *name))
            .collect()
    }

    /// Evaluates undamaged conversations twice.
    pub(super) fn evaluate_undamaged(
        &mut self,
        subjected: &mut [Subjected],
        case: Option<&str>,
    ) -> Result<(), u8> {
        let numbers: Vec<usize> = (0..self.originals.len()).collect();
        let mut known = HashMap::new();
        let source = Undamaged { originals: Arc::clone(&self.originals), numbers };
        self.evaluate(self.config.clone(), Arc::new(source), 2, |number, names, evaluation| {
            known.insert(number, names.clone());
            if case.is_some_and(|case| case != names.case && case != names.trace_id) {
                return;
            }
            let is_for = |it: &&mut Subjected| {
                *it.name == *evaluation.name || evaluation.name == ALL_EVALUATORS
            };
            subjected
                .iter_mut()
                .filter(is_for)
                .for_each(|it| it.add(number, &names.case, evaluation));
            // A test without an output, for example, breaks before its graders are asked.
            let unasked = self.unasked(number, evaluation);
            subjected
                .iter_mut()
                .filter(|it| unasked.contains(&&*it.name))
                .for_each(|it| it.add(number, &names.case, evaluation));
        })?;
        self.names = known;
        if let Some(case) = case {
            let is_known = |it: &Names| it.case == case || it.trace_id == case;
            if !self.names.values().any(is_known) {
                let lacks = match self.tests {
                    None => "the traces have no conversation",
                    Some(_) => "the eval file has no test",
                };
                return Err(unusable(format!("{lacks} `{case}`")));
            }
        }
        subjected.iter_mut().for_each(|it| it.refuse_few(case));
        Ok(())
    }

    /// Chooses the edits of each evaluator, and evaluates them. Returns the conversations that are edited.
    pub(super) fn evaluate_edited(
        &self,
        subjected: &mut [Subjected],
        choice: &Choice,
    ) -> Result<Arc<Bases>, u8> {
        let is_tried = |it: &&Subjected| it.refusal.is_none();
        let passed = subjected.iter().filter(is_tried).flat_map(|it| &it.passed);
        let mut numbers: Vec<usize> = passed.map(|it| it.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let bases = Bases::new(Arc::clone(&self.originals), &numbers);
        let bases = Arc::new(bases.map_err(broken)?);
        let chosen = chosen(subjected, &bases, &numbers, choice, self.tests.as_deref())?;
        let (mutants, places) = shared(&chosen, subjected);
        let mut observed: HashMap<(usize, String), Observed> = HashMap::new();
        let source = Mutants { bases: Arc::clone(&bases), mutants };
        self.evaluate(self.config.clone(), Arc::new(source), 1, |number, _, evaluation| {
            if evaluation.was_run() {
                observed.insert((number, evaluation.name.clone()), observation(evaluation));
            }
        })?;
        for ((it, trials), places) in subjected.iter_mut().zip(chosen).zip(places) {
            let scores: HashMap<usize, &Passed> =
                it.passed.iter().map(|passed| (passed.number, passed)).collect();
            for (trial, place) in trials.into_iter().zip(places) {
                let Some(passed) = scores.get(&trial.conversation) else { continue };
                let found = observed.get(&(place, it.name.to_string()));
                let found = found.or_else(|| observed.get(&(place, ALL_EVALUATORS.to_owned())));
                let observed = found.cloned().unwrap_or_else(|| Observed::Error {
                    error_type: "not_run".to_owned(),
                    message: "was not run".to_owned(),
                });
                let (before, noise) = (passed.score, passed.noise);
                it.tried.push(Tried { trial, before, noise, observed });
            }
        }
        Ok(bases)
    }

    /// Evaluates conversations that evaluators fail with higher thresholds.
    pub(super) fn evaluate_raised(&self, subjected: &mut [Subjected]) -> Result<(), u8> {
        let failed =
            |it: &Subjected| it.failed.iter().take(MOST_RAISED).copied().collect::<Vec<_>>();
        let is_tried = |it: &&Subjected| {
            it.refusal.is_none() && it.threshold < 1.0 && !it.expectations.skips(RAISED)
        };
        let mut numbers: Vec<usize> = subjected.iter().filter(is_tried).flat_map(failed).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            return Ok(());
        }
        let raised = |threshold: f64| f64::midpoint(threshold, 1.0);
        let mut config = self.config.clone();
        for evaluator in &mut config.evaluators {
            evaluator.set_threshold(raised(evaluator.threshold()));
        }
        let source = Undamaged { originals: Arc::clone(&self.originals), numbers: numbers.clone() };
        self.evaluate(config, Arc::new(source), 1, |index, _, evaluation| {
            let number = numbers[index];
            let is_meant = |it: &&mut Subjected| {
                *it.name == *evaluation.name
                    && it.failed.iter().take(MOST_RAISED).any(|of| *of == number)
            };
            for it in subjected.iter_mut().filter(is_meant).filter(|it| is_tried(&&**it)) {
                it.raised.push(Raised {
                    number,
                    thresholds: [it.threshold, raised(it.threshold)],
                    observed: observation(evaluation),
                });
            }
        })
    }
}

/// Chooses the trials of each evaluator.
fn chosen(
    subjected: &mut [Subjected],
    bases: &Bases,
    numbers: &[usize],
    choice: &Choice,
    tests: Option<&Plan>,
) -> Result<Vec<Vec<Trial>>, u8> {
    let expectations: Vec<Expectations> =
        subjected.iter().map(|it| it.expectations.clone()).collect();
    let mut drafts: Vec<Draft<'_>> =
        expectations.iter().map(|expectations| Draft::new(expectations, choice)).collect();
    for number in numbers {
        let base = bases.load(*number).map_err(broken)?;
        let other = bases.other_answer(*number, &base);
        let subject = Subject {
            conversation: &base.conversation,
            golden: bases.golden(&base),
            other_answer: other.as_deref(),
        };
        for (it, draft) in subjected.iter().zip(&mut drafts) {
            let passes = it.passed.binary_search_by_key(number, |passed| passed.number).is_ok();
            if passes && it.refusal.is_none() {
                let meets = tests.filter(|_| it.expectations.kind.is_some());
                let meets = meets.and_then(|tests| meets_test(tests, *number, &it.name));
                draft.add(*number, &subject, meets.as_deref());
            }
        }
    }
    let trials = drafts.into_iter().zip(subjected).map(|(draft, it)| {
        let (trials, operators) = draft.trials();
        it.operators = operators;
        trials
    });
    Ok(trials.collect())
}

/// Returns the edited conversations of all trials, each once, and their places for the trials of each evaluator. They are in
/// the reverse order of the traces, so that the order differs from that of the undamaged ones.
fn shared(trials: &[Vec<Trial>], subjected: &[Subjected]) -> (Vec<Mutant>, Vec<Vec<usize>>) {
    let mut mutants: Vec<Mutant> = Vec::new();
    let mut known: HashMap<(usize, String), usize> = HashMap::new();
    let mut indexes = Vec::new();
    for (trials, it) in trials.iter().zip(subjected) {
        let index = |trial: &Trial| {
            let Trial { conversation, mutation, .. } = trial;
            let key = (*conversation, mutation.to_string());
            let index = *known.entry(key).or_insert_with(|| {
                mutants.push(mutant(*conversation, *mutation));
                mutants.len() - 1
            });
            if mutants[index].evaluators.last() != Some(&it.name) {
                mutants[index].evaluators.push(Arc::clone(&it.name));
            }
            index
        };
        indexes.push(trials.iter().map(index).collect::<Vec<usize>>());
    }
    let mut order: Vec<usize> = (0..mutants.len()).collect();
    order.sort_by_key(|index| (Reverse(mutants[*index].conversation), *index));
    let mut places = vec![0; mutants.len()];
    for (place, index) in order.iter().enumerate() {
        places[*index] = place;
    }
    let mut placed: Vec<(usize, Mutant)> = places.iter().copied().zip(mutants).collect();
    placed.sort_by_key(|(place, _)| *place);
    let mutants = placed.into_iter().map(|(_, mutant)| mutant).collect();
    let of = |indexes: Vec<usize>| indexes.into_iter().map(|index| places[index]).collect();
    (mutants, indexes.into_iter().map(of).collect())
}

fn mutant(conversation: usize, mutation: Mutation) -> Mutant {
    Mutant { conversation, mutation, evaluators: Vec::new() }
}

/// Returns the result of an evaluation.
fn observation(evaluation: &EvaluationReport) -> Observed {
    if let Some(error) = &evaluation.error {
        return Observed::Error {
            error_type: evaluation.error_type.unwrap_or("unknown").to_owned(),
            message: evaluation.headline.as_ref().unwrap_or(error).clone(),
        };
    }
    match (evaluation.status, evaluation.score) {
        (Status::NotEvaluated, _) | (_, None) => Observed::NotEvaluated,
        (status, Some(score)) => Observed::Scored { score, passed: status == Status::Passed },
    }
}
