//! Evaluators made ready, and what is known of each.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use evaluator_protocol::{Contract, Description, EvaluatorDescription};
use indexmap::IndexMap;

use super::super::{
    Plan, PlannedEvaluator, RunEvent, Runner,
    describe::describe,
    permits::Permits,
    plan::{Program, Work},
    ready::Ready,
};
use crate::{
    config::{Config, EvaluatorConfig, EvaluatorKind, MissingTurns},
    hosts::Defaults,
    json::Object,
    manifest::{self, LoadedManifest},
    verdict::Expected,
};

/// Time a program may take to say what is in it.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(10);

/// The toolkit whose exit codes are known.
const SDK: &str = "evaluator-sdk";

/// Evaluators that are kept ready. Everything that can be found out before the first document has been by the time there is one.
pub struct Service {
    pub(super) evaluators: IndexMap<String, Served>,
    pub(super) permits: Permits,
    /// Entries of the configuration that are not offered, each with the reason.
    passed_over: Vec<String>,
}

/// What is known of an evaluator.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Offered {
    /// Its name, unique among all.
    pub name: String,
    /// What it scores, in its author's words; empty when nothing is known.
    pub description: String,
    /// The contract it is written against.
    pub contract: String,
    /// Score from which on an evaluation passes, where the document does not say; `None` where nobody does.
    pub threshold: Option<f64>,
    /// JSON Schema of its config, if it says one.
    pub config_schema: Option<serde_json::Value>,
}

/// An evaluator that cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{evaluator}: {reason}")]
#[non_exhaustive]
pub struct Unservable {
    /// Its name, or its path.
    pub evaluator: String,
    /// Why not.
    pub reason: String,
}

/// An evaluator with what is needed to ask it.
pub(super) struct Served {
    pub(super) ready: Ready,
    pub(super) offered: Offered,
    /// What the entry says beside.
    pub(super) defaults: Defaults,
    /// It is given documents as they come, and its answers are passed on.
    pub(super) is_foreign: bool,
    /// Its exit codes mean what those of this project's SDK mean.
    pub(super) speaks_sdk: bool,
}

impl Service {
    /// Makes the evaluators of a configuration ready, and those at `paths`, which have `timeout` for a document. Of a program at
    /// a path that holds several, each is offered.
    ///
    /// Must be called inside a tokio runtime with time and I/O enabled, and the service be used there.
    ///
    /// # Errors
    ///
    /// One [`Unservable`] for each that cannot be started, built, or told from another.
    pub async fn new(
        config: &Config,
        paths: &[PathBuf],
        timeout: Duration,
        runner: &Runner,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Result<Self, Vec<Unservable>> {
        let mut all = config.clone();
        let configured = all.evaluators.len();
        let mut named = vec![true; configured];
        let mut problems = Vec::new();
        for path in paths {
            match placed(path, timeout) {
                Ok(placed) => {
                    all.evaluators.push(placed.entry);
                    named.push(placed.is_named);
                }
                Err(reason) => {
                    problems.push(Unservable { evaluator: path.display().to_string(), reason });
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let Plan { evaluators } = runner.prepare(&all, on_event).await;
        let permits = Permits::new(runner.jobs, false);
        let mut service = Self { evaluators: IndexMap::new(), permits, passed_over: Vec::new() };
        for (index, (planned, entry)) in evaluators.into_iter().zip(&all.evaluators).enumerate() {
            let from_entry = index < configured;
            let entry = Entry {
                defaults: defaults(entry, from_entry),
                may_be_renamed: !named[index],
                holds_all: !from_entry,
            };
            let reasons = service.add(planned, entry, runner).await;
            problems.extend(reasons);
        }
        if problems.is_empty() { Ok(service) } else { Err(problems) }
    }

    /// What is offered, in the order of the configuration and the paths.
    pub fn offered(&self) -> impl ExactSizeIterator<Item = &Offered> {
        self.evaluators.values().map(|served| &served.offered)
    }

    /// Why entries of the configuration are not offered.
    #[must_use]
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// Ends what is running.
    pub async fn close(self) {
        for (_, served) in self.evaluators {
            served.ready.stop().await;
        }
    }

    /// Adds an evaluator, or all of a program; says what is wrong with it.
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
            Work::Metric { .. } => {
                self.passed_over.push(format!(
                    "{name} is a built-in metric, which is computed from recordings; it is not offered"
                ));
                return None;
            }
            Work::Linked { contract, .. } => {
                let described =
                    runner.linked.get(&name).map(|linked| linked.description()).unwrap_or_default();
                let one = Described { description: described, ..Described::unknown(&name) };
                let one = one.stated(contract);
                return self.serve(planned, &one, None, &entry.defaults, runner);
            }
            Work::Broken(_) => return unservable("it is not ready".to_owned()),
        };
        let description = match program.may_describe {
            true => describe(&program.one_shot, DESCRIBE_LIMIT, &runner.cancellation).await,
            false => None,
        };
        let known = description.as_ref().map(|it| it.evaluators.as_slice()).unwrap_or_default();
        let chosen: Vec<Described> = match entry.chosen(known, &name) {
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
        described: &Described,
        description: Option<&Description>,
        defaults: &Defaults,
        runner: &Runner,
    ) -> Option<Unservable> {
        let name = described.name.clone();
        if self.evaluators.contains_key(&name) {
            let reason = "two evaluators are called so; give them names in a configuration";
            return Some(Unservable { evaluator: name, reason: reason.to_owned() });
        }
        let is_foreign = described.contract != Contract::Agentevals.name();
        // There is no end of documents.
        let mut ready = Ready::new(planned, runner, usize::MAX);
        let may_stay = description.is_some_and(Description::numbers);
        let expected = if is_foreign { Expected::Anything } else { Expected::Result };
        ready.keep_warm(may_stay, expected, &self.permits);
        let offered = Offered {
            name: name.clone(),
            description: described.description.clone(),
            contract: described.contract.clone(),
            threshold: defaults.threshold,
            config_schema: described.config_schema.clone(),
        };
        let speaks_sdk = description.is_some_and(|description| description.sdk == SDK);
        let defaults = defaults.clone();
        let served = Served { ready, offered, defaults, is_foreign, speaks_sdk };
        self.evaluators.insert(name, served);
        None
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.evaluators.keys()).finish()
    }
}

/// What is to be done with an entry.
struct Entry {
    defaults: Defaults,
    /// The program knows better what it is called.
    may_be_renamed: bool,
    /// It stands for all evaluators of its program.
    holds_all: bool,
}

impl Entry {
    /// The evaluators of a program that the entry means.
    fn chosen(&self, known: &[EvaluatorDescription], name: &str) -> Result<Vec<Described>, String> {
        Ok(match known {
            [] => vec![Described::unknown(name)],
            [one] if self.may_be_renamed => vec![Described::of(one, &one.name)],
            [one] => vec![Described::of(one, name)],
            several if self.holds_all => {
                several.iter().map(|one| Described::of(one, &one.name)).collect()
            }
            several => match several.iter().find(|one| one.name == name) {
                Some(one) => vec![Described::of(one, name)],
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

/// One evaluator of a program, as far as it is known.
struct Described {
    name: String,
    description: String,
    contract: String,
    config_schema: Option<serde_json::Value>,
}

impl Described {
    fn unknown(name: &str) -> Self {
        let contract = Contract::Agentevals.name().to_owned();
        Self { name: name.to_owned(), description: String::new(), contract, config_schema: None }
    }

    /// With the contract that the entry names.
    fn stated(mut self, contract: Option<Contract>) -> Self {
        if let Some(contract) = contract {
            self.contract = contract.name().to_owned();
        }
        self
    }

    fn of(one: &EvaluatorDescription, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: one.description.clone(),
            contract: one.contract.clone(),
            config_schema: one.config_schema.clone(),
        }
    }
}

/// The program with one of its evaluators chosen: only documents of some contracts say which one they are for.
fn choosing(program: &Program, name: &str) -> Program {
    let mut program = program.clone();
    let choice = ["--evaluator".into(), name.into()];
    if program.one_shot.args.contains(&choice[0]) {
        return program;
    }
    program.one_shot.args.extend(choice.clone());
    if let Some(worker) = &mut program.worker {
        worker.args.extend(choice);
    }
    program
}

/// What an entry says where documents say nothing. Where there is no entry, nobody has said anything.
fn defaults(entry: &EvaluatorConfig, from_entry: bool) -> Defaults {
    let config = match &entry.kind {
        EvaluatorKind::Code(code) => code.config.clone(),
        EvaluatorKind::Remote(remote) => remote.config.clone(),
        EvaluatorKind::Linked(linked) => linked.config.clone(),
        _ => Object::default(),
    };
    Defaults::new(config, from_entry.then(|| entry.threshold()))
}

/// An evaluator of which nothing but its place was given.
struct Placed {
    /// The entry it would have in a configuration.
    entry: EvaluatorConfig,
    /// Whether a manifest says what it is called. Otherwise a program says it, if it does.
    is_named: bool,
}

/// The evaluator at `path`: a file, the folder of a package, or a folder with a manifest.
fn placed(path: &Path, timeout: Duration) -> Result<Placed, String> {
    if manifest::has_manifest(path) {
        let loaded = LoadedManifest::load(path).map_err(|error| {
            let problems: Vec<&str> =
                error.problems.iter().map(|problem| problem.message.as_str()).collect();
            format!("{}: {}", error.file.display(), problems.join("; "))
        })?;
        let entry = entry(loaded.manifest.name.clone(), loaded.entrypoint(), timeout);
        return Ok(Placed { entry, is_named: true });
    }
    // A name without a folder would be looked for elsewhere, too.
    let file = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    Ok(Placed { entry: entry(name_of(&file), file, timeout), is_named: false })
}

fn entry(name: String, file: PathBuf, timeout: Duration) -> EvaluatorConfig {
    let mut entry = EvaluatorConfig::code(name, file);
    if let EvaluatorKind::Code(code) = &mut entry.kind {
        code.timeout = timeout;
    }
    entry
}

/// What an evaluator is called of which nothing but its file or folder is known: `checks/polite.py` is called `polite`;
/// `polite/src/main.rs` and the folder `polite` too.
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
