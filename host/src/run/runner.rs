//! The stages of a run in order.

use std::{
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
    diagnosis::{self, TakenFor},
    execute,
    plan::beside_config,
    subject::Subject,
};
use crate::{
    config::Config,
    conversation::{self, RunPerformance},
    eval_set::EvalSet,
    executor::Executors,
    metric::Metrics,
    process::Cancellation,
    report::{ConversationReport, EvaluationReport, Report},
    runtime::Runtimes,
    trace,
    verdict::Status,
};

/// How long what makes evaluators ready may take to stop when the run was cancelled.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

/// What a run may use, and how much at a time. The registries start with what this crate knows; add to them what it does not.
#[derive(Clone, Debug)]
pub struct Runner {
    /// Languages.
    pub runtimes: Runtimes,
    /// Places where programs live.
    pub executors: Executors,
    /// Built-in metrics.
    pub metrics: Metrics,
    /// Evaluations at a time; as many as there are processors by default.
    pub jobs: NonZeroUsize,
    /// Ends the run early when cancelled: running evaluations are ended, no new ones begin.
    pub cancellation: Cancellation,
}

impl Default for Runner {
    fn default() -> Self {
        Self {
            runtimes: Runtimes::default(),
            executors: Executors::default(),
            metrics: Metrics::default(),
            jobs: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            cancellation: Cancellation::new(),
        }
    }
}

/// What to evaluate.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Trace files.
    pub traces: Vec<PathBuf>,
    /// Evaluators and settings.
    pub config: Config,
    /// Whether the report is to carry what [`events`](crate::events) are made of; not by default.
    pub events: bool,
}

impl Runner {
    /// Loads the traces, makes the evaluators ready, runs each on every conversation and reports.
    ///
    /// Nothing that goes wrong ends the run early: a file that cannot be read, an evaluator that does not compile, a
    /// program that crashes are in the report, beside everything else.
    ///
    /// Must be called inside a tokio runtime with time and I/O enabled. Cancelled while evaluators are made ready, it does not
    /// wait long for that to stop; the thread doing it may then outlive the call.
    pub async fn run(&self, request: &Request, on_event: &mut dyn FnMut(RunEvent)) -> Report {
        let config = &request.config;
        let mut report =
            Report { require_evaluated: config.require_evaluated, ..Report::default() };
        let loaded = trace::load(&request.traces, config.trace_format);
        for error in &loaded.errors {
            bad_input(&mut report, (&error.path, TakenFor::Traces), error, on_event);
        }
        for path in loaded.without_spans(&request.traces) {
            on_event(RunEvent::NoSpans { path: path.clone() });
        }
        if loaded.traces.is_empty() {
            report.errors.push("No traces loaded.".to_owned());
            return report;
        }
        let eval_set = match &config.eval_set {
            Some(path) => {
                let beside = beside_config(path, config);
                if let Some(path) = &beside {
                    on_event(RunEvent::EvalSetBesideConfig { path: path.clone() });
                }
                EvalSet::load(beside.as_ref().unwrap_or(path))
                    .map_err(|error| {
                        bad_input(&mut report, (&error.path, TakenFor::EvalSet), &error, on_event)
                    })
                    .ok()
            }
            None => None,
        };
        report.eval_set_id = eval_set.as_ref().map(|set| set.id.clone());
        let multi_turn =
            eval_set.as_ref().is_some_and(|set| set.cases.iter().any(|case| case.turns.len() > 1));
        let conversations =
            conversation::extract(&loaded.traces, config.group_by.unwrap_or_default(), multi_turn);
        let conversations = Arc::new(conversations);
        let subjects = Subject::all(&conversations, eval_set.as_ref());
        let plan = self.prepare(config, on_event).await;
        let mut evaluations = execute::all(self, plan, &subjects, on_event).await.into_iter();
        let mut contexts =
            subjects.iter().filter(|_| request.events).map(|subject| subject.event_context());
        report.performance = RunPerformance::of(
            conversations.iter().map(|conversation| conversation.performance.as_ref()),
        );
        report.conversations = conversations
            .iter()
            .map(|conversation| ConversationReport {
                trace_id: Arc::clone(&conversation.trace_id),
                turns: conversation.turns.len(),
                warnings: conversation.warnings.clone(),
                events: (!conversation.turns.is_empty()).then(|| contexts.next()).flatten(),
                evaluations: match unusable(conversation) {
                    Some(error) => vec![error],
                    None => evaluations.next().unwrap_or_default(),
                },
                performance: conversation.performance.clone(),
            })
            .collect();
        report
    }

    /// Makes the plan on a thread of its own, so that events arrive and cancelling works while a compiler is busy.
    async fn prepare(&self, config: &Config, on_event: &mut dyn FnMut(RunEvent)) -> Plan {
        let (sender, mut events) = mpsc::unbounded_channel();
        let (runner, own_config) = (self.clone(), config.clone());
        let planning = task::spawn_blocking(move || {
            Plan::new(&own_config, &runner, &mut |event| {
                // Nobody listens any more when the run was cancelled and did not wait.
                let _ = sender.send(event);
            })
        });
        let mut given_up = pin!(async {
            self.cancellation.cancelled().await;
            sleep(LAST_PATIENCE).await;
        });
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

/// Puts an error about a file into the report, and tells it with its cause, which knows the position, and a hint.
fn bad_input(
    report: &mut Report,
    (path, taken_for): (&Path, TakenFor),
    error: &dyn Error,
    on_event: &mut dyn FnMut(RunEvent),
) {
    let message = error.to_string();
    let (mut cause, mut next) = (None, error.source());
    while let Some(error) = next {
        cause = Some(error.to_string()).filter(|cause| !message.contains(cause)).or(cause);
        next = error.source();
    }
    let hint = diagnosis::hint(path, taken_for);
    let behind = [&cause, &hint].into_iter().flatten().cloned().collect::<Vec<_>>().join("; ");
    if !behind.is_empty() {
        report.causes.insert(report.errors.len(), behind);
    }
    report.errors.push(message.clone());
    on_event(RunEvent::BadInput { message, cause, hint });
}

/// The one entry of a conversation that no evaluator can be run on.
fn unusable(conversation: &conversation::Conversation) -> Option<EvaluationReport> {
    conversation.turns.is_empty().then(|| EvaluationReport {
        name: "(all)".to_owned(),
        score: None,
        threshold: None,
        status: Status::NotEvaluated,
        per_invocation_scores: Vec::new(),
        duration: None,
        error: Some("No invocations extracted from trace.".to_owned()),
        error_type: Some("no_invocations"),
        warnings: Vec::new(),
        details: None,
    })
}
