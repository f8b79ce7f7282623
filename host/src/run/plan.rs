//! A configuration made ready to run.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{RunEvent, Runner};
use crate::{
    config::{BuiltinConfig, CodeConfig, Config, EvaluatorConfig, EvaluatorKind},
    executor::Executor,
    json::Object,
    metric::{Metric, MetricSettings},
    process::CommandSpec,
    runtime::{Entrypoint, Environment, Launch, PrepareError},
    verdict::Verdict,
};

/// The evaluators of a run, each ready or with the reason why it is not.
#[derive(Debug)]
pub struct Plan {
    /// In the order of the configuration.
    pub evaluators: Vec<PlannedEvaluator>,
}

/// An evaluator that is ready, or not.
#[derive(Debug)]
pub struct PlannedEvaluator {
    /// Name.
    pub name: String,
    /// Score from which on an evaluation passes.
    pub threshold: f64,
    pub(super) work: Work,
}

impl PlannedEvaluator {
    /// Why the evaluator cannot run; `None` when it can.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        match &self.work {
            Work::Broken(verdict) => verdict.explain(&self.name, ""),
            Work::Metric { .. } | Work::Program(_) => None,
        }
    }
}

#[derive(Debug)]
pub(super) enum Work {
    Metric {
        metric: Arc<dyn Metric>,
        settings: MetricSettings,
    },
    Program(Box<Program>),
    /// Every evaluation has this verdict: the others of the run go on.
    Broken(Verdict),
}

/// A program and how it is called.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) one_shot: CommandSpec,
    /// The streaming form, if the runtime has one. Whether the program has it too, it says itself.
    pub(super) worker: Option<CommandSpec>,
    pub(super) timeout: Duration,
    pub(super) config: Object,
}

impl Plan {
    /// Looks up, finds and builds what `config` names. Blocks: building may take long.
    ///
    /// What cannot be made ready is that evaluator's problem; the others are not touched by it.
    pub fn new(config: &Config, runner: &Runner, on_event: &mut dyn FnMut(RunEvent)) -> Self {
        if runner.cancellation.is_cancelled() {
            return Self::cancelled(config);
        }
        let mut evaluators: Vec<PlannedEvaluator> = Vec::with_capacity(config.evaluators.len());
        // Programs whose executor is there, with their place among the evaluators.
        let mut programs = Vec::new();
        tell_unused(config, runner, on_event);
        for (index, evaluator) in config.evaluators.iter().enumerate() {
            let work = match &evaluator.kind {
                EvaluatorKind::Builtin(builtin) => metric(evaluator, builtin, runner),
                EvaluatorKind::Code(code) => match runner.executors.get(&code.executor) {
                    Ok(executor) => {
                        programs.push((index, code, executor));
                        // Stands until the runtime has answered.
                        broken(format!("no runtime answered for {}", code.path.display()))
                    }
                    Err(error) => broken(error.to_string()),
                },
                // Those who ask first whether it can be run never get here.
                EvaluatorKind::OpenAiEval(_) => {
                    broken("`type: openai_eval` cannot be run by this version".to_owned())
                }
            };
            evaluators.push(planned(evaluator, work));
        }
        let entrypoints: Vec<Entrypoint> = programs
            .iter()
            .map(|(index, code, _)| Entrypoint {
                path: locate(&evaluators[*index].name, code, config, runner, on_event),
                fetched: code.fetched,
            })
            .collect();
        let launches =
            runner.runtimes.prepare_all(&entrypoints, &runner.cancellation, &mut |event| {
                on_event(RunEvent::Prepare(event));
            });
        for ((index, code, executor), launch) in programs.into_iter().zip(launches) {
            let evaluator = &mut evaluators[index];
            evaluator.work = match launch {
                Ok(launch) => program(code, launch, executor.as_ref()),
                // Whatever a runtime says when it is interrupted, this is why.
                Err(_) if runner.cancellation.is_cancelled() => Work::Broken(Verdict::Cancelled),
                Err(error) => {
                    tell(&evaluator.name, &error, on_event);
                    broken(not_ready(&error, code, config))
                }
            };
        }
        Self { evaluators }
    }

    /// The plan of a run that was cancelled before it had one.
    pub(super) fn cancelled(config: &Config) -> Self {
        let cancelled = |evaluator| planned(evaluator, Work::Broken(Verdict::Cancelled));
        Self { evaluators: config.evaluators.iter().map(cancelled).collect() }
    }
}

fn planned(evaluator: &EvaluatorConfig, work: Work) -> PlannedEvaluator {
    PlannedEvaluator { name: evaluator.name.clone(), threshold: evaluator.threshold(), work }
}

fn broken(reason: String) -> Work {
    Work::Broken(Verdict::PrepareFailed { reason })
}

/// Why an evaluator is not ready. A relative path was looked for in two places, the name of a command in three.
pub(super) fn not_ready(error: &PrepareError, code: &CodeConfig, config: &Config) -> String {
    match (error, &config.file) {
        (PrepareError::NotFound { .. }, Some(file)) if code.path.is_relative() => {
            let on_path = if is_command(code) { ", nor a command on PATH" } else { "" };
            format!("{error}; nor is it beside {}{on_path}", file.display())
        }
        _ => error.to_string(),
    }
}

/// Whether the path may be the name of a command.
fn is_command(code: &CodeConfig) -> bool {
    code.command && code.path.components().count() == 1
}

/// Passes on what a compiler said; the error that goes into the report is one line.
fn tell(evaluator: &str, error: &PrepareError, on_event: &mut dyn FnMut(RunEvent)) {
    if let PrepareError::BuildFailed { summary, rendered } = error {
        on_event(RunEvent::BuildFailed {
            evaluator: evaluator.to_owned(),
            summary: summary.clone(),
            rendered: rendered.clone(),
        });
    }
}

/// Where a file of the configuration is, if it is not in the working directory but beside the configuration.
pub(super) fn beside_config(path: &Path, config: &Config) -> Option<PathBuf> {
    let folder = config.file.as_deref()?.parent()?;
    (!path.exists()).then(|| folder.join(path)).filter(|beside| beside.exists())
}

/// The file of a program, and whether it is beside the configuration: a path is relative to the working directory, and if
/// there is no such file, to the configuration. What may be the name of a command is looked for on `PATH` after that.
pub(super) fn program_file(code: &CodeConfig, config: &Config) -> (PathBuf, bool) {
    if let Some(beside) = beside_config(&code.path, config) {
        return (beside, true);
    }
    let command = (is_command(code) && !code.path.exists())
        .then(|| Environment::inherited().find_program(&code.path))
        .flatten();
    (command.unwrap_or_else(|| code.path.clone()), false)
}

fn locate(
    evaluator: &str,
    code: &CodeConfig,
    config: &Config,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> PathBuf {
    let (path, beside_config) = program_file(code, config);
    // What nothing runs is told as the evaluator's error.
    if let Ok(runtime) = runner.runtimes.for_path(&path) {
        on_event(RunEvent::Found {
            evaluator: evaluator.to_owned(),
            path: path.clone(),
            beside_config,
            runtime: runtime.name().to_owned(),
        });
    }
    path
}

fn metric(evaluator: &EvaluatorConfig, builtin: &BuiltinConfig, runner: &Runner) -> Work {
    match runner.metrics.get(&evaluator.name) {
        Ok(metric) => {
            let settings = MetricSettings {
                trajectory_match_type: builtin.match_type.unwrap_or_default(),
                ignore_args: builtin.ignore_args,
                max: builtin.max,
                alignment: builtin.alignment.clone(),
                judge_model: builtin.judge_model.clone(),
            };
            Work::Metric { metric, settings }
        }
        Err(error) => Work::Broken(Verdict::MetricFailed { reason: error.to_string() }),
    }
}

/// Tells of settings for a judge that no judge will see. A judge's model may come from the command line, for all metrics of
/// the run at once, so it is told of only when no metric asks a judge.
fn tell_unused(config: &Config, runner: &Runner, on_event: &mut dyn FnMut(RunEvent)) {
    let builtins: Vec<_> = config
        .evaluators
        .iter()
        .filter_map(|evaluator| match &evaluator.kind {
            // A metric that nobody knows is an error of its own.
            EvaluatorKind::Builtin(builtin) => {
                Some((&evaluator.name, builtin, runner.metrics.get(&evaluator.name).ok()?))
            }
            _ => None,
        })
        .collect();
    let anyone_asks = builtins.iter().any(|(_, _, metric)| metric.asks_judge());
    for (name, builtin, _) in builtins.iter().filter(|(_, _, metric)| !metric.asks_judge()) {
        let given = [
            ("judge_model", builtin.judge_model.is_some() && !anyone_asks),
            ("judge_base_url", builtin.judge_base_url.is_some()),
            ("credential_ref", builtin.credential_ref.is_some()),
        ];
        let settings: Vec<_> =
            given.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect();
        if !settings.is_empty() {
            on_event(RunEvent::UnusedJudge { metric: (*name).clone(), settings });
        }
    }
}

fn program(code: &CodeConfig, launch: Launch, executor: &dyn Executor) -> Work {
    let wrap = |command: CommandSpec| {
        let program = command.program.clone();
        executor.wrap(command).map(|wrapped| {
            // What an executor puts around a program stays what it is.
            let becomes = wrapped.becomes.clone().filter(|_| wrapped.program == program);
            CommandSpec { becomes, ..wrapped }
        })
    };
    // Whether a program that is given arguments still streams, nobody knows.
    let worker = launch.worker.filter(|_| code.args.is_empty());
    match (wrap(launch.one_shot.args(&code.args)), worker.map(wrap).transpose()) {
        (Ok(one_shot), Ok(worker)) => Work::Program(Box::new(Program {
            one_shot,
            worker,
            timeout: code.timeout,
            config: code.config.clone(),
        })),
        (Err(reason), _) | (_, Err(reason)) => {
            broken(format!("executor `{}`: {reason}", code.executor))
        }
    }
}
