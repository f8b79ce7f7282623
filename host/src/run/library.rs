//! Metrics of other libraries: asked about their entries before anything is evaluated.
//!
//! Only a library knows which metrics it has and which arguments they take. So the program that calls them is started once
//! with `--examine`, for all entries that it serves.

use std::time::Duration;

use evaluator_document::did_you_mean;
use evaluator_engine::work::{Program, Work, broken};
use evaluator_protocol::{Capability, Description};
use tokio::task::JoinSet;

use super::{Plan, RunEvent, Runner, program_file::execution_context};
use crate::{
    config::EvaluatorConfig,
    hosts::library::Library,
    json::{NonFinite, Object, ParseOptions, Value, parse, to_string},
    process::{self, Cancellation, CommandSpec, Limits, Outcome},
    runtime::{Environment, Reuse},
    verdict::{Verdict, answer_of},
};

/// Time in which a library has to be imported and to make its metrics, on a busy machine and without compiled code.
const LIMIT: Duration = Duration::from_secs(120);

/// What a program says about an entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Examined {
    /// The metric can be called.
    Works {
        /// Installed version of the library, if it is a package.
        version: Option<String>,
        /// Parts of a conversation that the metric needs.
        needs: Vec<String>,
    },
    /// No conversation can be measured: the reason.
    Mistake(String),
}

/// Asks the programs of a plan about their entries. A mistake in an entry becomes the refusal of the plan.
pub(super) async fn examine(plan: &mut Plan, runner: &Runner) {
    let mut asked = JoinSet::new();
    for indexes in groups(plan) {
        let programs = indexes.iter().filter_map(|&index| program(plan, index));
        let documents: Vec<String> = programs.map(|it| document(&it.config)).collect();
        let Some(first) = indexes.first().and_then(|&index| program(plan, index)) else { continue };
        let question = question(&first.one_shot, first.timeout, &runner.cancellation, documents);
        asked.spawn(async move { (indexes, question.await) });
    }
    let mut answered = Vec::new();
    while let Some(result) = asked.join_next().await {
        // A task that panicked has no answer, so its programs are asked by their evaluations.
        answered.extend(result);
    }
    answered.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut mistakes = Vec::new();
    for (indexes, outcome) in answered {
        let answers = program(plan, indexes[0]).map(|it| answers(&outcome, indexes.len(), it));
        match answers {
            Some(Ok(answers)) => {
                for (index, answer) in indexes.into_iter().zip(answers) {
                    apply(plan, index, answer, &mut mistakes);
                }
            }
            Some(Err(_)) if runner.cancellation.is_cancelled() => {}
            Some(Err(reason)) => {
                for index in indexes {
                    plan.evaluators[index].work = broken(reason.clone());
                }
            }
            None => {}
        }
    }
    if !mistakes.is_empty() {
        plan.refusal = Some(mistakes.join("\n"));
    }
}

/// Returns the indexes of the evaluators with metrics of libraries, together where one process can answer for them.
fn groups(plan: &Plan) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in 0..plan.evaluators.len() {
        let Some(own) = program(plan, index) else { continue };
        let is_same = |group: &&mut Vec<usize>| {
            program(plan, group[0]).is_some_and(|it| {
                it.forked.command == own.forked.command
                    && it.forked.executor.name() == own.forked.executor.name()
                    && it.forked.containment == own.forked.containment
                    && it.forked.listener.is_none()
                    && own.forked.listener.is_none()
            })
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// Returns the program of an evaluator that calls a metric of a library.
fn program(plan: &Plan, index: usize) -> Option<&Program> {
    match &plan.evaluators.get(index)?.work {
        Work::Program(program) if program.library.is_some() => Some(program),
        _ => None,
    }
}

/// Returns the document that asks about an entry.
fn document(config: &Object) -> String {
    let members = [("config".to_owned(), Value::Object(config.clone()))];
    to_string(&Value::Object(members.into_iter().collect()), NonFinite::Null)
}

/// Returns a future that asks a program about entries.
fn question(
    command: &CommandSpec,
    timeout: Duration,
    cancellation: &Cancellation,
    documents: Vec<String>,
) -> impl Future<Output = Outcome> + Send + 'static {
    let command = command.clone().arg("--examine");
    let (limits, cancellation) = (Limits::with_timeout(timeout.max(LIMIT)), cancellation.clone());
    let text = documents.join("\n");
    async move { process::run(&command, text.as_bytes(), &limits, &cancellation).await }
}

/// Asks a program about one entry.
///
/// # Errors
///
/// The program gives no answer: the reason.
pub(super) async fn ask(
    command: &CommandSpec,
    (config, timeout): (&Object, Duration),
    cancellation: &Cancellation,
) -> Result<Examined, String> {
    let outcome = question(command, timeout, cancellation, vec![document(config)]).await;
    let mut answers = read(&outcome, 1, config)?;
    answers.pop().ok_or_else(|| "the program gave no answer".to_owned())
}

/// Reads the answers of a program, and adds what is known about its environment to an error.
fn answers(outcome: &Outcome, count: usize, program: &Program) -> Result<Vec<Examined>, String> {
    read(outcome, count, &program.config).map_err(|reason| {
        let verdict = answer_of(outcome).err();
        let stderr = outcome.stderr.text();
        let hint = verdict.and_then(|verdict| program.context.hint(&verdict, &[&stderr]));
        hint.map_or(reason.clone(), |hint| format!("{reason} ({hint})"))
    })
}

/// Reads the answers of a program about entries whose metrics are of one module. `config` is that of one of them.
///
/// # Errors
///
/// The library cannot be imported, or the program broke otherwise: the reason.
fn read(outcome: &Outcome, count: usize, config: &Object) -> Result<Vec<Examined>, String> {
    let stderr = outcome.stderr.text();
    let module = config.get("metric").and_then(Value::as_str).unwrap_or_default();
    let module = module.split(':').next().unwrap_or_default();
    if let Some(mistake) = no_module(&stderr, module) {
        return Ok((0..count).map(|_| Examined::Mistake(mistake.clone())).collect());
    }
    let text = answer_text(outcome)?;
    let answer = |line| answer(line, Library::of(module));
    let answers: Option<Vec<Examined>> = text.lines().map(answer).collect();
    answers.filter(|answers| answers.len() == count).ok_or_else(|| {
        let line = text.lines().find(|line| answer(line).is_none()).unwrap_or_default();
        let start: String = line.chars().take(80).collect();
        format!("the library prints on standard output while it is imported: {start}")
    })
}

/// Returns what a program has printed.
///
/// # Errors
///
/// As [`read`].
fn answer_text(outcome: &Outcome) -> Result<String, String> {
    let stderr = outcome.stderr.text();
    let text = answer_of(outcome).map_err(|verdict| match *verdict {
        Verdict::Exited { .. } => {
            let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
            format!(
                "the library cannot be imported: {}",
                last.unwrap_or("no reason is given").trim()
            )
        }
        Verdict::TimedOut { limit } => {
            format!("importing the library took longer than {} s", limit.as_secs())
        }
        verdict => {
            let reason = verdict.explain("metric", &stderr);
            format!("the library broke the program that imports it: {}", reason.unwrap_or_default())
        }
    })?;
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// Returns the mistake in an entry whose library is there, and has no such module.
fn no_module(stderr: &str, module: &str) -> Option<String> {
    let last = stderr.trim_end().lines().next_back()?;
    let missing =
        last.strip_prefix("ModuleNotFoundError: No module named '")?.split('\'').next()?;
    let (library, _) = module.split_once('.')?;
    let is_its_own = missing != library && format!("{module}.").starts_with(&format!("{missing}."));
    let known = Library::of(module).map_or(&[][..], |library| library.modules);
    let hint = did_you_mean(module, known.iter().copied()).map(|hint| format!("; {hint}"));
    is_its_own.then(|| format!("`{library}` has no module `{missing}`{}", hint.unwrap_or_default()))
}

fn answer(line: &str, library: Option<&Library>) -> Option<Examined> {
    let answer = parse(line, &ParseOptions::default()).ok()?.value;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let version = answer.get("version").and_then(text);
    if let Some(mistake) = answer.get("mistake").and_then(text) {
        let untried = library.and_then(|library| untried(library, version.as_deref()));
        let untried = untried.map(|untried| format!(" ({untried})"));
        return Some(Examined::Mistake(mistake + &untried.unwrap_or_default()));
    }
    let needs = answer.get("needs")?.as_array()?.iter().filter_map(text).collect();
    Some(Examined::Works { version, needs })
}

/// A metric that an installed library has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LibraryEntry {
    /// The metric as `MODULE:NAME`.
    pub metric: String,
    /// Names of its arguments.
    pub args: Vec<String>,
    /// Whether it asks a model.
    pub asks_model: bool,
}

impl Runner {
    /// Returns the metrics of a library, in the version that its adapter was tried with. Installs it if necessary.
    ///
    /// Must be called inside a tokio runtime with time and I/O enabled. Blocks while it installs.
    ///
    /// # Errors
    ///
    /// The library cannot be installed or imported: the reason.
    pub async fn list_library(
        &self,
        library: &'static Library,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Result<Vec<LibraryEntry>, String> {
        let module = library.modules.first().unwrap_or(&library.name);
        let entry = format!("evaluators: [{{name: a, type: metric, metric: '{module}:a'}}]");
        let config = self.parse_config(&entry, "metric.yaml".as_ref());
        let config = config.map_err(|error| error.to_string())?;
        let code = config.evaluators.first().and_then(EvaluatorConfig::program);
        let code = code.ok_or("the library has no program")?;
        code.library.as_ref().map_or(Ok(()), |metric| metric.write())?;
        let context = execution_context(code, false, &Environment::inherited())?;
        let entrypoint = code.entrypoint(code.path.clone(), false);
        let mut report = |event| on_event(RunEvent::Prepare(event));
        let runtimes = &self.registries.runtimes;
        let launch = runtimes.prepare(&entrypoint, &self.cancellation, &mut report);
        let launch = context.apply(launch.map_err(|error| error.to_string())?);
        let command = launch.one_shot.arg("--list");
        let limits = Limits::with_timeout(LIMIT);
        let outcome = process::run(&command, b"", &limits, &self.cancellation).await;
        let text = answer_text(&outcome)?;
        let answer = parse(&text, &ParseOptions::default()).ok().map(|parsed| parsed.value);
        let metrics = answer.as_ref().and_then(|it| it.get("metrics")?.as_array());
        let entries: Option<Vec<_>> = metrics.and_then(|it| it.iter().map(listed).collect());
        entries
            .ok_or_else(|| "the library prints on standard output while it is imported".to_owned())
    }
}

fn listed(entry: &Value) -> Option<LibraryEntry> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(LibraryEntry {
        metric: entry.get("metric").and_then(text)?,
        args: entry.get("args")?.as_array()?.iter().filter_map(text).collect(),
        asks_model: matches!(entry.get("asks_model"), Some(Value::Bool(true))),
    })
}

/// Returns the warning about a version that the adapter of a library was not tried with.
fn untried(library: &Library, version: Option<&str>) -> Option<String> {
    let version = version.filter(|version| library.tried().all(|tried| tried != *version))?;
    let tried = library.tried().collect::<Vec<_>>().join(", ");
    Some(format!(
        "{} {version} is installed, and its metrics were tried with {tried}",
        library.name
    ))
}

/// Changes an evaluator by what its program says.
fn apply(plan: &mut Plan, index: usize, examined: Examined, mistakes: &mut Vec<String>) {
    let evaluator = &mut plan.evaluators[index];
    let Work::Program(program) = &mut evaluator.work else { return };
    match examined {
        Examined::Mistake(reason) => {
            mistakes.push(format!("`{}`: {reason}", evaluator.name));
            evaluator.work = broken(reason);
        }
        Examined::Works { version, .. } => {
            let metric = program.library.as_deref();
            let warning = metric.and_then(|it| untried(it.library, version.as_deref()));
            plan.warnings.extend(warning.map(|text| format!("{}: {text}", evaluator.name)));
            // It answers `--describe` only after the imports.
            if program.worker.is_some() {
                program.reuse = Reuse::None;
                let mut description = Description::new("evaluator", env!("CARGO_PKG_VERSION"));
                description.capabilities.extend([Capability::Stream, Capability::Numbered]);
                if program.target.is_some() {
                    description.capabilities.push(Capability::Target);
                }
                program.description = Some(description);
            }
        }
    }
}
