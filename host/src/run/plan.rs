//! A configuration made ready to run.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{RunEvent, Runner};
use crate::{
    config::{BuiltinConfig, CodeConfig, Config, EvaluatorConfig, EvaluatorKind},
    json::Object,
    metric::{Metric, MetricSettings},
    process::CommandSpec,
    runtime::{Launch, PrepareError},
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
    Program(Program),
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
        let paths: Vec<PathBuf> = config
            .evaluators
            .iter()
            .filter_map(|evaluator| match &evaluator.kind {
                EvaluatorKind::Code(code) => {
                    Some(locate(&evaluator.name, &code.path, config.file.as_deref(), on_event))
                }
                EvaluatorKind::Builtin(_) => None,
            })
            .collect();
        let mut launches = runner
            .runtimes
            .prepare_all(&paths, &mut |event| on_event(RunEvent::Prepare(event)))
            .into_iter();
        let evaluators = config
            .evaluators
            .iter()
            .map(|evaluator| PlannedEvaluator {
                name: evaluator.name.clone(),
                threshold: evaluator.threshold(),
                work: match &evaluator.kind {
                    EvaluatorKind::Builtin(builtin) => metric(evaluator, builtin, runner),
                    EvaluatorKind::Code(code) => program(code, launches.next(), runner),
                },
            })
            .collect();
        Self { evaluators }
    }
}

/// A path is relative to the working directory, and if there is no such file, to the configuration.
fn locate(
    evaluator: &str,
    path: &Path,
    config: Option<&Path>,
    on_event: &mut dyn FnMut(RunEvent),
) -> PathBuf {
    if path.is_absolute() || path.exists() {
        return path.to_owned();
    }
    let beside = config
        .and_then(Path::parent)
        .map(|folder| folder.join(path))
        .filter(|beside| beside.exists());
    match beside {
        Some(beside) => {
            on_event(RunEvent::FoundBesideConfig {
                evaluator: evaluator.to_owned(),
                path: beside.clone(),
            });
            beside
        }
        None => path.to_owned(),
    }
}

fn metric(evaluator: &EvaluatorConfig, builtin: &BuiltinConfig, runner: &Runner) -> Work {
    match runner.metrics.get(&evaluator.name) {
        Ok(metric) => {
            let settings = MetricSettings {
                trajectory_match_type: builtin.match_type.unwrap_or_default(),
                judge_model: builtin.judge_model.clone(),
            };
            Work::Metric { metric, settings }
        }
        Err(error) => Work::Broken(Verdict::MetricFailed { reason: error.to_string() }),
    }
}

fn program(
    code: &CodeConfig,
    launch: Option<Result<Launch, PrepareError>>,
    runner: &Runner,
) -> Work {
    let broken = |reason: String| Work::Broken(Verdict::PrepareFailed { reason });
    let launch = match launch {
        Some(Ok(launch)) => launch,
        Some(Err(error)) => return broken(error.to_string()),
        None => return broken(format!("no runtime answered for {}", code.path.display())),
    };
    let executor = match runner.executors.get(&code.executor) {
        Ok(executor) => executor,
        Err(error) => return broken(error.to_string()),
    };
    let one_shot = executor.wrap(launch.one_shot);
    let worker = launch.worker.map(|worker| executor.wrap(worker)).transpose();
    match (one_shot, worker) {
        (Ok(one_shot), Ok(worker)) => Work::Program(Program {
            one_shot,
            worker,
            timeout: code.timeout,
            config: code.config.clone(),
        }),
        (Err(reason), _) | (_, Err(reason)) => {
            broken(format!("executor `{}`: {reason}", code.executor))
        }
    }
}
