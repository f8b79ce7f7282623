//! Contents of the header of a run file: settings, golden cases and evaluators of the run, and fingerprints of the
//! evaluators.

use std::{collections::BTreeMap, env, path::PathBuf};

use serde_json::{Value, json};

use super::{
    PlannedEvaluator, RunEvent, Runner,
    identity::{Fingerprint, portable},
    work::{Candidate, Work},
};
use crate::{
    config::{CodeConfig, Config, Isolation, LimitsConfig, MissingTurns, ProcessConfig},
    conversation::GroupedBy,
    eval_set::{EvalCase, EvalSet},
    executor::{Contained, Containment},
    judging::{Session, judge::PROMPTS},
    report::run_file::{Digester, EvaluatorEntry, Golden, Header, TOOL},
    runtime::{Inputs, Launch, imported_from, secrets::is_secret_name},
};

/// The header of a run, with digests if it is saved.
pub(super) fn header(
    config: &Config,
    planned: &[PlannedEvaluator],
    eval_set: Option<&EvalSet>,
    grouping: Option<GroupedBy>,
    is_saved: bool,
) -> Header {
    let settings: BTreeMap<String, Value> = [
        ("trace_format", json!(config.trace_format.as_ref().map(|format| format.name()))),
        ("group_by", json!(grouping.map(GroupedBy::name))),
        ("strict_matching", json!(config.strict_matching)),
        ("require_evaluated", json!(config.require_evaluated)),
        ("required_share", json!(config.required_share)),
        ("require_all_cases", json!(config.require_all_cases)),
        ("allow_unevaluated", json!(config.allow_unevaluated)),
        ("max_error_rate", json!(config.max_error_rate)),
        ("fail_fast", json!(config.fail_fast)),
        ("retries", json!(config.retries)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    let evaluators: Vec<_> = planned.iter().map(entry).collect();
    let header = Header { settings, evaluators, ..Header::default() };
    if !is_saved {
        return header;
    }
    let golden = eval_set.map(|set| {
        let digest = |case: &EvalCase| Digester::new("golden case").json("case", case).finish();
        let cases = set.cases.iter().map(|case| (case.id.clone(), digest(case))).collect();
        Golden { id: set.id.clone(), cases }
    });
    let entries: Vec<_> = planned
        .iter()
        .map(|it| (&it.name, it.threshold, it.missing_turns == MissingTurns::Fail))
        .collect();
    let configuration = Digester::new("configuration")
        .json("settings", &header.settings)
        .json("evaluators", &entries)
        .finish();
    let plan = Digester::new("plan")
        .json("tool", &TOOL)
        .json("configuration", &configuration)
        .json("golden", &golden)
        .json("evaluators", &header.evaluators)
        .finish();
    Header { plan: Some(plan), config: Some(configuration), golden, ..header }
}

fn entry(evaluator: &PlannedEvaluator) -> EvaluatorEntry {
    EvaluatorEntry {
        name: evaluator.name.clone(),
        kind: evaluator.kind().to_owned(),
        threshold: evaluator.threshold,
        fingerprint: evaluator.fingerprint.as_ref().map(Fingerprint::digest),
    }
}

/// Fingerprint of an evaluator that needs no other program; `None` if the run is not saved, or changes of the evaluator
/// would not be noticed.
pub(super) fn of_this_program(
    evaluator: &PlannedEvaluator,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> Option<Fingerprint> {
    runner.run_file.as_ref()?;
    let missing_turns = evaluator.missing_turns == MissingTurns::Fail;
    let new = |kind: &str| {
        Digester::new(kind).json("name", &evaluator.name).json("missing turns", &missing_turns)
    };
    match &evaluator.work {
        Work::Metric { metric, settings } => {
            let digester = new("metric")
                .bytes("revision", metric.revision()?.as_bytes())
                .json("threshold", &evaluator.threshold)
                .json("settings", settings);
            Some(Fingerprint::of_settings(digester))
        }
        Work::Grader(graded) => {
            let (grader, recorded) = match graded.identity() {
                Ok(identity) => identity,
                Err(reason) => return not_resumable(&evaluator.name, reason, on_event),
            };
            let digester =
                new("grader").json("threshold", &evaluator.threshold).json("grader", &grader);
            let fingerprint = Fingerprint::of_settings(digester);
            Some(recorded_by(&evaluator.name, fingerprint, recorded, on_event))
        }
        Work::Judge(judged) => {
            let prompts: Vec<&str> = PROMPTS.iter().map(|prompt| prompt.text).collect();
            let identity = match judged.connection.identity() {
                Ok(identity) => identity,
                Err(reason) => return not_resumable(&evaluator.name, reason, on_event),
            };
            let digester = new("judge")
                .bytes("revision", judged.revision.as_ref()?.as_bytes())
                .json("judge", &judged.judge.name())
                .json("threshold", &evaluator.threshold)
                .json("settings", &judged.settings)
                .json("prompts", &prompts)
                .json("model", &identity.asked);
            let fingerprint = Fingerprint::of_settings(digester);
            Some(recorded_by(&evaluator.name, fingerprint, identity.recorded, on_event))
        }
        // Its code is somewhere in this program.
        Work::Linked { timeout, config, contract, .. } => {
            let digester = new("linked")
                .json("threshold", &evaluator.threshold)
                .json("timeout", timeout)
                .json("config", config)
                .json("contract", &contract.map(|contract| contract.name()));
            let files = [running_program()].into();
            let inputs = Inputs { files, ..Inputs::default() };
            of_program(&evaluator.name, &inputs, digester, on_event)
        }
        Work::Program(_) | Work::Suite(_) | Work::Broken(_) => None,
    }
}

/// The file of this program as it runs, even if another one has replaced it.
fn running_program() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { running } else { env::current_exe().unwrap_or_default() }
}

/// Reports that results are not used again.
fn not_resumable(
    evaluator: &str,
    reason: String,
    on_event: &mut dyn FnMut(RunEvent),
) -> Option<Fingerprint> {
    on_event(RunEvent::NotResumable { evaluator: evaluator.to_owned(), reason });
    None
}

/// Adds what is recorded of the models of an evaluator, and reports if that means that results are not used again.
fn recorded_by(
    evaluator: &str,
    fingerprint: Fingerprint,
    recorded: Vec<Result<String, String>>,
    on_event: &mut dyn FnMut(RunEvent),
) -> Fingerprint {
    if let Some(Err(reason)) = recorded.iter().find(|recorded| recorded.is_err()) {
        not_resumable(evaluator, reason.clone(), on_event);
    }
    fingerprint.with_recorded(recorded)
}

/// Fingerprint of a program that was prepared; `None` if the run is not saved, or changes of the program would not be
/// noticed.
pub(super) fn of_launch(
    (evaluator, candidate): (&PlannedEvaluator, &Candidate),
    inputs: &Inputs,
    launch: &Launch,
    (session, runner): (&Result<Session, String>, &Runner),
    on_event: &mut dyn FnMut(RunEvent),
) -> Option<Fingerprint> {
    runner.run_file.as_ref()?;
    let variables = &candidate.code.process.env.variables;
    let own = variables.iter().find(|(name, _)| *name == "PYTHONPATH");
    if let Some(what) = dynamic_code(own.and_then(|(_, value)| value.as_deref()), inputs, launch) {
        let reason = format!(
            "it runs code whose changes would not be noticed ({what}), so it is evaluated again in every run"
        );
        return not_resumable(&evaluator.name, reason, on_event);
    }
    let models =
        candidate.code.models.as_ref().map(|models| {
            session.as_ref().map_err(Clone::clone)?.identity(&evaluator.name, models)
        });
    let models = match models.transpose() {
        Ok(models) => models.unwrap_or_default(),
        Err(reason) => return not_resumable(&evaluator.name, reason, on_event),
    };
    let mut digester = Digester::new("program")
        .json("name", &evaluator.name)
        .json("missing turns", &(evaluator.missing_turns == MissingTurns::Fail))
        .json("settings", &settings(candidate))
        .json("models", &models.asked)
        .json("program", &portable(&PathBuf::from(&launch.one_shot.program)))
        .json("arguments", &arguments(launch));
    if let Some(pin) = &candidate.pin {
        digester = digester.bytes("pin", pin.as_str().as_bytes());
    }
    let fingerprint = of_program(&evaluator.name, inputs, digester, on_event)?;
    Some(recorded_by(&evaluator.name, fingerprint, models.recorded, on_event))
}

/// The arguments of a program, as other machines have them, too.
pub(super) fn arguments(launch: &Launch) -> Vec<String> {
    let arguments = launch.one_shot.args.iter().map(PathBuf::from);
    let portable = |path: PathBuf| match path.is_absolute() {
        true => portable(&path),
        false => path.to_string_lossy().into_owned(),
    };
    arguments.map(portable).collect()
}

/// The settings of a program that decide whether and what it answers.
///
/// Its path counts as the names of its files, and retries do not change an answer. Variables that are passed on count with
/// their values, except for secrets, which their owner may renew at any time.
fn settings(candidate: &Candidate) -> Value {
    let CodeConfig {
        path: _,
        command,
        args,
        threshold,
        timeout,
        retries: _,
        config,
        contract,
        function,
        executor,
        containment,
        process: ProcessConfig { limits: LimitsConfig { output, stderr, resources }, env, cwd },
        isolation,
        models: _,
        fetched,
    } = &candidate.code;
    // A result without containment must not be taken for one with it.
    let contained = candidate.executor.contained(containment);
    let contained = contained.map(|contained| containment_settings(containment, contained));
    let variables: BTreeMap<&str, Option<String>> = env
        .variables
        .iter()
        .map(|(name, own)| {
            let is_passed_on = own.is_none() && !is_secret_name(name);
            let passed_on = || Some(env::var_os(name)?.to_string_lossy().into_owned());
            let value = own.clone().or_else(|| is_passed_on.then(passed_on).flatten());
            (name.as_str(), value)
        })
        .collect();
    json!({
        "command": command,
        "args": args,
        "threshold": threshold,
        "timeout": timeout,
        "config": config,
        "contract": contract.map(|contract| contract.name()),
        "function": function,
        "executor": executor,
        "containment": contained,
        "output": output,
        "stderr": stderr,
        "memory": resources.memory,
        "cpu": resources.cpu,
        "open_files": resources.open_files,
        "inherit_env": env.inherit,
        "env": variables,
        "cwd": cwd,
        "shares_processes": *isolation == Isolation::Auto,
        "fetched": fetched,
    })
}

/// The settings of containment. The version of Landlock belongs to the machine.
fn containment_settings(containment: &Containment, contained: Contained) -> Value {
    let Containment { level, network, read, write, tmp, processes, builds, sources, docker } =
        containment;
    // Directories of the same name outside of the working directory are different ones.
    let here = env::current_dir().unwrap_or_default();
    let paths = |paths: &[PathBuf]| -> Vec<String> {
        let shown = |path: &PathBuf| {
            path.strip_prefix(&here).unwrap_or(path).to_string_lossy().into_owned()
        };
        paths.iter().map(shown).collect()
    };
    json!({
        "level": level.name(),
        "network": network,
        "read": paths(read),
        "write": paths(write),
        "tmp": tmp,
        "processes": processes,
        "builds": builds,
        "sources": sources.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "image": contained.image.as_ref().or(docker.image.as_ref()),
    })
}

/// Description of code of a program that is not part of its inputs. `search_path` is its own `PYTHONPATH`, if it has one.
pub(super) fn dynamic_code(
    search_path: Option<&str>,
    inputs: &Inputs,
    launch: &Launch,
) -> Option<String> {
    if inputs.dynamic_code.is_some() {
        return inputs.dynamic_code.clone();
    }
    let directories = match search_path {
        Some(value) => value.into(),
        None => launch.one_shot.variable("PYTHONPATH")?,
    };
    let directories: Vec<PathBuf> = env::split_paths(&directories).collect();
    let module = imported_from(&inputs.files, &directories)?;
    Some(format!("{}, found by PYTHONPATH", module.display()))
}

fn of_program(
    evaluator: &str,
    inputs: &Inputs,
    settings: Digester,
    on_event: &mut dyn FnMut(RunEvent),
) -> Option<Fingerprint> {
    match Fingerprint::of_program(inputs, settings) {
        Ok(fingerprint) => Some(fingerprint),
        Err(error) => not_resumable(evaluator, error.to_string(), on_event),
    }
}
