//! Prepared evaluators and their descriptions.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use evaluator_host::{
    config::{CodeConfig, Config, EvaluatorConfig, EvaluatorKind},
    run::{Plan, PlannedEvaluator, Resident, Residents, RunEvent, Runner, conforms},
};
use evaluator_hosts::Defaults;
use evaluator_json::{Object, Value};
use evaluator_protocol::{Contract, Description, EvaluatorDescription};
use evaluator_publish::{manifest, program_at};
use indexmap::IndexMap;

/// Time limit for a program to describe itself.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(10);

/// SDK whose exit codes are known.
const SDK: &str = "evaluator-sdk";

/// Evaluators that are kept ready. Everything that does not depend on a document is done before the first one.
#[derive(derive_more::Debug)]
#[debug("{:?}", evaluators.keys())]
pub struct Service {
    pub(super) evaluators: IndexMap<String, Served>,
    residents: Residents,
    /// Reasons why entries of the configuration are not offered.
    passed_over: Vec<String>,
}

/// Description of an evaluator.
#[derive(Clone, Debug)]
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
pub struct Unservable {
    /// Name or path.
    pub evaluator: String,
    /// Reason.
    pub reason: String,
}

/// An evaluator of the service.
pub(super) struct Served {
    pub(super) resident: Resident,
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

    /// Prepares the evaluators of a configuration, and the programs at `paths`, which have these `settings`. All evaluators of
    /// a program at a path are offered.
    ///
    /// Must be called inside a tokio runtime with time and I/O enabled, and the service be used there.
    ///
    /// # Errors
    ///
    /// One [`Unservable`] for each evaluator that cannot be built or started, or has the name of another.
    pub async fn new(
        config: &Config,
        paths: &[PathBuf],
        settings: &CodeConfig,
        runner: &Runner,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Result<Self, Vec<Unservable>> {
        let mut all = config.clone();
        let mut entries: Vec<Entry> = config.evaluators.iter().map(Entry::configured).collect();
        let mut problems = Vec::new();
        for path in paths {
            match placed(path, settings) {
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
        let residents = Residents::new(runner);
        let mut service = Self { evaluators: IndexMap::new(), residents, passed_over: Vec::new() };
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
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// Returns why evaluators cannot answer until the service is created again: files of their programs have changed or were
    /// deleted. `None` if all can answer.
    pub fn outdated(&self) -> Option<String> {
        let changes: Vec<String> = self.evaluators.values().filter_map(Served::change).collect();
        (!changes.is_empty()).then(|| restart(&changes.join(", ")))
    }

    /// Stops all workers.
    pub async fn close(self) {
        for (_, served) in self.evaluators {
            served.resident.stop().await;
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
        let mut described = Offered::unknown(&name);
        let description = match planned.kind() {
            "code" => planned.describe(DESCRIBE_LIMIT, &runner.cancellation).await,
            "linked" => {
                let linked = runner.registries.linked.get(&name);
                described.description =
                    linked.map(|linked| linked.description()).unwrap_or_default();
                None
            }
            "broken" => return unservable("it is not ready".to_owned()),
            _ => {
                self.passed_over.push(format!(
                    "{name} is a built-in metric, which is computed from recordings; it is not offered"
                ));
                return None;
            }
        };
        let known = description.as_ref().map(|it| it.evaluators.as_slice()).unwrap_or_default();
        let chosen = match entry.chosen(known, described) {
            Ok(chosen) => chosen,
            Err(reason) => return unservable(reason),
        };
        let chosen = chosen.into_iter().map(|one| one.stated(planned.contract()));
        chosen
            .into_iter()
            .find_map(|one| self.serve(&planned, one, description.as_ref(), &entry.defaults))
    }

    fn serve(
        &mut self,
        planned: &PlannedEvaluator,
        mut offered: Offered,
        description: Option<&Description>,
        defaults: &Defaults,
    ) -> Option<Unservable> {
        let name = offered.name.clone();
        let unservable = |reason: String| Some(Unservable { evaluator: name.clone(), reason });
        if self.evaluators.contains_key(&name) {
            return unservable(
                "two evaluators have this name; give them names in a configuration".to_owned(),
            );
        }
        if let Some(schema) = &offered.config_schema
            && let Err(reason) = check_config(schema, &defaults.config)
        {
            return unservable(reason);
        }
        let is_foreign = !offered.takes_all_contracts();
        let resident = match self.residents.prepare(planned, &name, description, is_foreign) {
            Ok(resident) => resident,
            Err(reason) => return unservable(reason),
        };
        offered.threshold = defaults.threshold;
        let speaks_sdk = description.is_some_and(|description| description.sdk == SDK);
        let defaults = defaults.clone();
        let served = Served { resident, offered, defaults, is_foreign, speaks_sdk };
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
        let file = self.resident.outdated_file()?;
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

    /// Returns the evaluators of a program that the entry stands for; `unknown` if the program does not describe any.
    fn chosen(
        &self,
        known: &[EvaluatorDescription],
        unknown: Offered,
    ) -> Result<Vec<Offered>, String> {
        let name = unknown.name.as_str();
        Ok(match known {
            [] => vec![unknown],
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

/// Returns the evaluator at `path`, without a threshold.
fn placed(path: &Path, settings: &CodeConfig) -> Result<(EvaluatorConfig, Entry), String> {
    let evaluator = program_at(path, settings)?;
    let defaults = Defaults::new(Object::default(), None);
    let may_be_renamed = !manifest::has_manifest(path);
    Ok((evaluator, Entry { defaults, may_be_renamed, holds_all: true }))
}
