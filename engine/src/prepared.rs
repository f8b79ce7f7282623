//! An evaluator during a run: its workers and its evaluations.

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
    describe::{Description, describe},
    document::{Settings, redacted_object},
    foreign::ForeignAdapter,
    identity::Fingerprint,
    permits::Permits,
    recording::Recording,
    reuse::{Shared, with_variables},
    settings::ExecutionSettings,
    target::{Access, not_opened},
    transcripts::CaseTranscript,
    work::{Closing, PlannedEvaluator, Program, Work},
};
use crate::{
    hosts::Mismatch,
    linked,
    metric::{Metric, MetricInput},
    models::Redactor,
    pool::{Document, Pool, WorkerFault},
    process::{self, Cancellation, CommandSpec},
    report::run_file::{Digest, Digester},
    verdict::{Answer, Evaluation, Expected, Status, Verdict},
};

/// Time limit for a program to describe itself. A slower program gets a process for every conversation, which affects the
/// duration only.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(2);

/// Time for a container to start and to end, which takes a busy engine several seconds.
const CONTAINER_START_LIMIT: Duration = Duration::from_secs(60);

/// Number of conversations from which a warm worker pays: it takes one start, and asking the program for its description
/// another.
const WORKER_PAYS_FROM: usize = 3;

/// Number of conversations from which sharing pays. A fork server takes as long to start as one evaluation, since both do the
/// same imports, and no other evaluation of that evaluator runs meanwhile; the first processes find no compiled code.
const SHARING_PAYS_FROM: usize = 4;

/// Time for which processes without a document may take to exit.
const SHUTDOWN_LIMIT: Duration = Duration::from_millis(200);

/// Input of one evaluation.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A recorded conversation, and the number of the repeat; the evaluator has the settings of its entry.
    Recording(&'a Recording, u32),
    /// A document of a client, which contains all settings, and the number of the repeat.
    Document(&'a Document, u32),
}

impl Input<'_> {
    /// Checks the number of turn scores. Those of a document are checked where it is read.
    fn check(self, evaluation: Evaluation) -> Evaluation {
        match self {
            Self::Recording(recording, _) => {
                evaluation.for_turns(recording.conversation.turns.len())
            }
            Self::Document(..) => evaluation,
        }
    }

    /// Returns the number of the repeat, from 0.
    fn repeat(self) -> u32 {
        let (Self::Recording(_, repeat) | Self::Document(_, repeat)) = self;
        repeat
    }
}

/// A planned evaluator with its processes and its state during a run.
#[derive(Debug)]
pub struct PreparedEvaluator {
    /// The planned evaluator.
    pub evaluator: PlannedEvaluator,
    /// Warm workers, if the program has the streaming form; decided by the first evaluation.
    pool: OnceCell<Option<Pool>>,
    /// Maximum number of workers that pay; `None` if none does.
    workers: Option<NonZeroUsize>,
    /// Work that evaluations share, if that is possible and pays.
    shared: Option<Shared>,
    cancellation: Cancellation,
    /// The first error about the settings of the entry, which every conversation would have.
    config_error: OnceLock<Evaluation>,
    /// True if it has answered for any conversation, so that its settings are not wrong for all of them.
    has_answered: AtomicBool,
    /// Start of all documents of the evaluator.
    settings: Option<Settings>,
    /// The contract of another host, if conversations are given to it as documents of that contract.
    foreign: Option<ForeignAdapter>,
    /// Form of its answers.
    expected: Expected,
    /// Removes the secrets of this machine from what is computed in this process.
    redactor: Redactor,
}

impl PreparedEvaluator {
    /// Prepares an evaluator for this number of evaluations, apart from repeats.
    pub fn new(
        evaluator: PlannedEvaluator,
        execution: &ExecutionSettings,
        evaluations: usize,
    ) -> Self {
        let repeats = usize::try_from(evaluator.repeats()).unwrap_or(usize::MAX);
        let evaluations = evaluations.saturating_mul(repeats);
        let workers = NonZeroUsize::new(evaluations)
            .filter(|evaluations| evaluations.get() >= WORKER_PAYS_FROM)
            .map(|evaluations| evaluations.min(execution.jobs));
        let shared = match &evaluator.work {
            Work::Program(program) if evaluations >= SHARING_PAYS_FROM => {
                Shared::new(&program.forked, &program.reuse)
            }
            _ => None,
        };
        let entry = match &evaluator.work {
            Work::Program(program) => Some((&program.config, program.contract)),
            Work::Linked { config, contract, .. } => Some((config, *contract)),
            _ => None,
        };
        let (name, threshold) = (evaluator.name.as_str(), evaluator.threshold);
        let settings = entry.map(|(config, _)| Settings::new(name, threshold, config));
        let foreign = entry
            .and_then(|(config, contract)| ForeignAdapter::new(contract, name, threshold, config));
        let expected = match (&foreign, entry) {
            (Some(_), _) => Expected::Anything,
            (None, Some((_, Some(_)))) => Expected::OwnResult,
            (None, _) => Expected::Result,
        };
        let secrets = match &evaluator.work {
            Work::Metric { .. } | Work::Grader(_) => execution.secrets.clone(),
            // What programs print is theirs, and judges know the secrets.
            _ => Vec::new(),
        };
        Self {
            redactor: Redactor::new(secrets),
            settings,
            foreign,
            evaluator,
            shared,
            pool: OnceCell::new(),
            workers,
            expected,
            cancellation: execution.cancellation.clone(),
            config_error: OnceLock::new(),
            has_answered: AtomicBool::new(false),
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.evaluator.name
    }

    /// Accepts any output, whatever the contract of the entry.
    pub(crate) fn expecting_any_output(self) -> Self {
        Self { expected: Expected::Output, ..self }
    }

    /// Returns a future for each of its programs that ends the processes of the program.
    pub(crate) fn into_closings(self) -> Vec<Closing> {
        match self.evaluator.work {
            Work::Suite(suite) => suite.into_closings(),
            _ => vec![(self.name().to_owned(), Box::pin(self.close()))],
        }
    }

    /// Returns the key of a repeat of the evaluation; `None` if the evaluator has no fingerprint.
    pub(crate) fn key(&self, recording: &Recording, repeat: u32) -> Option<Digest> {
        let key = self.key_of_first(recording)?;
        Some(match repeat {
            // An evaluation without repeats has the same.
            0 => key,
            _ => Digester::new("repeat").json("key", &key).json("repeat", &repeat).finish(),
        })
    }

    fn key_of_first(&self, recording: &Recording) -> Option<Digest> {
        if let Work::Suite(suite) = &self.evaluator.work {
            return suite.key(recording.number);
        }
        let fingerprint = self.evaluator.fingerprint.as_ref()?;
        match (&self.evaluator.work, &self.settings) {
            (Work::Metric { .. } | Work::Judge(_) | Work::Grader(_), _) => {
                fingerprint.key(recording.metric_digest())
            }
            (Work::Program(_) | Work::Linked { .. }, Some(settings)) => {
                let digest = match &self.foreign {
                    None => settings.digest(recording.turns()),
                    Some(foreign) => {
                        let document = recording.foreign_document(foreign);
                        // The document need not contain all turns that the answer is judged by.
                        Digester::new("foreign document")
                            .bytes("text", &document.text())
                            .json("turns", &recording.turn_counts())
                            .finish()
                    }
                };
                fingerprint.key(&digest)
            }
            (Work::Suite(_) | Work::Broken(_) | Work::Program(_) | Work::Linked { .. }, _) => None,
        }
    }

    /// Returns the digest of what evaluators see of a recording, if it is known.
    pub fn content(&self, recording: &Recording) -> Option<Digest> {
        match &self.evaluator.work {
            Work::Suite(suite) => suite.content(recording.number),
            _ => Some(recording.turns().content()),
        }
    }

    /// Returns its fingerprint at the start of the run.
    pub(crate) fn fingerprint(&self) -> Option<&Fingerprint> {
        self.evaluator.fingerprint.as_ref()
    }

    /// Returns the reason why evaluations do not share work, if that was decided since the last call.
    pub(crate) fn take_unshared(&self) -> Option<String> {
        match &self.evaluator.work {
            Work::Suite(suite) => suite.take_unshared(),
            _ => self.shared.as_ref()?.take_reason(),
        }
    }

    /// Returns what was said and done in a case; `None` if it grades none, or the output is not known.
    pub(crate) fn take_transcript(&self, case: usize) -> Option<CaseTranscript> {
        match &self.evaluator.work {
            Work::Suite(suite) => suite.take_transcript(case),
            _ => None,
        }
    }

    /// Returns the number of retries after a verdict that may be transient.
    pub(crate) fn retries(&self) -> u32 {
        match &self.evaluator.work {
            Work::Program(program) => program.retries,
            // No other process kills a linked evaluator, and one that has timed out may still be running.
            _ => 0,
        }
    }

    /// Waits until the run is cancelled.
    pub(crate) async fn cancelled(&self) {
        self.cancellation.cancelled().await;
    }

    /// Returns true if a run with `fail_fast` stops at this verdict.
    pub(crate) fn is_failure(&self, verdict: &Verdict, input: Input<'_>) -> bool {
        // A program of a suite is part of a case, which counts as one evaluation.
        if matches!((input, self.expected), (Input::Document(..), Expected::Output)) {
            return false;
        }
        let fails = match input {
            Input::Recording(recording, _) => self.failure_reason(verdict, recording).is_some(),
            Input::Document(..) => false,
        };
        match verdict {
            Verdict::Cancelled | Verdict::NotRun => false,
            verdict => match verdict.status(self.evaluator.threshold) {
                None => true,
                // All repeats together decide.
                Some(_) if self.evaluator.repeats() > 1 => false,
                Some(status) => fails || status == Status::Failed,
            },
        }
    }

    /// Evaluates the input once, as soon as there is a permit.
    pub(crate) async fn evaluate(&self, input: Input<'_>, permits: &Permits) -> Evaluation {
        let evaluation = self.ask(input, permits).await;
        match (&self.foreign, input) {
            (Some(foreign), Input::Recording(recording, _)) => {
                foreign.read(evaluation, recording.conversation.turns.len())
            }
            (None, Input::Recording(..)) => self.reject_mismatch(evaluation),
            // The caller converts answers to documents of clients.
            (_, Input::Document(..)) => evaluation,
        }
    }

    /// Replaces the answer of a program that reads documents of another contract with an error: the answer is not about the
    /// conversation.
    fn reject_mismatch(&self, mut evaluation: Evaluation) -> Evaluation {
        if let Work::Program(program) = &self.evaluator.work
            && matches!(evaluation.verdict, Verdict::Answer(_))
            && let Some(error) = program.mismatch.as_ref().and_then(Mismatch::error)
        {
            evaluation.verdict = Verdict::BadAnswer(error);
        }
        evaluation
    }

    // Whatever waits for more than a permit is boxed: a task is allocated and moved in its full size for every evaluation.
    async fn ask(&self, input: Input<'_>, permits: &Permits) -> Evaluation {
        match &self.evaluator.work {
            _ if permits.is_closed() => not_run(),
            Work::Broken(verdict) => Evaluation::without_process(verdict.clone(), Duration::ZERO),
            Work::Metric { metric, credential, .. } => {
                let Input::Recording(recording, _) = input else {
                    return self.lost("is computed from recordings, and this is a document");
                };
                let Some(_permit) = permits.take().await else { return not_run() };
                self.redacted(self.compute(metric.as_ref(), credential.as_deref(), recording))
            }
            Work::Grader(graded) => {
                let Input::Recording(recording, repeat) = input else {
                    return self.lost("grades recordings, and this is a document");
                };
                let input = (recording, repeat);
                let evaluation =
                    Box::pin(graded.evaluate(input, permits, &self.cancellation)).await;
                self.redacted(evaluation.unwrap_or_else(not_run))
            }
            Work::Judge(judged) => {
                let Input::Recording(recording, repeat) = input else {
                    return self.lost("judges recordings, and this is a document");
                };
                let Some(_permit) = permits.take_judged().await else { return not_run() };
                Box::pin(judged.evaluate(recording, repeat, &self.cancellation)).await
            }
            Work::Suite(suite) => {
                let Input::Recording(recording, repeat) = input else {
                    return self.lost("grades cases, and this is a document");
                };
                let case = (recording.number, repeat);
                Box::pin(suite.evaluate(case, permits, &self.cancellation)).await
            }
            Work::Linked { evaluator, timeout, .. } => {
                let Some(_permit) = permits.take().await else { return not_run() };
                let Some(document) = self.document(input) else {
                    return self.lost("has no settings");
                };
                let evaluator = Arc::clone(evaluator);
                let (text, cancellation) = (document.text(), &self.cancellation);
                let answered =
                    linked::evaluate(evaluator, text, *timeout, self.expected, cancellation);
                input.check(Box::pin(answered).await)
            }
            Work::Program(program) => {
                input.check(Box::pin(self.ask_program(program, input, permits)).await)
            }
        }
    }

    /// Evaluates the input with a program.
    async fn ask_program(
        &self,
        program: &Program,
        input: Input<'_>,
        permits: &Permits,
    ) -> Evaluation {
        // No permit is held while waiting for the pool, so that other evaluators continue.
        // Rare steps are boxed, too.
        let pool = self.pool.get_or_init(|| Box::pin(self.pool(program, permits))).await;
        let Some(document) = self.document(input) else {
            return self.lost("has no settings");
        };
        if let Some(known) = self.known_config_error(input) {
            return known;
        }
        // Proxies are open while their documents wait for workers.
        let _place = match (&program.target, pool) {
            (Some(target), Some(_)) => Arc::clone(&target.places).acquire_owned().await.ok(),
            _ => None,
        };
        let evaluation = match pool {
            // Its workers take permits.
            Some(pool) => {
                let access = match program.open_target(input.repeat()) {
                    Ok(access) => access,
                    Err(error) => {
                        let verdict = not_opened(&error);
                        return Evaluation::without_process(verdict, Duration::ZERO);
                    }
                };
                let document = match &access {
                    Some(access) => document.with_target(access.of_document()),
                    None => document,
                };
                pool.evaluate(document, program.timeout).await.asked(access.map(Access::close))
            }
            None => {
                let Some(_permit) = permits.take().await else { return not_run() };
                if let Some(known) = self.known_config_error(input) {
                    return known;
                }
                Box::pin(self.run(program, &document.text(), input.repeat())).await
            }
        };
        let evaluation = evaluation.without_recording();
        if matches!(evaluation.verdict, Verdict::Answer(_)) {
            self.has_answered.store(true, Ordering::Relaxed);
        } else if evaluation.blames_config && !self.has_answered.load(Ordering::Relaxed) {
            // An earlier one has the same cause.
            let _ = self.config_error.set(evaluation.clone());
        }
        evaluation
    }

    /// Returns the error about the settings of the entry, if a conversation had it. Documents of clients contain their own
    /// settings.
    fn known_config_error(&self, input: Input<'_>) -> Option<Evaluation> {
        let Input::Recording(..) = input else { return None };
        let known = self.config_error.get()?.clone();
        Some(Evaluation { duration: Duration::ZERO, attempts: 0, ..known })
    }

    /// Returns the document of the input.
    pub fn document(&self, input: Input<'_>) -> Option<Document> {
        match input {
            Input::Recording(recording, _) => match &self.foreign {
                Some(foreign) => Some(recording.foreign_document(foreign)),
                None => Some(self.settings.as_ref()?.document(recording.turns())),
            },
            Input::Document(document, _) => Some(document.clone()),
        }
    }

    fn compute(
        &self,
        metric: &dyn Metric,
        credential: Option<&str>,
        recording: &Recording,
    ) -> Evaluation {
        let started = Instant::now();
        if self.cancellation.is_cancelled() {
            return Evaluation::without_process(Verdict::Cancelled, started.elapsed());
        }
        let (turns, golden) = (&recording.conversation.turns, recording.golden.as_ref());
        let outcome = metric.evaluate(&MetricInput::new(turns, golden, self.evaluator.threshold));
        let verdict = match (Verdict::from(outcome), credential) {
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
        Evaluation::without_process(verdict, started.elapsed())
    }

    /// Removes secrets from the details of an answer, which quote the conversation.
    fn redacted(&self, mut evaluation: Evaluation) -> Evaluation {
        if let Verdict::Answer(Answer { details: Some(details), .. }) = &mut evaluation.verdict {
            *details = redacted_object(details, &self.redactor);
        }
        evaluation
    }

    /// Starts a process for one document.
    async fn run(&self, program: &Program, document: &[u8], repeat: u32) -> Evaluation {
        if self.cancellation.is_cancelled() {
            return Evaluation::without_process(Verdict::Cancelled, Duration::ZERO);
        }
        // A process that starts now would run another program.
        if let Some(verdict) = program.snapshot.changed_verdict() {
            return Evaluation::without_process(verdict, Duration::ZERO);
        }
        let access = match program.open_target(repeat) {
            Ok(access) => access,
            Err(error) => {
                let verdict = not_opened(&error);
                return Evaluation::without_process(verdict, Duration::ZERO);
            }
        };
        let mut variables = access.as_ref().map(Access::variables).unwrap_or_default();
        variables.retain(|(name, _)| program.context.is_of_models(name));
        let limits = program.context.limits(program.timeout);
        let cancellation = &self.cancellation;
        let shared = match &self.shared {
            Some(shared) => shared.run(document, &variables, &limits, cancellation).await,
            None => None,
        };
        let outcome = match shared {
            Some(outcome) => outcome,
            None => {
                let command = with_variables(&program.one_shot, &variables);
                process::run(&command, document, &limits, cancellation).await
            }
        };
        let evaluation =
            Evaluation::judged(&outcome, self.expected).asked(access.map(Access::close));
        // The file may have changed just before the start, or before the interpreter read it.
        match (&evaluation.verdict, program.snapshot.changed_verdict()) {
            (Verdict::Cancelled, _) | (_, None) => evaluation,
            (_, Some(verdict)) => Evaluation { verdict, ..evaluation },
        }
    }

    /// Creates the pool of a program whose description has the streaming form, if there are enough conversations.
    async fn pool(&self, program: &Program, permits: &Permits) -> Option<Pool> {
        let workers = self.workers?;
        let worker = program.worker.clone()?;
        let _permit = permits.take().await?;
        let limit = match program.one_shot.container {
            Some(_) => DESCRIBE_LIMIT.saturating_add(CONTAINER_START_LIMIT),
            None => DESCRIBE_LIMIT,
        };
        let limit = limit.min(program.timeout);
        let description = match &program.description {
            Some(known) => known.clone(),
            None => describe(&program.one_shot, limit, &self.cancellation).await?,
        };
        program.may_stream(&description).then(|| {
            self.workers(program, worker, workers, permits).numbered(description.numbers())
        })
    }

    /// Returns true if one process of the program may evaluate several documents.
    pub fn may_stream(&self, description: &Description) -> bool {
        match &self.evaluator.work {
            Work::Program(program) => program.may_stream(description),
            _ => true,
        }
    }

    /// Decides before the first evaluation whether there are workers. A server cannot withdraw answers that it has sent, so
    /// only a program that numbers its answers (`numbered`) has workers: they cannot assign an answer to another document.
    pub fn keep_warm(&mut self, numbered: bool, expected: Expected, permits: &Permits) {
        self.expected = expected;
        let pool = match (&self.evaluator.work, self.workers) {
            (Work::Program(program), Some(workers)) if numbered => program
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
        let limits = program.context.limits(program.timeout);
        let snapshot = Arc::clone(&program.snapshot);
        Pool::new(worker, size, limits, self.cancellation.clone())
            .with_check(move || snapshot.changed_verdict())
            .with_permits(permits.shared())
            .expecting(self.expected)
    }

    /// Returns the evaluation of a conversation that was not loaded, because the run was cancelled or has stopped.
    pub(crate) fn not_started(&self) -> Evaluation {
        if !self.cancellation.is_cancelled() {
            return not_run();
        }
        let verdict = match &self.evaluator.work {
            Work::Broken(verdict) => verdict.clone(),
            _ => Verdict::Cancelled,
        };
        Evaluation::without_process(verdict, Duration::ZERO)
    }

    /// Returns the evaluation of a task that panicked: a defect of a metric or of this program, which must not look like an
    /// answer.
    pub(crate) fn lost(&self, how: &str) -> Evaluation {
        let reason = format!("{} {how}", self.name());
        Evaluation::without_process(Verdict::MetricFailed { reason }, Duration::ZERO)
    }

    /// Ends its processes. Workers have the time limit of a document to exit, as a process for one document has.
    ///
    /// # Errors
    ///
    /// [`WorkerFault`] if its answers are unreliable.
    pub(crate) async fn close(self) -> Result<(), WorkerFault> {
        let grace = match &self.evaluator.work {
            Work::Program(program) => program.timeout,
            _ => SHUTDOWN_LIMIT,
        };
        self.end(grace).await
    }

    /// Ends its processes without waiting long.
    pub async fn stop(self) {
        // Only programs that number their answers have workers, and those cannot be desynchronized.
        let _ = self.end(SHUTDOWN_LIMIT).await;
    }

    async fn end(self, grace: Duration) -> Result<(), WorkerFault> {
        let answered = match self.pool.into_inner().flatten() {
            Some(pool) => pool.shutdown(grace).await,
            None => Ok(()),
        };
        // The exit of each fork is part of its verdict; the server runs no code of the evaluator.
        if let Some(shared) = self.shared {
            shared.close(SHUTDOWN_LIMIT).await;
        }
        answered
    }
}

/// Returns true if all scores are finite. A registered metric may return others.
fn is_finite(answer: &Answer) -> bool {
    let scores = answer.per_invocation_scores.iter().chain([&answer.score]);
    scores.flatten().all(|score| score.is_finite())
}

fn not_run() -> Evaluation {
    Evaluation::without_process(Verdict::NotRun, Duration::ZERO)
}
