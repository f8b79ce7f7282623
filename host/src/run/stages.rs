//! Runs: the stages in order, from traces and a configuration to a report.

use std::{
    collections::HashSet, error::Error, panic::resume_unwind, path::PathBuf, pin::pin, sync::Arc,
    time::Duration,
};

use evaluator_engine::{
    conversation_source::{ConversationSource, ConversationStream},
    conversations::Conversations,
    decide::CaseOrder,
    execute::{self, Executed},
    permits::Permits,
    suite::{self, Suite},
    transcripts::TranscriptWriter,
};
use tokio::{sync::mpsc, task, time::sleep};

use super::{
    Plan, RunEvent, Runner, cases,
    diagnosis::{self, ExpectedContent},
    fingerprint, library, session,
};
use crate::{
    config::Config,
    conversation::{GROUPING, GroupedBy},
    eval_set::{CaseIndex, EvalSet},
    report::{
        Baseline, Partial, Report, SuiteReport,
        run_file::{EvaluatorEntry, Header, Part, RunWriter, Shard},
    },
    trace::{LoadErrorKind, TraceIndex, trace_files},
    verdict::Verdict,
};

/// Time for which loading and preparations may continue after the run was cancelled.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// Input of a run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Request {
    /// Trace files, and directories of trace files; `-` is the standard input.
    pub traces: Vec<PathBuf>,
    /// Cases in place of trace files. Default: none.
    pub suite: Option<SuiteInput>,
    /// Conversations in place of trace files. Default: none.
    pub source: Option<Arc<dyn ConversationSource>>,
    /// Evaluators and settings.
    pub config: Config,
    /// Run that this one is compared with. Nothing is evaluated if they do not measure the same. Needs
    /// [`Runner::identify`] or a run file. Default: none.
    pub baseline: Option<Arc<Baseline>>,
    /// Whether the report contains the data of [`events`](crate::events). Default: `false`.
    pub events: bool,
    /// Options of the command that led to the configuration, which the run file keeps. They contain no secrets. Default: not
    /// known.
    pub options: Option<Vec<String>>,
    /// The share of the conversations that is evaluated. Default: all are.
    pub shard: Option<Shard>,
    /// One conversation that is evaluated without the others. Default: all are evaluated.
    pub only: Option<OneConversation>,
}

/// A conversation that is evaluated without the others of its run. The event about its evaluation has all that the program
/// wrote to stderr.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneConversation {
    /// Trace id of its first trace.
    pub trace_id: Arc<str>,
    /// Number of conversations of the run, which decides how golden cases are found.
    pub of: usize,
}

impl Request {
    /// Creates a request for these trace files and directories.
    pub fn new<P: Into<PathBuf>>(traces: impl IntoIterator<Item = P>, config: Config) -> Self {
        let traces = traces.into_iter().map(Into::into).collect();
        Self { traces, config, ..Self::default() }
    }
}

/// Cases to run in place of the conversations of trace files.
#[derive(Clone, Debug)]
pub struct SuiteInput {
    /// Cases. Their programs are the evaluators of the configuration, in the order of their indexes.
    pub suite: Arc<dyn Suite>,
    /// Description of the suite in reports.
    pub about: SuiteReport,
    /// Warnings about the run.
    pub warnings: Vec<String>,
}

/// Evaluators and conversations of a run that starts.
struct Planned {
    plan: Plan,
    conversations: Conversations,
    /// In a run that ends as soon as its gates are decided.
    order: Option<CaseOrder>,
    eval_set: Option<EvalSet>,
    permits: Permits,
}

impl Runner {
    /// Loads the traces, prepares the evaluators, runs each on every conversation and returns the report.
    ///
    /// An unreadable file, an evaluator that does not compile or a program that crashes does not end the run: the report
    /// contains the error next to all other results.
    ///
    /// Must be called inside a tokio runtime with time and I/O enabled. If the run is cancelled while evaluators are
    /// prepared, the thread that prepares them may outlive the call.
    pub async fn run(&self, request: &Request, on_event: &mut dyn FnMut(RunEvent)) -> Report {
        self.run_over(request, None, on_event).await
    }

    /// Runs every evaluator on every conversation of a stream, as [`run`](Self::run), until the stream ends. They are compared
    /// with golden cases as with `strict_matching`. An evaluator that cannot be prepared is a
    /// [refusal](Report::refusal), and the stream is not polled.
    pub async fn run_stream(
        &self,
        request: &Request,
        stream: Box<dyn ConversationStream>,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Report {
        self.run_over(request, Some(stream), on_event).await
    }

    async fn run_over(
        &self,
        request: &Request,
        stream: Option<Box<dyn ConversationStream>>,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Report {
        let mut writer = RunWriter::new(self.run_file.as_deref(), self.report_memory)
            .of_part(request.shard.map(Part::Shard));
        if let (Some(file), Some(damage)) = (writer.path().cloned(), writer.damage()) {
            on_event(RunEvent::DamagedRunFile { file, damage });
        }
        let mut report = self.evaluate(request, stream, &mut writer, on_event).await;
        if report.refusal.is_some() {
            // Nothing was evaluated, so the file keeps what it has.
            writer.abandon();
            return report;
        }
        let (file, reused) = (writer.path().cloned(), writer.reused());
        writer.finish(&mut report).map(RunEvent::from).into_iter().for_each(&mut *on_event);
        if let Some(file) = file {
            let total = report.conversations.asked();
            on_event(RunEvent::Saved { file, reused, total });
        }
        if let Some(baseline) =
            request.baseline.as_ref().filter(|_| !report.conversations.is_empty())
            && let Err(error) = baseline.compare(&mut report)
        {
            report.errors.push(format!("The run is not compared with its baseline: {error}"));
        }
        report
    }

    /// Runs everything but the end of the run file.
    pub(super) async fn evaluate(
        &self,
        request: &Request,
        stream: Option<Box<dyn ConversationStream>>,
        writer: &mut RunWriter,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Report {
        let config = &request.config;
        let mut report = with_policy(config);
        let opened = match stream {
            Some(_) => Some(self.open_stream(config, &mut report, on_event)),
            None => self.load_conversations(request, &mut report, on_event).await,
        };
        let Some(opened) = opened else { return report };
        let counted = self.count_cases(opened, config, &mut report, on_event).await;
        let Some((order, conversations, eval_set)) = counted else { return report };
        // The order of a stream is chance, and so would be what is evaluated before a failure.
        let fail_fast = config.fail_fast && stream.is_none();
        let permits = Permits::new(self.jobs, fail_fast);
        if !report.errors.is_empty() {
            permits.record_failure();
        }
        let plan = self.planned(request, permits.is_closed(), on_event).await;
        let refusal = plan.refusal.clone();
        // Further conversations would all have the same error.
        let refusal = refusal.or_else(|| match &stream {
            Some(_) if report.unusable_eval_set => report.errors.first().cloned(),
            Some(_) => plan.unprepared(),
            None => None,
        });
        if let Some(refusal) = refusal {
            refuse(&mut report, refusal);
            return report;
        }
        report.warnings.extend_from_slice(&plan.warnings);
        let mut header = self.header(request, &plan, &conversations, eval_set.as_ref(), &report);
        if let Err(refusal) = admit(request, &header, &conversations, on_event) {
            refuse(&mut report, refusal);
            return report;
        }
        report.warnings.extend(header.evaluators.iter().filter_map(EvaluatorEntry::uncertified));
        header.report.warnings.clone_from(&report.warnings);
        writer.start(header);
        let planned = Planned { plan, conversations, order, eval_set, permits };
        self.execute(request, planned, stream, (&mut report, writer), on_event).await;
        report
    }

    /// Runs the planned evaluators, and adds to the report what is not about single conversations.
    async fn execute(
        &self,
        request: &Request,
        planned: Planned,
        stream: Option<Box<dyn ConversationStream>>,
        (report, writer): (&mut Report, &mut RunWriter),
        on_event: &mut dyn FnMut(RunEvent),
    ) {
        let (config, Planned { plan, conversations, order, eval_set, permits }) =
            (&request.config, planned);
        let cases = CaseIndex::new(eval_set.as_ref()).strict(config.strict_matching);
        let Plan { evaluators, session, .. } = plan;
        let work = (conversations, stream, &cases);
        let deciding = order.map(|order| (order, &*config.gates));
        let settings = self.execution_of(config);
        let kept = (
            request.events,
            TranscriptWriter::new(config.transcripts.unwrap_or_default(), &settings.secrets),
            deciding,
        );
        let planned = (evaluators, session.as_ref());
        let executing = execute::all(&settings, planned, work, permits, kept, writer, on_event);
        let executed = tokio::select! {
            executed = executing => executed,
            // It never ends.
            executed = session::cancelled(&self.cancellation, session.as_ref()) => executed,
        };
        if let Some(session) = session {
            session::finish(&session, report, on_event);
        }
        let Executed { unreliable, recorded, warnings, input_errors, is_unfinished } = executed;
        report.warnings.extend(warnings);
        report.errors.extend(input_errors);
        note_unreliable(report, unreliable, on_event);
        let unfinished = is_unfinished.then_some(Partial::Cancelled);
        report.partial = ended(writer, config).or(unfinished);
        if let (Some(set), None) = (&eval_set, report.partial) {
            report.unrecorded_cases = unrecorded(set, &recorded);
        }
    }

    /// Prepares the evaluators, unless the run has stopped already.
    pub(super) async fn planned(
        &self,
        request: &Request,
        has_stopped: bool,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Plan {
        let config = &request.config;
        let mut plan = match has_stopped {
            true => Plan::all(config, &Verdict::NotRun),
            false => self.prepare(config, on_event).await,
        };
        library::examine(&mut plan, self).await;
        match &request.suite {
            Some(input) => {
                let repeat = config.repeat.unwrap_or(1);
                let suite = Arc::clone(&input.suite);
                let suite =
                    suite::planned(suite, plan.evaluators, repeat, &self.execution_of(config));
                Plan { evaluators: vec![suite], ..plan }
            }
            None => plan,
        }
    }

    /// Counts the cases of the conversations on another thread, and reports gates that cannot pass with them. Returns the order of
    /// the cases in a run that ends as soon as its gates are decided. Returns `None` if the run does not fit its conversations.
    async fn count_cases(
        &self,
        (conversations, eval_set): (Conversations, Option<EvalSet>),
        config: &Config,
        report: &mut Report,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Option<(Option<CaseOrder>, Conversations, Option<EvalSet>)> {
        // Without the eval set, or with a part of the recordings, recordings are missing for another reason.
        let is_whole = report.errors.is_empty();
        if conversations.is_one_of_a_run() || conversations.are_streamed() {
            // It need not have the attributes that others of the run have, and nothing is known of those that will arrive.
            return Some((None, conversations, eval_set));
        }
        let (stop, config) = (self.cancellation.clone(), config.clone());
        let counting = blocking(move || {
            let is_stopped = || stop.is_cancelled();
            let (all, set) = (&conversations, eval_set.as_ref());
            let mut count = cases::count(all, set, &config, is_stopped);
            if let (true, Some(refusal)) = (is_whole, cases::too_few(all, set, &config, is_stopped))
            {
                count = count.and(Err(refusal));
            }
            let order = config
                .until_decided
                .then(|| CaseOrder::new(cases::unread(all, set, &config), config.seed));
            (count, (order, conversations, eval_set))
        });
        let (count, opened) = counting.await?;
        let count = count.map_err(|refusal| refuse(report, refusal)).ok()?;
        // How many cases a gate needs that is decided while they come is not known.
        let gates = report.gates.iter().filter(|_| report.until_decided.is_none());
        for message in gates.filter_map(|gate| gate.cannot_pass_with(count)) {
            on_event(RunEvent::HopelessGate { message });
        }
        Some(opened)
    }

    /// Returns the header of a run that begins with this report.
    pub(super) fn header(
        &self,
        request: &Request,
        plan: &Plan,
        conversations: &Conversations,
        eval_set: Option<&EvalSet>,
        report: &Report,
    ) -> Header {
        let (evaluators, grouping) = (&plan.evaluators, report.grouping);
        let is_identified = self.identifies();
        Header {
            conversations: conversations.len(),
            inputs: (is_identified && !conversations.are_streamed())
                .then(|| conversations.digest()),
            options: request.options.clone(),
            report: report.clone(),
            ..fingerprint::header(&request.config, evaluators, eval_set, grouping, is_identified)
        }
    }

    /// Returns the conversations of a stream, and the eval set.
    fn open_stream(
        &self,
        config: &Config,
        report: &mut Report,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> (Conversations, Option<EvalSet>) {
        report.grouping = config.group_by.map(GroupedBy::requested);
        let eval_set = load_eval_set(config, report, on_event);
        (Conversations::of_stream(self.attributes(config)), eval_set)
    }

    /// Loads what a request evaluates, and its eval set. Returns `None` if there is nothing to evaluate.
    pub(super) async fn load_conversations(
        &self,
        request: &Request,
        report: &mut Report,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Option<(Conversations, Option<EvalSet>)> {
        let (conversations, eval_set) =
            self.load_all_conversations(request, report, on_event).await?;
        let conversations = conversations.of_shard(request.shard);
        let Some(OneConversation { trace_id, of }) = &request.only else {
            return Some((conversations, eval_set));
        };
        match conversations.only(trace_id, *of) {
            Some(only) => Some((only, eval_set)),
            None => {
                report.errors.push(format!("There is no conversation {trace_id} in the traces."));
                None
            }
        }
    }

    /// Takes the cases of the suite or the conversations of the source, or loads the traces, and the eval set. Returns `None` if there is nothing to evaluate.
    async fn load_all_conversations(
        &self,
        request: &Request,
        report: &mut Report,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Option<(Conversations, Option<EvalSet>)> {
        if let Some(input) = &request.suite {
            report.suite = Some(input.about.clone());
            report.warnings.clone_from(&input.warnings);
            let attributes = self.attributes(&request.config);
            return Some((Conversations::of_suite(Arc::clone(&input.suite), attributes), None));
        }
        let config = &request.config;
        if let Some(source) = &request.source {
            let eval_set = load_eval_set(config, report, on_event);
            let attributes = self.attributes(config);
            return Some((Conversations::of_source(Arc::clone(source), attributes), eval_set));
        }
        let index = self.load_traces(request, report, on_event).await?;
        let eval_set = load_eval_set(config, report, on_event);
        let multi_turn =
            eval_set.as_ref().is_some_and(|set| set.cases.iter().any(|case| case.turns.len() > 1));
        let group_by = config.group_by.unwrap_or_default();
        let conventions = self.registries.conventions.clone();
        let attributes = self.attributes(config);
        let grouping = blocking(move || {
            Conversations::new(index, conventions, group_by, multi_turn, attributes)
        })
        .await;
        let (conversations, grouped_by) = grouping?;
        report.grouping = Some(grouped_by);
        on_event(RunEvent::Loaded { conversations: conversations.len() });
        Some((conversations, eval_set))
    }

    /// Finds and indexes the trace files and reports their errors. Returns `None` if there is nothing to evaluate.
    async fn load_traces(
        &self,
        request: &Request,
        report: &mut Report,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Option<TraceIndex> {
        let found = trace_files(&request.traces);
        report.warnings.extend(found.warning());
        on_event(RunEvent::Loading { files: found.files.len() });
        let index = self.index(found.files, &request.config).await;
        for error in found.errors.iter().chain(&index.errors) {
            match &error.kind {
                // In the report, "No traces loaded." replaces this error, as in that of agentevals.
                LoadErrorKind::NoSpans if index.is_empty() => {
                    let message = error.to_string();
                    on_event(RunEvent::BadInput { message, cause: None, hint: None });
                    continue;
                }
                LoadErrorKind::Unusable(parts) => report.left_out.append(parts),
                _ => {}
            }
            bad_input(report, error, diagnosis::trace_hint(error), on_event);
        }
        if index.stopped {
            report.errors.push("The run was cancelled before all traces were loaded.".to_owned());
            report.partial = Some(Partial::Cancelled);
            return None;
        }
        if index.is_empty() {
            report.errors.push("No traces loaded.".to_owned());
            return None;
        }
        Some(index)
    }

    /// Indexes the trace files on another thread, so that the run can be cancelled meanwhile.
    async fn index(&self, paths: Vec<PathBuf>, config: &Config) -> TraceIndex {
        let formats = self.registries.trace_formats.given(config.trace_format.as_ref());
        let stop = self.cancellation.clone();
        let indexing =
            blocking(move || TraceIndex::new(paths, &formats, GROUPING, &|| stop.is_cancelled()));
        let indexed = tokio::select! {
            indexed = indexing => indexed,
            () = self.given_up() => None,
        };
        indexed.unwrap_or_else(TraceIndex::abandoned)
    }

    /// Waits until the run is cancelled and blocking work has had time to stop.
    async fn given_up(&self) {
        self.cancellation.cancelled().await;
        sleep(SHUTDOWN_LIMIT).await;
    }

    /// Creates the plan of a configuration on another thread, so that events arrive and the run can be cancelled during builds.
    pub async fn prepare(&self, config: &Config, on_event: &mut dyn FnMut(RunEvent)) -> Plan {
        let (sender, mut events) = mpsc::unbounded_channel();
        let (runner, own_config) = (self.clone(), config.clone());
        let planning = blocking(move || {
            // The receiver is gone if the run was cancelled.
            Plan::new(&own_config, &runner, &mut |event| drop(sender.send(event)))
        });
        let mut planning = pin!(planning);
        let mut given_up = pin!(self.given_up());
        let plan = loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => on_event(event),
                plan = &mut planning => break plan,
                () = &mut given_up => break None,
            }
        };
        // The last events may have been sent between two polls.
        std::iter::from_fn(|| events.try_recv().ok()).for_each(on_event);
        plan.unwrap_or_else(|| Plan::all(config, &Verdict::Cancelled))
    }
}

/// Returns the reason why not everything was evaluated.
fn ended(writer: &RunWriter, config: &Config) -> Option<Partial> {
    match writer.partial() {
        Some(Partial::FailFast) if config.until_decided => Some(Partial::Decided),
        partial => partial,
    }
}

/// Checks that a run can be compared with its baseline, if it has one, and reports what differs.
///
/// # Errors
///
/// Returns a message if they do not measure the same, or have no case in common.
fn admit(
    request: &Request,
    header: &Header,
    conversations: &Conversations,
    on_event: &mut dyn FnMut(RunEvent),
) -> Result<(), String> {
    let Some(baseline) = &request.baseline else { return Ok(()) };
    let differences = baseline.differences(header).map_err(|error| error.to_string())?;
    for (changes, is_allowed) in [(&differences.said, false), (&differences.allowed, true)] {
        for change in changes {
            on_event(RunEvent::Difference { message: change.to_string(), is_allowed });
        }
    }
    if let Some(refusal) = differences.refusal() {
        return Err(refusal);
    }
    let golden =
        header.golden.iter().flat_map(|golden| golden.cases.keys().map(|id| id.as_str().into()));
    let ids = golden.chain((0..conversations.len()).map(|number| conversations.trace_id(number)));
    // Only those are read that are needed.
    let ids = ids.chain((0..conversations.len()).filter_map(|number| conversations.keyed(number)));
    baseline.check_shared::<Arc<str>>(header, ids).map_err(|error| error.to_string())
}

/// Loads the eval set of a configuration, if it has one, and reports its error.
fn load_eval_set(
    config: &Config,
    report: &mut Report,
    on_event: &mut dyn FnMut(RunEvent),
) -> Option<EvalSet> {
    match EvalSet::load(config.eval_set.as_deref()?) {
        Ok(set) => {
            report.eval_set_id = Some(set.id.clone());
            Some(set)
        }
        Err(error) => {
            report.unusable_eval_set = true;
            let hint = diagnosis::hint(&error.path, ExpectedContent::EvalSet);
            bad_input(report, &error, hint, on_event);
            None
        }
    }
}

/// Returns an empty report with what a configuration requires.
pub(super) fn with_policy(config: &Config) -> Report {
    let mut report = Report::default();
    report.require_evaluated = config.require_evaluated;
    report.required_share = config.required_share;
    report.require_all_cases = config.require_all_cases;
    report.allow_unevaluated = config.allow_unevaluated;
    report.max_error_rate = config.max_error_rate;
    report.gates.clone_from(&config.gates);
    report.inconclusive = config.inconclusive;
    report.until_decided = config.until_decided.then_some(config.seed);
    for attribute in &config.by {
        if !report.by.contains(attribute) {
            report.by.push(attribute.clone());
        }
    }
    report
}

/// Notes why nothing is evaluated.
fn refuse(report: &mut Report, refusal: String) {
    report.errors.push(refusal.clone());
    report.refusal = Some(refusal);
}

/// Adds the evaluators whose results cannot be relied on.
fn note_unreliable(
    report: &mut Report,
    unreliable: Vec<String>,
    on_event: &mut dyn FnMut(RunEvent),
) {
    report.unreliable = unreliable.len();
    for message in unreliable {
        on_event(RunEvent::Unreliable { message: message.clone() });
        report.errors.push(message);
    }
}

/// Returns the ids of the cases that no conversation was compared with, without those that have no turns.
fn unrecorded(set: &EvalSet, recorded: &HashSet<usize>) -> Vec<String> {
    let cases = set.cases.iter().enumerate();
    cases
        .filter(|(position, case)| !case.turns.is_empty() && !recorded.contains(position))
        .map(|(_, case)| case.id.clone())
        .collect()
}

/// Adds an error about a file to the report, with its cause, which contains the position, and a hint.
fn bad_input(
    report: &mut Report,
    error: &dyn Error,
    hint: Option<String>,
    on_event: &mut dyn FnMut(RunEvent),
) {
    let message = error.to_string();
    let (mut cause, mut next) = (None, error.source());
    while let Some(error) = next {
        cause = Some(error.to_string()).filter(|cause| !message.contains(cause)).or(cause);
        next = error.source();
    }
    let behind = [&cause, &hint].into_iter().flatten().cloned().collect::<Vec<_>>().join("; ");
    if !behind.is_empty() {
        report.causes.insert(report.errors.len(), behind);
    }
    report.errors.push(message.clone());
    on_event(RunEvent::BadInput { message, cause, hint });
}

/// Runs blocking work on another thread. Panics are propagated; `None` if the runtime shuts down.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match task::spawn_blocking(work).await {
        Ok(done) => Some(done),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => None,
        },
    }
}
