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
    runtime::{Environment, Launch, PrepareError, Runtimes},
    source::Pins,
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
        let mut programs = Vec::new();
        let mut remotes = Vec::new();
        for (index, evaluator) in config.evaluators.iter().enumerate() {
            let work = match &evaluator.kind {
                EvaluatorKind::Builtin(builtin) => metric(evaluator, builtin, runner),
                EvaluatorKind::Code(code) => match runner.executors.get(&code.executor) {
                    Ok(executor) => {
                        programs.push(Candidate {
                            index,
                            code: code.clone(),
                            executor,
                            fetched: false,
                        });
                        // Stands until the runtime has answered.
                        broken(format!("no runtime answered for {}", code.path.display()))
                    }
                    Err(error) => broken(error.to_string()),
                },
                EvaluatorKind::Remote(remote) => match runner.executors.get(&remote.executor) {
                    Ok(executor) => {
                        remotes.push((index, remote, executor));
                        // Stands until its source has answered.
                        broken(format!("no source answered for {}", remote.wanted))
                    }
                    Err(error) => broken(error.to_string()),
                },
            };
            evaluators.push(planned(evaluator, work));
        }
        let wanted: Vec<_> = remotes.iter().map(|(_, remote, _)| remote.wanted.clone()).collect();
        let mut pinned = Vec::new();
        let resolved = runner.fetch(&wanted, config, on_event);
        for ((index, remote, executor), resolved) in remotes.into_iter().zip(resolved) {
            match resolved {
                Ok(resolved) => {
                    if resolved.newly_pinned {
                        pinned.push(evaluators[index].name.clone());
                    }
                    let code = remote.at(resolved.path);
                    programs.push(Candidate { index, code, executor, fetched: true });
                }
                Err(_) if runner.cancellation.is_cancelled() => {
                    evaluators[index].work = Work::Broken(Verdict::Cancelled);
                }
                Err(error) => evaluators[index].work = broken(error.to_string()),
            }
        }
        if !pinned.is_empty() {
            on_event(RunEvent::Pinned { evaluators: pinned, file: Pins::file_of(config) });
        }
        let (fetched, own) = programs.into_iter().partition(|program| program.fetched);
        for (programs, runtimes) in
            [(own, runner.runtimes.clone()), (fetched, runner.runtimes.confined())]
        {
            prepare(&mut evaluators, programs, &runtimes, config, runner, on_event);
        }
        Self { evaluators }
    }

    /// The plan of a run that was cancelled before it had one.
    pub(super) fn cancelled(config: &Config) -> Self {
        let cancelled = |evaluator| planned(evaluator, Work::Broken(Verdict::Cancelled));
        Self { evaluators: config.evaluators.iter().map(cancelled).collect() }
    }
}

/// A program whose executor is there.
struct Candidate {
    /// Place among the evaluators.
    index: usize,
    code: CodeConfig,
    executor: Arc<dyn Executor>,
    /// Whether it is somebody else's.
    fetched: bool,
}

/// Makes programs ready, all those of a runtime in one go.
fn prepare(
    evaluators: &mut [PlannedEvaluator],
    programs: Vec<Candidate>,
    runtimes: &Runtimes,
    config: &Config,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) {
    let paths: Vec<PathBuf> = programs
        .iter()
        .map(|program| {
            locate(&evaluators[program.index].name, &program.code.path, config, runner, on_event)
        })
        .collect();
    let launches = runtimes.prepare_all(&paths, &runner.cancellation, &mut |event| {
        on_event(RunEvent::Prepare(event));
    });
    let confined = Environment::inherited().confined();
    for (Candidate { index, code, executor, fetched }, launch) in programs.into_iter().zip(launches)
    {
        let evaluator = &mut evaluators[index];
        evaluator.work = match launch {
            Ok(launch) if fetched => program(&code, launch.confined(&confined), executor.as_ref()),
            Ok(launch) => program(&code, launch, executor.as_ref()),
            // Whatever a runtime says when it is interrupted, this is why.
            Err(_) if runner.cancellation.is_cancelled() => Work::Broken(Verdict::Cancelled),
            Err(error) => {
                tell(&evaluator.name, &error, on_event);
                broken(not_ready(&error, &code, config))
            }
        };
    }
}

fn planned(evaluator: &EvaluatorConfig, work: Work) -> PlannedEvaluator {
    PlannedEvaluator { name: evaluator.name.clone(), threshold: evaluator.threshold(), work }
}

fn broken(reason: String) -> Work {
    Work::Broken(Verdict::PrepareFailed { reason })
}

/// Why an evaluator is not ready. A relative path was looked for in two places.
fn not_ready(error: &PrepareError, code: &CodeConfig, config: &Config) -> String {
    match (error, &config.file) {
        (PrepareError::NotFound { .. }, Some(file)) if code.path.is_relative() => {
            format!("{error}; nor is it beside {}", file.display())
        }
        _ => error.to_string(),
    }
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

/// A path is relative to the working directory, and if there is no such file, to the configuration.
fn locate(
    evaluator: &str,
    path: &Path,
    config: &Config,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> PathBuf {
    let beside = beside_config(path, config);
    let beside_config = beside.is_some();
    let path = beside.unwrap_or_else(|| path.to_owned());
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

fn program(code: &CodeConfig, launch: Launch, executor: &dyn Executor) -> Work {
    let wrap = |command: CommandSpec| {
        let program = command.program.clone();
        executor.wrap(command).map(|wrapped| {
            // What an executor puts around a program stays what it is.
            let becomes = wrapped.becomes.clone().filter(|_| wrapped.program == program);
            CommandSpec { becomes, ..wrapped }
        })
    };
    match (wrap(launch.one_shot), launch.worker.map(wrap).transpose()) {
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
