//! Installations for evaluators whose executor contains programs: a source distribution is code that runs when it is
//! installed.
//!
//! All wheels are there before anything is installed, because an installed package can have code that every start of the
//! interpreter runs. They are installed in a sandbox without network, which can change nothing but the new environment.
//! Afterwards the environment can only be read.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    build::{Build, Call, ContainedInstall, PIP_INSTALL, cannot},
    references::Requirements,
    requirements::{is_plain, parse, without_hashes},
    wheels::{Wheels, wheels_in},
};
use crate::{files, process::CommandSpec, runtime::PrivateDirectory};

impl ContainedInstall {
    /// Downloads and installs the packages of an environment that was just created.
    ///
    /// # Errors
    ///
    /// A step failed; the message names it and has one hint.
    pub(super) fn fill(
        &self,
        build: &Build<'_>,
        (lock, on_line): Call<'_, '_>,
    ) -> Result<(), String> {
        let sets = self.sets(build)?;
        let mut wheels = Wheels::new(self, build)?;
        let venv = &build.shared.wanted.venv.directory;
        let mut directories = Vec::new();
        for set in &sets {
            directories.push(wheels.of(&set.packages, &set.what, (lock, on_line))?);
        }
        for (set, wheels) in sets.iter().zip(&directories) {
            let what = format!("install {}", set.what);
            if !set.installed.is_empty() && !wheels_in(wheels)?.is_empty() {
                let command = pip(build, wheels).args(&set.installed);
                let files = set.installed.iter().map(PathBuf::from).filter(|it| it.is_absolute());
                let read = files.chain([wheels.clone()]).collect();
                let command = self.contain(build, command, read, vec![venv.clone()])?;
                build.call_prepared(&command, "pip", &what, (lock, on_line))?;
            }
            if let Some(Sources { directory, file }) = &set.local {
                let mut command = pip(build, wheels).args(["--no-build-isolation", "-r"]).arg(file);
                command.cwd = Some(directory.path().to_owned());
                let write = vec![venv.clone(), directory.path().to_owned()];
                let command = self.contain(build, command, vec![wheels.clone()], write)?;
                build.call_prepared(&command, "pip", &what, (lock, on_line))?;
            }
        }
        Ok(())
    }

    /// Returns what is installed, in order: the SDK, then the requirements.
    fn sets(&self, build: &Build<'_>) -> Result<Vec<Set>, String> {
        let needs = &build.shared.wanted.needs;
        let mut sets = Vec::new();
        if let Some(sdk) = build.planner.sdk.requirement() {
            let what = format!("{}, which every Python evaluator gets", sdk.display());
            sets.push(Set::new(vec![sdk.to_owned()], what));
        }
        if let Some(reference) = needs.dependencies().iter().find(|it| !is_plain(it)) {
            return Err(format!(
                "`{reference}` cannot be downloaded without running its code, and its evaluator is contained\nhint: name \
                 a directory or an archive of this machine in requirements.txt"
            ));
        }
        let named = || needs.dependencies().iter().cloned();
        let set = match build.file_to_install()? {
            Some(file) if needs.is_plain_file() => {
                let in_file = needs.file.iter().filter_map(Requirements::packages).flatten();
                let mut set = Set::new(Vec::new(), needs.place());
                // A file, because hashes can be in a file only. They were checked before the installation, and those of
                // wheels that were built here are others.
                set.packages.extend([OsString::from("-r"), file.into_os_string()]);
                set.packages.extend(named().map(OsString::from));
                set.installed =
                    in_file.cloned().chain(named()).map(|it| without_hashes(&it).into()).collect();
                set
            }
            // Only with `builds: true`. What builds need is installed before.
            Some(file) => {
                let (sources, plain) = Sources::copy(&file)?;
                let packages = plain.into_iter().chain(named()).map(OsString::from).collect();
                Set { local: Some(sources), ..Set::new(packages, needs.place()) }
            }
            None => Set::new(named().map(OsString::from).collect(), needs.place()),
        };
        sets.push(set);
        sets.retain(|set| !set.packages.is_empty() || set.local.is_some());
        Ok(sets)
    }
}

/// Packages that are resolved together.
struct Set {
    /// Arguments of the download.
    packages: Vec<OsString>,
    /// Arguments of the installation.
    installed: Vec<OsString>,
    /// Requirements that name files and directories.
    local: Option<Sources>,
    what: String,
}

impl Set {
    fn new(packages: Vec<OsString>, what: String) -> Self {
        Self { installed: packages.clone(), packages, local: None, what }
    }
}

/// A copy of the directory of `requirements.txt`. Building a package writes into its directory.
struct Sources {
    directory: PrivateDirectory,
    file: OsString,
}

impl Sources {
    /// Copies the directory. Returns with it the lines that name packages of the index.
    fn copy(file: &Path) -> Result<(Self, Vec<String>), String> {
        let directory =
            PrivateDirectory::new("sources").map_err(|error| cannot("create", &error))?;
        let from = file.parent().unwrap_or(Path::new("."));
        copy(from, directory.path())
            .map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
        let text = files::read_regular(file, files::MAX_SOURCE)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let text = String::from_utf8_lossy(&text);
        let plain = text.lines().filter_map(|line| parse(line).ok()).flatten();
        let name = file.file_name().unwrap_or(OsStr::new("requirements.txt")).to_owned();
        Ok((Self { directory, file: name }, plain.collect()))
    }
}

/// Copies files and directories; links and everything else are left out.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            fs::create_dir_all(&target)?;
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// The command that installs from a directory of wheels.
fn pip(build: &Build<'_>, wheels: &Path) -> CommandSpec {
    let wanted = &build.shared.wanted;
    let mut command = CommandSpec::new(wanted.venv.python())
        .arg(wanted.pip())
        .args(PIP_INSTALL)
        .args(["--isolated", "--no-index", "--no-cache-dir", "--find-links"])
        .arg(wheels);
    command.cwd = Some(wanted.venv.directory.clone());
    command
}
