//! The programs of a plan, as entries of a configuration: the host prepares, contains and starts them.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use evaluator_host::config::{ContainmentConfig, EvaluatorConfig, EvaluatorKind, Isolation};
use evaluator_judging::{JudgeSettings, ProgramModels};
use evaluator_launch::{
    files::{MAX_SOURCE, read_regular},
    runtime::Environment,
};
use evaluator_protocol::Contract;

use crate::{
    files::has_extension,
    model::{Aggregator, Check, Evaluator, Program, Prompt},
    targets::{
        CliTarget, TargetSession,
        command::{self, MAX_OUTPUT, SHELL},
    },
};

/// Time limit of a program.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Time limit of a program that asks models.
const ASKING_TIMEOUT: Duration = Duration::from_secs(600);

/// What distinguishes a program from others: the name of its entry, its command and directory, and of one that asks models
/// the number of calls and the model that answers requests that name none.
type Key = (String, Vec<String>, PathBuf, Option<(u32, Option<String>)>);

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
    /// Adds the programs of evaluators, and returns their indexes. `contained`: how they are contained.
    pub(super) fn add(
        &mut self,
        evaluators: &mut [Evaluator],
        judge: Option<&str>,
        (targets, contained): (&TargetSession, Option<&ContainmentConfig>),
    ) -> Vec<usize> {
        let mut found = Vec::new();
        for evaluator in evaluators {
            if let Check::Composite(composite) = &mut evaluator.check {
                found.extend(self.add(&mut composite.members, judge, (targets, contained)));
            }
            let Some(program) = program_of(&mut evaluator.check) else { continue };
            program.index = self.insert(&evaluator.name, program, judge, (targets, contained));
            found.push(program.index);
        }
        found
    }

    /// Adds a program, and returns its index.
    fn insert(
        &mut self,
        name: &str,
        program: &Program,
        judge: Option<&str>,
        (targets, contained): (&TargetSession, Option<&ContainmentConfig>),
    ) -> usize {
        let models = program.max_calls.map(|calls| (calls, judge.map(str::to_owned)));
        let (command, directory) = (program.command.clone(), program.directory.clone());
        let key = (name.to_owned(), command, directory, models);
        let index = *self.indexes.entry(key).or_insert(self.entries.len());
        if index == self.entries.len() {
            let (entry, is_known) = lowered(name, program, judge, targets, contained);
            self.entries.push(entry);
            self.are_known.push(is_known);
        }
        index
    }

    /// Adds the command of a target, which runs in a directory, and returns its index. It sees all variables, unless it is
    /// contained.
    pub(super) fn add_command(
        &mut self,
        (name, target): (&str, &CliTarget),
        directory: PathBuf,
        (targets, contained): (&TargetSession, Option<&ContainmentConfig>),
    ) -> usize {
        let command = SHELL.map(str::to_owned).to_vec();
        let program = Program { command, directory, index: 0, config: None, max_calls: None };
        let index = self.insert(name, &program, None, (targets, contained));
        let entry = self.entries.get_mut(index).map(|entry| &mut entry.kind);
        if let Some(EvaluatorKind::Code(code)) = entry {
            code.timeout = target.timeout.unwrap_or(command::TIMEOUT);
            // Each attempt has a script of its own.
            code.retries = Some(0);
            code.process.env.inherit = contained.is_none().then_some(true);
            // With the state in front and the mark behind.
            code.process.limits.output = Some(MAX_OUTPUT + 64);
        }
        index
    }
}

/// Returns the program that an evaluator starts itself.
fn program_of(check: &mut Check) -> Option<&mut Program> {
    let asked = match check {
        Check::Program(program) => return Some(program),
        Check::Judge(asked) => asked,
        Check::Composite(composite) => match &mut composite.aggregator {
            Aggregator::Program(program) => return Some(program),
            Aggregator::Judge(asked) => asked,
            _ => return None,
        },
        _ => return None,
    };
    match &mut asked.prompt {
        Prompt::Program(program) => Some(program),
        _ => None,
    }
}

/// Returns the entry of a program, and whether changes of the program would be noticed: the files behind the words of a command
/// are not known.
fn lowered(
    name: &str,
    program: &Program,
    judge: Option<&str>,
    targets: &TargetSession,
    contained: Option<&ContainmentConfig>,
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
        if let Some(calls) = max_calls {
            code.timeout = ASKING_TIMEOUT;
            code.models = Some(models(targets, judge, *calls));
        }
        if let Some(ContainmentConfig { executor, containment, .. }) = contained {
            (code.executor, code.containment) = (executor.clone(), Arc::clone(containment));
            if containment.docker.image.is_some() && !first.contains('/') && script.is_none() {
                // The image has commands of its own.
                (code.path, code.command) = (first.into(), true);
            }
        }
    }
    (entry, script.is_some() || is_file)
}

/// Returns the path of the program of a command.
fn executable(first: &str, directory: &Path) -> PathBuf {
    let known = Environment::inherited().find_program(first).filter(|_| !first.contains('/'));
    // A name that is not on `PATH` is an error of the entry, unless the directory of the program has such a file.
    known.unwrap_or_else(|| directory.join(first))
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
    let text = read_regular(&file, MAX_SOURCE).ok().filter(|_| is_plain)?;
    let text = String::from_utf8(text).ok()?;
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
