//! Plans: the evaluators of a configuration, prepared to run.

use std::{path::PathBuf, sync::Arc};

use evaluator_engine::{
    grading::GradedEvaluator,
    judged::JudgedEvaluator,
    python_grader::{self, PythonGrader},
    target::Target,
    work::{Work, broken},
};

use super::{
    PlannedEvaluator, RunEvent, Runner, fingerprint,
    program::prepare,
    program_file::{Candidate, execution_context, not_ready},
};
use crate::{
    config::{
        BuiltinConfig, CodeConfig, Config, EvaluatorConfig, EvaluatorKind, JudgeSettings,
        LinkedConfig, LlmJudgeConfig, OpenAiEvalConfig, RemoteConfig,
    },
    executor::Executor,
    json::Object,
    judging::{
        Session,
        grader::LocalGrader,
        judge::{Criterion, Judge, JudgeMetric, llm_judge::LlmJudge},
    },
    models::ProxyServer,
    runtime::{Entrypoint, PrivateDirectory},
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
    /// Why nothing may run: mistakes that only the programs of the evaluators could find.
    pub(super) refusal: Option<String>,
    /// Warnings for the report.
    pub(super) warnings: Vec<String>,
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
        let executors = &runner.registries.executors;
        let executor = |code: &CodeConfig| executors.get(&code.executor, &code.containment);
        for (index, entry) in config.evaluators.iter().enumerate() {
            // Programs are broken until their runtime or source has answered.
            let work = match &entry.kind {
                _ if runner.must_not_run(config, entry) => broken(NOT_CONTAINED.to_owned()),
                EvaluatorKind::Builtin(builtin) => metric(entry, builtin, runner, &session),
                EvaluatorKind::Linked(linked) => link(&entry.name, linked, runner),
                EvaluatorKind::Code(code) => broken(match executor(code) {
                    Ok(executor) => {
                        programs.push(Candidate { index, code: code.clone(), executor, pin: None });
                        format!("no runtime answered for {}", code.path.display())
                    }
                    Err(error) => error,
                }),
                EvaluatorKind::Remote(entry) => broken(match executor(&entry.program) {
                    Ok(executor) => {
                        remotes.push(Remote { index, entry, executor });
                        format!("no source answered for {}", entry.wanted)
                    }
                    Err(error) => error,
                }),
                EvaluatorKind::LlmJudge(llm_judge) => llm_judge_of(entry, llm_judge, &session),
                EvaluatorKind::OpenAiEval(openai) => {
                    graded(entry, openai, runner, (config, &session), on_event)
                }
            };
            let mut evaluator = planned(entry, config, work);
            evaluator.fingerprint = fingerprint::of_internal(&evaluator, runner, config, on_event);
            evaluators.push(evaluator);
        }
        let uncontained = runner.uncontained_remotes(config);
        if !uncontained.is_empty() {
            let evaluators = uncontained.into_iter().map(str::to_owned).collect();
            on_event(RunEvent::Uncontained { evaluators });
        }
        programs.extend(fetched(&mut evaluators, remotes, config, runner, on_event));
        prepare(&mut evaluators, programs, (config, &session), runner, on_event);
        connect(&mut evaluators, config, &session, runner);
        Self { evaluators, session: session.ok(), refusal: None, warnings: Vec::new() }
    }

    /// Returns why an evaluator cannot run, if one cannot.
    pub(super) fn unprepared(&self) -> Option<String> {
        let problem = |it: &PlannedEvaluator| {
            let problem = it.problem().or_else(|| it.start_problem())?;
            Some(format!("`{}` cannot be prepared: {problem}", it.name))
        };
        self.evaluators.iter().find_map(problem)
    }

    /// Returns a plan in which every evaluation has this verdict.
    pub(super) fn all(config: &Config, verdict: &Verdict) -> Self {
        let broken = |evaluator| planned(evaluator, config, Work::Broken(verdict.clone()));
        let evaluators = config.evaluators.iter().map(broken).collect();
        Self { evaluators, session: None, refusal: None, warnings: Vec::new() }
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

/// Connects the programs of a plan with their models. Sends nothing.
fn connect(
    evaluators: &mut [PlannedEvaluator],
    config: &Config,
    session: &Result<Session, String>,
    runner: &Runner,
) {
    let mut server: Option<Arc<ProxyServer>> = None;
    for (entry, planned) in config.evaluators.iter().zip(evaluators) {
        let (Some(models), Work::Program(program)) = (entry.models(), &mut planned.work) else {
            continue;
        };
        let started = server.clone().map_or_else(|| ProxyServer::start().map(Arc::new), Ok);
        let target = match (session, started) {
            (Ok(session), Ok(started)) => {
                server = Some(Arc::clone(&started));
                let listener = program.forked.listener.as_ref();
                let how = (&program.reuse, listener, program.library.is_some());
                Target::new(&planned.name, models, session, started, runner.jobs.get(), how)
            }
            (Err(reason), _) => Err(reason.clone()),
            (_, Err(error)) => Err(format!("the target proxy cannot be started: {error}")),
        };
        match target {
            Ok(target) => program.target = Some(target),
            Err(reason) => planned.work = broken(reason),
        }
    }
}

fn link(name: &str, linked: &LinkedConfig, runner: &Runner) -> Work {
    match runner.registries.linked.get(name) {
        Ok(evaluator) => {
            let LinkedConfig { timeout, config, contract, .. } = linked.clone();
            Work::Linked { evaluator, timeout, config, contract }
        }
        Err(error) => broken(error.to_string()),
    }
}

fn planned(evaluator: &EvaluatorConfig, config: &Config, work: Work) -> PlannedEvaluator {
    let (name, threshold) = (evaluator.name.clone(), evaluator.threshold());
    let missing_turns = evaluator.missing_turns;
    let repeat = evaluator.repeat.or(config.repeat).unwrap_or(1);
    PlannedEvaluator { name, threshold, missing_turns, repeat, work, fingerprint: None }
}

/// Returns the work of a grader.
fn graded(
    evaluator: &EvaluatorConfig,
    openai: &OpenAiEvalConfig,
    runner: &Runner,
    (config, session): (&Config, &Result<Session, String>),
    on_event: &mut dyn FnMut(RunEvent),
) -> Work {
    let name = evaluator.name.clone();
    if openai.grader.is_local() {
        let metric = Arc::new(LocalGrader::new(name, openai.grader.clone()));
        return Work::Metric { metric, settings: openai.settings.clone(), credential: None };
    }
    match connected(name, openai, runner, (config, session), on_event) {
        Ok(grader) => Work::Grader(Box::new(grader)),
        Err(reason) => broken(reason),
    }
}

/// Returns a grader with its models and its Python interpreter. Blocks.
///
/// # Errors
///
/// A model or an interpreter that it needs is missing.
fn connected(
    name: String,
    openai: &OpenAiEvalConfig,
    runner: &Runner,
    (config, session): (&Config, &Result<Session, String>),
    on_event: &mut dyn FnMut(RunEvent),
) -> Result<GradedEvaluator, String> {
    let connection = match &openai.judge {
        None => None,
        Some(settings) => {
            let session = session.as_ref().map_err(Clone::clone)?;
            Some(session.connect(&name, settings).map_err(|error| error.message)?)
        }
    };
    let OpenAiEvalConfig { grader, settings, threshold, timeout, .. } = openai.clone();
    let needs_python = grader.needs_python();
    let python = needs_python.then(|| python(config, runner, on_event)).transpose()?.map(Box::new);
    Ok(GradedEvaluator { name, grader, settings, threshold, timeout, connection, python })
}

/// Finds a Python interpreter for functions of graders. Blocks.
///
/// # Errors
///
/// There is none, or the program that calls functions cannot be written.
fn python(
    config: &Config,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> Result<PythonGrader, String> {
    let written = PrivateDirectory::new("grader").and_then(|directory| {
        Ok((directory.write("grade.py", python_grader::PROGRAM)?, directory))
    });
    let (path, directory): (PathBuf, PrivateDirectory) =
        written.map_err(|error| format!("cannot write the program that calls it: {error}"))?;
    let code = CodeConfig { path: path.clone(), ..CodeConfig::default() };
    let context = execution_context(&code, false, &config.environment())?;
    let entrypoint = Entrypoint::from(path);
    let (runtimes, cancellation) = (&runner.registries.runtimes, &runner.cancellation);
    let mut report = |event| on_event(RunEvent::Prepare(event));
    let launch = runtimes.prepare(&entrypoint, cancellation, &mut report);
    let launch = context.apply(launch.map_err(|error| not_ready(&error, &code))?);
    let inputs = runtimes.inputs(&entrypoint, &launch);
    Ok(PythonGrader { command: launch.one_shot, context, inputs, directory })
}

fn metric(
    evaluator: &EvaluatorConfig,
    builtin: &BuiltinConfig,
    runner: &Runner,
    session: &Result<Session, String>,
) -> Work {
    let metric = match runner.registries.metrics.configured(&evaluator.name, &builtin.settings) {
        Ok(metric) => metric,
        Err(reason) => return Work::Broken(Verdict::MetricFailed { reason }),
    };
    let Some((judge, criterion)) = JudgeMetric::judge_of(&*metric) else {
        let credential = builtin.judge.credential_ref.clone();
        return Work::Metric { metric, settings: builtin.settings.clone(), credential };
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
            EvaluatorKind::Builtin(builtin) => Some((
                &evaluator.name,
                builtin,
                runner.registries.metrics.get(&evaluator.name).ok()?,
            )),
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
