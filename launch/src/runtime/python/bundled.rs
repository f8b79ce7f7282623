//! Packages of evaluators in directories of a bundle: installed there on one machine, and found there on another.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use pep440_rs::Version;
use sha2::{Digest as _, Sha256};

use super::{
    build::PIP_INSTALL,
    installer::{Installer, Sdk, installer_environment},
    interpreter::{self, Questions, SEARCH_PATH},
    needs::{Needs, SDK_MODULE},
    plan::Planner,
    requirements,
    runtime::Python,
    venv::hex,
};
use crate::{
    process::{Cancellation, CommandSpec},
    runtime::{Entrypoint, Environment, PrepareError, PrepareEvent, PrivateDirectory, paths, tool},
};

/// Entries of a directory of packages that are not needed: programs with the path of an interpreter of this machine.
const PROGRAMS: &str = "bin";

/// Number of last lines of an installer that are shown.
const SHOWN_LINES: usize = 15;

/// A Python interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// File of the interpreter itself: not that of a virtual environment, and not a link.
    pub file: PathBuf,
    /// Version, e.g. `3.11.7`.
    pub version: String,
}

impl Python {
    /// Looks in `environment` as [`new`](Self::new) does, for evaluators whose packages are in these directories, by the resolved
    /// paths of their files. An evaluator without a directory needs no packages. Nothing is installed.
    pub fn bundled(environment: Environment, packages: BTreeMap<PathBuf, PathBuf>) -> Self {
        let inherited = environment.get(SEARCH_PATH).map(OsString::from);
        let directories = packages.values().cloned();
        let inherited = inherited.iter().flat_map(env::split_paths);
        // Where a check looks for the modules that evaluators import.
        let environment = match env::join_paths(directories.chain(inherited)) {
            Ok(all) if !packages.is_empty() => environment.with(SEARCH_PATH, all),
            _ => environment,
        };
        let python = Self::new(environment).without_installing();
        Self { bundled: Some(packages), ..python }
    }

    /// Asks the interpreter which one it is.
    ///
    /// # Errors
    ///
    /// There is none, or it does not work.
    pub fn interpreter(&self) -> Result<Interpreter, String> {
        let python = interpreter::find(&self.environment)?;
        let answers = Questions::default().ask(&python, &self.environment, &Cancellation::new())?;
        let identity = answers.identity;
        Ok(Interpreter { file: identity.base.into(), version: identity.version })
    }

    /// Returns 64 digits that are the same for evaluators that name the same packages; `None` for one that names none.
    ///
    /// # Errors
    ///
    /// What it names cannot be read.
    pub fn packages_key(&self, entrypoint: &Entrypoint) -> Result<Option<String>, PrepareError> {
        let source = paths::resolve(&entrypoint.path)?;
        let Some(needs) = Needs::of(&source, entrypoint.is_confined())? else { return Ok(None) };
        let mut digest = Sha256::new();
        needs.digest_into(&mut digest);
        if needs.mentions_sdk() {
            Sdk::of(&self.environment).digest_into(&mut digest);
        }
        digest.update([u8::from(entrypoint.is_confined())]);
        Ok(Some(hex(&digest.finalize())))
    }

    /// Installs the packages of an evaluator into a new directory, in the versions that `program`, its interpreter on this
    /// machine, has. Returns false, and makes no directory, if it names none.
    ///
    /// # Errors
    ///
    /// What it names cannot be read or installed.
    pub fn install_into(
        &self,
        directory: &Path,
        (entrypoint, program): (&Entrypoint, &Path),
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Result<bool, PrepareError> {
        let source = paths::resolve(&entrypoint.path)?;
        let confined = entrypoint.is_confined();
        let Some(needs) = Needs::of(&source, confined)? else { return Ok(false) };
        let scratch = PrivateDirectory::new("packages").map_err(|error| failed(&error))?;
        let (packages, base) = wanted(&needs, &source, confined, &scratch, &self.environment)?;
        if packages.is_empty() {
            return Ok(false);
        }
        let constraints = scratch.write("constraints.txt", &versions(program));
        let constraints = constraints.map_err(|error| failed(&error))?;
        let mut command = self.installer()?.args(["--target".as_ref(), directory.as_os_str()]);
        // Nothing of an evaluator that is trusted less runs here.
        if confined {
            command = command.args(["--only-binary", ":all:"]);
        }
        let mut command = command.arg("-c").arg(constraints).args(packages);
        command.cwd = base;
        let variables = installer_environment(&self.environment, confined);
        let command = variables.give_to(command).env("NO_COLOR", "1");
        let name = source.file_name().unwrap_or_default().display();
        on_event(PrepareEvent::Started { what: format!("installing packages of {name}") });
        self.call(&command, &source, cancellation, on_event)?;
        tidy(directory).map_err(|error| failed(&error))?;
        on_event(PrepareEvent::Finished { what: format!("installed packages of {name}") });
        Ok(true)
    }

    /// Returns the command that installs packages, without them.
    fn installer(&self) -> Result<CommandSpec, PrepareError> {
        let python = self.find()?;
        match Installer::find(&self.environment) {
            Installer::Uv(uv) => {
                Ok(CommandSpec::new(uv).args(["pip", "install", "--python"]).arg(python))
            }
            Installer::Pip => {
                let command = CommandSpec::new(python).arg("-mpip").args(PIP_INSTALL);
                Ok(command.arg("--no-compile"))
            }
        }
    }

    fn call(
        &self,
        command: &CommandSpec,
        source: &Path,
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Result<(), PrepareError> {
        let mut lines: Vec<String> = Vec::new();
        let mut on_line = |_, line: &str| {
            if !line.trim().is_empty() {
                lines.push(line.trim_end().to_owned());
                on_event(PrepareEvent::Progress { line: line.trim().to_owned() });
            }
        };
        let ended = tool::run(command, None, self.install_limit, cancellation, &mut on_line);
        let how = match ended {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let tail = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
        let reason = format!("the packages of {} ({how})\n{tail}", source.display());
        Err(PrepareError::InstallFailed { reason })
    }

    pub(super) fn planner<'p>(&'p self, cancellation: &'p Cancellation) -> Planner<'p> {
        let has_packages = self.bundled.is_some();
        Planner { has_packages, ..Planner::new(&self.environment, cancellation) }
    }

    /// Returns the directory with the packages of an evaluator, if it is in a bundle and needs some.
    pub(super) fn packages_of(&self, source: &Path) -> Option<&PathBuf> {
        self.bundled.as_ref()?.get(source)
    }

    /// Has an interpreter find the packages of an evaluator.
    pub(super) fn with_packages(
        &self,
        program: CommandSpec,
        (source, contained): (&Path, bool),
        visible: &mut Vec<PathBuf>,
    ) -> CommandSpec {
        let Some(packages) = self.packages_of(source) else { return program };
        visible.push(packages.clone());
        let inherited = Environment::inherited();
        let inherited = inherited.get(SEARCH_PATH).filter(|_| !contained);
        let more = inherited.into_iter().flat_map(env::split_paths);
        let all = env::join_paths([packages.clone()].into_iter().chain(more));
        program.env(SEARCH_PATH, all.unwrap_or_else(|_| packages.clone().into_os_string()))
    }
}

fn failed(error: &io::Error) -> PrepareError {
    PrepareError::InstallFailed { reason: error.to_string() }
}

/// Returns the arguments that name the packages of an evaluator, and the directory of relative paths in them.
fn wanted(
    needs: &Needs,
    source: &Path,
    confined: bool,
    scratch: &PrivateDirectory,
    environment: &Environment,
) -> Result<(Vec<OsString>, Option<PathBuf>), PrepareError> {
    let mut packages: Vec<OsString> = Vec::new();
    if let Some(file) = &needs.file {
        let path = match file.packages() {
            Some([]) => None,
            // Installers may read the same bytes in another way.
            Some(packages) if confined => {
                let text = packages.join("\n") + "\n";
                Some(scratch.write("requirements.txt", &text).map_err(|error| failed(&error))?)
            }
            _ => Some(file.path.clone()),
        };
        packages.extend(path.into_iter().flat_map(|path| ["-r".into(), path.into_os_string()]));
    }
    packages.extend(needs.dependencies().iter().map(OsString::from));
    let copy = |name: &str| source.with_file_name(name).exists();
    if needs.mentions_sdk() && !copy(SDK_MODULE) && !copy(&format!("{SDK_MODULE}.py")) {
        packages.extend(Sdk::of(environment).requirement().map(OsString::from));
    }
    let base = if confined { Some(scratch.path()) } else { needs.base() };
    Ok((packages, base.map(Path::to_owned)))
}

/// Returns the versions of packages that an interpreter has, as constraints of an installer.
fn versions(program: &Path) -> String {
    let mut versions = BTreeMap::new();
    for package in interpreter::layers(program).flatten() {
        let parts = package.strip_suffix(".dist-info").and_then(|name| name.rsplit_once('-'));
        if let Some((name, Ok(version))) =
            parts.map(|(name, version)| (name, version.parse::<Version>()))
        {
            versions.entry(requirements::normalized(name)).or_insert(version);
        }
    }
    versions.iter().map(|(name, version)| format!("{name}=={version}\n")).collect()
}

/// Removes what would not work on another machine, or differs between two installations.
fn tidy(directory: &Path) -> io::Result<()> {
    let programs = directory.join(PROGRAMS);
    if programs.is_dir() {
        fs::remove_dir_all(&programs)?;
    }
    // Of uv.
    for name in [".lock", "CACHEDIR.TAG"] {
        match fs::remove_file(directory.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::testing::Directory;

    #[test]
    fn packages_get_the_versions_that_this_machine_has() {
        let directory = Directory::new("python-versions");
        let python = directory.program("bin/python3");
        for name in ["a_b-1.2.3.dist-info", "c-1.0-py3.11.egg-info", "odd-1.-unknown.dist-info"] {
            directory.file(&format!("lib/python3.11/site-packages/{name}/METADATA"), "");
        }
        assert_eq!(versions(&python), "a-b==1.2.3\n");
        // A virtual environment has another version than the installation that it was made from.
        directory.file("venv/lib/python3.11/site-packages/A.b-2.dist-info/METADATA", "");
        let own = directory.path("venv/bin/python3");
        fs::create_dir_all(directory.path("venv/bin")).unwrap();
        std::os::unix::fs::symlink(&python, &own).unwrap();
        assert_eq!(versions(&own), "a-b==2\n");
    }
}
