//! Evaluators that ask models: their session, and their evaluations.

use std::{
    env,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::time::sleep;

use super::{RunEvent, Runner, grading, model_program::ModelPrograms, recording::Recording};
use crate::{
    config::{Config, ConfigError, EvaluatorConfig, EvaluatorKind, JudgeSettings, Problem},
    json::Object,
    judging::{
        Connection, DEFAULT_MODEL, Environment, Judged, Session, Subject,
        judge::{Case, Criterion, Judge, JudgeMetric, JudgedTurn, Scenario},
    },
    metric::Outcome,
    models::{ModelError, Secret},
    process::Cancellation,
    report::{JudgeUsage, Report},
    runtime::secrets::looks_secret,
    verdict::{Evaluation, Verdict},
};

/// Time for calls in flight after the run was cancelled.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// Metric of conversations with a simulated user, whose scenario is in an eval set.
const SIMULATED: &str = "per_turn_user_simulator_quality_v1";

/// An evaluator that asks a model.
#[derive(Debug)]
pub(super) struct JudgedEvaluator {
    pub(super) judge: Arc<dyn Judge>,
    pub(super) criterion: Criterion,
    pub(super) connection: Arc<Connection>,
    /// Whether a conversation without a golden case is not evaluated.
    pub(super) needs_golden: bool,
    /// Text that changes whenever the judge would ask or score something differently; `None` if results are not reused.
    pub(super) revision: Option<String>,
    /// Settings of the entry that decide about results, apart from those of the judge.
    pub(super) settings: Object,
    /// Limit of the time in calls of an evaluation.
    pub(super) timeout: Option<Duration>,
}

impl Runner {
    /// Opens the session of a run: connects every evaluator of `config` that asks a model. Sends nothing.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with every model, key, price, prompt and recording that is missing or cannot be used, at the position
    /// of its entry.
    pub fn judges(&self, config: &Config) -> Result<Session, ConfigError> {
        let file = config.file.as_deref().unwrap_or(Path::new("command line"));
        let fail = |problems| ConfigError::with(file, &config.source_text, problems);
        let names_no_model = |evaluator: Option<&EvaluatorConfig>| {
            let own = evaluator.and_then(|it| self.judge_settings(it));
            own.is_none_or(|own| own.models.is_empty()) && config.judge.models.is_empty()
        };
        let problem = |error: ModelError, evaluator: Option<&EvaluatorConfig>| {
            let name = evaluator.map(|it| format!("`{}`: ", it.name)).unwrap_or_default();
            let place = evaluator.and_then(|it| it.models_place).or(config.judge_place);
            let place = place.or_else(|| evaluator.and_then(|it| it.place));
            let hint = evaluator.and_then(grading::hint).or_else(|| {
                (names_no_model(evaluator) && error.message.contains(DEFAULT_MODEL)).then_some(
                    "this is the default model; name another one as `judge: {model: ..}`",
                )
            });
            Problem::new(format!("{name}{}", error.message), place, hint.map(str::to_owned))
        };
        let mut environment = self.environment();
        environment.runner = Some(Arc::new(ModelPrograms::new(self, config.file.as_deref())));
        let session = Session::new(config.judge.clone(), environment)
            .map_err(|error| fail(vec![problem(error, None)]))?;
        let mut problems = Vec::new();
        for evaluator in &config.evaluators {
            let judge = self.judge_settings(evaluator);
            if judge.is_some() && evaluator.name == SIMULATED && config.eval_set.is_none() {
                let message = format!("`{SIMULATED}` judges a simulated user");
                let hint = "name the eval set with its `conversation_scenario`";
                problems.push(Problem::new(message, evaluator.place, Some(hint.to_owned())));
            }
            let contained =
                evaluator.program().is_some_and(|code| self.executors.contains(&code.executor));
            if contained && let Some(model) = self.program_model(config, evaluator) {
                let name = &evaluator.name;
                let message = format!(
                    "`{name}` is contained, and its model `{model}` is a program that is not"
                );
                let place = evaluator.models_place.or(config.judge_place).or(evaluator.place);
                let hint = "name the model of a server, or write `executor: local`";
                problems.push(Problem::new(message, place, Some(hint.to_owned())));
                continue;
            }
            let connected = match (judge, evaluator.models()) {
                (Some(settings), _) => session.connect(&evaluator.name, settings).map(drop),
                (None, Some(models)) => session.offer(&evaluator.name, models).map(drop),
                (None, None) => continue,
            };
            if let Err(error) = connected {
                problems.push(problem(error, Some(evaluator)));
            }
        }
        if problems.is_empty() { Ok(session) } else { Err(fail(problems)) }
    }

    /// Returns the settings of the judge of an evaluator; `None` if it asks no model.
    pub(super) fn judge_settings<'c>(
        &self,
        evaluator: &'c EvaluatorConfig,
    ) -> Option<&'c JudgeSettings> {
        match &evaluator.kind {
            EvaluatorKind::Builtin(builtin) => {
                let metric = self.metrics.get(&evaluator.name).ok()?;
                JudgeMetric::judge_of(&*metric).map(|_| &*builtin.judge)
            }
            _ => evaluator.judge(),
        }
    }

    /// Returns the variables, secrets and providers of this process for a session of judges.
    #[must_use]
    pub fn environment(&self) -> Environment {
        let variable = |name: &str| Some(env::var_os(name)?.to_string_lossy().into_owned());
        let mut environment = Environment::new(variable);
        environment.providers = self.models.clone();
        environment.waits = self.waits.clone();
        let text = |it: std::ffi::OsString| it.to_string_lossy().into_owned();
        let variables = env::vars_os().map(|(name, value)| (text(name), text(value)));
        let secrets = variables.filter(|(name, value)| looks_secret(name, value));
        environment.secrets = secrets.map(|(name, value)| Secret::new(name, &value)).collect();
        environment
    }
}

impl JudgedEvaluator {
    /// Evaluates a conversation.
    pub(super) async fn evaluate(
        &self,
        recording: &Recording,
        cancellation: &Cancellation,
    ) -> Evaluation {
        let started = Instant::now();
        if let Some(verdict) = self.known(recording, cancellation) {
            return Evaluation::without_process(verdict, started.elapsed());
        }
        tokio::select! {
            biased;
            judged = self.judged(recording) => evaluation(judged, started, cancellation),
            () = given_up(cancellation) => {
                Evaluation::without_process(Verdict::Cancelled, started.elapsed())
            }
        }
    }

    /// Returns the verdict of a conversation that no model is asked about.
    fn known(&self, recording: &Recording, cancellation: &Cancellation) -> Option<Verdict> {
        if cancellation.is_cancelled() {
            return Some(Verdict::Cancelled);
        }
        let reason = match &recording.golden {
            Err(unmatched) if self.needs_golden => unmatched.to_string(),
            _ => {
                let parts = self.judge.parts();
                let mut turns = recording.conversation.turns.iter();
                let unrecorded =
                    turns.find_map(|turn| parts.iter().find_map(|it| turn.unrecorded(*it)));
                unrecorded?.to_string()
            }
        };
        Some(Verdict::from(Outcome::not_evaluated(reason)))
    }

    async fn judged(&self, recording: &Recording) -> Result<Judged, String> {
        let mut actual = JudgedTurn::of_recording(&recording.conversation.turns);
        let case = recording.golden.as_ref().ok();
        if let Some(case) = case {
            JudgedTurn::add_rubrics(&mut actual, case)?;
        }
        let golden = case.map(JudgedTurn::of_golden_case);
        let scenario = recording.scenario.as_ref().and_then(|case| case.scenario.as_ref());
        let scenario = scenario.map(Scenario::from_adk).transpose()?;
        let mut judged = Case::new(&actual, &self.criterion);
        if let Some(golden) = &golden {
            judged = judged.expecting(golden);
        }
        if let Some(scenario) = &scenario {
            judged = judged.with_scenario(scenario);
        }
        let location = format!("conversation {}", recording.conversation.trace_id);
        let mut subject = Subject::new(self.judge.name(), location);
        subject.time_limit = self.timeout;
        Ok(self.connection.judge(&*self.judge, &judged, &subject).await)
    }
}

/// Waits until the run is cancelled and calls in flight have had time to end.
pub(super) async fn given_up(cancellation: &Cancellation) {
    cancellation.cancelled().await;
    sleep(SHUTDOWN_LIMIT).await;
}

fn evaluation(
    judged: Result<Judged, String>,
    started: Instant,
    cancellation: &Cancellation,
) -> Evaluation {
    let judged = match judged {
        Ok(judged) => judged,
        Err(reason) => {
            let verdict = Verdict::MetricFailed { reason };
            return Evaluation::without_process(verdict, started.elapsed());
        }
    };
    let mut verdict = Verdict::from(judged.outcome);
    if let Verdict::Answer(answer) = &mut verdict
        && judged.unscored_turns > 0
    {
        answer.per_invocation_scores = vec![None; judged.unscored_turns];
    }
    let verdict = match verdict {
        Verdict::MetricFailed { .. } if cancellation.is_cancelled() => Verdict::Cancelled,
        verdict => verdict,
    };
    let mut evaluation = Evaluation::without_process(verdict, started.elapsed());
    evaluation.details = Some(judged.details).filter(|details| !details.is_empty());
    evaluation.warnings = judged.warnings;
    evaluation.failure_reason = judged.failure_reason;
    evaluation
}

/// Cancels the calls of the session when the run is cancelled. Never returns.
pub(super) async fn cancelled<T>(cancellation: &Cancellation, session: Option<&Session>) -> T {
    cancellation.cancelled().await;
    if let Some(session) = session {
        session.cancel();
    }
    std::future::pending().await
}

/// Saves the recordings of a session, and adds what it asked to the report.
pub(super) fn finish(session: &Session, report: &mut Report, on_event: &mut dyn FnMut(RunEvent)) {
    let summary = session.finish();
    match report.suite {
        // Its report has all warnings about the run.
        Some(_) => report.warnings.extend(summary.warnings),
        None => summary
            .warnings
            .into_iter()
            .for_each(|message| on_event(RunEvent::JudgeWarning { message })),
    }
    report.errors.extend(summary.errors);
    let usage = summary.usage;
    if usage.calls == 0 {
        return;
    }
    let reported = summary.reported.into_iter();
    report.judges = Some(JudgeUsage {
        calls: usage.calls,
        requests: usage.requests,
        replayed: usage.replayed,
        failed: usage.failed,
        input_tokens: usage.tokens.input,
        output_tokens: usage.tokens.output,
        uncounted: usage.uncounted,
        cost: usage.cost.map(|cost| cost.to_string()),
        currency: summary.currency,
        reported: reported.map(|(model, names)| (model, names.into_iter().collect())).collect(),
    });
}
