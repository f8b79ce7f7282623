//! The programs of a plan: located, prepared and configured.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use evaluator_engine::{
    context::ExecutionContext,
    identity::Project,
    snapshot::ProgramSnapshot,
    target,
    work::{ForkedProgram, PlannedEvaluator, Program, Work, broken},
};
use evaluator_protocol::Contract;
use indexmap::IndexMap;

use super::{
    RunEvent, Runner, containment, fingerprint,
    program_file::{
        Candidate, command_of_image, execution_context, not_contained, not_ready, process_settings,
        program_file,
    },
};
use crate::{
    config::{CodeConfig, Config, Isolation},
    executor::{Executor, Image, Listener, Scope},
    hosts::{Call, Driver, Mismatch, foreign_contract},
    judging::Session,
    process::{CommandSpec, Resources},
    runtime::{Entrypoint, Inputs, Launch, PrepareError, Reuse},
    verdict::Verdict,
};

/// Maximum number of fork servers in a run. One uses some 20 MB.
const MAX_FORK_SERVERS: usize = 32;

/// Prepares programs, all those of a runtime in one call, and stores them with their evaluators.
pub(super) fn prepare(
    evaluators: &mut [PlannedEvaluator],
    programs: Vec<Candidate>,
    (config, session): (&Config, &Result<Session, String>),
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) {
    let inherited = config.environment();
    let mut located = Vec::with_capacity(programs.len());
    for program in programs {
        let Candidate { code, executor, .. } = &program;
        let context = execution_context(code, executor.contains(), &inherited);
        let image = executor.image(&code.containment);
        let written = code.library.as_ref().map_or(Ok(()), |metric| metric.write());
        match written.and(context).and_then(|context| Ok((context, image?))) {
            Ok((context, image)) => located.push((program, context, image)),
            Err(reason) => evaluators[program.index].work = broken(reason),
        }
    }
    report_withheld(evaluators, &located, on_event);
    let entrypoints: Vec<Entrypoint> = located
        .iter()
        .map(|(Candidate { index, code, executor, .. }, _, image)| {
            let name = &evaluators[*index].name;
            let path = locate(name, (code, image.as_ref()), runner, on_event);
            Entrypoint { image: image.clone(), ..code.entrypoint(path, executor.contains()) }
        })
        .collect();
    report_named_secrets(evaluators, &located, &entrypoints, on_event);
    let launches = launches(&located, &entrypoints, runner, on_event);
    let mut servers = 0;
    let located = located.into_iter().map(|(program, context, _)| (program, context));
    for ((program, entrypoint), launch) in located.zip(&entrypoints).zip(launches) {
        let evaluator = &mut evaluators[program.0.index];
        evaluator.work = match launch {
            Ok(launch) => {
                let how = (config, session, runner);
                prepared(evaluator, program, entrypoint, launch, how, on_event)
            }
            // Runtimes report various errors when they are interrupted.
            Err(_) if runner.cancellation.is_cancelled() => Work::Broken(Verdict::Cancelled),
            Err(error) => {
                report_build_failure(&evaluator.name, &error, on_event);
                broken(not_ready(&error, &program.0.code))
            }
        };
        let Work::Program(program) = &mut evaluator.work else { continue };
        if let Reuse::Fork(_) = program.reuse {
            servers += 1;
            if servers > MAX_FORK_SERVERS {
                let reason = format!("{MAX_FORK_SERVERS} interpreters are running already");
                program.reuse = Reuse::Unavailable { reason: Reuse::not_forked(&reason) };
            }
        }
        if let Reuse::Unavailable { reason } = &program.reuse {
            let (evaluator, reason) = (evaluator.name.clone(), reason.clone());
            on_event(RunEvent::NotReused { evaluator, reason });
        }
    }
}

/// Prepares programs; those that an image has are started by their names.
fn launches(
    programs: &[(Candidate, ExecutionContext, Option<Image>)],
    entrypoints: &[Entrypoint],
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> Vec<Result<Launch, PrepareError>> {
    let mut report = |event| on_event(RunEvent::Prepare(event));
    let (runtimes, cancellation) = (&runner.registries.runtimes, &runner.cancellation);
    let launches = runtimes.prepare_all(entrypoints, cancellation, &mut report);
    let launch = |((program, _, image), launch): (&(Candidate, _, Option<Image>), _)| {
        command_of_image(&program.code, image.as_ref()).map_or(launch, Ok)
    };
    programs.iter().zip(launches).map(launch).collect()
}

/// Returns the work of an evaluator with the launch of its program, and sets its fingerprint.
fn prepared(
    evaluator: &mut PlannedEvaluator,
    (candidate, mut context): (Candidate, ExecutionContext),
    entrypoint: &Entrypoint,
    launch: Launch,
    (config, session, runner): (&Config, &Result<Session, String>, &Runner),
    on_event: &mut dyn FnMut(RunEvent),
) -> Work {
    let mut inputs = match command_of_image(&candidate.code, entrypoint.image.as_ref()) {
        Some(_) => Inputs::default(),
        None => runner.registries.runtimes.inputs(entrypoint, &launch),
    };
    if entrypoint.image.is_some() {
        // Names of programs in the image, which counts as a whole.
        inputs.programs.retain(|program| program.is_absolute());
    }
    let whose = (&*evaluator, &candidate);
    let project = Project::of(config.file.as_deref());
    let by = (session, runner, &project);
    let fingerprint = fingerprint::of_launch(whose, &inputs, &launch, by, on_event);
    evaluator.fingerprint = fingerprint;
    let snapshot = ProgramSnapshot::of(&launch.one_shot, &inputs);
    report_contained(&evaluator.name, &candidate, &launch, on_event);
    let Candidate { code, executor, .. } = candidate;
    let launch = named(launch, &evaluator.name, code.contract);
    let settings = process_settings(&code, executor.contains());
    context.note_shown(&settings, &entrypoint.path, &launch.visible);
    match driven(&code, launch, &entrypoint.path) {
        Ok(driven) => {
            let conditions = (context, snapshot);
            let executor = (executor, entrypoint.image.as_ref());
            ready(&code, driven, conditions, executor, config.retries)
        }
        Err(reason) => broken(reason),
    }
}

/// Returns the work that evaluations share, of what the runtime offers.
fn reuse(
    offered: Reuse,
    code: &CodeConfig,
    executor: &dyn Executor,
    resources: &Resources,
) -> Reuse {
    let forks = executor.forks(&code.containment);
    match offered {
        _ if code.isolation != Isolation::Auto => Reuse::None,
        Reuse::Unavailable { .. } => offered,
        Reuse::Fork(_) if executor.contains() && !forks => {
            let reason = format!("its executor `{}` cannot end a fork alone", executor.name());
            Reuse::Unavailable { reason: Reuse::not_forked(&reason) }
        }
        // It would be written by one evaluation and run by the next.
        Reuse::CompiledCode(_) if executor.contains() => {
            Reuse::Unavailable { reason: Reuse::not_cached("it is contained") }
        }
        _ if !forks => Reuse::None,
        // Writing compiled code takes memory and processor time.
        Reuse::CompiledCode(_) if !resources.is_unlimited() => {
            Reuse::Unavailable { reason: Reuse::not_cached("it has limits of its own") }
        }
        offered => offered,
    }
}

/// Checks that a program can reach the models of its entry, which it asks by a proxy on this machine. Returns where it finds
/// the proxy if it has no network.
fn listener(
    code: &CodeConfig,
    executor: &dyn Executor,
    image: Option<&Image>,
) -> Result<Option<Listener>, String> {
    let name = executor.name();
    if code.models.is_some() && image.is_some() {
        return Err(format!(
            "a program with `models` asks them by a server on 127.0.0.1 of this machine, which no container can reach; \
             use `executor: sandbox` instead of `{name}`"
        ));
    }
    if containment::is_proxied(executor, code) {
        let failed = |error| format!("its target proxy cannot be opened: {error}");
        return target::listener().map(Some).map_err(failed);
    }
    if code.models.is_none() || !executor.contains() || code.containment.network {
        return Ok(None);
    }
    Err(format!(
        "a program with `models` asks them by a server on 127.0.0.1, and `executor: {name}` has no network; set \
         `{name}: {{network: true}}`"
    ))
}

/// Variable with the name of the entry, for contracts whose documents do not contain it: a program may have several evaluators.
const NAME_VARIABLE: &str = "EVALUATOR_NAME";

fn named(launch: Launch, name: &str, contract: Option<Contract>) -> Launch {
    let foreign = contract.and_then(foreign_contract);
    if foreign.is_none_or(|foreign| foreign.names_evaluator) {
        return launch;
    }
    let give = |command: CommandSpec| command.env(NAME_VARIABLE, name);
    launch.map(give)
}

/// A launch, possibly of a driver that calls a function of the file.
struct Driven {
    launch: Launch,
    driver: Option<Driver>,
    mismatch: Option<Mismatch>,
}

/// Returns the launch of a program, or of the driver that calls its function.
fn driven(code: &CodeConfig, launch: Launch, path: &Path) -> Result<Driven, String> {
    if code.library.is_some() {
        return Ok(Driven { launch: launch.with_stream(), driver: None, mismatch: None });
    }
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
    (context, snapshot): (ExecutionContext, ProgramSnapshot),
    (executor, image): (Arc<dyn Executor>, Option<&Image>),
    retries: u32,
) -> Work {
    let listener = match listener(code, executor.as_ref(), image) {
        Ok(listener) => listener,
        Err(reason) => return broken(reason),
    };
    let Driven { launch, driver, mismatch } = driven;
    let launch = context.apply(launch);
    let resources = context.resources();
    let listener = listener.as_ref();
    let scope = Scope { image, listener, ..Scope::new(&code.containment, &launch.visible) };
    let wrap = |command| -> Result<CommandSpec, String> {
        let wrapped = executor.wrap(CommandSpec { resources, ..command }, &scope)?;
        // The limits hold for what any other executor starts, and through it for the program.
        Ok(if executor.contains() { wrapped } else { CommandSpec { resources, ..wrapped } })
    };
    let one_shot = launch.one_shot.args(&code.args);
    let forked = CommandSpec { resources, ..one_shot.clone() };
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
            reuse: reuse(launch.reuse, code, executor.as_ref(), &resources),
            forked: ForkedProgram {
                command: forked,
                executor: Arc::clone(&executor),
                containment: code.containment.clone(),
                visible: launch.visible.clone(),
                listener: listener.cloned(),
            },
            timeout: code.timeout,
            retries: code.retries.unwrap_or(retries),
            config: code.config.clone(),
            contract: code.contract,
            driver,
            library: code.library.clone(),
            description: None,
            mismatch,
            context,
            snapshot: Arc::new(snapshot),
            target: None,
            contained: executor
                .contained(&code.containment)
                .map(|contained| Arc::new(containment::reported(contained, listener.is_some()))),
        })),
        (Err(reason), _) | (_, Err(reason)) => broken(not_contained(code, &reason)),
    }
}

/// Reports withheld variables, once for all evaluators with the same ones.
fn report_withheld(
    evaluators: &[PlannedEvaluator],
    programs: &[(Candidate, ExecutionContext, Option<Image>)],
    on_event: &mut dyn FnMut(RunEvent),
) {
    let mut withheld: IndexMap<Vec<String>, Vec<String>> = IndexMap::new();
    for (program, context, _) in programs {
        let name = evaluators[program.index].name.clone();
        withheld.entry(context.withheld()).or_default().push(name);
    }
    for (variables, evaluators) in withheld.into_iter().filter(|(names, _)| !names.is_empty()) {
        on_event(RunEvent::Withheld { evaluators, variables });
    }
}

/// Reports sources that name a variable which their programs do not see.
fn report_named_secrets(
    evaluators: &[PlannedEvaluator],
    programs: &[(Candidate, ExecutionContext, Option<Image>)],
    entrypoints: &[Entrypoint],
    on_event: &mut dyn FnMut(RunEvent),
) {
    for ((program, context, _), entrypoint) in programs.iter().zip(entrypoints) {
        if let Some(variable) = context.withheld_in(&entrypoint.path) {
            let evaluator = evaluators[program.index].name.clone();
            on_event(RunEvent::NamedSecret { evaluator, variable });
        }
    }
}

/// Reports how the program of an evaluator is contained, if it is.
fn report_contained(
    evaluator: &str,
    Candidate { code, executor, .. }: &Candidate,
    launch: &Launch,
    on_event: &mut dyn FnMut(RunEvent),
) {
    if let Some(description) = containment::describe(executor.as_ref(), code, Some(&launch.visible))
    {
        on_event(RunEvent::Contained { evaluator: evaluator.to_owned(), description });
    }
}

/// Reports the output of a failed build; the error in the report is one line.
fn report_build_failure(evaluator: &str, error: &PrepareError, on_event: &mut dyn FnMut(RunEvent)) {
    if let PrepareError::BuildFailed { summary, rendered } = error {
        on_event(RunEvent::BuildFailed {
            evaluator: evaluator.to_owned(),
            summary: summary.clone(),
            rendered: rendered.clone(),
        });
    }
}

fn locate(
    evaluator: &str,
    (code, image): (&CodeConfig, Option<&Image>),
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> PathBuf {
    if command_of_image(code, image).is_some() {
        return code.path.clone();
    }
    let path = program_file(code);
    // A file without a runtime is an error of the evaluator.
    if let Ok(runtime) = runner.registries.runtimes.for_path(&path) {
        on_event(RunEvent::Found {
            evaluator: evaluator.to_owned(),
            path: path.clone(),
            runtime: runtime.name().to_owned(),
        });
    }
    path
}
