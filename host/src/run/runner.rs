//! The stages of a run in order.

use std::{
    collections::HashSet,
    error::Error,
    num::NonZeroUsize,
    panic::resume_unwind,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    thread,
    time::Duration,
};

use tokio::{sync::mpsc, task, time::sleep};

use super::{
    Plan, RunEvent,
    conversations::Conversations,
    diagnosis::{self, ExpectedContent},
    execute::{self, Executed},
    fingerprint,
    permits::Permits,
};
use crate::{
    config::{Config, ConfigError, Known},
    conversation::{GROUPING, GroupBy},
    eval_set::{CaseIndex, EvalSet},
    executor::Executors,
    linked::LinkedEvaluators,
    metric::Metrics,
    process::Cancellation,
    report::{
        Partial, REPORT_MEMORY, Report,
        run_file::{Header, RunFile, RunWriter},
    },
    runtime::Runtimes,
    source::{Cache, Sources},
    trace::{LoadErrorKind, TraceFormats, TraceIndex, TrackedAttributes, trace_files},
};

/// How long what loads traces and makes evaluators ready may take to stop when the run was cancelled.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// What a run may use, and how much at a time. The registries start with what this crate knows; add to them what it does not.
#[derive(Clone, Debug)]
pub struct Runner {
    /// Languages.
    pub runtimes: Runtimes,
    /// Places where programs live.
    pub executors: Executors,
    /// Built-in metrics.
    pub metrics: Metrics,
    /// Trace formats.
    pub trace_formats: TraceFormats,
    /// Evaluators that run in this process.
    pub linked: LinkedEvaluators,
    /// Where `type: remote` evaluators come from.
    pub sources: Sources,
    /// Where they are kept.
    pub cache: Cache,
    /// Refuse remote evaluators that `evaluators.lock` does not name, instead of adding them to it; no by default.
    pub locked: bool,
    /// Evaluations at a time; as many as there are processors by default.
    pub jobs: NonZeroUsize,
    /// Bytes of results that are kept in memory; what is more is in a temporary file until the report is dropped. 1 MiB by
    /// default.
    pub report_memory: usize,
    /// File that the run is saved in; none by default.
    pub run_file: Option<Arc<RunFile>>,
    /// Ends the run early when cancelled: running evaluations are ended, no new ones begin.
    pub cancellation: Cancellation,
}

impl Default for Runner {
    fn default() -> Self {
        Self {
            runtimes: Runtimes::default(),
            executors: Executors::default(),
            metrics: Metrics::default(),
            trace_formats: TraceFormats::default(),
            linked: LinkedEvaluators::default(),
            sources: Sources::default(),
            cache: Cache::default(),
            locked: false,
            jobs: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            report_memory: REPORT_MEMORY,
            run_file: None,
            cancellation: Cancellation::new(),
        }
    }
}

/// What to evaluate.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Trace files and directories of them; `-` is the standard input.
    pub traces: Vec<PathBuf>,
    /// Evaluators and settings.
    pub config: Config,
    /// Whether the report is to carry what [`events`](crate::events) are made of; not by default.
    pub events: bool,
}

impl Runner {
    /// Reads and checks a configuration file, which may name everything that is registered here.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with every problem found and its place.
    pub fn load_config(&self, file: &Path) -> Result<Config, ConfigError> {
        Config::load_for(
            file,
            Known {
                runtimes: &self.runtimes,
                metrics: &self.metrics,
                trace_formats: &self.trace_formats,
            },
        )
    }

    /// Loads the traces, makes the evaluators ready, runs each on every conversation and reports.
    ///
    /// Nothing that goes wrong ends the run early: a file that cannot be read, an evaluator that does not compile, a
    /// program that crashes are in the report, beside everything else.
    ///
    /// Must be called inside a tokio runtime with time and I/O enabled. Cancelled while evaluators are made ready, it does not
    /// wait long for that to stop; the thread doing it may then outlive the call.
    pub async fn run(&self, request: &Request, on_event: &mut dyn FnMut(RunEvent)) -> Report {
        let mut writer = RunWriter::new(self.run_file.as_deref(), self.report_memory);
        if let (Some(file), Some(damage)) = (writer.path().cloned(), writer.damage()) {
            on_event(RunEvent::DamagedRunFile { file, damage });
        }
        let mut report = self.evaluate(request, &mut writer, on_event).await;
        let (file, reused) = (writer.path().cloned(), writer.reused());
        writer.finish(&mut report).map(execute::event).into_iter().for_each(&mut *on_event);
        if let Some(file) = file {
            let total = report.conversations.asked();
            on_event(RunEvent::Saved { file, reused, total });
        }
        report
    }

    /// The run without the end of its file.
    async fn evaluate(
        &self,
        request: &Request,
        writer: &mut RunWriter,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Report {
        let config = &request.config;
        let mut report = Report {
            require_evaluated: config.require_evaluated,
            require_all_cases: config.require_all_cases,
            allow_unevaluated: config.allow_unevaluated,
            max_error_rate: config.max_error_rate,
            ..Report::default()
        };
        let found = trace_files(&request.traces);
        report.warnings.extend(found.warning());
        on_event(RunEvent::Loading { files: found.files.len() });
        let index = self.index(found.files, &request.config).await;
        for error in found.errors.iter().chain(&index.errors) {
            if matches!(error.kind, LoadErrorKind::NoSpans) && index.is_empty() {
                // The report says below that no trace was loaded, as that of agentevals does.
                let message = error.to_string();
                on_event(RunEvent::BadInput { message, cause: None, hint: None });
                continue;
            }
            let expected = match &error.kind {
                LoadErrorKind::Unusable(parts) => {
                    report.left_out.append(parts);
                    ExpectedContent::UsedTraces
                }
                LoadErrorKind::NoSpans => ExpectedContent::UsedTraces,
                _ => ExpectedContent::Traces,
            };
            bad_input(&mut report, (&error.path, expected), error, on_event);
        }
        if index.stopped {
            report.errors.push("The run was cancelled before all traces were loaded.".to_owned());
            report.partial = Some(Partial::Cancelled);
            return report;
        }
        if index.is_empty() {
            report.errors.push("No traces loaded.".to_owned());
            return report;
        }
        let eval_set = match &config.eval_set {
            Some(path) => EvalSet::load(path)
                .map_err(|error| {
                    report.unusable_eval_set = true;
                    bad_input(
                        &mut report,
                        (&error.path, ExpectedContent::EvalSet),
                        &error,
                        on_event,
                    )
                })
                .ok(),
            None => None,
        };
        report.eval_set_id = eval_set.as_ref().map(|set| set.id.clone());
        let multi_turn =
            eval_set.as_ref().is_some_and(|set| set.cases.iter().any(|case| case.turns.len() > 1));
        let group_by = config.group_by.unwrap_or_default();
        let grouping = blocking(move || Conversations::new(index, group_by, multi_turn)).await;
        let Some(conversations) = grouping else { return report };
        report.grouping = Some(conversations.grouped_by());
        on_event(RunEvent::Loaded { conversations: conversations.len() });
        let cases = CaseIndex::new(eval_set.as_ref()).strict(config.strict_matching);
        let permits = Permits::new(self.jobs, config.fail_fast);
        if !report.errors.is_empty() {
            permits.record_failure();
        }
        // What will not be run need not be made ready.
        let plan = match permits.is_closed() {
            true => Plan::not_run(config),
            false => self.prepare(config, on_event).await,
        };
        let header = Header {
            conversations: conversations.len(),
            report: report.clone(),
            ..fingerprint::header(config, &plan, eval_set.as_ref(), report.grouping, writer.saves())
        };
        writer.start(header);
        let work = (Arc::new(conversations), &cases);
        let Executed { unreliable, recorded, warnings, copies } =
            execute::all(self, plan, work, permits, request.events, writer, on_event).await;
        report.warnings.extend(warnings.into_iter().chain(copies.warning()));
        report.unreliable = unreliable.len();
        for message in &unreliable {
            on_event(RunEvent::Unreliable { message: message.clone() });
        }
        report.errors.extend(unreliable);
        report.partial = writer.partial();
        if let (Some(set), None) = (&eval_set, report.partial) {
            report.unrecorded_cases = unrecorded(set, &recorded);
        }
        report
    }

    /// Scans the trace files on another thread, so that the run can be cancelled meanwhile.
    async fn index(&self, paths: Vec<PathBuf>, config: &Config) -> TraceIndex {
        let formats = self.trace_formats.given(config.trace_format.as_ref());
        let tracked = match config.group_by {
            Some(GroupBy::Trace) => TrackedAttributes::default(),
            _ => GROUPING,
        };
        let stop = self.cancellation.clone();
        let indexing =
            blocking(move || TraceIndex::new(paths, &formats, tracked, &|| stop.is_cancelled()));
        let indexed = tokio::select! {
            indexed = indexing => indexed,
            () = self.given_up() => None,
        };
        indexed.unwrap_or_else(TraceIndex::abandoned)
    }

    /// Ends when the run was cancelled and what does not listen to that has had time to end.
    async fn given_up(&self) {
        self.cancellation.cancelled().await;
        sleep(SHUTDOWN_LIMIT).await;
    }

    /// Makes the plan on a thread of its own, so that events arrive and cancelling works while a compiler is busy.
    pub(super) async fn prepare(
        &self,
        config: &Config,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Plan {
        let (sender, mut events) = mpsc::unbounded_channel();
        let (runner, own_config) = (self.clone(), config.clone());
        let planning = task::spawn_blocking(move || {
            Plan::new(&own_config, &runner, &mut |event| {
                // Nobody listens any more when the run was cancelled and did not wait.
                let _ = sender.send(event);
            })
        });
        let mut given_up = pin!(self.given_up());
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => on_event(event),
                    None => break,
                },
                () = &mut given_up => return Plan::cancelled(config),
            }
        }
        match planning.await {
            Ok(plan) => plan,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => Plan::cancelled(config),
            },
        }
    }
}

/// Ids of the cases that no conversation was compared with. A case without turns cannot be compared with.
fn unrecorded(set: &EvalSet, recorded: &HashSet<usize>) -> Vec<String> {
    let cases = set.cases.iter().enumerate();
    cases
        .filter(|(position, case)| !case.turns.is_empty() && !recorded.contains(position))
        .map(|(_, case)| case.id.clone())
        .collect()
}

/// Puts an error about a file into the report, and tells it with its cause, which knows the position, and a hint.
fn bad_input(
    report: &mut Report,
    (path, expected): (&Path, ExpectedContent),
    error: &dyn Error,
    on_event: &mut dyn FnMut(RunEvent),
) {
    let message = error.to_string();
    let (mut cause, mut next) = (None, error.source());
    while let Some(error) = next {
        cause = Some(error.to_string()).filter(|cause| !message.contains(cause)).or(cause);
        next = error.source();
    }
    let hint = diagnosis::hint(path, expected);
    let behind = [&cause, &hint].into_iter().flatten().cloned().collect::<Vec<_>>().join("; ");
    if !behind.is_empty() {
        report.causes.insert(report.errors.len(), behind);
    }
    report.errors.push(message.clone());
    on_event(RunEvent::BadInput { message, cause, hint });
}

/// Does work that blocks on another thread. A panic of it is one of the caller.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match task::spawn_blocking(work).await {
        Ok(done) => Some(done),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is being shut down.
            Err(_) => None,
        },
    }
}
