//! One evaluator during a run.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::OnceCell;

use super::{
    PlannedEvaluator, Runner,
    cached::Cached,
    describe::describe,
    document::Settings,
    forked::Forked,
    permits::Permits,
    plan::{Program, Work},
    subject::Subject,
    terms::Terms,
};
use crate::{
    hosts::Mismatch,
    linked,
    metric::{Metric, MetricInput, MetricSettings},
    pool::{Document, Pool, WorkerFault},
    process::{self, Cancellation, CommandSpec},
    report::run_file::{Digest, Digester, Fingerprint},
    verdict::{Answer, Evaluation, Expected, Status, Verdict},
};

/// Time a program may take to describe itself. One that takes longer is started anew for every conversation, which
/// costs time and changes nothing else.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(2);

/// Conversations from which on a warm worker pays: it is one start, and asking the program whether it streams another.
const WORKER_PAYS_FROM: usize = 3;

/// Conversations from which on evaluations are forked. To start a server takes as long as an evaluation that is started, since
/// both do the same imports, and while it starts, nothing else of that evaluator runs.
const FORK_PAYS_FROM: usize = 4;

/// Conversations from which on it pays that processes keep what they compile: the first ones have nothing to find.
const CACHE_PAYS_FROM: usize = 4;

/// Time a worker may take to end when there is nothing left to do.
const LAST_PATIENCE: Duration = Duration::from_millis(200);

/// What an evaluator is given to judge.
#[derive(Clone, Copy)]
pub(super) enum Given<'a> {
    /// A conversation of a recording, with the evaluator's settings.
    Conversation(&'a Subject),
    /// A document that came from outside, with everything in it.
    Document(&'a Document),
}

impl Given<'_> {
    /// Checks an answer against what it judges. The turns of a document are counted where it is read.
    fn check(self, evaluation: Evaluation) -> Evaluation {
        match self {
            Self::Conversation(subject) => evaluation.for_turns(subject.conversation().turns.len()),
            Self::Document(_) => evaluation,
        }
    }
}

/// A planned evaluator with what it needs while the run lasts.
pub(super) struct Ready {
    pub(super) evaluator: PlannedEvaluator,
    /// Warm workers, if the program streams; found out by the first evaluation.
    pool: OnceCell<Option<Pool>>,
    /// How many workers are worth having; `None` when not even one is.
    workers: Option<NonZeroUsize>,
    /// Where evaluations are forked, if that is possible and worth it.
    forked: Option<Forked>,
    /// How evaluations are started that keep for each other what they compile, if that is possible and worth it.
    cached: Option<Cached>,
    cancellation: Cancellation,
    /// The first error that was due to the settings of its entry. Every conversation would have it.
    config_error: OnceLock<Evaluation>,
    /// Whether it has judged any conversation, so that its settings cannot be wrong for all of them.
    has_answered: AtomicBool,
    /// What all documents of the evaluator begin with.
    settings: Option<Settings>,
    /// The contract of another host, in whose terms it is asked about conversations.
    terms: Option<Terms>,
    /// What it has to answer.
    expected: Expected,
}

impl Ready {
    pub(super) fn new(evaluator: PlannedEvaluator, runner: &Runner, evaluations: usize) -> Self {
        let workers = NonZeroUsize::new(evaluations)
            .filter(|evaluations| evaluations.get() >= WORKER_PAYS_FROM)
            .map(|evaluations| evaluations.min(runner.jobs));
        let forked = match &evaluator.work {
            Work::Program(program) if evaluations >= FORK_PAYS_FROM => {
                program.fork_server.map(|make| Forked::new(program.one_shot.clone(), make))
            }
            _ => None,
        };
        let cached = match &evaluator.work {
            Work::Program(program) if evaluations >= CACHE_PAYS_FROM => {
                program.compile_cache.map(|make| Cached::new(program.one_shot.clone(), make))
            }
            _ => None,
        };
        let said = match &evaluator.work {
            Work::Program(program) => Some((&program.config, program.contract)),
            Work::Linked { config, contract, .. } => Some((config, *contract)),
            Work::Metric { .. } | Work::Broken(_) => None,
        };
        let (name, threshold) = (evaluator.name.as_str(), evaluator.threshold);
        let settings = said.map(|(config, _)| Settings::new(name, threshold, config));
        let terms =
            said.and_then(|(config, contract)| Terms::new(contract, name, threshold, config));
        let expected = match (&terms, said) {
            (Some(_), _) => Expected::Anything,
            (None, Some((_, Some(_)))) => Expected::OwnResult,
            (None, _) => Expected::Result,
        };
        Self {
            settings,
            terms,
            evaluator,
            forked,
            cached,
            pool: OnceCell::new(),
            workers,
            expected,
            cancellation: runner.cancellation.clone(),
            config_error: OnceLock::new(),
            has_answered: AtomicBool::new(false),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.evaluator.name
    }

    /// Key of the evaluation; `None` if the evaluator has no fingerprint.
    pub(super) fn key(&self, subject: &Subject) -> Option<Digest> {
        let fingerprint = self.evaluator.fingerprint.as_ref()?;
        match (&self.evaluator.work, &self.settings) {
            (Work::Metric { .. }, _) => Some(fingerprint.key(subject.seen_by_metrics())),
            (Work::Program(_) | Work::Linked { .. }, Some(settings)) => {
                let digest = match &self.terms {
                    None => settings.digest(subject.turns()),
                    Some(terms) => {
                        let document = subject.document_in(terms);
                        Digester::new("foreign document").bytes("text", &document.text()).finish()
                    }
                };
                Some(fingerprint.key(&digest))
            }
            (Work::Broken(_) | Work::Program(_) | Work::Linked { .. }, _) => None,
        }
    }

    /// Its fingerprint when the run started.
    pub(super) fn fingerprint(&self) -> Option<&Fingerprint> {
        self.evaluator.fingerprint.as_ref()
    }

    /// Why evaluations are not forked, though they were to be, if that was found out since the last call.
    pub(super) fn take_unforked(&self) -> Option<String> {
        self.forked.as_ref()?.take_reason()
    }

    /// Why what evaluations compile is not kept, though it was to be, if that was found out since the last call.
    pub(super) fn take_uncached(&self) -> Option<String> {
        self.cached.as_ref()?.take_reason()
    }

    /// How often an evaluation is tried again whose verdict may be transient.
    pub(super) fn retries(&self) -> u32 {
        match &self.evaluator.work {
            Work::Program(program) => program.retries,
            // Nobody ends a linked evaluator from outside, and one whose time was up may still be at it.
            Work::Metric { .. } | Work::Linked { .. } | Work::Broken(_) => 0,
        }
    }

    /// Ends when the run is cancelled.
    pub(super) async fn run_is_cancelled(&self) {
        self.cancellation.cancelled().await;
    }

    /// Whether a run that is to stop at the first failure or error stops at this one.
    pub(super) fn went_wrong(&self, verdict: &Verdict, given: Given<'_>) -> bool {
        let fails = match given {
            Given::Conversation(subject) => self.failure_reason(verdict, subject).is_some(),
            Given::Document(_) => false,
        };
        match verdict {
            Verdict::Cancelled | Verdict::NotRun => false,
            verdict => {
                let status = verdict.status(self.evaluator.threshold);
                fails || status.is_none_or(|it| it == Status::Failed)
            }
        }
    }

    /// Evaluates once what is given, as soon as there is a permit.
    pub(super) async fn evaluate(&self, given: Given<'_>, permits: &Permits) -> Evaluation {
        let evaluation = self.ask(given, permits).await;
        match (&self.terms, given) {
            (Some(terms), Given::Conversation(subject)) => {
                terms.read(evaluation, subject.conversation().turns.len())
            }
            (None, Given::Conversation(_)) => self.refuse_mismatch(evaluation),
            // Documents from outside are answered in their own terms.
            (_, Given::Document(_)) => evaluation,
        }
    }

    /// The evaluation, as an error if an answer came from a program that reads the documents of another host: the answer is
    /// not about the conversation.
    fn refuse_mismatch(&self, mut evaluation: Evaluation) -> Evaluation {
        if let Work::Program(program) = &self.evaluator.work
            && matches!(evaluation.verdict, Verdict::Answer(_))
            && let Some(error) = program.mismatch.as_ref().and_then(Mismatch::error)
        {
            evaluation.verdict = Verdict::BadAnswer(error);
        }
        evaluation
    }

    async fn ask(&self, given: Given<'_>, permits: &Permits) -> Evaluation {
        match &self.evaluator.work {
            _ if permits.are_withdrawn() => not_run(),
            Work::Broken(verdict) => Evaluation::without_process(verdict.clone(), Duration::ZERO),
            Work::Metric { metric, settings } => {
                let Given::Conversation(subject) = given else {
                    return self.lost("is computed from recordings, and there is none");
                };
                let Some(_permit) = permits.take().await else { return not_run() };
                self.compute(metric.as_ref(), settings, subject)
            }
            Work::Linked { evaluator, timeout, .. } => {
                let Some(_permit) = permits.take().await else { return not_run() };
                let Some(document) = self.document(given) else {
                    return self.lost("has no settings");
                };
                let evaluator = Arc::clone(evaluator);
                let (text, cancellation) = (document.text(), &self.cancellation);
                let answered =
                    linked::evaluate(evaluator, text, *timeout, self.expected, cancellation);
                given.check(answered.await)
            }
            Work::Program(program) => given.check(self.ask_program(program, given, permits).await),
        }
    }

    /// Has a program judge what is given.
    async fn ask_program(
        &self,
        program: &Program,
        given: Given<'_>,
        permits: &Permits,
    ) -> Evaluation {
        // Those that wait for the same answer hold no permit, so that other evaluators go on.
        let pool = self.pool.get_or_init(|| self.pool(program, permits)).await;
        let Some(document) = self.document(given) else {
            return self.lost("has no settings");
        };
        if let Some(known) = self.known_config_error(given) {
            return known;
        }
        let evaluation = match pool {
            // Its workers have permits.
            Some(pool) => pool.evaluate(document, program.timeout).await,
            None => {
                let Some(_permit) = permits.take().await else { return not_run() };
                if let Some(known) = self.known_config_error(given) {
                    return known;
                }
                self.run(program, &document.text()).await
            }
        };
        if matches!(evaluation.verdict, Verdict::Answer(_)) {
            self.has_answered.store(true, Ordering::Relaxed);
        } else if evaluation.blames_config && !self.has_answered.load(Ordering::Relaxed) {
            // If there is one, it is the same.
            let _ = self.config_error.set(evaluation.clone());
        }
        evaluation
    }

    /// The error that every conversation has, once one has it. Documents from outside bring settings of their own.
    fn known_config_error(&self, given: Given<'_>) -> Option<Evaluation> {
        let Given::Conversation(_) = given else { return None };
        let known = self.config_error.get()?.clone();
        Some(Evaluation { duration: Duration::ZERO, attempts: 0, ..known })
    }

    /// The text that a program is given.
    fn document(&self, given: Given<'_>) -> Option<Document> {
        match given {
            Given::Conversation(subject) => match &self.terms {
                Some(terms) => Some(subject.document_in(terms)),
                None => Some(self.settings.as_ref()?.document(subject.turns())),
            },
            Given::Document(document) => Some(document.clone()),
        }
    }

    fn compute(
        &self,
        metric: &dyn Metric,
        settings: &MetricSettings,
        subject: &Subject,
    ) -> Evaluation {
        let begun = Instant::now();
        if self.cancellation.is_cancelled() {
            return Evaluation::without_process(Verdict::Cancelled, begun.elapsed());
        }
        let verdict = metric.evaluate(&MetricInput {
            turns: &subject.conversation().turns,
            golden: subject.golden(),
            threshold: self.evaluator.threshold,
            settings,
        });
        let verdict = match (verdict, &settings.credential_ref) {
            (Verdict::Answer(answer), Some(credential)) if answer.score.is_some() => {
                let name = self.name();
                let reason = format!(
                    "Metric '{name}' references credential '{credential}', which was not provided in the run's credentialRefs."
                );
                Verdict::MetricFailed { reason }
            }
            (Verdict::Answer(answer), _) if !is_finite(&answer) => {
                let reason = format!("{} gave a score that is not a number", self.name());
                Verdict::MetricFailed { reason }
            }
            (verdict, _) => verdict,
        };
        Evaluation::without_process(verdict, begun.elapsed())
    }

    /// Starts a process for this document alone.
    async fn run(&self, program: &Program, document: &[u8]) -> Evaluation {
        if self.cancellation.is_cancelled() {
            return Evaluation::without_process(Verdict::Cancelled, Duration::ZERO);
        }
        // What runs is what it was started from; what begins now would be another program.
        if let Some(verdict) = program.originals.replaced() {
            return Evaluation::without_process(verdict, Duration::ZERO);
        }
        let limits = program.surroundings.limits(program.timeout);
        let cancellation = &self.cancellation;
        // An interpreter is Python's or Node's.
        let quicker = match (&self.forked, &self.cached) {
            (Some(forked), _) => forked.run(document, &limits, cancellation).await,
            (None, Some(cached)) => cached.run(document, &limits, cancellation).await,
            (None, None) => None,
        };
        let outcome = match quicker {
            Some(outcome) => outcome,
            None => process::run(&program.one_shot, document, &limits, cancellation).await,
        };
        let evaluation = Evaluation::judged(&outcome, self.expected);
        // It may have been replaced just before it was started, or before its interpreter read it.
        match (&evaluation.verdict, program.originals.replaced()) {
            (Verdict::Cancelled, _) | (_, None) => evaluation,
            (_, Some(verdict)) => Evaluation { verdict, ..evaluation },
        }
    }

    /// Workers for a program that has the streaming form and says so, if there is enough to do for them.
    async fn pool(&self, program: &Program, permits: &Permits) -> Option<Pool> {
        let workers = self.workers?;
        let worker = program.worker.clone()?;
        let _permit = permits.take().await?;
        let limit = DESCRIBE_LIMIT.min(program.timeout);
        let description = describe(&program.one_shot, limit, &self.cancellation).await?;
        description.streams().then(|| {
            self.workers(program, worker, workers, permits).numbered(description.numbers())
        })
    }

    /// Says what the first evaluation would have to find out: whether there are workers for its documents. To be called before
    /// that. Of documents that come one by one for as long as it pleases others nobody may find out in the end that their answers
    /// were mixed up, so only a program that numbers them stays for the next one.
    pub(super) fn keep_warm(&mut self, may_stay: bool, expected: Expected, permits: &Permits) {
        self.expected = expected;
        let pool = match (&self.evaluator.work, self.workers) {
            (Work::Program(program), Some(workers)) if may_stay => program
                .worker
                .clone()
                .map(|worker| self.workers(program, worker, workers, permits).numbered(true)),
            _ => None,
        };
        self.pool = OnceCell::new_with(Some(pool));
    }

    fn workers(
        &self,
        program: &Program,
        worker: CommandSpec,
        size: NonZeroUsize,
        permits: &Permits,
    ) -> Pool {
        let limits = program.surroundings.limits(program.timeout);
        let originals = Arc::clone(&program.originals);
        Pool::new(worker, size, limits, self.cancellation.clone())
            .with_check(move || originals.replaced())
            .with_permits(permits.shared())
            .expecting(self.expected)
    }

    /// The evaluation of a conversation that was not even loaded, because the run was cancelled or has stopped.
    pub(super) fn never_begun(&self) -> Evaluation {
        if !self.cancellation.is_cancelled() {
            return not_run();
        }
        let verdict = match &self.evaluator.work {
            Work::Broken(verdict) => verdict.clone(),
            Work::Metric { .. } | Work::Program(_) | Work::Linked { .. } => Verdict::Cancelled,
        };
        Evaluation::without_process(verdict, Duration::ZERO)
    }

    /// The evaluation whose task died: a defect of a metric or of this program, which must not look like an answer.
    pub(super) fn lost(&self, how: &str) -> Evaluation {
        let reason = format!("{} {how}", self.name());
        Evaluation::without_process(Verdict::MetricFailed { reason }, Duration::ZERO)
    }

    /// Ends what it has running. An error says that its answers cannot be relied on, whatever was reported of them.
    ///
    /// A worker has as long to exit as it has for a document: a process that is started for one document is not killed
    /// earlier either.
    pub(super) async fn close(self) -> Result<(), WorkerFault> {
        let patience = match &self.evaluator.work {
            Work::Program(program) => program.timeout,
            Work::Metric { .. } | Work::Linked { .. } | Work::Broken(_) => LAST_PATIENCE,
        };
        let answered = match self.pool.into_inner().flatten() {
            Some(pool) => pool.shutdown(patience).await,
            None => Ok(()),
        };
        // Each fork is judged by its own end; the server it is forked from runs no code of the evaluator's.
        if let Some(forked) = self.forked {
            forked.close(LAST_PATIENCE).await;
        }
        answered
    }

    /// Ends what it has running without waiting for long.
    pub(super) async fn stop(self) {
        if let Some(pool) = self.pool.into_inner().flatten() {
            // Only programs that number their answers stay, and those cannot get out of step.
            let _ = pool.shutdown(LAST_PATIENCE).await;
        }
        if let Some(forked) = self.forked {
            forked.close(LAST_PATIENCE).await;
        }
    }
}

/// Returns true if all scores are numbers. A registered metric may return others.
fn is_finite(answer: &Answer) -> bool {
    let scores = answer.per_invocation_scores.iter().chain([&answer.score]);
    scores.flatten().all(|score| score.is_finite())
}

fn not_run() -> Evaluation {
    Evaluation::without_process(Verdict::NotRun, Duration::ZERO)
}
