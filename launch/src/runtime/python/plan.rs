//! Which interpreter or environment runs an evaluator. Runs and checks share this decision.
//!
//! An interpreter is asked once per run what it has installed, and only where an evaluator names packages or the SDK, or
//! the interpreter is a wrapper script. The question executes no module of an evaluator or of a package.

use std::{
    collections::HashMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    installer::{Installer, Sdk},
    interpreter::{
        Answers, Files, INTERPRETER_VARIABLE, Identity, MissingModule, Questions, SEARCH_PATH,
    },
    needs::Needs,
    venv::{self, Venv, hex},
};
use crate::{
    environment::is_script,
    executor::Containment,
    process::{Cancellation, CommandSpec, forks::ServerCommand},
    runtime::{Entrypoint, Environment, PrepareError, PrivateDirectory, paths},
};

/// Preparation of an evaluator.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) source: PathBuf,
    /// True if it was fetched from a source.
    pub(super) fetched: bool,
    /// Settings of its executor, if that contains programs.
    pub(super) contained: Option<Arc<Containment>>,
    /// Files that the interpreter reads, if it was asked.
    pub(super) files: Files,
    pub(super) interpreter: PathBuf,
    /// Version of the interpreter, if it was asked.
    pub(super) version: Option<String>,
    /// Where it names packages; `None` if it names none.
    pub(super) named_in: Option<String>,
    /// The environment it needs; `None` if the interpreter has all packages.
    pub(super) wanted: Option<Wanted>,
    /// Modules it imports that the interpreter does not find, if that was asked.
    pub(super) missing_modules: Vec<MissingModule>,
}

/// An environment that an evaluator needs.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) venv: Venv,
    pub(super) needs: Needs,
    /// Packages that the interpreter lacks, as arguments of a command line.
    pub(super) missing: Vec<String>,
    /// True if the interpreter can create an environment.
    pub(super) has_venv: bool,
    /// File of the interpreter's pip that installs into the environment; `None` if the environment has a pip of its own.
    pub(super) pip: Option<PathBuf>,
    /// Wheel of setuptools, if it is installed into the environment with that pip.
    pub(super) setuptools: Option<PathBuf>,
}

impl Wanted {
    /// Returns the argument with which the interpreter of the environment runs pip.
    pub(super) fn pip(&self) -> &OsStr {
        self.pip.as_ref().map_or("-mpip".as_ref(), |it| it.as_os_str())
    }

    /// Returns the command that installs the packages without this program.
    pub(super) fn by_hand(&self, interpreter: &Path) -> String {
        by_hand(interpreter, &self.missing.join(" "))
    }
}

/// The command that installs packages for an interpreter, and the alternative.
pub(super) fn by_hand(interpreter: &Path, packages: &str) -> String {
    let python = interpreter.display().to_string();
    format!(
        "type `{} -m pip install {packages}`, or point {INTERPRETER_VARIABLE} at an interpreter that has what is missing",
        shell_words::quote(&python)
    )
}

/// Decides how evaluators run.
#[derive(Debug)]
pub(super) struct Planner<'a> {
    pub(super) environment: &'a Environment,
    pub(super) sdk: Sdk,
    pub(super) installer: Installer,
    /// True to look for the modules that evaluators import.
    pub(super) checks_imports: bool,
    /// True if the packages of evaluators are in directories that are known already.
    pub(super) has_packages: bool,
    pub(super) cancellation: &'a Cancellation,
}

impl<'a> Planner<'a> {
    pub(super) fn new(environment: &'a Environment, cancellation: &'a Cancellation) -> Self {
        Self {
            environment,
            sdk: Sdk::of(environment),
            installer: Installer::find(environment),
            checks_imports: false,
            has_packages: false,
            cancellation,
        }
    }

    /// Plans evaluators, in their order. Starts the interpreter at most once for those of the user, once for fetched ones and
    /// twice for those with the same containment; not at all if none names a package and the interpreter is not a script.
    pub(super) fn plan(
        &self,
        python: &Path,
        entrypoints: &[Entrypoint],
    ) -> Vec<Result<Plan, PrepareError>> {
        let read: Vec<Result<(PathBuf, Option<Needs>), PrepareError>> = entrypoints
            .iter()
            .map(|Entrypoint { path, fetched, contained, .. }| {
                let source = paths::resolve(path)?;
                let is_contained = contained.as_ref().is_some_and(|it| !it.builds);
                let needs = Needs::of(&source, *fetched || is_contained)?;
                Ok((source, needs))
            })
            .collect();
        let trust = |it: &Entrypoint| (it.is_confined(), it.contained.clone());
        let mut answers: HashMap<_, Option<Result<Answers, String>>> = HashMap::new();
        for entrypoint in entrypoints {
            answers.entry(trust(entrypoint)).or_insert_with_key(|wanted| {
                let mine = entrypoints.iter().zip(&read).filter(|(it, _)| trust(it) == *wanted);
                let mine: Vec<_> = mine.filter_map(|(_, read)| read.as_ref().ok()).collect();
                self.ask(python, wanted, &mine)
            });
        }
        read.into_iter()
            .zip(entrypoints)
            .map(|(read, entrypoint)| {
                let (source, needs) = read?;
                let answers = answers[&trust(entrypoint)].as_ref();
                // A wrapper script of a version manager would look up the version for every evaluation.
                let real = answers.and_then(|it| it.as_ref().ok()?.executable.as_deref());
                let interpreter = real.filter(|_| is_script(python)).unwrap_or(python);
                self.decide(source, entrypoint, needs, interpreter, answers)
            })
            .collect()
    }

    /// Looks for the modules that a script imports in an existing environment.
    ///
    /// # Errors
    ///
    /// Its interpreter does not work.
    pub(super) fn missing_in(
        &self,
        python: &Path,
        plan: &Plan,
    ) -> Result<Vec<MissingModule>, String> {
        let mut questions = Questions::default();
        questions.missing(&plan.source);
        let confined = plan.fetched || plan.contained.is_some();
        let seen = if confined { self.environment.confined() } else { self.environment.clone() };
        let command = match &plan.contained {
            None => questions.command(python, &seen),
            Some(containment) => {
                // An environment can have code that every start of its interpreter runs.
                let source = paths::around(&plan.source, self.environment);
                let venv = python.parent().and_then(Path::parent).map(Path::to_owned);
                let own = plan.files.directories.iter().cloned();
                let read = own.chain([source]).chain(venv).collect();
                questions.contained_command(python, &seen, containment, read)?
            }
        };
        let answers = questions.answers_of(&command, python, self.cancellation)?;
        Ok(answers.missing(&plan.source))
    }

    /// Asks the interpreter everything needed for evaluators that are trusted alike; `None` if that is nothing.
    fn ask(
        &self,
        python: &Path,
        (confined, contained): &(bool, Option<Arc<Containment>>),
        read: &[&(PathBuf, Option<Needs>)],
    ) -> Option<Result<Answers, String>> {
        let mut questions = Questions::default();
        read.iter().filter_map(|(_, needs)| needs.as_ref()).for_each(|needs| {
            needs.ask(&self.sdk, &mut questions);
        });
        if self.checks_imports {
            read.iter().for_each(|(source, _)| questions.missing(source));
        }
        let has_needs = read.iter().any(|(_, needs)| needs.is_some());
        let is_asked = has_needs
            || !read.is_empty()
                && (contained.is_some() || self.checks_imports || is_script(python));
        is_asked.then(|| match contained {
            Some(containment) => self.ask_contained(python, containment, questions, read),
            // Such an evaluator gets only these variables, so others must not affect the answers.
            None if *confined => {
                let seen = self.environment.confined();
                let command = questions.command(python, &seen);
                questions.answers_of(&command, python, self.cancellation)
            }
            None => questions.ask(python, self.environment, self.cancellation),
        })
    }

    /// Asks what the interpreter is, and then, in a sandbox, everything about contained evaluators: what reads their files has
    /// no more rights than they have.
    fn ask_contained(
        &self,
        python: &Path,
        containment: &Containment,
        questions: Questions,
        read: &[&(PathBuf, Option<Needs>)],
    ) -> Result<Answers, String> {
        let environment = self.environment.confined();
        let own = Questions::default();
        let command = own.command(python, &environment);
        let found = own.answers_of(&command, python, self.cancellation)?;
        if questions.is_empty() {
            return Ok(found);
        }
        let real = found.executable.as_deref().filter(|_| is_script(python)).unwrap_or(python);
        let environment = match &found.identity.files.user_base {
            // Its default is in the home directory, which a sandbox hides.
            Some(base) => environment.with("PYTHONUSERBASE", base),
            None => environment,
        };
        let sources = read.iter().map(|(source, _)| paths::around(source, self.environment));
        let visible = found.identity.files.directories.iter().cloned().chain(sources).collect();
        let command = questions.contained_command(real, &environment, containment, visible)?;
        let answers = questions.answers_of(&command, real, self.cancellation)?;
        Ok(Answers { identity: found.identity, executable: found.executable, ..answers })
    }

    fn decide(
        &self,
        source: PathBuf,
        entrypoint: &Entrypoint,
        needs: Option<Needs>,
        interpreter: &Path,
        answers: Option<&Result<Answers, String>>,
    ) -> Result<Plan, PrepareError> {
        let mut plan = Plan {
            source,
            fetched: entrypoint.fetched,
            contained: entrypoint.contained.clone(),
            files: Files::default(),
            interpreter: interpreter.to_owned(),
            version: None,
            named_in: needs.as_ref().map(Needs::named_in),
            wanted: None,
            missing_modules: Vec::new(),
        };
        let answers = match answers {
            None => return Ok(plan),
            // Asked for another evaluator.
            Some(_) if needs.is_none() && plan.contained.is_none() && !self.checks_imports => {
                return Ok(plan);
            }
            Some(answers) => answers.as_ref().map_err(PrepareError::runtime_missing)?,
        };
        plan.files = answers.identity.files.clone();
        plan.version = Some(answers.identity.version.clone());
        plan.missing_modules = answers.missing(&plan.source);
        let Some(needs) = needs else { return Ok(plan) };
        needs
            .accept(interpreter, &answers.identity.version)
            .map_err(|reason| format!("{reason}; point {INTERPRETER_VARIABLE} at another one"))
            .map_err(PrepareError::runtime_missing)?;
        let missing = needs.missing(&self.sdk, answers);
        if self.has_packages || missing.is_empty() {
            return Ok(plan);
        }
        let root = venv::root(self.environment).ok_or_else(|| PrepareError::InstallFailed {
            reason:
                "no home directory to keep virtual environments in\nhint: set EVALUATOR_CACHE_DIR"
                    .to_owned(),
        })?;
        let venv = Venv::new(&root, &answers.identity, &self.sdk, &needs);
        let venv = match &plan.contained {
            Some(containment) => venv.for_contained(containment),
            None => venv,
        };
        let Identity { has_venv, pip, setuptools, .. } = answers.identity.clone();
        plan.wanted = Some(Wanted { venv, needs, missing, has_venv, pip, setuptools });
        Ok(plan)
    }
}

/// Source of the server. The server is the same interpreter with the same file and arguments. It becomes a server by a
/// module called `sitecustomize`, which an interpreter imports at the end of its own start, and which it finds first
/// because `PYTHONPATH` starts with its directory. This is that module.
const SERVER: &str = include_str!("fork_server.py");

/// Makes the command of a server that forks what `command` would start.
pub(super) fn server(command: &CommandSpec) -> Result<ServerCommand, String> {
    if is_script(Path::new(&command.program)) {
        // A wrapper may start the interpreter so that it does not find the server, and runs the file instead.
        return Err(format!("{} is a script", command.program.display()));
    }
    if !command.resources.is_unlimited() && !cfg!(target_os = "linux") {
        // Elsewhere only a process can limit itself.
        return Err("its entry limits what it may use".to_owned());
    }
    // The server deletes it when it runs.
    let directory = PrivateDirectory::new("forks")
        .and_then(|directory| directory.write("sitecustomize.py", SERVER).map(|_| directory))
        .map_err(|error| format!("no directory for the server: {error}"))?;
    let before = command.variable(SEARCH_PATH);
    let mut after = directory.path().as_os_str().to_owned();
    if let Some(before) = before.as_ref().filter(|before| !before.is_empty()) {
        after.push(if cfg!(windows) { ";" } else { ":" });
        after.push(before);
    }
    Ok(ServerCommand {
        command: command.clone().env(SEARCH_PATH, after),
        greeting: greeting(before.as_deref()),
        reads: Some(directory.path().to_owned()),
        needs: Box::new(directory),
    })
}

fn greeting(search_path: Option<&OsStr>) -> Vec<u8> {
    // An empty value differs from an unset variable.
    let value = search_path.map(|value| format!("={}", hex(value.as_encoded_bytes())));
    format!("pythonpath {}\n", value.as_deref().unwrap_or("-")).into_bytes()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    #[cfg(unix)]
    use crate::runtime::testing::Directory;

    #[cfg(unix)]
    #[test]
    fn a_wrapper_is_asked_for_the_interpreter_it_stands_for() {
        let directory = Directory::new("python-wrapper");
        let source = directory.file("check.py", "");
        let real = directory.program("real/python3");
        let (environment, cancellation) = (Environment::default(), Cancellation::new());
        let interpreter = |answer: &str| {
            let wrapper = directory.script("shims/python3", answer);
            let plans = Planner::new(&environment, &cancellation)
                .plan(&wrapper, &[Entrypoint::from(source.clone())]);
            (plans[0].as_ref().unwrap().interpreter.clone(), wrapper)
        };
        let report = |executable: &str| {
            format!(
                r#"echo '{{"identity": {{"tag": "", "version": "", "abi": "", "has_venv": true, "base": ""}}, "executable": "{executable}", "answers": []}}'"#
            )
        };
        assert_eq!(interpreter(&report(&real.display().to_string())).0, real);
        for silent in ["", &report("relative"), &report("/no/such/file"), "exit 3"] {
            let (interpreter, wrapper) = interpreter(silent);
            assert_eq!(interpreter, wrapper, "{silent}");
        }
    }

    #[test]
    fn the_server_sees_its_directory_first_and_the_evaluator_the_original_search_path() {
        for (value, greeting, rest) in [
            (None, "pythonpath -\n", ""),
            (Some(""), "pythonpath =\n", ""),
            (Some("/a:b"), "pythonpath =2f613a62\n", ":/a:b"),
        ] {
            let value = value.map(OsString::from);
            let command = CommandSpec {
                env: vec![(SEARCH_PATH.into(), value)],
                ..CommandSpec::new("python")
            };
            let made = server(&command.arg("check.py")).unwrap();
            assert_eq!(String::from_utf8(made.greeting.clone()).unwrap(), greeting);
            let seen = made.command.variable(SEARCH_PATH).unwrap().into_string().unwrap();
            let directory = seen.strip_suffix(rest).unwrap().to_owned();
            assert_eq!(made.command.args, ["check.py"]);
            assert!(Path::new(&directory).join("sitecustomize.py").is_file());
            drop(made);
            assert!(!Path::new(&directory).exists());
        }
    }
}
