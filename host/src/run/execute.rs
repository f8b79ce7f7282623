//! Every evaluator on every conversation, a bounded number at a time.
//!
//! Conversations are loaded on other threads while those before them are evaluated, and forgotten when they have been:
//! what is in memory depends on how many are being worked on, not on how many there are. What came of one is handed in when
//! it is finished, whatever others still take, and the report has it in its place.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use tokio::task::{JoinError, JoinSet};

use super::{
    Plan, RunEvent, Runner,
    conversations::Conversations,
    journaled,
    loaders::{Loaded, Loaders},
    permits::Permits,
    ready::Ready,
    subject::Subject,
};
use crate::{
    conversation::Conversation,
    eval_set::{CaseIndex, EvalCase, Unmatched},
    journal::Journal,
    json::string_repr,
    panic,
    report::{self, Collector, ConversationReport, EvaluationReport},
    verdict::{Evaluation, Status},
};

/// Conversations that wait for evaluators which are all busy, and how long their text may be in all.
const WAITING: usize = 64;
const WAITING_BYTES: usize = 8 << 20;

/// What the execution of a plan came to.
pub(super) struct Executed {
    /// The reports of all conversations in their order, each with its evaluations in the order of the plan.
    pub(super) conversations: report::Conversations,
    /// Why the results of some evaluators cannot be relied on, each a sentence.
    pub(super) unreliable: Vec<String>,
    /// Positions of the golden cases that conversations were compared with.
    pub(super) recorded: HashSet<usize>,
    /// What is to be known of the run as a whole.
    pub(super) warnings: Vec<String>,
    pub(super) copies: Copies,
}

/// Spans that were dropped because they are copies of others.
#[derive(Debug, Default)]
pub(super) struct Copies {
    spans: usize,
    conversations: usize,
    /// The first conversation with some.
    first: Option<Arc<str>>,
}

impl Copies {
    fn add(&mut self, conversation: &Conversation) {
        if conversation.dropped_copies > 0 {
            self.spans += conversation.dropped_copies;
            self.conversations += 1;
            self.first.get_or_insert_with(|| Arc::clone(&conversation.trace_id));
        }
    }

    /// The warning of the run; `None` if there are none.
    pub(super) fn warning(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let counted = |count: usize, noun: &str| {
            format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
        };
        Some(format!(
            "{} dropped as exact copies of others in {} (first in trace {first})",
            counted(self.spans, "span"),
            counted(self.conversations, "conversation"),
        ))
    }
}

/// Runs every evaluator on every conversation; with `events`, the reports carry what evaluation events are made of as
/// well. An evaluation that gets no permit any more is reported as not run.
pub(super) async fn all(
    runner: &Runner,
    plan: Plan,
    conversations: Arc<Conversations>,
    cases: &CaseIndex<'_>,
    permits: Permits,
    events: bool,
    on_event: &mut dyn FnMut(RunEvent),
) -> Executed {
    let evaluators: Vec<Arc<Ready>> = plan
        .evaluators
        .into_iter()
        .map(|evaluator| Arc::new(Ready::new(evaluator, runner, conversations.len())))
        .collect();
    let total = conversations.len() * evaluators.len();
    on_event(RunEvent::Evaluating { total });
    let reports = Collector::new(runner.report_memory, conversations.len());
    let mut execution = Execution {
        loaders: Loaders::new(Arc::clone(&conversations)),
        permits: Arc::new(permits),
        runner,
        cases,
        events,
        next: 0,
        active: HashMap::new(),
        active_bytes: 0,
        tasks: JoinSet::new(),
        places: HashMap::new(),
        reports,
        recorded: HashSet::new(),
        warnings: Vec::new(),
        copies: Copies::default(),
        progress: Progress { done: 0, total, errored: 0, on_event },
        evaluators: &evaluators,
        conversations: &conversations,
    };
    execution.run().await;
    execution.loaders.end();
    let Execution { reports, recorded, warnings, copies, .. } = execution;
    let conversations = reports.finish();
    let unreliable = close(evaluators, runner.journal.as_deref()).await;
    Executed { conversations, unreliable, recorded, warnings, copies }
}

/// Ends what the evaluators have running, all at the same time. Returns why the results of some of them cannot be relied
/// on; the journal does not keep those.
async fn close(evaluators: Vec<Arc<Ready>>, journal: Option<&Journal>) -> Vec<String> {
    let closing: Vec<_> = evaluators
        .into_iter()
        .filter_map(Arc::into_inner)
        .map(|evaluator| {
            let (name, fingerprint) =
                (evaluator.name().to_owned(), evaluator.fingerprint().cloned());
            (name, fingerprint, tokio::spawn(evaluator.close()))
        })
        .collect();
    let mut complaints = Vec::new();
    for (name, fingerprint, closing) in closing {
        let complaint = match closing.await {
            Ok(Ok(())) => continue,
            Ok(Err(fault)) => fault.explain(&name),
            Err(error) => format!("{name}: ending its workers {}", died(error)),
        };
        if let (Some(journal), Some(fingerprint)) = (journal, fingerprint) {
            journal.withdraw(&fingerprint, &name, &complaint).await;
        }
        complaints.push(complaint);
    }
    complaints
}

/// What is being worked on.
struct Execution<'a, 's> {
    runner: &'a Runner,
    evaluators: &'a [Arc<Ready>],
    conversations: &'a Arc<Conversations>,
    cases: &'a CaseIndex<'s>,
    events: bool,
    loaders: Loaders,
    permits: Arc<Permits>,
    /// The first conversation of which nothing has been done.
    next: usize,
    /// Conversations that are being evaluated.
    active: HashMap<usize, Active>,
    /// How long their text is.
    active_bytes: usize,
    tasks: JoinSet<Evaluation>,
    /// The conversation and the evaluator of each task.
    places: HashMap<tokio::task::Id, (usize, usize)>,
    reports: Collector,
    /// Positions of the golden cases that have been found so far.
    recorded: HashSet<usize>,
    warnings: Vec<String>,
    copies: Copies,
    progress: Progress<'a>,
}

/// A conversation that is being evaluated.
struct Active {
    subject: Arc<Subject>,
    evaluations: Vec<Option<EvaluationReport>>,
    /// How many evaluations are still to come.
    missing: usize,
}

/// Counts, and tells of what has been done.
struct Progress<'a> {
    done: usize,
    total: usize,
    errored: usize,
    on_event: &'a mut dyn FnMut(RunEvent),
}

impl Execution<'_, '_> {
    async fn run(&mut self) {
        loop {
            self.load_ahead();
            tokio::select! {
                Some(joined) = self.tasks.join_next_with_id() => self.evaluated(joined),
                Some((batch, loaded)) = self.loaders.next() => self.loaded(batch, loaded),
                else => break,
            }
        }
    }

    /// Keeps the loaders busy, as long as what they load does not have to wait long.
    fn load_ahead(&mut self) {
        while self.next < self.conversations.len() {
            if self.runner.cancellation.is_cancelled() || self.permits.are_withdrawn() {
                self.give_up();
                return;
            }
            let waiting = self.active.len().saturating_sub(self.runner.jobs.get());
            let is_enough =
                waiting > 0 && (waiting >= WAITING || self.active_bytes >= WAITING_BYTES);
            if is_enough || self.loaders.are_busy() {
                return;
            }
            let batch = self.conversations.batch(self.next);
            self.next = batch.end;
            self.loaders.begin(batch);
        }
    }

    /// Reports everything that nothing has been done of as cancelled, or as not run.
    fn give_up(&mut self) {
        for number in self.next..self.conversations.len() {
            let trace_id = self.conversations.trace_id(number);
            let evaluations = self.evaluators.iter().map(|evaluator| {
                let report = evaluator.report(evaluator.never_begun());
                self.progress.evaluated(&report, &trace_id, String::new());
                report
            });
            let evaluations = evaluations.collect();
            self.hand_in(number, &unloaded(trace_id, evaluations));
        }
        self.next = self.conversations.len();
    }

    fn loaded(&mut self, batch: Range<usize>, loaded: Loaded) {
        for (number, loaded) in batch.zip(loaded) {
            if let Ok(conversation) = &loaded {
                self.copies.add(conversation);
            }
            let unusable = match loaded {
                Ok(conversation) if !conversation.errors.is_empty() => {
                    let error =
                        format!("The recording is unusable: {}", conversation.errors.join("; "));
                    report(&conversation, vec![unusable(&error, "unusable_recording")])
                }
                Ok(conversation) if conversation.turns.is_empty() => {
                    let error = unusable("No invocations extracted from trace.", "no_invocations");
                    report(&conversation, vec![error])
                }
                Ok(conversation) => {
                    self.evaluate(number, conversation);
                    continue;
                }
                Err(error) => {
                    let error = format!("Turn extraction failed: {error}");
                    let evaluations = vec![unusable(&error, "extraction_failed")];
                    unloaded(self.conversations.trace_id(number), evaluations)
                }
            };
            self.permits.something_went_wrong();
            self.progress.total -= self.evaluators.len();
            self.hand_in(number, &unusable);
        }
    }

    /// Begins all evaluations of a conversation.
    fn evaluate(&mut self, number: usize, conversation: Conversation) {
        let case = self.golden_case(&conversation);
        let subject = Arc::new(Subject::new(conversation, case));
        for (column, evaluator) in self.evaluators.iter().enumerate() {
            let (subject, evaluator, permits) =
                (Arc::clone(&subject), Arc::clone(evaluator), Arc::clone(&self.permits));
            let journal = self.runner.journal.clone();
            let task = self.tasks.spawn(async move {
                journaled::evaluate(journal.as_deref(), &evaluator, &subject, &permits).await
            });
            self.places.insert(task.id(), (number, column));
        }
        let missing = self.evaluators.len();
        let evaluations = vec![None; missing];
        self.active.insert(number, Active { subject, evaluations, missing });
        self.active_bytes += self.conversations.size(number);
        if missing == 0 {
            self.finish(number);
        }
    }

    /// The golden case of a conversation, which from here on counts as recorded.
    fn golden_case(&mut self, conversation: &Conversation) -> Result<EvalCase, Unmatched> {
        let matched = self.cases.find(conversation, self.conversations.len())?;
        self.recorded.insert(matched.position);
        if let Some(doubt) = matched.doubt {
            let (id, trace_id) = (string_repr(&matched.case.id), &conversation.trace_id);
            self.warnings.push(format!(
                "trace {trace_id} is compared with golden case {id} only because there is no other: {doubt} (`--strict-matching` does not compare them)"
            ));
        }
        Ok(matched.case.clone())
    }

    fn evaluated(&mut self, joined: Result<(tokio::task::Id, Evaluation), JoinError>) {
        let id = joined.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let Some((number, column)) = self.places.remove(&id) else { return };
        let Some(active) = self.active.get_mut(&number) else { return };
        let evaluator = &self.evaluators[column];
        let evaluation = match joined {
            Ok((_, evaluation)) => evaluation,
            Err(error) => {
                self.permits.something_went_wrong();
                evaluator.lost(&died(error))
            }
        };
        let subject = Arc::clone(&active.subject);
        if let Some(reason) = evaluator.take_unshared() {
            let evaluator = evaluator.name().to_owned();
            (self.progress.on_event)(RunEvent::NotReused { evaluator, reason });
        }
        let stderr = evaluation.end_of_stderr().into_owned();
        let report = evaluator.report_on(evaluation, &subject);
        self.progress.evaluated(&report, &subject.conversation().trace_id, stderr);
        active.evaluations[column] = Some(report);
        active.missing -= 1;
        if active.missing == 0 {
            self.finish(number);
        }
    }

    /// Forgets a conversation but for what the report says of it.
    fn finish(&mut self, number: usize) {
        let Some(Active { subject, evaluations, .. }) = self.active.remove(&number) else { return };
        self.active_bytes -= self.conversations.size(number);
        let evaluations = evaluations
            .into_iter()
            .zip(self.evaluators)
            .map(|(report, evaluator)| {
                report.unwrap_or_else(|| evaluator.report(evaluator.lost("was lost")))
            })
            .collect();
        let report = ConversationReport {
            events: self.events.then(|| subject.event_context()),
            ..report(subject.conversation(), evaluations)
        };
        self.hand_in(number, &report);
    }

    /// Hands in what came of a conversation; it is not held here, so that nothing waits for one that takes long.
    fn hand_in(&mut self, number: usize, report: &ConversationReport) {
        if let Err(error) = self.reports.put(number, report) {
            (self.progress.on_event)(RunEvent::ReportInMemory { reason: error.to_string() });
        }
    }
}

impl Progress<'_> {
    fn evaluated(&mut self, report: &EvaluationReport, trace_id: &Arc<str>, stderr: String) {
        self.done += 1;
        self.errored += usize::from(report.error.is_some() && report.was_run());
        (self.on_event)(RunEvent::Evaluated {
            evaluator: report.name.clone(),
            trace_id: Arc::clone(trace_id),
            error: report.error.clone(),
            warnings: report.warnings.clone(),
            stderr,
            done: self.done,
            total: self.total,
            errored: self.errored,
        });
    }
}

/// What the report keeps of a conversation.
fn report(conversation: &Conversation, evaluations: Vec<EvaluationReport>) -> ConversationReport {
    ConversationReport {
        trace_id: Arc::clone(&conversation.trace_id),
        turns: conversation.turns.len(),
        warnings: conversation.warnings.clone(),
        evaluations,
        performance: conversation.performance.clone(),
        events: None,
    }
}

/// What the report says of a conversation that was not loaded.
fn unloaded(trace_id: Arc<str>, evaluations: Vec<EvaluationReport>) -> ConversationReport {
    let (warnings, performance, events) = (Vec::new(), None, None);
    ConversationReport { trace_id, turns: 0, warnings, evaluations, performance, events }
}

/// The one entry of a conversation that no evaluator can be run on.
fn unusable(error: &str, error_type: &'static str) -> EvaluationReport {
    EvaluationReport {
        name: "(all)".to_owned(),
        score: None,
        threshold: None,
        status: Status::NotEvaluated,
        failure_reason: None,
        per_invocation_scores: Vec::new(),
        duration: None,
        error: Some(error.to_owned()),
        headline: None,
        error_type: Some(error_type),
        stderr: None,
        attempts: 1,
        warnings: Vec::new(),
        details: None,
    }
}

/// How a task died, to be read after a name.
fn died(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => format!("panicked: {}", panic::message(panic.as_ref())),
        Err(_) => "was given up".to_owned(),
    }
}
