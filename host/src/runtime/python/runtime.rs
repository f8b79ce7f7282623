//! The runtime of `.py` files.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    distributions, forks,
    installer::Installer,
    interpreter::{self, Identity},
    requirements::{self, Requirements},
    schedule::{self, Job},
    variables::Variables,
    venv::{self, Recipe, Sdk, Venv},
};
use crate::{
    process::{Cancellation, CommandSpec},
    runtime::{
        Availability, Composition, Entrypoint, Environment, ForkServerOf, Launch, PrepareError,
        PrepareEvent, Runtime, Syntax,
        companions::{self, Companions},
        paths, syntax,
    },
};

/// How long one call of an installer may take unless said otherwise: enough for large packages over a slow line, or some
/// that are compiled.
const INSTALL_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Runs `.py` files with the first interpreter found: `$EVALUATOR_PYTHON`, the active virtual environment, `python3`, `python`.
///
/// A file with a `requirements.txt` beside it runs in a virtual environment that has what is named there, and before it the
/// package `agentevals-evaluator-sdk`. Environments are made by uv if it is on `PATH`, else by the interpreter's `venv` and
/// pip, and kept: their names are made of the content of the file (and of files and folders it names) and of the
/// interpreter. So evaluators with the same requirements share one, and whatever changes leads to a new one. What a
/// requirement without a version stood for when it was installed stays until then; deleting the folder installs anew.
///
/// Relative paths in the file start from the working directory, and if what they name is not there, from the folder of the
/// file. The requirements of an evaluator that was [fetched](Entrypoint::fetched) may only name packages of the index, and
/// their installation sees no variables but those it needs.
#[derive(Clone, Debug)]
pub struct Python {
    environment: Environment,
    install_limit: Duration,
}

impl Python {
    /// Looks in `environment` for the interpreter, for uv, for the settings of installers, and for these:
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `EVALUATOR_PYTHON` | the interpreter, as a path or a name on `PATH` | see above |
    /// | `EVALUATOR_PYTHON_SDK` | installed before the requirements: a requirement, a file, or `none` | `agentevals-evaluator-sdk` |
    /// | `EVALUATOR_CACHE_DIR` | environments are kept in `venvs` there | `agentevals/venvs` in `$XDG_CACHE_HOME` or `~/.cache` |
    #[must_use]
    pub fn new(environment: Environment) -> Self {
        Self { environment, install_limit: INSTALL_LIMIT }
    }

    /// How long each call of an installer may take before it is stopped; 30 minutes by default. There are up to three for
    /// an environment: to make it, for the SDK, for the requirements.
    #[must_use]
    pub fn with_install_limit(mut self, limit: Duration) -> Self {
        self.install_limit = limit;
        self
    }

    /// What all environments of an interpreter have in common.
    fn ground(
        &self,
        interpreter: &Path,
        cancellation: &Cancellation,
    ) -> Result<Ground, PrepareError> {
        let root = venv::root(&self.environment).ok_or_else(|| {
            failed(
                "no home folder to keep virtual environments in\nhint: set EVALUATOR_CACHE_DIR"
                    .to_owned(),
            )
        })?;
        let identity =
            Identity::of(interpreter, &Variables::new(&self.environment, false), cancellation)
                .map_err(failed)?;
        Ok(Ground {
            root,
            identity,
            sdk: Sdk::of(&self.environment),
            installer: Installer::find(&self.environment),
        })
    }
}

/// What all environments of an interpreter have in common.
#[derive(Debug, Clone)]
struct Ground {
    root: PathBuf,
    identity: Identity,
    sdk: Sdk,
    installer: Installer,
}

impl Ground {
    fn venv(&self, requirements: &Requirements) -> Venv {
        Venv::new(&self.root, &self.identity, &self.sdk, requirements)
    }
}

/// An environment that some evaluators of a run need.
#[derive(Debug)]
struct Shared {
    venv: Venv,
    requirements: Requirements,
    fetched: bool,
    evaluators: Vec<String>,
}

impl Shared {
    /// The place of an environment in `all`, where it is added unless it is there.
    fn place(
        all: &mut Vec<Self>,
        venv: Venv,
        requirements: Requirements,
        source: &Path,
        fetched: bool,
    ) -> usize {
        let place = all.iter().position(|shared| shared.venv == venv).unwrap_or_else(|| {
            all.push(Self { venv, requirements, fetched, evaluators: Vec::new() });
            all.len() - 1
        });
        let shared = &mut all[place];
        // The strictest wins: what is installed is the same.
        shared.fetched |= fetched;
        let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
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
        "Python"
    }

    fn extensions(&self) -> &[&str] {
        &[".py"]
    }

    fn availability(&self) -> Availability {
        match interpreter::find(&self.environment) {
            Ok(path) => Availability::Available { detail: path.display().to_string() },
            Err(reason) => Availability::Missing { reason },
        }
    }

    /// Reads the requirements, if there are any, and says whether an environment for them is there; builds none.
    fn inspect(&self, entrypoint: &Entrypoint) -> Result<String, PrepareError> {
        let python = interpreter::find(&self.environment)
            .map_err(|reason| PrepareError::RuntimeMissing { reason })?;
        let source = paths::resolve(&entrypoint.path)?;
        let Some(requirements) = Requirements::beside(&source, entrypoint.fetched) else {
            return Ok(python.display().to_string());
        };
        let requirements = requirements.map_err(failed)?;
        let ground = self.ground(&python, &Cancellation::new())?;
        let venv = ground.venv(&requirements);
        let about = if venv.is_ready() {
            format!("virtual environment {}", venv.folder().display())
        } else if ground.installer == Installer::Pip && !ground.identity.has_venv {
            return Err(failed(format!(
                "{} cannot make virtual environments\nhint: install its modules venv and ensurepip (on Debian and Ubuntu: \
                 apt install python3-venv), or uv",
                python.display()
            )));
        } else {
            format!("virtual environment will be built with {}", ground.installer.name())
        };
        Ok(format!("{}, {}: {about}", python.display(), requirements::FILE_NAME))
    }

    fn prepare(
        &self,
        entrypoints: &[Entrypoint],
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        let python = interpreter::find(&self.environment)
            .map(|found| interpreter::unwrapped(found, cancellation))
            .map_err(|reason| PrepareError::RuntimeMissing { reason });
        let mut ground: Option<Result<Ground, PrepareError>> = None;
        let mut environments: Vec<Shared> = Vec::new();
        let mut plan = |entrypoint: &Entrypoint| {
            let source = paths::resolve(&entrypoint.path)?;
            let python = python.as_ref().map_err(Clone::clone)?;
            let Some(requirements) = Requirements::beside(&source, entrypoint.fetched) else {
                return Ok((source, None));
            };
            let requirements = requirements.map_err(failed)?;
            let ground = ground.get_or_insert_with(|| self.ground(python, cancellation));
            let venv = ground.as_ref().map_err(|error| error.clone())?.venv(&requirements);
            let fetched = entrypoint.fetched;
            let place = Shared::place(&mut environments, venv, requirements, &source, fetched);
            Ok((source, Some(place)))
        };
        let planned: Vec<Result<(PathBuf, Option<usize>), PrepareError>> =
            entrypoints.iter().map(&mut plan).collect();

        let built = match (&python, &ground) {
            (Ok(python), Some(Ok(ground))) => {
                self.build(&environments, python, ground, cancellation, on_event)
            }
            // Without these, no environment was asked for.
            _ => Vec::new(),
        };
        planned
            .into_iter()
            .map(|planned| {
                let (source, place) = planned?;
                let program = match place {
                    None => CommandSpec::new(python.clone()?),
                    Some(place) => {
                        built[place].clone().map_err(failed)?;
                        // It would make the interpreter look for its packages somewhere else.
                        CommandSpec::new(environments[place].venv.python()).env_remove("PYTHONHOME")
                    }
                };
                Ok(Launch { one_shot: program.arg(source), worker: None })
            })
            .collect()
    }

    /// The file and the modules beside it that it imports, the interpreter, and the packages that are installed for it.
    fn composition(&self, entrypoint: &Entrypoint, launch: &Launch) -> Composition {
        let source = paths::resolve(&entrypoint.path).unwrap_or_else(|_| entrypoint.path.clone());
        let interpreter = PathBuf::from(&launch.one_shot.program);
        let Companions { files, untraceable } = companions::with_companions(&source);
        Composition {
            files,
            untraceable,
            notes: distributions::installed_for(&interpreter),
            programs: [interpreter].into(),
        }
    }

    fn fork_server(&self) -> Option<ForkServerOf> {
        Some(forks::server)
    }

    fn check_syntax(&self, source: &Path, cancellation: &Cancellation) -> Syntax {
        match interpreter::find(&self.environment) {
            Ok(interpreter) => syntax::python(&interpreter, source, cancellation),
            Err(reason) => Syntax::Unchecked { reason },
        }
    }
}

impl Python {
    /// Builds the environments that are not there yet; one result for each of all.
    fn build(
        &self,
        environments: &[Shared],
        python: &Path,
        ground: &Ground,
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<(), String>> {
        let variables = [false, true].map(|fetched| Variables::new(&self.environment, fetched));
        let missing: Vec<usize> =
            (0..environments.len()).filter(|&at| !environments[at].venv.is_ready()).collect();
        let jobs: Vec<Job<'_>> = missing
            .iter()
            .map(|&at| {
                let Shared { venv, requirements, fetched, evaluators } = &environments[at];
                let recipe = Recipe {
                    installer: &ground.installer,
                    interpreter: python,
                    sdk: &ground.sdk,
                    requirements,
                    variables: &variables[usize::from(*fetched)],
                    fetched: *fetched,
                    limit: self.install_limit,
                };
                Job { venv, recipe, evaluators: evaluators.clone() }
            })
            .collect();
        let mut results = vec![Ok(()); environments.len()];
        for (at, result) in missing.into_iter().zip(schedule::build(&jobs, cancellation, on_event))
        {
            results[at] = result;
        }
        results
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::testing::{Folder, no_events};

    #[test]
    fn the_command_is_interpreter_and_absolute_path() {
        let folder = Folder::new("python-argv");
        let python = folder.program("bin/python3");
        let source = folder.file("check.py", "");
        let runtime = Python::new(Environment::new([("PATH", folder.path("bin"))]));
        let results = runtime.prepare(
            &[source.clone().into(), folder.path("gone.py").into()],
            &Cancellation::new(),
            &mut no_events,
        );
        assert_eq!(results[0].as_ref().unwrap().one_shot, CommandSpec::new(python).arg(source));
        assert_eq!(results[1], Err(PrepareError::NotFound { path: folder.path("gone.py") }));
    }

    #[test]
    fn an_interpreter_that_does_not_know_itself_is_an_error_of_those_with_requirements() {
        let folder = Folder::new("python-mute");
        let python = folder.script("bin/python3", "echo 'no python' >&2; exit 1");
        let source = folder.file("check.py", "");
        let other = folder.file("other/check.py", "");
        folder.file("requirements.txt", "a");
        let environment = Environment::new([("PATH", folder.path("bin"))]);
        let prepare = |environment| {
            Python::new(environment).prepare(
                &[source.clone().into(), other.clone().into()],
                &Cancellation::new(),
                &mut no_events,
            )
        };
        let results = prepare(environment.clone());
        let error = results[0].as_ref().unwrap_err().to_string();
        assert!(error.contains("no home folder"), "{error}");
        let results = prepare(environment.with("HOME", folder.path("home")));
        assert_eq!(
            results[0].as_ref().unwrap_err().to_string(),
            format!(
                "Dependency installation failed: {} does not say which Python 3 it is: no python; point EVALUATOR_PYTHON \
                 at another one",
                python.display()
            )
        );
        assert!(results[1].is_ok());
    }
}
