//! Plans: the evaluators of a configuration, prepared to run.

use std::{io, sync::Arc, time::Duration};

use evaluator_protocol::{Contract, Description};

use super::{
    RunEvent, Runner,
    context::ExecutionContext,
    fingerprint,
    grading::{self, GradedEvaluator},
    identity::Fingerprint,
    judging::JudgedEvaluator,
    program::{Candidate, prepare},
    snapshot::ProgramSnapshot,
    target::{self, Access, Target},
};
use crate::{
    config::{
        BuiltinConfig, Config, EvaluatorConfig, EvaluatorKind, JudgeSettings, LinkedConfig,
        LlmJudgeConfig, MissingTurns, RemoteConfig,
    },
    executor::{Containment, Executor, Listener, Scope, Visible, wrap_server},
    hosts::{Driver, Mismatch},
    json::Object,
    judging::{
        Session,
        judge::{Criterion, Judge, JudgeMetric, llm_judge::LlmJudge},
    },
    linked::LinkedEvaluator,
    metric::Metric,
    process::{CommandSpec, forks::ServerCommand},
    report::Contained,
    runtime::Reuse,
    source::Pins,
    verdict::Verdict,
};

/// Error of an evaluator that the key `contain` refuses.
const NOT_CONTAINED: &str = "it is not contained, and the configuration has `contain: true`; `executor: sandbox` or `executor: docker` \
     contains a program";

/// The evaluators of a run, each prepared or with the reason why it is not.
#[derive(Debug)]
pub struct Plan {
    /// In the order of the configuration.
    pub evaluators: Vec<PlannedEvaluator>,
    /// Session of the evaluators that ask models.
    pub(super) session: Option<Session>,
}

/// An evaluator, prepared or with the reason why it is not.
#[derive(Debug)]
pub struct PlannedEvaluator {
    /// Name.
    pub name: String,
    /// Score from which on an evaluation passes.
    pub threshold: f64,
    /// Effect of a golden turn without a recording on an evaluation.
    pub missing_turns: MissingTurns,
    pub(super) work: Work,
    /// Identifies the evaluator in saved runs; `None` if the run is not saved or changes of the evaluator would not be
    /// noticed.
    pub(super) fingerprint: Option<Fingerprint>,
}

impl PlannedEvaluator {
    /// Returns true if golden turns that are not recorded fail an evaluation. A program may compare the golden turns of its
    /// document, so it counts as one that does.
    pub(super) fn requires_all_turns(&self) -> bool {
        let compares = match &self.work {
            Work::Metric { metric, .. } => metric.compares_golden_turns(),
            Work::Judge(judged) => judged.needs_golden,
            Work::Grader(graded) => graded.compares(),
            Work::Program(_) | Work::Linked { .. } => true,
            Work::Broken(_) => false,
        };
        compares && self.missing_turns == MissingTurns::Fail
    }

    /// Returns its kind in run files: `builtin`, `judge`, `grader`, `code`, `linked`, or `broken` if it cannot run.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.work {
            Work::Metric { .. } => "builtin",
            Work::Judge(_) => "judge",
            Work::Grader(_) => "grader",
            Work::Program(_) => "code",
            Work::Linked { .. } => "linked",
            Work::Broken(_) => "broken",
        }
    }

    /// Returns the reason why the evaluator cannot run; `None` if it can.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        match &self.work {
            Work::Broken(verdict) => verdict.explain(&self.name, ""),
            _ => None,
        }
    }
}

impl Work {
    /// Returns true if it is computed in this process from a recording.
    pub(super) fn is_metric(&self) -> bool {
        matches!(self, Self::Metric { .. } | Self::Judge(_) | Self::Grader(_))
    }
}

#[derive(Debug)]
pub(super) enum Work {
    Metric {
        metric: Arc<dyn Metric>,
        settings: BuiltinConfig,
    },
    Judge(Box<JudgedEvaluator>),
    /// A grader that needs a model, Python or a server.
    Grader(Box<GradedEvaluator>),
    Program(Box<Program>),
    Linked {
        evaluator: Arc<dyn LinkedEvaluator>,
        timeout: Duration,
        config: Object,
        contract: Option<Contract>,
    },
    /// Cannot run; every evaluation has this verdict.
    Broken(Verdict),
}

/// A program and its settings.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) one_shot: CommandSpec,
    /// The streaming form, if the runtime has one. The description of the program states whether the program supports this
    /// form.
    pub(super) worker: Option<CommandSpec>,
    /// Whether the program may be started with `--describe`. A script would ignore the option and evaluate.
    pub(super) may_describe: bool,
    /// Work that its evaluations share.
    pub(super) reuse: Reuse,
    /// What a fork server is made from.
    pub(super) forked: ForkedProgram,
    pub(super) timeout: Duration,
    /// Number of retries after a verdict that may be transient.
    pub(super) retries: u32,
    pub(super) config: Object,
    /// The contract of its entry.
    pub(super) contract: Option<Contract>,
    /// File that calls its function, if the entry names one; deleted when dropped.
    pub(super) _driver: Option<Driver>,
    /// Reason why its file does not work with that contract.
    pub(super) mismatch: Option<Mismatch>,
    pub(super) context: ExecutionContext,
    pub(super) snapshot: Arc<ProgramSnapshot>,
    /// Models that it may ask.
    pub(super) target: Option<Target>,
    /// How it is contained; `None` if it is not.
    pub(super) contained: Option<Arc<Contained>>,
}

/// A program as its runtime starts it, and the executor that starts it.
#[derive(Clone, Debug)]
pub(super) struct ForkedProgram {
    pub(super) command: CommandSpec,
    pub(super) executor: Arc<dyn Executor>,
    pub(super) containment: Arc<Containment>,
    pub(super) visible: Visible,
    /// Where it finds the proxy of its models, if it has no network.
    pub(super) listener: Option<Listener>,
}

impl ForkedProgram {
    /// Returns the command of a server, which `make` makes from that of the program.
    ///
    /// # Errors
    ///
    /// Why there is no server.
    pub(super) fn server(
        &self,
        make: fn(&CommandSpec) -> Result<ServerCommand, String>,
    ) -> Result<ServerCommand, String> {
        let Self { command, executor, containment, visible, listener } = self;
        // No server runs in an image: only executors of this machine fork.
        let scope = Scope { listener: listener.as_ref(), ..Scope::new(containment, visible) };
        wrap_server(executor.as_ref(), make(command)?, &scope)
    }
}

impl Program {
    /// Returns true if one process may evaluate several documents. With models, each document has a proxy of its own.
    pub(super) fn may_stream(&self, description: &Description) -> bool {
        match self.target {
            None => description.streams(),
            Some(_) => description.takes_targets(),
        }
    }

    /// Opens the proxy of an evaluation; `None` without models.
    ///
    /// # Errors
    ///
    /// See [`Target::open`].
    pub(super) fn open_target(&self) -> io::Result<Option<Access>> {
        self.target.as_ref().map(Target::open).transpose()
    }
}

impl Plan {
    /// Finds, fetches and builds the evaluators of `config`. Blocks: building may take long.
    ///
    /// An evaluator that cannot be prepared does not affect the others.
    pub fn new(config: &Config, runner: &Runner, on_event: &mut dyn FnMut(RunEvent)) -> Self {
        if runner.cancellation.is_cancelled() {
            return Self::all(config, &Verdict::Cancelled);
        }
        report_unused_judge(config, runner, on_event);
        let session = match &runner.session {
            Some(session) => Ok(session.clone()),
            None => runner.judges(config).map_err(|error| error.to_string()),
        };
        let (mut evaluators, mut programs, mut remotes) = (Vec::new(), Vec::new(), Vec::new());
        for (index, entry) in config.evaluators.iter().enumerate() {
            // Programs are broken until their runtime or source has answered.
            let work = match &entry.kind {
                _ if runner.must_not_run(config, entry) => broken(NOT_CONTAINED.to_owned()),
                EvaluatorKind::Builtin(builtin) => metric(entry, builtin, runner, &session),
                EvaluatorKind::Linked(linked) => link(&entry.name, linked, runner),
                EvaluatorKind::Code(code) => {
                    broken(match runner.executors.get(&code.executor, &code.containment) {
                        Ok(executor) => {
                            programs.push(Candidate {
                                index,
                                code: code.clone(),
                                executor,
                                pin: None,
                            });
                            format!("no runtime answered for {}", code.path.display())
                        }
                        Err(error) => error,
                    })
                }
                EvaluatorKind::Remote(entry) => {
                    let (executor, settings) =
                        (&entry.program.executor, &entry.program.containment);
                    broken(match runner.executors.get(executor, settings) {
                        Ok(executor) => {
                            remotes.push(Remote { index, entry, executor });
                            format!("no source answered for {}", entry.wanted)
                        }
                        Err(error) => error,
                    })
                }
                EvaluatorKind::LlmJudge(llm_judge) => llm_judge_of(entry, llm_judge, &session),
                EvaluatorKind::OpenAiEval(openai) => {
                    grading::plan(entry, openai, runner, &session, on_event)
                }
            };
            let mut evaluator = planned(entry, work);
            evaluator.fingerprint = fingerprint::of_this_program(&evaluator, runner, on_event);
            evaluators.push(evaluator);
        }
        let uncontained = runner.uncontained_remotes(config);
        if !uncontained.is_empty() {
            let evaluators = uncontained.into_iter().map(str::to_owned).collect();
            on_event(RunEvent::Uncontained { evaluators });
        }
        programs.extend(fetched(&mut evaluators, remotes, config, runner, on_event));
        prepare(&mut evaluators, programs, (config, &session), runner, on_event);
        target::connect(&mut evaluators, config, &session, runner);
        Self { evaluators, session: session.ok() }
    }

    /// Returns a plan in which every evaluation has this verdict.
    pub(super) fn all(config: &Config, verdict: &Verdict) -> Self {
        let broken = |evaluator| planned(evaluator, Work::Broken(verdict.clone()));
        Self { evaluators: config.evaluators.iter().map(broken).collect(), session: None }
    }
}

/// An evaluator of a source.
struct Remote<'c> {
    /// Index among the evaluators.
    index: usize,
    entry: &'c RemoteConfig,
    executor: Arc<dyn Executor>,
}

/// Fetches evaluators and returns their programs.
fn fetched(
    evaluators: &mut [PlannedEvaluator],
    remotes: Vec<Remote<'_>>,
    config: &Config,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> Vec<Candidate> {
    let wanted: Vec<_> = remotes.iter().map(|remote| remote.entry.wanted.clone()).collect();
    let (mut programs, mut pinned) = (Vec::new(), Vec::new());
    let resolved = runner.fetch(&wanted, config, on_event);
    for (Remote { index, entry, executor }, resolved) in remotes.into_iter().zip(resolved) {
        match resolved {
            Ok(resolved) => {
                if resolved.newly_pinned {
                    pinned.push(evaluators[index].name.clone());
                }
                let (code, pin) = (entry.at(resolved.path), Some(resolved.hash));
                programs.push(Candidate { index, code, executor, pin });
            }
            Err(_) if runner.cancellation.is_cancelled() => {
                evaluators[index].work = Work::Broken(Verdict::Cancelled);
            }
            Err(error) => evaluators[index].work = broken(error.to_string()),
        }
    }
    if !pinned.is_empty() {
        let file = Pins::file_of(config.file.as_deref());
        on_event(RunEvent::Pinned { evaluators: pinned, file });
    }
    programs
}

fn link(name: &str, linked: &LinkedConfig, runner: &Runner) -> Work {
    match runner.linked.get(name) {
        Ok(evaluator) => {
            let LinkedConfig { timeout, config, contract, .. } = linked.clone();
            Work::Linked { evaluator, timeout, config, contract }
        }
        Err(error) => broken(error.to_string()),
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

fn metric(
    evaluator: &EvaluatorConfig,
    builtin: &BuiltinConfig,
    runner: &Runner,
    session: &Result<Session, String>,
) -> Work {
    let metric = match runner.metrics.configured(&evaluator.name, &builtin.settings) {
        Ok(metric) => metric,
        Err(reason) => return Work::Broken(Verdict::MetricFailed { reason }),
    };
    let Some((judge, criterion)) = JudgeMetric::judge_of(&*metric) else {
        return Work::Metric { metric, settings: builtin.clone() };
    };
    let criterion = Criterion { threshold: builtin.threshold, ..criterion };
    let judged = judged(&evaluator.name, &builtin.judge, session, judge, criterion);
    match judged {
        Ok(judged) => Work::Judge(Box::new(JudgedEvaluator {
            needs_golden: metric.compares_golden_turns(),
            revision: metric.revision().map(str::to_owned),
            settings: builtin.settings.clone(),
            ..judged
        })),
        Err(reason) => broken(reason),
    }
}

fn llm_judge_of(
    evaluator: &EvaluatorConfig,
    config: &LlmJudgeConfig,
    session: &Result<Session, String>,
) -> Work {
    let judge = Arc::new(config.judged_by.clone());
    let criterion = Criterion { threshold: config.threshold, ..Criterion::default() };
    match judged(&evaluator.name, &config.judge, session, judge, criterion) {
        Ok(judged) => Work::Judge(Box::new(JudgedEvaluator {
            needs_golden: config.judged_by.compares(),
            revision: Some(LlmJudge::REVISION.to_owned()),
            settings: config.identity.clone(),
            ..judged
        })),
        Err(reason) => broken(reason),
    }
}

/// Connects an evaluator with its models.
///
/// # Errors
///
/// A model, key, base URL, price, prompt or recording that it needs is missing.
pub(super) fn judged(
    name: &str,
    settings: &JudgeSettings,
    session: &Result<Session, String>,
    judge: Arc<dyn Judge>,
    criterion: Criterion,
) -> Result<JudgedEvaluator, String> {
    let session = session.as_ref().map_err(Clone::clone)?;
    let connection = session.connect(name, settings).map_err(|error| error.message)?;
    Ok(JudgedEvaluator {
        judge,
        criterion: connection.settings().criterion(criterion),
        connection,
        needs_golden: false,
        revision: None,
        settings: Object::default(),
        timeout: None,
    })
}

/// Reports settings of a judge that no judge uses. The model of the judge may come from the command line, for all metrics
/// of the run, so it is reported only if no metric uses a judge.
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
    let any_asks = builtins.iter().any(|(_, _, metric)| metric.asks_judge());
    for (name, builtin, _) in builtins.iter().filter(|(_, _, metric)| !metric.asks_judge()) {
        let unused = [
            ("judge_model", !builtin.judge.models.is_empty() && !any_asks),
            ("judge_base_url", builtin.judge.base_url.is_some()),
        ];
        let settings: Vec<_> =
            unused.into_iter().filter(|(_, unused)| *unused).map(|(key, _)| key).collect();
        if !settings.is_empty() {
            on_event(RunEvent::UnusedJudge { metric: (*name).clone(), settings });
        }
    }
}
