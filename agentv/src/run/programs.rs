//! The programs of a plan, as entries of a configuration: the host prepares, contains and starts them.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use evaluator_host::config::{CodeConfig, EvaluatorConfig, EvaluatorKind, Isolation};
use evaluator_judging::{JudgeSettings, ProgramModels};
use evaluator_launch::{executor::Containment, runtime::Environment};
use evaluator_protocol::Contract;

use crate::{
    files::has_extension,
    model::{Aggregator, Check, Evaluator, Program, Prompt},
    targets::TargetSession,
};

/// Time limit of a program.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Time limit of a program that asks models.
const ASKING_TIMEOUT: Duration = Duration::from_secs(600);

/// What a program is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role<'j> {
    /// A score. With the name of the judge of its test, which answers requests that name no model.
    Grader(Option<&'j str>),
    /// A prompt, or a combination of scores.
    Other,
}

/// What distinguishes a program from others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    name: String,
    command: Vec<String>,
    directory: PathBuf,
    /// Maximum number of calls, and the model that answers requests that name none.
    models: Option<(u32, Option<String>)>,
}

impl Key {
    fn new(name: &str, program: &Program, role: Role<'_>) -> Self {
        let Program { command, directory, max_calls, .. } = program;
        let judge = match role {
            Role::Grader(judge) => judge,
            Role::Other => None,
        };
        let models = max_calls.map(|calls| (calls, judge.map(str::to_owned)));
        let (name, command) = (name.to_owned(), command.clone());
        Self { name, command, directory: directory.clone(), models }
    }
}

/// Programs in the order of their indexes.
#[derive(Debug, Default)]
pub(super) struct ProgramTable {
    indexes: HashMap<Key, usize>,
    /// Entries of the configuration.
    pub(super) entries: Vec<EvaluatorConfig>,
    /// Whether changes of the program would be noticed.
    pub(super) are_known: Vec<bool>,
}

impl ProgramTable {
    /// Returns the index of a program.
    pub(super) fn find(&self, name: &str, program: &Program, role: Role<'_>) -> Option<usize> {
        self.indexes.get(&Key::new(name, program, role)).copied()
    }

    /// Adds the programs of evaluators, and returns their indexes. `contained`: the directory that contained programs may read.
    pub(super) fn add(
        &mut self,
        evaluators: &[Evaluator],
        judge: Option<&str>,
        (targets, contained): (&TargetSession, Option<&Path>),
    ) -> Vec<usize> {
        let mut found = Vec::new();
        for evaluator in evaluators {
            let of_prompt = |prompt| match prompt {
                &Prompt::Program(ref program) => Some((program, Role::Other)),
                _ => None,
            };
            let program = match &evaluator.check {
                Check::Program(program) => Some((program, Role::Grader(judge))),
                Check::Judge(asked) => of_prompt(&asked.prompt),
                Check::Composite(composite) => {
                    found.extend(self.add(&composite.members, judge, (targets, contained)));
                    match &composite.aggregator {
                        Aggregator::Program(program) => Some((program, Role::Other)),
                        Aggregator::Judge(asked) => of_prompt(&asked.prompt),
                        _ => None,
                    }
                }
                _ => None,
            };
            let Some((program, role)) = program else { continue };
            let next = self.entries.len();
            let index =
                *self.indexes.entry(Key::new(&evaluator.name, program, role)).or_insert(next);
            if index == next {
                let (entry, is_known) = lowered(&evaluator.name, program, role, targets, contained);
                self.entries.push(entry);
                self.are_known.push(is_known);
            }
            found.push(index);
        }
        found
    }
}

/// Returns the entry of a program, and whether changes of the program would be noticed: the files behind the words of a command
/// are not known.
fn lowered(
    name: &str,
    program: &Program,
    role: Role<'_>,
    targets: &TargetSession,
    contained: Option<&Path>,
) -> (EvaluatorConfig, bool) {
    let Program { command, directory, max_calls, .. } = program;
    let (first, rest) = command.split_first().map_or(("", &[][..]), |(it, rest)| (&**it, rest));
    let script = script(first, rest, directory);
    let is_file = first.contains('/') && rest.is_empty();
    let mut entry = EvaluatorConfig::code(name, executable(first, directory));
    if let EvaluatorKind::Code(code) = &mut entry.kind {
        code.args = rest.to_vec();
        // A worker is asked for its description, which other commands would take for a document.
        code.isolation = if is_file { Isolation::Auto } else { Isolation::Process };
        if let Some(script) = &script {
            (code.path, code.args) = (script.clone(), rest[1..].to_vec());
            code.isolation = Isolation::Auto;
        }
        code.contract = Some(Contract::AgentV);
        code.process.cwd = Some(directory.clone());
        code.timeout = TIMEOUT;
        if let (Some(calls), Role::Grader(judge)) = (max_calls, role) {
            code.timeout = ASKING_TIMEOUT;
            code.models = Some(models(targets, judge, *calls));
        }
        if let Some(readable) = contained {
            contain(code, readable);
        }
    }
    (entry, script.is_some() || is_file)
}

/// Contains a program. It may read the directory of the eval file.
fn contain(code: &mut CodeConfig, readable: &Path) {
    "sandbox".clone_into(&mut code.executor);
    let read = vec![readable.to_owned()];
    code.containment = Arc::new(Containment { read, ..Containment::default() });
}

/// Returns the path of the program of a command.
fn executable(first: &str, directory: &Path) -> PathBuf {
    match first.contains('/') {
        true => directory.join(first),
        // A name is looked up on `PATH` only. What is not found is an error of the entry.
        false => Environment::inherited().find_program(first).unwrap_or_else(|| first.into()),
    }
}

/// Returns the script of a command that is a Python file with arguments: interpreters of Python can be forked. `None` if the
/// host would run the file with another interpreter or with other packages than the command does.
fn script(first: &str, rest: &[String], directory: &Path) -> Option<PathBuf> {
    let environment = Environment::inherited();
    let is_default =
        environment.get("EVALUATOR_PYTHON").is_none() && environment.get("VIRTUAL_ENV").is_none();
    if !is_default || !matches!(first, "python3" | "python") {
        return None;
    }
    let real = |name: &str| environment.find_program(name)?.canonicalize().ok();
    if real(first) != real("python3") {
        return None;
    }
    let file = directory.join(rest.first()?);
    let is_plain = has_extension(&file, "py") && !file.with_file_name("requirements.txt").exists();
    let text = fs::read_to_string(&file).ok().filter(|_| is_plain)?;
    let needs_packages = text.contains("# /// script") || text.contains("evaluator_sdk");
    (!needs_packages).then_some(file)
}

/// Returns the models that a program may ask: all targets that can be asked, first the one that answers requests that name
/// none.
fn models(targets: &TargetSession, judge: Option<&str>, calls: u32) -> ProgramModels {
    let mut names: Vec<&String> = targets.targets.targets.iter().map(|it| &it.name).collect();
    names.sort_by_key(|name| Some(name.as_str()) != judge);
    let model = |name: &String| -> Option<(String, JudgeSettings)> {
        Some((name.clone(), targets.connect(name, None).ok()?.settings().clone()))
    };
    let models = names.into_iter().filter_map(model).collect();
    ProgramModels { models, max_calls: calls.into(), ..ProgramModels::default() }
}
