//! Installations for evaluators whose executor contains programs: a source distribution is code that runs when it is
//! installed.
//!
//! Wheels are downloaded outside of the sandbox, which runs none of their code, before anything is installed: an installed
//! package can have code that every start of the interpreter runs. They are installed in a sandbox without network, which can
//! change nothing but the new environment. Afterwards the environment can only be read.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    requirements::{is_plain, parse},
    venv::{Build, Call},
};
use crate::{
    executor::{Containment, contain_build},
    process::CommandSpec,
    runtime::PrivateDirectory,
};

/// How packages are installed in a sandbox.
#[derive(Clone, Debug)]
pub(super) struct ContainedInstall {
    pub(super) containment: Arc<Containment>,
    /// What the interpreter reads.
    pub(super) files: Vec<PathBuf>,
}

impl ContainedInstall {
    /// Downloads and installs the packages of an environment that was just created.
    ///
    /// # Errors
    ///
    /// What failed, and one hint.
    pub(super) fn fill(
        &self,
        build: &Build<'_>,
        (lock, on_line): Call<'_, '_>,
    ) -> Result<(), String> {
        let wheels = PrivateDirectory::new("wheels").map_err(|error| cannot("create", &error))?;
        let sets = self.sets(build)?;
        for Set { packages, what, .. } in sets.iter().filter(|set| !set.packages.is_empty()) {
            let args = ["download", "--only-binary", ":all:", "--dest"];
            let command = pip(build, args).arg(wheels.path()).args(packages);
            build.call(command, "pip", &format!("download wheels of {what}"), (lock, on_line))?;
        }
        for Set { packages, local, what } in &sets {
            let args = ["install", "--isolated", "--no-index", "--no-cache-dir", "--find-links"];
            let mut command = pip(build, args).arg(wheels.path()).args(packages);
            let venv = &build.shared.wanted.venv.directory;
            let (mut read, mut write) = (self.files.clone(), vec![venv.clone()]);
            read.push(wheels.path().to_owned());
            let named = packages.iter().map(PathBuf::from);
            read.extend(named.filter(|path| path.is_absolute() && !path.starts_with(venv)));
            if let Some(Sources { directory, file }) = local {
                command = command.args(["--no-build-isolation", "-r"]).arg(file);
                command.cwd = Some(directory.path().to_owned());
                write.push(directory.path().to_owned());
            }
            let command = build.prepared(command);
            let command =
                contain_build(command, &self.containment, read, write).map_err(|reason| {
                    format!("packages of contained evaluators are installed in a sandbox: {reason}")
                })?;
            build.call_prepared(&command, "pip", &format!("install {what}"), (lock, on_line))?;
        }
        Ok(())
    }

    /// Returns what is installed, in order: the SDK, then the requirements.
    fn sets(&self, build: &Build<'_>) -> Result<Vec<Set>, String> {
        let needs = &build.shared.wanted.needs;
        let mut sets = Vec::new();
        if let Some(sdk) = build.planner.sdk.requirement() {
            let what = format!("{}, which every Python evaluator gets", sdk.display());
            sets.push(Set { packages: vec![sdk.to_owned()], local: None, what });
        }
        if let Some(reference) = needs.dependencies().iter().find(|it| !is_plain(it)) {
            return Err(format!(
                "`{reference}` cannot be downloaded without running its code, and its evaluator is contained\nhint: name \
                 a directory or an archive of this machine in requirements.txt"
            ));
        }
        let (mut packages, mut local): (Vec<OsString>, _) = (Vec::new(), None);
        match build.file_to_install()? {
            Some(file) if needs.is_plain_file() => {
                packages.extend([OsString::from("-r"), file.into_os_string()]);
            }
            // Only with `builds: true`. What builds need is installed before.
            Some(file) => {
                let (sources, plain) = Sources::copy(&file)?;
                packages.extend(plain.into_iter().map(OsString::from));
                local = Some(sources);
            }
            None => {}
        }
        packages.extend(needs.dependencies().iter().map(OsString::from));
        let what = || needs.place();
        if !packages.is_empty() {
            sets.push(Set { packages, local: None, what: what() });
        }
        sets.extend(local.map(|it| Set { packages: Vec::new(), local: Some(it), what: what() }));
        Ok(sets)
    }
}

/// Packages that one call of pip installs.
struct Set {
    /// Arguments of pip.
    packages: Vec<OsString>,
    /// Requirements that name files and directories.
    local: Option<Sources>,
    what: String,
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
        let text = fs::read_to_string(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
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

fn pip<const N: usize>(build: &Build<'_>, args: [&str; N]) -> CommandSpec {
    let venv = &build.shared.wanted.venv;
    let (subcommand, rest) = args.split_first().unwrap_or((&"", &[]));
    let mut command = CommandSpec::new(venv.python())
        .args(["-m", "pip", subcommand, "--disable-pip-version-check", "--no-input"])
        .args(["--progress-bar", "off"])
        .args(rest);
    command.cwd = Some(venv.directory.clone());
    command
}

fn cannot(verb: &str, error: &io::Error) -> String {
    format!("cannot {verb} a temporary directory: {error}")
}
