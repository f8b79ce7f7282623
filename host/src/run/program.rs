//! The programs of a plan: where they are, and making them ready.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use evaluator_protocol::Contract;
use indexmap::IndexMap;

use super::{
    RunEvent, Runner, fingerprint,
    originals::Originals,
    plan::{PlannedEvaluator, Program, Work, broken},
    surroundings::Surroundings,
};
use crate::{
    config::{CodeConfig, Config, Isolation},
    executor::{Executor, Local},
    hosts::{Call, Driver, Mismatch, foreign_contract},
    process::CommandSpec,
    runtime::{CompileCacheOf, Composition, Entrypoint, Environment, Launch, PrepareError},
    source::ContentHash,
    verdict::Verdict,
};

/// Evaluators of a run that may each keep an interpreter to fork from. One takes some 20 MB.
const MAX_FORK_SERVERS: usize = 32;

/// A program whose executor is there.
pub(super) struct Candidate {
    /// Place among the evaluators.
    pub(super) index: usize,
    pub(super) code: CodeConfig,
    pub(super) executor: Arc<dyn Executor>,
    /// What was agreed to run, of an evaluator that was fetched.
    pub(super) pin: Option<ContentHash>,
}

/// Makes programs ready, all those of a runtime in one go, and puts them in the place of their evaluators.
pub(super) fn prepare(
    evaluators: &mut [PlannedEvaluator],
    programs: Vec<Candidate>,
    config: &Config,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) {
    let inherited = Environment::inherited();
    let mut surrounded = Vec::with_capacity(programs.len());
    for program in programs {
        match Surroundings::new(&program.code, &inherited) {
            Ok(surroundings) => surrounded.push((program, surroundings)),
            Err(reason) => evaluators[program.index].work = broken(reason),
        }
    }
    tell_withheld(evaluators, &surrounded, on_event);
    let entrypoints: Vec<Entrypoint> = surrounded
        .iter()
        .map(|(Candidate { index, code, .. }, _)| Entrypoint {
            path: locate(&evaluators[*index].name, code, runner, on_event),
            fetched: code.fetched,
        })
        .collect();
    let forks = |path: &Path| runner.runtimes.for_path(path).ok()?.fork_server();
    let mut servers = 0;
    let launches = runner.runtimes.prepare_all(&entrypoints, &runner.cancellation, &mut |event| {
        on_event(RunEvent::Prepare(event));
    });
    for (((candidate, surroundings), entrypoint), launch) in
        surrounded.into_iter().zip(&entrypoints).zip(launches)
    {
        let composition = launch.as_ref().map_or_else(
            |_| Composition::default(),
            |launch| runner.runtimes.composition(entrypoint, launch),
        );
        if let Ok(launch) = &launch {
            let evaluator = &mut evaluators[candidate.index];
            let whose = (&*evaluator, &candidate);
            let fingerprint = fingerprint::of_launch(whose, &composition, launch, runner, on_event);
            evaluator.fingerprint = fingerprint;
        }
        let Candidate { index, code, executor, .. } = candidate;
        let evaluator = &mut evaluators[index];
        evaluator.work = match launch {
            Ok(launch) => {
                let originals = Originals::of(&launch.one_shot, &composition);
                let conditions = (surroundings, originals);
                let launch = named(launch, &evaluator.name, code.contract);
                match driven(&code, launch, &entrypoint.path) {
                    Ok(driven) => {
                        ready(&code, driven, conditions, executor.as_ref(), config.retries)
                    }
                    Err(reason) => broken(reason),
                }
            }
            // Whatever a runtime says when it is interrupted, this is why.
            Err(_) if runner.cancellation.is_cancelled() => Work::Broken(Verdict::Cancelled),
            Err(error) => {
                tell(&evaluator.name, &error, on_event);
                broken(not_ready(&error, &code))
            }
        };
        if let Work::Program(program) = &mut evaluator.work
            && code.isolation == Isolation::Auto
            && code.executor == Local.name()
        {
            let Some(fork_server) = forks(&entrypoint.path) else {
                match compile_cache(program, entrypoint, runner) {
                    Ok(cache) => program.compile_cache = cache,
                    Err(reason) => {
                        on_event(RunEvent::NotCached { evaluator: evaluator.name.clone(), reason });
                    }
                }
                continue;
            };
            if servers < MAX_FORK_SERVERS {
                servers += 1;
                program.fork_server = Some(fork_server);
                continue;
            }
            let reason = format!("{MAX_FORK_SERVERS} interpreters are running already");
            on_event(RunEvent::NotForked { evaluator: evaluator.name.clone(), reason });
        }
    }
}

/// How processes of the program can keep what they compile; `None` where there is nothing to gain.
fn compile_cache(
    program: &Program,
    entrypoint: &Entrypoint,
    runner: &Runner,
) -> Result<Option<CompileCacheOf>, String> {
    let Ok(runtime) = runner.runtimes.for_path(&entrypoint.path) else { return Ok(None) };
    let cache = runtime.compile_cache(entrypoint, &program.one_shot, &runner.cancellation)?;
    if cache.is_some() && !program.surroundings.resources().is_unlimited() {
        // To write down what was compiled takes memory and time of its own.
        return Err("it has limits of its own".to_owned());
    }
    Ok(cache)
}

/// Variable with the name of the entry, for contracts whose documents do not contain it: a program may have several evaluators.
const NAME_VARIABLE: &str = "EVALUATOR_NAME";

fn named(launch: Launch, name: &str, contract: Option<Contract>) -> Launch {
    let foreign = contract.and_then(foreign_contract);
    if foreign.is_none_or(|foreign| foreign.names_evaluator) {
        return launch;
    }
    let give = |command: CommandSpec| command.env(NAME_VARIABLE, name);
    Launch { one_shot: give(launch.one_shot), worker: launch.worker.map(give) }
}

/// A launch, with what calls the function of its file.
struct Driven {
    launch: Launch,
    driver: Option<Driver>,
    mismatch: Option<Mismatch>,
}

/// The launch of a program, or of what calls its function.
fn driven(code: &CodeConfig, launch: Launch, path: &Path) -> Result<Driven, String> {
    let Some(call) = Call::of(code.contract, code.function.as_deref(), path) else {
        return Ok(Driven { launch, driver: None, mismatch: Mismatch::of(path, code.contract) });
    };
    call.check(path)?;
    let (launch, driver) = call.drive(launch)?;
    Ok(Driven { launch, driver: Some(driver), mismatch: None })
}

fn ready(
    code: &CodeConfig,
    driven: Driven,
    (surroundings, originals): (Surroundings, Originals),
    executor: &dyn Executor,
    retries: u32,
) -> Work {
    let Driven { launch, driver, mismatch } = driven;
    let launch = surroundings.give_to(launch);
    let resources = surroundings.resources();
    // The limits hold for what the executor starts, and through it for the program.
    let wrap = |command| executor.wrap(command).map(|wrapped| CommandSpec { resources, ..wrapped });
    let one_shot = launch.one_shot.args(&code.args);
    let may_describe = launch.worker.is_some();
    let may_stay = code.isolation != Isolation::Process;
    let worker = launch.worker.filter(|_| may_stay).map(|mut worker| {
        let form = worker.args.pop();
        worker.args(&code.args).args(form)
    });
    match (wrap(one_shot), worker.map(wrap).transpose()) {
        (Ok(one_shot), Ok(worker)) => Work::Program(Box::new(Program {
            one_shot,
            worker,
            may_describe,
            fork_server: None,
            compile_cache: None,
            timeout: code.timeout,
            retries: code.retries.unwrap_or(retries),
            config: code.config.clone(),
            contract: code.contract,
            _driver: driver,
            mismatch,
            surroundings,
            originals: Arc::new(originals),
        })),
        (Err(reason), _) | (_, Err(reason)) => {
            broken(format!("executor `{}`: {reason}", code.executor))
        }
    }
}

/// Tells once what is withheld from whom.
fn tell_withheld(
    evaluators: &[PlannedEvaluator],
    programs: &[(Candidate, Surroundings)],
    on_event: &mut dyn FnMut(RunEvent),
) {
    let mut told: IndexMap<Vec<String>, Vec<String>> = IndexMap::new();
    for (program, surroundings) in programs {
        let name = evaluators[program.index].name.clone();
        told.entry(surroundings.withheld()).or_default().push(name);
    }
    for (variables, evaluators) in told.into_iter().filter(|(names, _)| !names.is_empty()) {
        on_event(RunEvent::Withheld { evaluators, variables });
    }
}

/// Why an evaluator is not ready.
pub(super) fn not_ready(error: &PrepareError, code: &CodeConfig) -> String {
    match error {
        PrepareError::NotFound { .. } if is_command(code) => {
            format!("{error}, nor is it a command on PATH")
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

/// The file of a program. What may be the name of a command and is not a file is looked for on `PATH`.
pub(super) fn program_file(code: &CodeConfig) -> PathBuf {
    let command = (is_command(code) && !code.path.exists())
        .then(|| Environment::inherited().find_program(&code.path))
        .flatten();
    command.unwrap_or_else(|| code.path.clone())
}

fn locate(
    evaluator: &str,
    code: &CodeConfig,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> PathBuf {
    let path = program_file(code);
    // What nothing runs is told as the evaluator's error.
    if let Ok(runtime) = runner.runtimes.for_path(&path) {
        on_event(RunEvent::Found {
            evaluator: evaluator.to_owned(),
            path: path.clone(),
            runtime: runtime.name().to_owned(),
        });
    }
    path
}
