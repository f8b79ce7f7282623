//! Prepared evaluators and their descriptions.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use evaluator_protocol::{Contract, Description, EvaluatorDescription};
use indexmap::IndexMap;

use super::super::{
    Plan, PlannedEvaluator, RunEvent, Runner,
    describe::describe,
    examine::conforms,
    permits::Permits,
    plan::{Program, Work},
    prepared::PreparedEvaluator,
};
use crate::{
    config::{Config, EvaluatorConfig, EvaluatorKind, MissingTurns},
    hosts::Defaults,
    json::{Object, Value},
    manifest::{self, LoadedManifest},
    verdict::Expected,
};

/// Time limit for a program to describe itself.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(10);

/// SDK whose exit codes are known.
const SDK: &str = "evaluator-sdk";

/// Evaluators that are kept ready. Everything that does not depend on a document is done before the first one.
pub struct Service {
    pub(super) evaluators: IndexMap<String, Served>,
    pub(super) permits: Permits,
    /// Reasons why entries of the configuration are not offered.
    passed_over: Vec<String>,
}

/// Description of an evaluator.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Offered {
    /// Name, unique in the service.
    pub name: String,
    /// The author's description of what it scores; empty if there is none.
    pub description: String,
    /// Contract that it is written against.
    pub contract: String,
    /// Score from which on an evaluation passes if the document has no threshold.
    pub threshold: Option<f64>,
    /// JSON Schema of its config.
    pub config_schema: Option<serde_json::Value>,
}

/// An evaluator that cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{evaluator}: {reason}")]
#[non_exhaustive]
pub struct Unservable {
    /// Name or path.
    pub evaluator: String,
    /// Reason.
    pub reason: String,
}

/// An evaluator of the service.
pub(super) struct Served {
    pub(super) ready: PreparedEvaluator,
    pub(super) offered: Offered,
    /// Settings for documents that do not contain them.
    pub(super) defaults: Defaults,
    /// Whether documents and answers are not converted.
    pub(super) is_foreign: bool,
    /// Whether its exit codes are those of this project's SDK.
    pub(super) speaks_sdk: bool,
}

impl Service {
    /// Kind of the error of documents whose evaluator has changed since the service was created.
    pub const OUTDATED: &str = "outdated";

    /// Prepares the evaluators of a configuration, and those at `paths`, which have the time limit `timeout` for a document. All
    /// evaluators of a program at a path are offered.
    ///
    /// Must be called inside a tokio runtime with time and I/O enabled, and the service be used there.
    ///
    /// # Errors
    ///
    /// One [`Unservable`] for each evaluator that cannot be built or started, or has the name of another.
    pub async fn new(
        config: &Config,
        paths: &[PathBuf],
        timeout: Duration,
        runner: &Runner,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Result<Self, Vec<Unservable>> {
        let mut all = config.clone();
        let mut entries: Vec<Entry> = config.evaluators.iter().map(Entry::configured).collect();
        let mut problems = Vec::new();
        for path in paths {
            match placed(path, timeout) {
                Ok((evaluator, entry)) => {
                    all.evaluators.push(evaluator);
                    entries.push(entry);
                }
                Err(reason) => {
                    problems.push(Unservable { evaluator: path.display().to_string(), reason });
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let Plan { evaluators, .. } = runner.prepare(&all, on_event).await;
        let permits = Permits::new(runner.jobs, false);
        let mut service = Self { evaluators: IndexMap::new(), permits, passed_over: Vec::new() };
        for (planned, entry) in evaluators.into_iter().zip(entries) {
            problems.extend(service.add(planned, entry, runner).await);
        }
        if problems.is_empty() {
            // Preparing a script does not read it, so that a syntax error would be found by the first document.
            all.eval_set = None;
            problems.extend(runner.check(&all).into_iter().filter_map(|finding| {
                let reason = finding.result.err()?;
                Some(Unservable { evaluator: finding.subject, reason })
            }));
        }
        if problems.is_empty() { Ok(service) } else { Err(problems) }
    }

    /// Returns the evaluators, in the order of the configuration and the paths.
    pub fn offered(&self) -> impl ExactSizeIterator<Item = &Offered> {
        self.evaluators.values().map(|served| &served.offered)
    }

    /// Returns the reasons why entries of the configuration are not offered.
    #[must_use]
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// Returns why evaluators cannot answer until the service is created again: files of their programs have changed or were
    /// deleted. `None` if all can answer.
    #[must_use]
    pub fn outdated(&self) -> Option<String> {
        let changes: Vec<String> = self.evaluators.values().filter_map(Served::change).collect();
        (!changes.is_empty()).then(|| restart(&changes.join(", ")))
    }

    /// Stops all workers.
    pub async fn close(self) {
        for (_, served) in self.evaluators {
            served.ready.stop().await;
        }
    }

    /// Adds an evaluator, or all evaluators of a program. Returns a problem.
    async fn add(
        &mut self,
        planned: PlannedEvaluator,
        entry: Entry,
        runner: &Runner,
    ) -> Option<Unservable> {
        let name = planned.name.clone();
        let unservable = |reason: String| Some(Unservable { evaluator: name.clone(), reason });
        if let Some(problem) = planned.problem() {
            return unservable(problem);
        }
        let (program, contract) = match planned.work {
            Work::Program(program) => {
                let contract = program.contract;
                (program, contract)
            }
            Work::Metric { .. } | Work::Judge(_) | Work::Grader(_) => {
                self.passed_over.push(format!(
                    "{name} is a built-in metric, which is computed from recordings; it is not offered"
                ));
                return None;
            }
            Work::Linked { contract, .. } => {
                let described =
                    runner.linked.get(&name).map(|linked| linked.description()).unwrap_or_default();
                let one = Offered { description: described, ..Offered::unknown(&name) };
                let one = one.stated(contract);
                return self.serve(planned, &one, None, &entry.defaults, runner);
            }
            Work::Suite(_) | Work::Broken(_) => return unservable("it is not ready".to_owned()),
        };
        let description = match program.may_describe {
            true => describe(&program.one_shot, DESCRIBE_LIMIT, &runner.cancellation).await,
            false => None,
        };
        let known = description.as_ref().map(|it| it.evaluators.as_slice()).unwrap_or_default();
        let chosen: Vec<Offered> = match entry.chosen(known, &name) {
            Ok(chosen) => chosen.into_iter().map(|one| one.stated(contract)).collect(),
            Err(reason) => return unservable(reason),
        };
        let must_choose = known.len() > 1;
        chosen.iter().find_map(|one| {
            let program = match must_choose {
                true => choosing(&program, &one.name),
                false => (*program).clone(),
            };
            let work = Work::Program(Box::new(program));
            let (name, threshold) = (one.name.clone(), planned.threshold);
            let planned = PlannedEvaluator {
                name,
                threshold,
                missing_turns: MissingTurns::default(),
                work,
                fingerprint: None,
            };
            self.serve(planned, one, description.as_ref(), &entry.defaults, runner)
        })
    }

    fn serve(
        &mut self,
        planned: PlannedEvaluator,
        described: &Offered,
        description: Option<&Description>,
        defaults: &Defaults,
        runner: &Runner,
    ) -> Option<Unservable> {
        let name = described.name.clone();
        if self.evaluators.contains_key(&name) {
            let reason = "two evaluators have this name; give them names in a configuration";
            return Some(Unservable { evaluator: name, reason: reason.to_owned() });
        }
        if let Some(schema) = &described.config_schema
            && let Err(reason) = check_config(schema, &defaults.config)
        {
            return Some(Unservable { evaluator: name, reason });
        }
        let is_foreign = !described.takes_all_contracts();
        // The number of documents is not known.
        let mut ready = PreparedEvaluator::new(planned, runner, usize::MAX);
        let may_stay = description.is_some_and(|it| it.numbers() && ready.may_stream(it));
        let expected = if is_foreign { Expected::Anything } else { Expected::Result };
        ready.keep_warm(may_stay, expected, &self.permits);
        let offered = Offered { threshold: defaults.threshold, ..described.clone() };
        let speaks_sdk = description.is_some_and(|description| description.sdk == SDK);
        let defaults = defaults.clone();
        let served = Served { ready, offered, defaults, is_foreign, speaks_sdk };
        self.evaluators.insert(name, served);
        None
    }
}

impl Served {
    /// Returns why it cannot answer until the service is created again.
    pub(super) fn outdated(&self) -> Option<String> {
        self.change().map(|change| restart(&change))
    }

    /// Returns how its program differs from the one that was prepared; `None` if it does not.
    fn change(&self) -> Option<String> {
        let Work::Program(program) = &self.ready.evaluator.work else { return None };
        let file = program.snapshot.outdated_file()?;
        let what = if file.exists() { "changed" } else { "was deleted" };
        // Probes get this text without a token, so it has no directory.
        let file = file.file_name().unwrap_or_default().to_string_lossy();
        Some(format!("{file} of {} {what} after the start of the server", self.offered.name))
    }
}

fn restart(reason: &str) -> String {
    format!("{reason}; restart the server")
}

/// Checks the settings of an entry with the JSON Schema of its evaluator. Documents may contain those that are missing.
fn check_config(schema: &serde_json::Value, config: &Object) -> Result<(), String> {
    let mut schema = schema.clone();
    schema.as_object_mut().and_then(|schema| schema.remove("required"));
    conforms(&schema, &serde_json::Value::from(&Value::Object(config.clone())))
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.evaluators.keys()).finish()
    }
}

/// Properties of an entry.
struct Entry {
    defaults: Defaults,
    /// Whether the program decides the name.
    may_be_renamed: bool,
    /// Whether this entry represents all evaluators of its program.
    holds_all: bool,
}

impl Entry {
    /// Returns the properties of an entry of a configuration.
    fn configured(entry: &EvaluatorConfig) -> Self {
        let config = match &entry.kind {
            EvaluatorKind::Code(code) => code.config.clone(),
            EvaluatorKind::Remote(remote) => remote.program.config.clone(),
            EvaluatorKind::Linked(linked) => linked.config.clone(),
            _ => Object::default(),
        };
        let defaults = Defaults::new(config, Some(entry.threshold()));
        Self { defaults, may_be_renamed: false, holds_all: false }
    }

    /// Returns the evaluators of a program that the entry stands for.
    fn chosen(&self, known: &[EvaluatorDescription], name: &str) -> Result<Vec<Offered>, String> {
        Ok(match known {
            [] => vec![Offered::unknown(name)],
            [one] if self.may_be_renamed => vec![Offered::of(one, &one.name)],
            [one] => vec![Offered::of(one, name)],
            several if self.holds_all => {
                several.iter().map(|one| Offered::of(one, &one.name)).collect()
            }
            several => match several.iter().find(|one| one.name == name) {
                Some(one) => vec![Offered::of(one, name)],
                None => {
                    let names: Vec<&str> = several.iter().map(|one| one.name.as_str()).collect();
                    return Err(format!(
                        "there is no evaluator of that name in its program, which has {}",
                        names.join(", ")
                    ));
                }
            },
        })
    }
}

impl Offered {
    fn unknown(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: String::new(),
            contract: Contract::Agentevals.name().to_owned(),
            threshold: None,
            config_schema: None,
        }
    }

    /// Returns true if it also takes documents of other contracts, which are converted for it.
    #[must_use]
    pub fn takes_all_contracts(&self) -> bool {
        self.contract == Contract::Agentevals.name()
    }

    /// Sets the contract that the entry names.
    fn stated(mut self, contract: Option<Contract>) -> Self {
        if let Some(contract) = contract {
            self.contract = contract.name().to_owned();
        }
        self
    }

    fn of(one: &EvaluatorDescription, name: &str) -> Self {
        Self {
            description: one.description.clone(),
            contract: one.contract.clone(),
            config_schema: one.config_schema.clone(),
            ..Self::unknown(name)
        }
    }
}

/// Returns the program with one of its evaluators chosen: documents of most contracts do not name the evaluator.
fn choosing(program: &Program, name: &str) -> Program {
    let mut program = program.clone();
    let choice = ["--evaluator".into(), name.into()];
    if program.one_shot.args.contains(&choice[0]) {
        return program;
    }
    program.one_shot.args.extend(choice.clone());
    program.forked.command.args.extend(choice.clone());
    if let Some(worker) = &mut program.worker {
        worker.args.extend(choice);
    }
    program
}

/// Returns an entry with default settings for the program at `path`: a file, the directory of a package, or a directory with a
/// manifest, which decides the name.
///
/// # Errors
///
/// Returns a message if the manifest cannot be used.
pub fn program_at(path: &Path) -> Result<EvaluatorConfig, String> {
    if !manifest::has_manifest(path) {
        // A name without a directory would also be searched on `PATH`.
        let file = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
        return Ok(EvaluatorConfig::code(name_of(&file), file));
    }
    let loaded = LoadedManifest::load(path).map_err(|error| {
        let problems: Vec<&str> =
            error.problems.iter().map(|problem| problem.message.as_str()).collect();
        format!("{}: {}", error.file.display(), problems.join("; "))
    })?;
    Ok(EvaluatorConfig::code(loaded.manifest.name.clone(), loaded.entrypoint()))
}

/// Returns the evaluator at `path`, without a threshold.
fn placed(path: &Path, timeout: Duration) -> Result<(EvaluatorConfig, Entry), String> {
    let mut evaluator = program_at(path)?;
    if let EvaluatorKind::Code(code) = &mut evaluator.kind {
        code.timeout = timeout;
    }
    let defaults = Defaults::new(Object::default(), None);
    let may_be_renamed = !manifest::has_manifest(path);
    Ok((evaluator, Entry { defaults, may_be_renamed, holds_all: true }))
}

/// Returns the name of an evaluator by its path: `checks/polite.py`, `polite/src/main.rs` and the directory `polite` are called
/// `polite`.
#[must_use]
pub fn name_of(path: &Path) -> String {
    let part = |path: Option<&Path>| {
        let name = path.and_then(Path::file_stem);
        name.map(|name| name.to_string_lossy().into_owned()).filter(|name| !name.is_empty())
    };
    match part(Some(path)) {
        Some(stem) if stem == "main" => part(path.ancestors().nth(2)).unwrap_or(stem),
        stem => stem.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_file_is_called_like_its_package() {
        for (path, name) in [
            ("/x/my_check/src/main.rs", "my_check"),
            ("my_check/src/main.rs", "my_check"),
            ("main.rs", "main"),
            ("/x/polite.py", "polite"),
            ("/x/my_check", "my_check"),
        ] {
            assert_eq!(name_of(Path::new(path)), name);
        }
    }
}
