//! The session of a run with models: opened before its evaluators are prepared, and finished with its report.

use std::{env, path::Path, sync::Arc};

use super::{RunEvent, Runner, model_program::ModelPrograms};
use crate::{
    config::{Config, ConfigError, EvaluatorConfig, EvaluatorKind, JudgeSettings, Problem},
    judging::{DEFAULT_MODEL, Environment, Session, judge::JudgeMetric},
    models::{ModelError, Secret},
    process::Cancellation,
    report::{JudgeUsage, Report},
    runtime::secrets::looks_secret,
};

/// Metric of conversations with a simulated user, whose scenario is in an eval set.
const SIMULATED: &str = "per_turn_user_simulator_quality_v1";

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
            let hint = evaluator.and_then(grader_hint).or_else(|| {
                (names_no_model(evaluator) && error.message.contains(DEFAULT_MODEL)).then_some(
                    "this is the default model; name another one as `judge: {model: ..}`",
                )
            });
            Problem::new(format!("{name}{}", error.message), place, hint.map(str::to_owned))
        };
        let mut environment = self.environment();
        environment.secrets.extend(config.secrets());
        environment.runner = Some(Arc::new(ModelPrograms::new(self, config)));
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
            let contained = evaluator
                .program()
                .is_some_and(|code| self.registries.executors.contains(&code.executor));
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
                let metric = self.registries.metrics.get(&evaluator.name).ok()?;
                JudgeMetric::judge_of(&*metric).map(|_| &*builtin.judge)
            }
            _ => evaluator.judge(),
        }
    }

    /// Returns the variables, secrets and providers of this process for a session of judges.
    pub fn environment(&self) -> Environment {
        let variable = |name: &str| Some(env::var_os(name)?.to_string_lossy().into_owned());
        let mut environment = Environment::new(variable);
        environment.providers = self.registries.models.clone();
        environment.waits = self.waits.clone();
        let text = |it: std::ffi::OsString| it.to_string_lossy().into_owned();
        let variables = env::vars_os().map(|(name, value)| (text(name), text(value)));
        let secrets = variables.filter(|(name, value)| looks_secret(name, value));
        environment.secrets = secrets.map(|(name, value)| Secret::new(name, &value)).collect();
        environment
    }
}

/// Returns a hint about a grader that cannot be connected.
fn grader_hint(evaluator: &EvaluatorConfig) -> Option<&'static str> {
    let EvaluatorKind::OpenAiEval(openai) = &evaluator.kind else { return None };
    if openai.grader.models().into_iter().any(|(_, is_embedding)| is_embedding) {
        return Some("`cosine:tf` compares counts of words and needs no model");
    }
    let is_keyed = openai.server.api_key_env.is_none() && openai.server.base_url.is_some();
    is_keyed.then_some("`api_key_env: \"\"` asks a server that needs no key")
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
    let mut judges = JudgeUsage::default();
    judges.calls = usage.calls;
    judges.requests = usage.requests;
    judges.replayed = usage.replayed;
    judges.failed = usage.failed;
    judges.input_tokens = usage.tokens.input;
    judges.output_tokens = usage.tokens.output;
    judges.uncounted = usage.uncounted;
    judges.cost = usage.cost.map(|cost| cost.to_string());
    judges.currency = summary.currency;
    judges.reported = reported.map(|(model, names)| (model, names.into_iter().collect())).collect();
    report.judges = Some(judges);
}
