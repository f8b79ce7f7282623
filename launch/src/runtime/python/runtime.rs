//! The runtime of `.py` files.
//!
//! Forks of one server share what fresh interpreters do not: the seed of hashes (random for each server unless
//! `PYTHONHASHSEED` is set), addresses, modules that are loaded before the first line runs, and a parent that is not
//! the host. Any other difference is a defect.
//!
//! There is one server for each evaluator: which file runs is fixed when the interpreter starts. At the end of a fork,
//! modules that were imported ahead are not torn down, because that would copy most of the memory shared with the
//! server.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    slice,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use indexmap::IndexSet;

use super::{
    build::{Build, ContainedInstall, SharedVenv},
    image,
    installer::{Installer, Sdk, installer_environment},
    interpreter::{self, MissingModule, Questions},
    needs::{SDK_MODULE, package_of},
    plan::{self, Plan, Planner, Wanted, by_hand},
};
use crate::{
    executor::{Containment, contain_build},
    process::{Cancellation, CommandSpec},
    runtime::{
        Entrypoint, Environment, Inputs, Language, Launch, PrepareError, PrepareEvent, Reuse,
        Runtime, Syntax, imports,
        own_tests::{Convention, OwnTests, TestCount},
        paths, syntax,
    },
};

/// Default time limit of one call of an installer: enough for large packages over a slow line, or some that are
/// compiled.
const INSTALL_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Runs `.py` files with the first interpreter found: `$EVALUATOR_PYTHON`, the active virtual environment, `python3`,
/// `python`.
///
/// A file names the packages it needs by an import of the SDK, by its script metadata (PEP 723), or by a
/// `requirements.txt` next to it. An interpreter that has them is used as it is. Otherwise the file runs in a virtual
/// environment with the package `agentevals-evaluator-sdk` and all named packages. Environments are created by uv if it
/// is on `PATH`, else by `venv` and pip, and kept. The name of an environment is derived from the requirements (with
/// the content of named files and directories) and the interpreter. So evaluators with the same requirements share one,
/// and a change leads to a new one. A requirement without a version keeps the version that was installed until then;
/// deleting the directory installs again.
///
/// Relative paths in the file start from the working directory or, if one does not exist there, from the directory of
/// the file. The requirements of a [fetched](Entrypoint::fetched) evaluator may only name packages of the index, and
/// their installation gets only the variables it needs.
#[derive(Clone, Debug)]
pub struct Python {
    pub(super) environment: Environment,
    pub(super) install_limit: Duration,
    pub(super) may_install: bool,
    /// Directories with the packages of evaluators, by their files, if everything that evaluators need is there already.
    pub(super) bundled: Option<BTreeMap<PathBuf, PathBuf>>,
}

impl Python {
    /// Looks in `environment` for the interpreter, for uv, for the settings of installers, and for these:
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `EVALUATOR_PYTHON` | the interpreter, as a path or a name on `PATH` | see above |
    /// | `EVALUATOR_PYTHON_SDK` | installed before the requirements: a requirement, a file, or `none` | `agentevals-evaluator-sdk` |
    /// | `EVALUATOR_CACHE_DIR` | environments are kept in `venvs` there | `agentevals/venvs` in `$XDG_CACHE_HOME` or `~/.cache` |
    pub fn new(environment: Environment) -> Self {
        Self { environment, install_limit: INSTALL_LIMIT, may_install: true, bundled: None }
    }

    /// Sets the time limit of each call of an installer; 30 minutes by default. An environment needs up to three calls:
    /// to create it, for the SDK, for the requirements.
    #[must_use]
    pub fn with_install_limit(mut self, limit: Duration) -> Self {
        self.install_limit = limit;
        self
    }

    /// Installs nothing: an evaluator whose packages are neither installed nor in a kept environment cannot run.
    #[must_use]
    pub fn without_installing(mut self) -> Self {
        self.may_install = false;
        self
    }

    pub(super) fn find(&self) -> Result<PathBuf, PrepareError> {
        interpreter::find(&self.environment).map_err(PrepareError::runtime_missing)
    }

    /// Returns an error for an environment that does not exist and must not be created.
    fn refuse(&self, plan: &Plan, wanted: &Wanted) -> Result<(), PrepareError> {
        if self.may_install || wanted.venv.is_ready() {
            return Ok(());
        }
        Err(PrepareError::RuntimeMissing {
            reason: format!(
                "{} needs {}, which {} does not have, and nothing is to be installed; {}",
                plan.source.file_name().unwrap_or_default().display(),
                wanted.missing.join(", "),
                plan.interpreter.display(),
                wanted.by_hand(&plan.interpreter)
            ),
        })
    }
}

impl SharedVenv {
    /// Returns the index of an environment in `all`, and adds it if necessary.
    fn place(all: &mut Vec<Self>, plan: &Plan, wanted: Wanted) -> usize {
        let place = all.iter().position(|it| it.wanted.venv == wanted.venv).unwrap_or_else(|| {
            let contained = plan.contained.as_ref().map(|containment| ContainedInstall {
                containment: Arc::clone(containment),
                files: plan.files.directories.clone(),
            });
            all.push(Self {
                wanted,
                interpreter: plan.interpreter.clone(),
                fetched: plan.fetched,
                contained,
                evaluators: Vec::new(),
            });
            all.len() - 1
        });
        let shared = &mut all[place];
        // The strictest rule applies: the installed packages are the same.
        shared.fetched |= plan.fetched;
        let name = plan.source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !shared.evaluators.contains(&name) {
            shared.evaluators.push(name);
        }
        place
    }
}

fn failed(reason: String) -> PrepareError {
    PrepareError::InstallFailed { reason }
}

impl Runtime for Python {
    fn name(&self) -> &str {
        Language::Python.name()
    }

    fn extensions(&self) -> &[&str] {
        Language::Python.extensions()
    }

    /// Asks the interpreter for its version: it may be Python 2, or a stub that offers to install one.
    fn availability(&self) -> Result<String, String> {
        let python = interpreter::find(&self.environment)?;
        let answers = Questions::default().ask(&python, &self.environment, &Cancellation::new())?;
        Ok(format!("{}, version {}", python.display(), answers.identity.version))
    }

    /// Names the interpreter or environment that runs the evaluator, and looks there for its imports; builds nothing.
    fn inspect(&self, entrypoint: &Entrypoint) -> Result<String, PrepareError> {
        let source = paths::resolve(&entrypoint.path)?;
        let cancellation = Cancellation::new();
        if let Some(it) = &entrypoint.image {
            image::prepare(entrypoint, it, &Sdk::of(&self.environment), true, &cancellation)?;
            return Ok(format!("python3 of the image {}", it.name()));
        }
        let python = self.find()?;
        let mut planner = self.planner(&cancellation);
        // A confined interpreter is not told where bundled packages are.
        planner.checks_imports = self.bundled.is_none() || !entrypoint.is_confined();
        let entrypoint = &Entrypoint { path: source, ..entrypoint.clone() };
        let mut plan = planner.plan(&python, slice::from_ref(entrypoint)).remove(0)?;
        if let Syntax::Broken { rendered } =
            syntax::python(&plan.interpreter, &plan.source, &cancellation)
        {
            return Err(PrepareError::unusable(rendered));
        }
        let version = plan.version.as_deref().unwrap_or("3");
        let mut about = format!("{}, version {version}", plan.interpreter.display());
        let Some(wanted) = plan.wanted.take() else {
            let doubt = not_found(entrypoint, &plan.interpreter, &plan.missing_modules)?;
            if let Some(named_in) = &plan.named_in {
                about.push_str(&format!(", has the packages of {named_in}"));
            }
            return Ok(about + &doubt);
        };
        let named_in = plan.named_in.as_deref().unwrap_or_default();
        if wanted.venv.is_ready() {
            let python = wanted.venv.python();
            let missing =
                planner.missing_in(&python, &plan).map_err(PrepareError::runtime_missing)?;
            let doubt = not_found(entrypoint, &python, &missing)?;
            let directory = wanted.venv.directory.display();
            return Ok(format!("{about}, {named_in}: virtual environment {directory}{doubt}"));
        }
        self.refuse(&plan, &wanted)?;
        if planner.installer == Installer::Pip && !wanted.has_venv {
            return Err(failed(format!(
                "{} cannot make virtual environments\nhint: install its modules venv and ensurepip (on Debian and Ubuntu: \
                 apt install python3-venv), or uv",
                python.display()
            )));
        }
        let installer = planner.installer.name();
        let doubt = doubtful(&plan, &wanted);
        Ok(format!(
            "{about}, {named_in}: virtual environment will be built with {installer}{doubt}"
        ))
    }

    fn prepare(
        &self,
        entrypoints: &[Entrypoint],
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        if entrypoints.iter().any(|entrypoint| entrypoint.image.is_some()) {
            return self.prepare_apart(entrypoints, cancellation, on_event);
        }
        let planner = self.planner(cancellation);
        let plans = match self.find() {
            Ok(python) => planner.plan(&python, entrypoints),
            Err(error) => entrypoints
                .iter()
                .map(|entrypoint| paths::resolve(&entrypoint.path).and(Err(error.clone())))
                .collect(),
        };
        let mut environments: Vec<SharedVenv> = Vec::new();
        let placed: Vec<_> = plans
            .into_iter()
            .map(|plan| {
                let mut plan = plan?;
                let Some(wanted) = plan.wanted.take() else { return Ok((plan, None)) };
                self.refuse(&plan, &wanted)?;
                let place = SharedVenv::place(&mut environments, &plan, wanted);
                Ok((plan, Some(place)))
            })
            .collect();
        let built = self.build(&environments, &planner, on_event);
        placed
            .into_iter()
            .map(|placed| {
                let (plan, place) = placed?;
                let mut visible = visible(&plan, &self.environment);
                let program = match place {
                    None => CommandSpec::new(plan.interpreter),
                    Some(place) => {
                        built[place].clone().map_err(failed)?;
                        let venv = &environments[place].wanted.venv;
                        visible.push(venv.directory.clone());
                        // It would make the interpreter look for its packages elsewhere.
                        CommandSpec::new(venv.python()).env_remove("PYTHONHOME")
                    }
                };
                let program = match plan.files.user_base.filter(|_| plan.contained.is_some()) {
                    // Its default is in the home directory, which a sandbox hides.
                    Some(base) => program.env("PYTHONUSERBASE", base),
                    None => program,
                };
                let of = (&*plan.source, plan.contained.is_some());
                let program = self.with_packages(program, of, &mut visible);
                let launch = Launch::new(program.arg(plan.source)).with_visible(visible);
                Ok(launch.with_reuse(Reuse::Fork(plan::server)))
            })
            .collect()
    }

    fn has_tests(&self, source: &Path) -> bool {
        TESTS.has_tests(source)
    }

    fn own_tests(
        &self,
        entrypoint: &Entrypoint,
        args: &[OsString],
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Result<OwnTests, PrepareError> {
        let source = paths::resolve(&entrypoint.path)?;
        let entrypoint = Entrypoint { path: source.clone(), ..entrypoint.clone() };
        let prepared = self.prepare(slice::from_ref(&entrypoint), cancellation, on_event);
        let launch =
            prepared.into_iter().next().unwrap_or_else(|| Err(paths::not_found(&source)))?;
        let files = TESTS.find(&source)?;
        let python = Path::new(&launch.one_shot.program);
        let mut questions = Questions::default();
        questions.version("pytest");
        let visible = |containment: &Containment| {
            launch.visible.paths.iter().chain(&containment.read).cloned().collect()
        };
        let asked = match &entrypoint.contained {
            None => Ok(questions.command(python, &self.environment)),
            Some(it) => {
                let environment = self.environment.confined();
                questions.contained_command(python, &environment, it, visible(it))
            }
        };
        let answers = asked
            .and_then(|command| questions.answers_of(&command, python, cancellation))
            .map_err(PrepareError::runtime_missing)?;
        let (count, module, hint) = match answers.version("pytest") {
            Some(_) => (TestCount::pytest(), "pytest", TESTS.places.to_owned()),
            None => {
                let python = python.display();
                let hint =
                    format!("unittest finds methods of TestCase only, and {python} has no pytest");
                (TestCount::unittest(), "unittest", hint)
            }
        };
        let directory = source.parent().unwrap_or(&source);
        // unittest treats file names as module names, relative to the working directory.
        let relative = files.iter().map(|file| file.strip_prefix(directory).unwrap_or(file));
        let mut command =
            CommandSpec::new(python).args(["-m", module]).args(args.iter().cloned()).args(relative);
        command.env.clone_from(&launch.one_shot.env);
        command.cwd = Some(directory.to_owned());
        let command = match &entrypoint.contained {
            None => command,
            Some(it) => contain_build(command, it, visible(it), Vec::new())
                .map_err(PrepareError::runtime_missing)?,
        };
        Ok(OwnTests { command, count, renames: Vec::new(), hint, lock: None })
    }

    fn without_installing(&self) -> Option<Arc<dyn Runtime>> {
        Some(Arc::new(self.clone().without_installing()))
    }

    /// The file and the modules next to it that it imports, the interpreter, and its installed packages.
    fn inputs(&self, entrypoint: &Entrypoint, launch: &Launch) -> Inputs {
        let source = paths::resolve(&entrypoint.path).unwrap_or_else(|_| entrypoint.path.clone());
        let interpreter = PathBuf::from(&launch.one_shot.program);
        let packages = self.packages_of(&source);
        let mut notes = interpreter::installed_for(&interpreter);
        notes.extend(packages.iter().flat_map(|it| interpreter::installed_in(it)));
        Inputs {
            notes,
            programs: [interpreter].into(),
            packages: packages.cloned().into_iter().collect(),
            ..imports::of_script(&source)
        }
    }

    fn check_syntax(&self, source: &Path, cancellation: &Cancellation) -> Syntax {
        match interpreter::find(&self.environment) {
            Ok(interpreter) => syntax::python(&interpreter, source, cancellation),
            Err(reason) => Syntax::Unchecked { reason },
        }
    }
}

/// Returns the paths that an evaluator and its interpreter read, without a virtual environment that is built for the evaluator.
fn visible(plan: &Plan, environment: &Environment) -> Vec<PathBuf> {
    if plan.contained.is_none() {
        return Vec::new();
    }
    let mut visible = plan.files.directories.clone();
    visible.push(paths::around(&plan.source, environment));
    visible
}

impl Python {
    /// Prepares evaluators of which some run in images, those of this machine apart from the others.
    fn prepare_apart(
        &self,
        entrypoints: &[Entrypoint],
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        let sdk = Sdk::of(&self.environment);
        let neighbours = entrypoints.chunk_by(|a, b| a.image.is_some() == b.image.is_some());
        let prepared = neighbours.flat_map(|entrypoints| match &entrypoints[0].image {
            None => self.prepare(entrypoints, cancellation, on_event),
            Some(_) => {
                let in_image = entrypoints.iter().filter_map(|it| Some((it, it.image.as_ref()?)));
                in_image
                    .map(|(it, image)| image::prepare(it, image, &sdk, false, cancellation))
                    .collect()
            }
        });
        prepared.collect()
    }

    /// Builds the environments that do not exist; one result for each of all.
    fn build(
        &self,
        environments: &[SharedVenv],
        planner: &Planner<'_>,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<(), String>> {
        let variables =
            [false, true].map(|fetched| installer_environment(&self.environment, fetched));
        let builds: Vec<(usize, Build<'_>)> = environments
            .iter()
            .enumerate()
            .filter(|(_, shared)| !shared.wanted.venv.is_ready())
            .map(|(at, shared)| {
                let confined = shared.fetched || shared.contained.is_some();
                let variables = &variables[usize::from(confined)];
                let limit = self.install_limit;
                let interpreter = &*shared.interpreter;
                (at, Build { planner, shared, interpreter, variables, limit })
            })
            .collect();
        let mut results = vec![Ok(()); environments.len()];
        for (at, result) in build_all(&builds, on_event) {
            results[at] = result;
        }
        results
    }
}

/// Names modules that a new environment may lack: the interpreter lacks them, and no required package has their name.
fn doubtful(plan: &Plan, wanted: &Wanted) -> String {
    // A package such as google-adk adds `google.adk` to a module that many packages share.
    let is_named = |name: &str| {
        let mut outer = name.match_indices('.').map(|(end, _)| &name[..end]).chain([name]);
        outer.any(|name| name == SDK_MODULE || wanted.needs.names(name))
    };
    let missing = plan.missing_modules.iter().map(|module| module.name.as_str());
    let doubtful = missing.filter(|name| !is_named(name));
    let shown = |name: &str| {
        let outermost = name.split('.').next().unwrap_or(name);
        let package = package_of(outermost).map(|package| format!(" (of {package})"));
        format!("`{outermost}`{}", package.unwrap_or_default())
    };
    let modules: IndexSet<String> = doubtful.map(shown).collect();
    if modules.is_empty() {
        return String::new();
    }
    format!(
        "; no package is named after what it imports as {}, so this may be missing",
        Vec::from_iter(modules).join(", ")
    )
}

/// Returns a remark about modules that the evaluator may find when it runs, because it changes where they are looked for;
/// empty if there are none.
///
/// # Errors
///
/// The modules that the evaluator imports and cannot find.
fn not_found(
    entrypoint: &Entrypoint,
    interpreter: &Path,
    missing: &[MissingModule],
) -> Result<String, PrepareError> {
    let Some(first) = missing.first() else { return Ok(String::new()) };
    let modules: Vec<String> = missing
        .iter()
        .map(|MissingModule { name, file, line, .. }| format!("`{name}` ({file}:{line})"))
        .collect();
    let (modules, verb) = match &modules[..] {
        [only] => (format!("module {only}"), "is"),
        all => (format!("modules {}", all.join(", ")), "are"),
    };
    if let Some(reason) = first.may_be_found(entrypoint) {
        return Ok(format!("; {modules} {verb} looked for only when it runs, because {reason}"));
    }
    Err(PrepareError::unusable(format!(
        "{modules} {verb} not installed for {}; name the package in requirements.txt next to the file or in a \
             `# /// script` block, or {}",
        interpreter.display(),
        by_hand(interpreter, "PACKAGE")
    )))
}

/// Maximum number of concurrent builds. Installers wait for the network half of the time.
const AT_ONCE: usize = 4;

/// Builds environments, each with its index among all; returns the results with these indices.
fn build_all(
    builds: &[(usize, Build<'_>)],
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Vec<(usize, Result<(), String>)> {
    let Some((_, first)) = builds.first() else { return Vec::new() };
    let started = Instant::now();
    let evaluators: Vec<&String> =
        builds.iter().flat_map(|(_, build)| &build.shared.evaluators).collect();
    let whose = match evaluators[..] {
        [only] => only.clone(),
        _ => format!("{} Python evaluators", evaluators.len()),
    };
    on_event(PrepareEvent::Started { what: format!("installing requirements of {whose}") });
    let line = format!("Installing with {}", first.planner.installer.name());
    on_event(PrepareEvent::Progress { line });

    let mut results = Vec::new();
    let next = AtomicUsize::new(0);
    let (sender, messages) = mpsc::channel();
    let workers = thread::available_parallelism().map_or(1, usize::from).min(AT_ONCE);
    thread::scope(|scope| {
        for _ in 0..workers.min(builds.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some((at, build)) = builds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // The receiver is gone if the callback of the caller panicked.
                    let send = |line, result| drop(sender.send((line, result)));
                    let name = &build.shared.evaluators;
                    let result = build.run(&mut |line| {
                        let is_only = builds.len() == 1;
                        let prefix =
                            if is_only { String::new() } else { format!("{}: ", name.join(", ")) };
                        send(Some(format!("{prefix}{line}")), None);
                    });
                    send(None, Some((*at, result)));
                }
            });
        }
        drop(sender);
        for (line, result) in messages {
            line.into_iter().for_each(|line| on_event(PrepareEvent::Progress { line }));
            results.extend(result);
        }
    });
    let failed = results.iter().filter(|(_, result)| result.is_err()).count();
    let seconds = started.elapsed().as_secs_f64();
    let what = match (failed, builds.len()) {
        (0, _) => format!("installed requirements of {whose} in {seconds:.1} s"),
        (_, 1) => format!("requirements of {whose} could not be installed ({seconds:.1} s)"),
        (_, all) => format!(
            "requirements of {whose}: {failed} of {all} environments could not be built ({seconds:.1} s)"
        ),
    };
    on_event(PrepareEvent::Finished { what });
    results
}

const TESTS: Convention = Convention {
    is_test,
    directories: &["tests", "test"],
    signs: &["import unittest", "def test_"],
    places: "tests are looked for in test_*.py and *_test.py next to it and in tests/ and test/, where they mention its \
             name, and in the file itself",
};

fn is_test(name: &str) -> bool {
    name.strip_suffix(".py")
        .is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::testing::{Directory, no_events};

    #[test]
    fn the_command_is_interpreter_and_absolute_path() {
        let directory = Directory::new("python-argv");
        let python = directory.program("bin/python3");
        let source = directory.file("check.py", "");
        let runtime = Python::new(Environment::new([("PATH", directory.path("bin"))]));
        let results = runtime.prepare(
            &[source.clone().into(), directory.path("gone.py").into()],
            &Cancellation::new(),
            &mut no_events,
        );
        assert_eq!(results[0].as_ref().unwrap().one_shot, CommandSpec::new(python).arg(source));
        assert_eq!(results[1], Err(PrepareError::NotFound { path: directory.path("gone.py") }));
    }

    #[test]
    fn an_interpreter_that_does_not_know_itself_is_an_error_of_those_with_requirements() {
        let directory = Directory::new("python-mute");
        let python = directory.script("bin/python3", "echo 'no python' >&2; exit 1");
        let source = directory.file("check.py", "");
        let other = directory.file("other/check.py", "");
        directory.file("requirements.txt", "a");
        let environment = Environment::new([("PATH", directory.path("bin"))]);
        let prepare = |environment| {
            Python::new(environment).prepare(
                &[source.clone().into(), other.clone().into()],
                &Cancellation::new(),
                &mut no_events,
            )
        };
        let results = prepare(environment.clone());
        assert_eq!(
            results[0].as_ref().unwrap_err().to_string(),
            format!(
                "runtime not available: {} does not report which Python 3 it is: no python; point EVALUATOR_PYTHON at another \
                 one",
                python.display()
            )
        );
        assert!(results[1].is_ok());
        directory.script("bin/python3", r#"echo '{"identity": {"tag": "cpython-399", "version": "3.99.0", "abi": ".so", "has_venv": true, "base": "/base"}, "executable": "", "answers": []}'"#);
        let results = prepare(environment);
        let error = results[0].as_ref().unwrap_err().to_string();
        assert!(error.contains("no home directory"), "{error}");
    }
}
