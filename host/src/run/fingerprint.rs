//! Contents of the header of a run file: settings, golden cases and evaluators of the run, and fingerprints of the
//! evaluators.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use evaluator_engine::{
    identity::{Fingerprint, Project, add_environment, add_values, value_digest},
    work::{MissingTurns, Work},
};
use serde_json::{Value, json};

use super::{
    PlannedEvaluator, RunEvent, Runner,
    program_file::{Candidate, is_command},
};
use crate::{
    config::{CodeConfig, Config, Isolation, LimitsConfig, ProcessConfig},
    conversation::GroupedBy,
    eval_set::{EvalCase, EvalSet},
    executor::Containment,
    json::Object,
    judging::{Identity, Session, judge::PROMPTS},
    models::ProgramIdentity,
    report::{
        Certificate,
        run_file::{
            Digest, Digester, EvaluatorEntry, ExpectedCases, FingerprintParts, Golden, Header, TOOL,
        },
    },
    runtime::{Inputs, Launch, imported_from, paths, secrets::is_secret_name},
};

/// The header of a run, with digests if its evaluators are identified.
pub(super) fn header(
    config: &Config,
    planned: &[PlannedEvaluator],
    eval_set: Option<&EvalSet>,
    grouping: Option<GroupedBy>,
    is_identified: bool,
) -> Header {
    let mut settings: BTreeMap<String, Value> = [
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
        ("repeat", json!(config.repeat.unwrap_or(1))),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    // Only if they are given: settings that a run does not have are no change to one of an earlier version.
    for (key, attribute) in [("case_key", &config.case_key), ("cluster", &config.cluster)] {
        settings.extend(attribute.as_ref().map(|it| (key.to_owned(), json!(it))));
    }
    let certificate = |it: &PlannedEvaluator| {
        let own = config.evaluators.iter().find(|own| own.name == it.name);
        own.and_then(|own| own.certificate.clone())
    };
    let evaluators = planned.iter().map(|it| entry(it, certificate(it)));
    let evaluators: Vec<_> = evaluators.collect();
    let header = Header { settings, evaluators, ..Header::new() };
    if !is_identified {
        return header;
    }
    let golden = eval_set.map(golden);
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
        .json(
            "evaluators",
            &header.evaluators.iter().map(EvaluatorEntry::planned).collect::<Vec<_>>(),
        )
        .finish();
    Header { plan: Some(plan), config: Some(configuration), golden, ..header }
}

fn golden(set: &EvalSet) -> Golden {
    let digest = |case: &EvalCase| Digester::new("golden case").json("case", case).finish();
    let cases = set.cases.iter().map(|case| (case.id.clone(), digest(case))).collect();
    Golden { id: set.id.clone(), cases, digest: None }
}

/// Returns what parts of a run that do not have its golden cases are held against.
pub fn expected_cases(set: &EvalSet) -> ExpectedCases {
    let recordable = set.cases.iter().filter(|case| !case.turns.is_empty());
    ExpectedCases {
        digest: golden(set).digest(),
        ids: recordable.map(|it| it.id.clone()).collect(),
    }
}

fn entry(evaluator: &PlannedEvaluator, certificate: Option<Arc<Certificate>>) -> EvaluatorEntry {
    let fingerprint = evaluator.fingerprint.as_ref();
    EvaluatorEntry {
        name: evaluator.name.clone(),
        kind: evaluator.kind().to_owned(),
        contract: evaluator.contract().map(|it| it.name().to_owned()),
        threshold: evaluator.threshold,
        repeat: evaluator.repeats(),
        fingerprint: fingerprint.map(Fingerprint::digest),
        parts: fingerprint.map(Fingerprint::parts).cloned().unwrap_or_default(),
        certificate,
    }
}

/// Starts the parts of a fingerprint with what all kinds of evaluators have.
fn parts_of(evaluator: &PlannedEvaluator, kind: &str, settings: &Value) -> FingerprintParts {
    let mut parts = FingerprintParts::default();
    let own = json!({
        "name": evaluator.name,
        "type": kind,
        "threshold": evaluator.threshold,
        "missing_turns": evaluator.missing_turns == MissingTurns::Fail,
    });
    add_values(&mut parts.settings, "", &own);
    add_values(&mut parts.settings, "", settings);
    parts
}

/// Adds the settings of an entry by their keys; `prefix` is the key that contains them.
fn add_object(parts: &mut FingerprintParts, prefix: &str, settings: &Object) {
    let settings = settings.iter().map(|(key, it)| (format!("{prefix}{key}"), value_digest(it)));
    parts.settings.extend(settings);
}

/// Adds the models that an evaluator asks; `key` is the key of their settings.
fn add_models(parts: &mut FingerprintParts, key: &str, models: &Identity) {
    add_values(&mut parts.settings, key, &models.settings);
    add_values(&mut parts.environment, "answered_by", &models.answered_by);
    for (name, ProgramIdentity { code, environment }) in &models.programs {
        parts.code.insert(name.clone(), value_digest(code));
        parts.environment.insert(name.clone(), value_digest(environment));
    }
}

fn add_revision(parts: &mut FingerprintParts, revision: &str) {
    parts.environment.insert("revision".to_owned(), value_digest(&revision));
}

/// Fingerprint of an evaluator that needs no other program; `None` if the run is not saved, or changes of the evaluator
/// would not be noticed.
pub(super) fn of_internal(
    evaluator: &PlannedEvaluator,
    runner: &Runner,
    config: &Config,
    on_event: &mut dyn FnMut(RunEvent),
) -> Option<Fingerprint> {
    if !runner.identifies() {
        return None;
    }
    let name = &evaluator.name;
    match &evaluator.work {
        Work::Metric { metric, settings, .. } => {
            let mut parts = parts_of(evaluator, "builtin", &Value::Null);
            add_object(&mut parts, "", settings);
            add_revision(&mut parts, metric.revision()?);
            Some(Fingerprint::new(parts))
        }
        Work::Grader(graded) => {
            let (model, python) = match graded.identity() {
                Ok(identity) => identity,
                Err(reason) => return not_resumable(name, reason, on_event),
            };
            let mut parts = parts_of(evaluator, "grader", &Value::Null);
            add_object(&mut parts, "", &graded.settings);
            add_revision(&mut parts, env!("CARGO_PKG_VERSION"));
            if let Err(error) = python.map_or(Ok(()), |it| add_environment(it, &mut parts)) {
                return not_resumable(name, error.to_string(), on_event);
            }
            let model = model.unwrap_or_default();
            add_models(&mut parts, "judge", &model);
            Some(recorded_by(name, Fingerprint::new(parts), model.recorded, on_event))
        }
        Work::Judge(judged) => {
            let prompts: Vec<&str> = PROMPTS.iter().map(|prompt| prompt.text).collect();
            let identity = match judged.connection.identity() {
                Ok(identity) => identity,
                Err(reason) => return not_resumable(name, reason, on_event),
            };
            let own = json!({"judged_by": judged.judge.name(), "prompts": prompts});
            let mut parts = parts_of(evaluator, "judge", &own);
            add_object(&mut parts, "", &judged.settings);
            add_revision(&mut parts, judged.revision.as_ref()?);
            add_models(&mut parts, "judge", &identity);
            Some(recorded_by(name, Fingerprint::new(parts), identity.recorded, on_event))
        }
        // Its code is somewhere in this program.
        Work::Linked { timeout, config: settings, contract, .. } => {
            let contract = contract.map(|contract| contract.name());
            let own = json!({"timeout": timeout.as_secs_f64(), "contract": contract});
            let mut parts = parts_of(evaluator, "linked", &own);
            add_object(&mut parts, "config.", settings);
            let files = [running_program()].into();
            let inputs = Inputs { files, ..Inputs::default() };
            let project = Project::of(config.file.as_deref());
            of_program(name, &inputs, &project, parts, on_event)
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
    (session, runner, project): (&Result<Session, String>, &Runner, &Project),
    on_event: &mut dyn FnMut(RunEvent),
) -> Option<Fingerprint> {
    if !runner.identifies() {
        return None;
    }
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
    let (own, environment) = settings(candidate, project);
    let mut parts = parts_of(evaluator, "code", &own);
    add_values(&mut parts.environment, "", &environment);
    add_object(&mut parts, "config.", &candidate.code.config);
    parts.environment.insert("arguments".to_owned(), value_digest(&arguments(launch, project)));
    if let Some(pin) = &candidate.pin {
        parts.code.insert("pin".to_owned(), value_digest(&pin.as_str()));
    }
    if candidate.code.models.is_some() {
        add_models(&mut parts, "models", &models);
    }
    let fingerprint = of_program(&evaluator.name, inputs, project, parts, on_event)?;
    Some(recorded_by(&evaluator.name, fingerprint, models.recorded, on_event))
}

/// The arguments of a program, as other machines have them, too.
pub(super) fn arguments(launch: &Launch, project: &Project) -> Vec<String> {
    let arguments = launch.one_shot.args.iter().map(PathBuf::from);
    let portable = |path: PathBuf| match path.is_absolute() {
        true => project.name(&path, &BTreeSet::new()),
        false => path.to_string_lossy().into_owned(),
    };
    arguments.map(portable).collect()
}

/// Returns the path of a program. Caches and commands are elsewhere on each machine.
fn path_setting(project: &Project, path: &Path, is_elsewhere: bool) -> String {
    match is_elsewhere {
        true => project.name(path, &BTreeSet::new()),
        false => project.setting(path),
    }
}

/// The settings of a program that decide whether and what it answers, apart from `config`; and those that are of the machine.
///
/// Retries do not change an answer. Variables that are passed on count with their values, except for secrets, which their
/// owner may renew at any time.
fn settings(candidate: &Candidate, project: &Project) -> (Value, Value) {
    let CodeConfig {
        path,
        command,
        args,
        threshold: _,
        timeout,
        retries: _,
        config: _,
        contract,
        function,
        executor,
        containment,
        process: ProcessConfig { limits: LimitsConfig { output, stderr, resources }, env, cwd },
        isolation,
        models: _,
        library,
        fetched,
    } = &candidate.code;
    // A result without containment must not be taken for one with it.
    let contained = candidate.executor.contained(containment);
    let image = contained.as_ref().and_then(|contained| contained.image.clone());
    let contained = contained.map(|_| containment_settings(containment, project));
    let (mut variables, mut passed_on) = (BTreeMap::new(), BTreeMap::new());
    for (name, own) in &env.variables {
        variables.insert(name, own.as_ref().map_or(json!(true), |value| json!(value)));
        if own.is_none() && !is_secret_name(name) {
            passed_on
                .insert(name, json!(env::var_os(name).map(|it| it.to_string_lossy().into_owned())));
        }
    }
    let is_elsewhere = *fetched || library.is_some() || is_command(&candidate.code);
    let path = path_setting(project, &paths::absolute(path), is_elsewhere);
    let settings = json!({
        "path": path,
        "command": command,
        "args": args,
        "timeout": timeout.as_secs_f64(),
        "contract": contract.map(|contract| contract.name()),
        "function": function,
        "executor": executor,
        "containment": contained,
        "limits": {
            "output": output,
            "stderr": stderr,
            "memory": resources.memory,
            "cpu": resources.cpu,
            "open_files": resources.open_files,
        },
        "inherit_env": env.inherit,
        "env": digest_of(&variables),
        "cwd": cwd.as_ref().map(|cwd| project.relative(&paths::absolute(cwd))),
        "isolation": *isolation == Isolation::Auto,
        "fetched": fetched,
    });
    (settings, json!({"env": digest_of(&passed_on), "image": image}))
}

/// The digest of variables, if there are any: not even their names are in a run file.
fn digest_of(variables: &BTreeMap<&String, Value>) -> Option<Digest> {
    (!variables.is_empty()).then(|| value_digest(variables))
}

/// The settings of containment. The version of Landlock belongs to the machine.
fn containment_settings(containment: &Containment, project: &Project) -> Value {
    let Containment { level, network, read, write, tmp, processes, builds, sources, docker } =
        containment;
    // Directories of the same name outside of the project are different ones.
    let paths = |paths: &[PathBuf]| -> Vec<String> {
        paths.iter().map(|path| project.relative(path)).collect()
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
        "image": docker.image,
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
    let directories: Vec<PathBuf> =
        env::split_paths(&directories).filter(|it| !inputs.packages.contains(it)).collect();
    let module = imported_from(&inputs.files, &directories)?;
    Some(format!("{}, found by PYTHONPATH", module.display()))
}

fn of_program(
    evaluator: &str,
    inputs: &Inputs,
    project: &Project,
    parts: FingerprintParts,
    on_event: &mut dyn FnMut(RunEvent),
) -> Option<Fingerprint> {
    match Fingerprint::of_program(inputs, project, parts) {
        Ok(fingerprint) => Some(fingerprint),
        Err(error) => not_resumable(evaluator, error.to_string(), on_event),
    }
}
