//! A configuration made ready to run.

use std::{sync::Arc, time::Duration};

use evaluator_protocol::Contract;

use super::{
    RunEvent, Runner,
    context::ExecutionContext,
    fingerprint,
    program::{Candidate, prepare},
    snapshot::ProgramSnapshot,
};
use crate::{
    config::{BuiltinConfig, Config, EvaluatorConfig, EvaluatorKind, LinkedConfig, MissingTurns},
    hosts::{Driver, Mismatch},
    json::Object,
    linked::LinkedEvaluator,
    metric::Metric,
    process::CommandSpec,
    report::run_file::Fingerprint,
    runtime::Reuse,
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
    /// What becomes of it where golden turns are not recorded.
    pub missing_turns: MissingTurns,
    pub(super) work: Work,
    /// Only in runs that are saved, and only if changes of the evaluator would be noticed.
    pub(super) fingerprint: Option<Fingerprint>,
}

impl PlannedEvaluator {
    /// Returns true if golden turns that are not recorded fail an evaluation. What a program does with the golden turns
    /// that it is given is not known, so it counts as one that compares.
    pub(super) fn requires_all_turns(&self) -> bool {
        let compares = match &self.work {
            Work::Metric { metric, .. } => metric.compares_golden_turns(),
            Work::Program(_) | Work::Linked { .. } => true,
            Work::Broken(_) => false,
        };
        compares && self.missing_turns == MissingTurns::Fail
    }

    /// Why the evaluator cannot run; `None` when it can.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        match &self.work {
            Work::Broken(verdict) => verdict.explain(&self.name, ""),
            Work::Metric { .. } | Work::Program(_) | Work::Linked { .. } => None,
        }
    }
}

#[derive(Debug)]
pub(super) enum Work {
    Metric {
        metric: Arc<dyn Metric>,
        settings: BuiltinConfig,
    },
    Program(Box<Program>),
    Linked {
        evaluator: Arc<dyn LinkedEvaluator>,
        timeout: Duration,
        config: Object,
        contract: Option<Contract>,
    },
    /// Every evaluation has this verdict: the others of the run go on.
    Broken(Verdict),
}

/// A program and how it is called.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) one_shot: CommandSpec,
    /// The streaming form, if the runtime has one. Whether the program has it too, it says itself.
    pub(super) worker: Option<CommandSpec>,
    /// Whether it may be asked what is in it. A script that is asked would run.
    pub(super) may_describe: bool,
    /// How its evaluations share work.
    pub(super) reuse: Reuse,
    pub(super) timeout: Duration,
    /// How often an evaluation is tried again whose verdict may be transient.
    pub(super) retries: u32,
    pub(super) config: Object,
    /// The contract of its entry.
    pub(super) contract: Option<Contract>,
    /// What calls its function, if it is one.
    pub(super) _driver: Option<Driver>,
    /// Reason why its file does not work with that contract.
    pub(super) mismatch: Option<Mismatch>,
    pub(super) context: ExecutionContext,
    pub(super) snapshot: Arc<ProgramSnapshot>,
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
        let (mut programs, mut remotes) = (Vec::new(), Vec::new());
        report_unused_judge(config, runner, on_event);
        for (index, evaluator) in config.evaluators.iter().enumerate() {
            let work = match &evaluator.kind {
                EvaluatorKind::Builtin(builtin) => metric(evaluator, builtin, runner),
                EvaluatorKind::Code(code) => match runner.executors.get(&code.executor) {
                    Ok(executor) => {
                        let own = code.clone();
                        programs.push(Candidate { index, code: own, executor, pin: None });
                        // Stands until the runtime has answered.
                        broken(format!("no runtime answered for {}", code.path.display()))
                    }
                    Err(error) => broken(error.to_string()),
                },
                EvaluatorKind::Remote(remote) => {
                    match runner.executors.get(&remote.program.executor) {
                        Ok(executor) => {
                            remotes.push((index, remote, executor));
                            // Stands until its source has answered.
                            broken(format!("no source answered for {}", remote.wanted))
                        }
                        Err(error) => broken(error.to_string()),
                    }
                }
                EvaluatorKind::Linked(linked) => match runner.linked.get(&evaluator.name) {
                    Ok(evaluator) => {
                        let LinkedConfig { timeout, config, contract, .. } = linked.clone();
                        Work::Linked { evaluator, timeout, config, contract }
                    }
                    Err(error) => broken(error.to_string()),
                },
                // Those who ask first whether it can be run never get here.
                EvaluatorKind::OpenAiEval(_) => {
                    broken("`type: openai_eval` cannot be run by this version".to_owned())
                }
            };
            let mut evaluator = planned(evaluator, work);
            evaluator.fingerprint = fingerprint::of_this_program(&evaluator, runner, on_event);
            evaluators.push(evaluator);
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
                    let (code, pin) = (remote.at(resolved.path), Some(resolved.hash));
                    programs.push(Candidate { index, code, executor, pin });
                }
                Err(_) if runner.cancellation.is_cancelled() => {
                    evaluators[index].work = Work::Broken(Verdict::Cancelled);
                }
                Err(error) => evaluators[index].work = broken(error.to_string()),
            }
        }
        if !pinned.is_empty() {
            on_event(RunEvent::Pinned {
                evaluators: pinned,
                file: Pins::file_of(config.file.as_deref()),
            });
        }
        prepare(&mut evaluators, programs, config, runner, on_event);
        Self { evaluators }
    }

    /// The plan of a run that was cancelled before it had one.
    pub(super) fn cancelled(config: &Config) -> Self {
        Self::all_broken(config, &Verdict::Cancelled)
    }

    /// The plan of a run that stopped before it had one.
    pub(super) fn not_run(config: &Config) -> Self {
        Self::all_broken(config, &Verdict::NotRun)
    }

    fn all_broken(config: &Config, verdict: &Verdict) -> Self {
        let broken = |evaluator| planned(evaluator, Work::Broken(verdict.clone()));
        Self { evaluators: config.evaluators.iter().map(broken).collect() }
    }
}

fn planned(evaluator: &EvaluatorConfig, work: Work) -> PlannedEvaluator {
    let (name, threshold) = (evaluator.name.clone(), evaluator.threshold());
    let missing_turns = evaluator.missing_turns;
    PlannedEvaluator { name, threshold, missing_turns, work, fingerprint: None }
}

pub(super) fn broken(reason: String) -> Work {
    Work::Broken(Verdict::PrepareFailed { reason })
}

fn metric(evaluator: &EvaluatorConfig, builtin: &BuiltinConfig, runner: &Runner) -> Work {
    match runner.metrics.configured(&evaluator.name, &builtin.settings) {
        Ok(metric) => Work::Metric { metric, settings: builtin.clone() },
        Err(reason) => Work::Broken(Verdict::MetricFailed { reason }),
    }
}

/// Reports settings of a judge that no judge uses. The model of the judge may come from the command line, for all metrics of
/// the run, so it is reported only if no metric asks a judge.
fn report_unused_judge(config: &Config, runner: &Runner, on_event: &mut dyn FnMut(RunEvent)) {
    let builtins: Vec<_> = config
        .evaluators
        .iter()
        .filter_map(|evaluator| match &evaluator.kind {
            // An unknown metric is an error of its own.
            EvaluatorKind::Builtin(builtin) => {
                Some((&evaluator.name, builtin, runner.metrics.get(&evaluator.name).ok()?))
            }
            _ => None,
        })
        .collect();
    let anyone_asks = builtins.iter().any(|(_, _, metric)| metric.asks_judge());
    for (name, builtin, _) in builtins.iter().filter(|(_, _, metric)| !metric.asks_judge()) {
        let given = [
            ("judge_model", builtin.judge.model.is_some() && !anyone_asks),
            ("judge_base_url", builtin.judge.base_url.is_some()),
        ];
        let settings: Vec<_> =
            given.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect();
        if !settings.is_empty() {
            on_event(RunEvent::UnusedJudge { metric: (*name).clone(), settings });
        }
    }
}
