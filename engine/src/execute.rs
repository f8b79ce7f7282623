//! Every evaluator on every conversation, a bounded number at a time.
//!
//! Conversations are loaded on other threads while earlier ones are evaluated, and dropped afterwards: memory depends on the
//! number of active conversations, not on their total. The report of a conversation is written when it is finished; the
//! order in the report is that of the traces.

use std::{
    collections::{HashMap, HashSet},
    future::poll_fn,
    mem,
    sync::Arc,
};

use tokio::task::{JoinError, JoinSet};

use super::{
    conversation_source::{ConversationStream, JoinedTraces},
    conversations::{Conversations, shown},
    decide::{CaseOrder, Decider},
    event::RunEvent,
    feed::{Feed, Loaded, StreamFeed, Taken, Unread},
    loaders::Loaders,
    permits::Permits,
    prepared::{Input, PreparedEvaluator},
    recording::Recording,
    retry,
    settings::ExecutionSettings,
    transcripts::TranscriptWriter,
    work::PlannedEvaluator,
};
use crate::{
    conversation::Conversation,
    eval_set::{CaseIndex, EvalCase, Unmatched},
    json::string_repr,
    judging::Session,
    panic,
    report::{
        ALL_EVALUATORS, CANCELLED, ConversationReport, EvaluationOutcome, EvaluationReport, Gate,
        run_file::{Digest, EvaluationRecord, RunWriter},
    },
    verdict::Evaluation,
};

/// Maximum number of loaded conversations that wait for evaluators, and of bytes of their text.
const WAITING: usize = 64;
const WAITING_BYTES: usize = 8 << 20;

/// Result of an execution.
#[derive(Debug)]
pub struct Executed {
    /// Reasons why the results of evaluators are unreliable, each a sentence.
    pub unreliable: Vec<String>,
    /// Positions of the golden cases that conversations were compared with.
    pub recorded: HashSet<usize>,
    /// Warnings about the run as a whole.
    pub warnings: Vec<String>,
    /// Errors of the input that are in no record.
    pub input_errors: Vec<String>,
    /// Whether there are conversations that were not taken.
    pub is_unfinished: bool,
}

/// Runs every evaluator on every conversation. With `events`, the reports contain the data of evaluation events. An
/// evaluation without a permit is reported as not run.
pub async fn all(
    settings: &ExecutionSettings,
    (evaluators, session): (Vec<PlannedEvaluator>, Option<&Session>),
    (conversations, stream, cases): (
        Conversations,
        Option<Box<dyn ConversationStream>>,
        &CaseIndex<'_>,
    ),
    permits: Permits,
    (events, transcripts, deciding): (bool, TranscriptWriter, Option<(CaseOrder, &[Gate])>),
    writer: &mut RunWriter,
    on_event: &mut dyn FnMut(RunEvent),
) -> Executed {
    let conversations = Arc::new(conversations);
    let order = deciding.as_ref().map(|(order, _)| order);
    let feed = feed(&conversations, stream, order);
    let number = feed.len().unwrap_or(usize::MAX);
    let evaluators: Vec<Arc<PreparedEvaluator>> = evaluators
        .into_iter()
        .map(|evaluator| Arc::new(PreparedEvaluator::new(evaluator, settings, number)))
        .collect();
    let slots: Vec<Slot> = slots(&evaluators).collect();
    let total = feed.len().unwrap_or_default() * slots.len();
    // Those that wait for models use no processor.
    let judged = session.map_or(0, Session::evaluations);
    permits.permit_judged(judged);
    on_event(RunEvent::Evaluating { total });
    let mut execution = Execution {
        feed,
        permits: Arc::new(permits),
        evaluated: settings.jobs.get().max(judged),
        settings,
        cases,
        events,
        transcripts,
        active: HashMap::new(),
        deferred: Vec::new(),
        active_bytes: 0,
        tasks: JoinSet::new(),
        positions: HashMap::new(),
        writer,
        input_errors: Vec::new(),
        changed: HashSet::new(),
        recorded: HashSet::new(),
        case_doubts: Vec::new(),
        decider: deciding.map(|(order, gates)| {
            Decider::new(order, evaluators.iter().map(|it| it.name()), gates)
        }),
        progress: Progress { done: 0, total, errored: 0, waiting: Vec::new(), on_event },
        evaluators: &evaluators,
        slots: &slots,
        conversations: &conversations,
        session,
    };
    execution.run().await;
    let executed = execution.finish_run();
    let unreliable = close(evaluators, writer).await;
    Executed { unreliable, ..executed }
}

/// Returns the feed of a stream, or of conversations that can be loaded.
fn feed(
    conversations: &Arc<Conversations>,
    stream: Option<Box<dyn ConversationStream>>,
    order: Option<&CaseOrder>,
) -> Box<dyn Feed> {
    match stream {
        Some(stream) => Box::new(StreamFeed::new(stream)),
        None => {
            // Whether a case is the last one that is needed is decided before the next.
            let is_one_by_one = order.is_some();
            let order = order.map(CaseOrder::conversations).or_else(|| conversations.share());
            Box::new(Loaders::new(Arc::clone(conversations), order, is_one_by_one))
        }
    }
}

/// Ends the processes of all evaluators concurrently. Returns the reasons why results are unreliable; a later run does not
/// reuse those.
async fn close(evaluators: Vec<Arc<PreparedEvaluator>>, writer: &mut RunWriter) -> Vec<String> {
    let closing: Vec<_> = evaluators
        .into_iter()
        .filter_map(Arc::into_inner)
        .flat_map(|evaluator| {
            let owner = evaluator.name().to_owned();
            let closings = evaluator.into_closings().into_iter();
            closings.map(move |(name, closing)| (owner.clone(), name, tokio::spawn(closing)))
        })
        .collect();
    let mut problems = Vec::new();
    for (owner, name, closing) in closing {
        let problem = match closing.await {
            Ok(Ok(())) => continue,
            Ok(Err(fault)) => fault.explain(&name),
            Err(error) => format!("{name}: ending its workers {}", failure(error)),
        };
        writer.withdraw(&owner, &problem);
        problems.push(problem);
    }
    problems
}

/// One of the evaluations of a conversation.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Index of the evaluator.
    column: usize,
    /// Number of the repeat.
    repeat: u32,
}

/// Returns the evaluations of a conversation: the repeats of each evaluator, one after the other.
fn slots(evaluators: &[Arc<PreparedEvaluator>]) -> impl Iterator<Item = Slot> {
    let repeats = |(column, it): (usize, &Arc<PreparedEvaluator>)| {
        (0..it.evaluator.repeats()).map(move |repeat| Slot { column, repeat })
    };
    evaluators.iter().enumerate().flat_map(repeats)
}

/// State of the execution.
struct Execution<'a, 's> {
    settings: &'a ExecutionSettings,
    evaluators: &'a [Arc<PreparedEvaluator>],
    /// The evaluations of each conversation.
    slots: &'a [Slot],
    conversations: &'a Conversations,
    cases: &'a CaseIndex<'s>,
    /// It knows the secrets that no report has.
    session: Option<&'a Session>,
    events: bool,
    transcripts: TranscriptWriter,
    feed: Box<dyn Feed>,
    permits: Arc<Permits>,
    /// Number of conversations that evaluators may work on at the same time.
    evaluated: usize,
    /// Conversations that are being evaluated.
    active: HashMap<usize, Active>,
    /// Conversations that arrived again while they are being evaluated.
    deferred: Vec<Taken>,
    /// Length of their text in bytes.
    active_bytes: usize,
    tasks: JoinSet<Evaluation>,
    /// The conversation and the slot of each task.
    positions: HashMap<tokio::task::Id, (usize, usize)>,
    writer: &'a mut RunWriter,
    /// Errors of the input that are in no record.
    input_errors: Vec<String>,
    /// Evaluators whose files have changed since the start of the run, so that their evaluations are not reused.
    changed: HashSet<usize>,
    /// Positions of the golden cases that have been found so far.
    recorded: HashSet<usize>,
    /// Warnings about golden cases, each with its conversation.
    case_doubts: Vec<(usize, String)>,
    /// In a run that ends as soon as its gates are decided.
    decider: Option<Decider>,
    progress: Progress<'a>,
}

/// A conversation that is being evaluated.
struct Active {
    recording: Arc<Recording>,
    /// Length of its text in bytes.
    bytes: usize,
    session: Option<JoinedTraces>,
    /// By slot.
    evaluations: Vec<Option<EvaluationReport>>,
    /// Keys of the evaluations by slot, in runs that are saved.
    keys: Vec<Option<Digest>>,
    /// Number of unfinished evaluations.
    missing: usize,
}

/// Counts finished evaluations and reports them as events.
struct Progress<'a> {
    done: usize,
    total: usize,
    errored: usize,
    /// Evaluations that are not in the run file yet.
    waiting: Vec<RunEvent>,
    on_event: &'a mut dyn FnMut(RunEvent),
}

impl Execution<'_, '_> {
    async fn run(&mut self) {
        loop {
            self.load_ahead();
            tokio::select! {
                Some(joined) = self.tasks.join_next_with_id() => {
                    self.evaluated(joined);
                    // One write serves all that are ready.
                    while let Some(joined) = self.tasks.try_join_next_with_id() {
                        self.evaluated(joined);
                    }
                }
                Some(batch) = poll_fn(|context| self.feed.poll_next(context)) => {
                    batch.into_iter().for_each(|taken| self.take(taken));
                }
                () = self.settings.cancellation.cancelled(), if self.feed.is_open() => {}
                else => break,
            }
            mem::take(&mut self.deferred).into_iter().for_each(|taken| self.take(taken));
            self.publish();
        }
        self.release(true);
        self.publish();
    }

    /// Ends the feed, and returns the positions of the golden cases that were found, and warnings about the run as a whole.
    fn finish_run(self) -> Executed {
        let Self { recorded, decider, input_errors, .. } = self;
        let counts = |number| decider.as_ref().is_none_or(|decider| decider.counts(number));
        let case_doubts = self.case_doubts.into_iter().filter(|(number, _)| counts(*number));
        let warnings = case_doubts.map(|(_, doubt)| doubt).collect();
        let is_unfinished = self.feed.is_unfinished();
        self.feed.end();
        Executed { unreliable: Vec::new(), recorded, warnings, input_errors, is_unfinished }
    }

    /// Starts to load conversations, unless enough loaded ones wait.
    fn load_ahead(&mut self) {
        let is_decided = self.decider.as_ref().is_some_and(Decider::are_all_decided);
        if self.settings.cancellation.is_cancelled() || self.permits.is_closed() || is_decided {
            self.give_up();
            return;
        }
        while self.has_room() && self.feed.start() {}
    }

    /// Returns true if further conversations are needed.
    fn has_room(&self) -> bool {
        let waiting = self.active.len().saturating_sub(self.evaluated);
        let is_enough = waiting > 0 && (waiting >= WAITING || self.active_bytes >= WAITING_BYTES);
        !is_enough && self.deferred.is_empty() && !self.has_enough_to_decide()
    }

    /// Returns true if further conversations might be evaluated in vain, because those before them may decide all gates.
    fn has_enough_to_decide(&self) -> bool {
        let Some(decider) = &self.decider else { return false };
        let started = self.active.len() + self.feed.started();
        started >= self.evaluated || decider.waiting() >= WAITING
    }

    /// Reports all further conversations as cancelled or as not run.
    fn give_up(&mut self) {
        while let Some(Unread { number, trace_id, trace_file }) = self.feed.skip() {
            let evaluations = self.slots.iter().map(|slot| {
                let evaluator = &self.evaluators[slot.column];
                let report = match &self.decider {
                    Some(_) => Decider::not_run(evaluator),
                    None => evaluator.report(evaluator.not_started()),
                };
                self.progress.evaluated(&report, &trace_id, String::new());
                report
            });
            let evaluations = evaluations.collect();
            let mut report = match &self.decider {
                Some(decider) => decider.unread(number),
                None => {
                    let mut report = ConversationReport::new(Arc::clone(&trace_id));
                    report.trace_file = trace_file;
                    report
                }
            };
            report.evaluations = self.combined(evaluations);
            self.writer.conversation(number, &report);
        }
        self.publish();
    }

    /// Evaluates a conversation that was loaded, or reports why it cannot be evaluated.
    fn take(&mut self, taken: Taken) {
        if self.active.contains_key(&taken.number) {
            self.deferred.push(taken);
            return;
        }
        let Taken { number, bytes, session, loaded } = taken;
        let unusable = match loaded {
            Loaded::Conversation(conversation) => match self.unusable(number, &conversation) {
                Some(mut report) => {
                    if let Some(session) = session {
                        session.add_to(&mut report);
                    }
                    report
                }
                None => return self.evaluate(number, (bytes, session), *conversation),
            },
            Loaded::Failed(Unread { trace_id, trace_file, .. }, error) => {
                let error = format!("Turn extraction failed: {error}");
                let mut report = ConversationReport::new(trace_id);
                report.trace_file = trace_file;
                report.evaluations = vec![unusable(&error, "extraction_failed")];
                report
            }
            Loaded::Unusable(error) => {
                self.permits.record_failure();
                if !self.writer.input_error(number, &error) {
                    let (line, message) = (error.line, error.message);
                    self.input_errors.push(format!("Line {line} cannot be used: {message}"));
                }
                return;
            }
        };
        self.permits.record_failure();
        if self.feed.len().is_some() {
            self.progress.total -= self.slots.len();
        }
        if let Some(decider) = &mut self.decider {
            (0..self.evaluators.len()).for_each(|column| decider.take(number, column, None));
        }
        self.write(number, unusable);
    }

    /// Returns the report of a conversation that cannot be evaluated; `None` if it can be.
    fn unusable(
        &mut self,
        number: usize,
        conversation: &Conversation,
    ) -> Option<ConversationReport> {
        if !conversation.errors.is_empty() {
            let error = format!("The recording is unusable: {}", conversation.errors.join("; "));
            let evaluations = vec![unusable(&error, "unusable_recording")];
            let report = self.report(conversation, None, evaluations);
            self.write_transcript(number, &report, conversation, None);
            return Some(report);
        }
        conversation.turns.is_empty().then(|| {
            let error = "No invocations extracted from trace.";
            self.report(conversation, None, vec![unusable(error, "no_invocations")])
        })
    }

    /// Starts all evaluations of a conversation.
    fn evaluate(
        &mut self,
        number: usize,
        (bytes, session): (usize, Option<JoinedTraces>),
        conversation: Conversation,
    ) {
        let position = self.conversations.position(number);
        let case = self.golden_case(number, &conversation);
        let scenario = self.cases.scenario(&conversation, self.conversations.of_run()).cloned();
        let recording =
            Arc::new(Recording::new(position, conversation, case).with_scenario(scenario));
        let missing = self.slots.len();
        if self.feed.len().is_none() {
            self.progress.total += missing;
        }
        let (evaluations, mut keys, mut known) = (vec![None; missing], vec![None; missing], vec![]);
        let mut skipped = Vec::new();
        for (position, &Slot { column, repeat }) in self.slots.iter().enumerate() {
            let evaluator = &self.evaluators[column];
            let is_decided = self.decider.as_ref().is_some_and(|it| it.is_decided(column));
            if is_decided || !self.conversations.asks(number, evaluator.name()) {
                skipped.push(position);
                continue;
            }
            if self.writer.saves() {
                keys[position] = evaluator.key(&recording, repeat);
                if let Some(record) = keys[position].and_then(|key| self.writer.find(&key)) {
                    known.push((position, record));
                    continue;
                }
            }
            let (recording, evaluator, permits) =
                (Arc::clone(&recording), Arc::clone(evaluator), Arc::clone(&self.permits));
            let task = self.tasks.spawn(async move {
                let input = Input::Recording(&recording, repeat);
                retry::evaluate(&evaluator, input, &permits).await
            });
            self.positions.insert(task.id(), (number, position));
        }
        self.writer.reuse(position, known.len());
        self.active
            .insert(number, Active { recording, bytes, session, evaluations, keys, missing });
        self.active_bytes += bytes;
        for position in skipped {
            let evaluator = &self.evaluators[self.slots[position].column];
            let report = match &self.decider {
                Some(_) => Decider::not_run(evaluator),
                None => evaluator.report(evaluator.not_started()),
            };
            self.counted(number, position, report, String::new());
        }
        for (position, record) in known {
            self.finished(number, position, record.evaluation, record.stderr, true);
        }
        if missing == 0 {
            self.finish(number);
        }
    }

    /// Returns the golden case of a conversation, and marks the case as recorded.
    fn golden_case(
        &mut self,
        number: usize,
        conversation: &Conversation,
    ) -> Result<EvalCase, Unmatched> {
        let matched = self.cases.find(conversation, self.conversations.of_run())?;
        self.recorded.insert(matched.position);
        if let Some(doubt) = matched.doubt {
            let (id, trace_id) = (string_repr(&matched.case.id), &conversation.trace_id);
            let doubt = format!(
                "trace {trace_id} is compared with golden case {id} only because there is no other: {doubt} (`--strict-matching` does not compare them)"
            );
            // It quotes both prompts.
            self.case_doubts.push((number, self.conversations.attributes().redacted(&doubt)));
        }
        Ok(matched.case.clone())
    }

    fn evaluated(&mut self, joined: Result<(tokio::task::Id, Evaluation), JoinError>) {
        let id = joined.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let Some((number, position)) = self.positions.remove(&id) else { return };
        let Some(active) = self.active.get(&number) else { return };
        let column = self.slots[position].column;
        let evaluator = &self.evaluators[column];
        let evaluation = match joined {
            Ok((_, evaluation)) => evaluation,
            Err(error) => {
                self.permits.record_failure();
                evaluator.lost(&failure(error))
            }
        };
        if let Some(reason) = evaluator.take_unshared() {
            let evaluator = evaluator.name().to_owned();
            (self.progress.on_event)(RunEvent::NotReused { evaluator, reason });
        }
        let stderr = match self.conversations.is_one_of_a_run() {
            true => evaluation.stderr_tail.trim().to_owned(),
            false => evaluation.end_of_stderr().into_owned(),
        };
        let is_lasting = evaluation.verdict.is_lasting() && !evaluation.has_failed_calls();
        let report = evaluator.report_on(evaluation, &active.recording);
        let is_reusable = !self.has_changed(column) && is_lasting;
        self.finished(number, position, report, stderr, is_reusable);
    }

    /// Returns true if a file of the evaluator has changed since the run started: its answers may be those of another
    /// program.
    fn has_changed(&mut self, column: usize) -> bool {
        let evaluator = &self.evaluators[column];
        let Some(file) = evaluator.fingerprint().and_then(|it| it.changed()) else { return false };
        if self.changed.insert(column) {
            let reason = format!("{} has changed since the run started", file.display());
            let evaluator = evaluator.name().to_owned();
            (self.progress.on_event)(RunEvent::NotResumable { evaluator, reason });
        }
        true
    }

    /// Adds a finished evaluation to the run file, and its conversation if all others of it are finished.
    fn finished(
        &mut self,
        number: usize,
        position: usize,
        report: EvaluationReport,
        stderr: String,
        reusable: bool,
    ) {
        let Some(active) = self.active.get_mut(&number) else { return };
        let conversation = &active.recording.conversation;
        if self.writer.saves() {
            self.writer.evaluation(&EvaluationRecord {
                key: active.keys[position],
                reusable,
                number,
                trace_id: Arc::clone(&conversation.trace_id),
                turns: conversation.turns.len(),
                repeat: self.slots[position].repeat,
                stderr: stderr.clone(),
                evaluation: &report,
            });
        }
        self.counted(number, position, report, stderr);
    }

    /// Counts an evaluation, and finishes its conversation if all others of it are finished.
    fn counted(
        &mut self,
        number: usize,
        position: usize,
        report: EvaluationReport,
        stderr: String,
    ) {
        let Some(active) = self.active.get_mut(&number) else { return };
        self.progress.evaluated(&report, &active.recording.conversation.trace_id, stderr);
        active.evaluations[position] = Some(report);
        active.missing -= 1;
        let missing = active.missing;
        if self.permits.fails_fast() && self.has_failed(number, self.slots[position].column) {
            self.permits.record_failure();
        }
        if missing == 0 {
            self.finish(number);
        }
    }

    /// Writes what was added to the run file, and then reports the evaluations among it.
    fn publish(&mut self) {
        let failed = self.writer.flush().map(RunEvent::from);
        self.progress.publish();
        failed.into_iter().for_each(&mut *self.progress.on_event);
    }

    /// Drops a conversation and writes its report.
    fn finish(&mut self, number: usize) {
        let Some(active) = self.active.remove(&number) else { return };
        let Active { recording, bytes, session, evaluations, .. } = active;
        self.active_bytes -= bytes;
        let evaluations = evaluations.into_iter().zip(self.slots).map(|(report, slot)| {
            let evaluator = &self.evaluators[slot.column];
            report.unwrap_or_else(|| evaluator.report(evaluator.lost("was lost")))
        });
        let evaluations = self.combined(evaluations.collect());
        if let Some(decider) = &mut self.decider {
            let all = evaluations.iter().enumerate();
            all.for_each(|(column, it)| decider.take(number, column, Some(it.clone())));
        }
        let golden = recording.case().map(|case| case.id.as_str().into());
        let mut report = self.report(&recording.conversation, golden, evaluations);
        if let Some(session) = session {
            session.add_to(&mut report);
        }
        let evaluator = self.evaluators.first().filter(|_| self.settings.is_identified);
        report.content = evaluator.and_then(|it| it.content(&recording));
        report.events = self.events.then(|| recording.event_context());
        let graded = self.evaluators.first().and_then(|it| it.take_transcript(recording.number));
        match graded.map(|it| it.of_case(&recording.conversation)) {
            Some((conversation, case)) => {
                self.write_transcript(number, &report, &conversation, case.as_ref());
            }
            None => {
                let (conversation, case) = (&recording.conversation, recording.case());
                self.write_transcript(number, &report, conversation, case);
            }
        }
        self.write(number, report);
    }

    /// Writes the report of a conversation, as soon as its case was looked at.
    fn write(&mut self, number: usize, report: ConversationReport) {
        match &mut self.decider {
            Some(decider) => {
                decider.hold(number, report);
                self.release(false);
            }
            None => self.write_now(number, &report),
        }
    }

    /// Writes the reports of conversations whose cases were looked at; all that wait if the run is over.
    fn release(&mut self, is_over: bool) {
        let (evaluators, decider) = (self.evaluators, self.decider.as_mut());
        let not_run = |column: usize| Decider::not_run(&evaluators[column]);
        let released = decider.map(|decider| decider.release(is_over, not_run)).unwrap_or_default();
        for (number, report) in released {
            self.write_now(number, &report);
        }
    }

    fn write_now(&mut self, number: usize, report: &ConversationReport) {
        self.writer.conversation(number, report);
        self.feed.finished(number, report);
    }

    /// Writes the transcript of a conversation, if it is kept.
    fn write_transcript(
        &mut self,
        number: usize,
        report: &ConversationReport,
        conversation: &Conversation,
        case: Option<&EvalCase>,
    ) {
        if let Some(transcript) = self.transcripts.transcript(report, conversation, case) {
            self.writer.transcript(number, &transcript);
        }
    }

    /// Combines the repeats of each evaluator. `evaluations` has one for each slot.
    fn combined(&self, evaluations: Vec<EvaluationReport>) -> Vec<EvaluationReport> {
        let mut evaluations = evaluations.into_iter();
        let repeats = |it: &Arc<PreparedEvaluator>| it.evaluator.repeats() as usize;
        let of_evaluator = |it| evaluations.by_ref().take(repeats(it)).collect();
        self.evaluators.iter().map(of_evaluator).map(EvaluationReport::combine).collect()
    }

    /// Returns true if all repeats of an evaluator are finished, and are a failure or error together.
    fn has_failed(&self, number: usize, column: usize) -> bool {
        let Some(active) = self.active.get(&number) else { return false };
        let slots = active.evaluations.iter().zip(self.slots);
        let own = slots.filter(|(_, slot)| slot.column == column);
        let repeats: Option<Vec<_>> = own.map(|(report, _)| report.clone()).collect();
        repeats.map(EvaluationReport::combine).is_some_and(|it| match it.outcome() {
            EvaluationOutcome::Failed => true,
            EvaluationOutcome::Error => it.error_type != Some(CANCELLED),
            _ => false,
        })
    }

    /// Returns the report of a conversation that was compared with this golden case.
    fn report(
        &mut self,
        conversation: &Conversation,
        golden: Option<Arc<str>>,
        evaluations: Vec<EvaluationReport>,
    ) -> ConversationReport {
        let mut report = ConversationReport::new(Arc::clone(&conversation.trace_id));
        report.trace_file = shown(&conversation.file);
        report.eval_case_id = golden;
        let attributes = self.conversations.attributes();
        attributes.add_to(&mut report, conversation);
        report.dropped_copies = conversation.dropped_copies;
        let prompt = conversation.turns.first().and_then(|turn| turn.user_text.as_deref());
        // A part of a secret would not be found.
        report.prompt = prompt.map(|text| match self.session {
            Some(session) => ConversationReport::prompt_of(&session.redact(text)),
            None => ConversationReport::prompt_of(text),
        });
        report.turns = conversation.turns.len();
        report.warnings.clone_from(&conversation.warnings);
        report.failed_turns = conversation.failures().iter().map(ToString::to_string).collect();
        report.performance.clone_from(&conversation.performance);
        report.evaluations = evaluations;
        report
    }
}

impl Progress<'_> {
    fn evaluated(&mut self, report: &EvaluationReport, trace_id: &Arc<str>, stderr: String) {
        self.done += 1;
        self.errored += usize::from(report.error.is_some() && report.was_run());
        self.waiting.push(RunEvent::Evaluated {
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

    fn publish(&mut self) {
        self.waiting.drain(..).for_each(&mut *self.on_event);
    }
}

/// Returns the only entry of a conversation that cannot be evaluated.
fn unusable(error: &str, error_type: &'static str) -> EvaluationReport {
    let mut report = EvaluationReport::new(ALL_EVALUATORS);
    report.error = Some(error.to_owned());
    report.error_type = Some(error_type);
    report
}

/// Returns the end of a task as a clause that follows a name.
fn failure(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => format!("panicked: {}", panic::message(panic.as_ref())),
        Err(_) => "was aborted".to_owned(),
    }
}
