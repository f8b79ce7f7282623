//! Wheels of everything that contained evaluators need. Wheels are downloaded outside of the sandbox, and source
//! distributions are built in it.
//!
//! pip resolves requirements outside, in a process that starts no other one and stops at a source distribution without a
//! wheel. The wheel is built in a sandbox without network, and the resolution starts again, now with the metadata of the
//! wheel. What a build needs is resolved in the same way. So no code of a package runs outside, and pip decides everything
//! else: versions, hashes, indexes, credentials.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    build::{Build, Call, ContainedInstall, cannot},
    requirements::is_plain,
};
use crate::{process::CommandSpec, runtime::PrivateDirectory};

const DOWNLOAD: &str = include_str!("download.py");
const BUILD: &str = include_str!("build.py");

/// File of the store with the name of the directory of a source distribution that has to be built.
const WANTED: &str = "wanted";

/// Beginning of the line with the requirements of a build.
const REQUIRES: &str = "evaluator-build-requires ";

/// Maximum number of builds for one environment: an index can name any number of packages that need others.
const MOST_BUILDS: usize = 100;

/// Hint for a build that fails.
const BUILD_HINT: &str = "a source distribution is built in a sandbox without network; require a version that has a wheel, or \
     one that can be built without network";

/// Downloads and builds wheels for one environment.
pub(super) struct Wheels<'a> {
    install: &'a ContainedInstall,
    build: &'a Build<'a>,
    /// A directory for each source distribution, and one for each resolution.
    store: PrivateDirectory,
    resolutions: usize,
    /// Source distributions that are being built, each for the one before it.
    building: Vec<Source>,
    /// Number of builds so far.
    builds: usize,
}

/// A source distribution.
#[derive(Clone, Debug)]
struct Source {
    /// Directory of the store with the archive, and later with the wheel. Its name is the hash of the archive.
    directory: PathBuf,
    archive: PathBuf,
    /// File name of the archive.
    name: String,
}

impl<'a> Wheels<'a> {
    pub(super) fn new(install: &'a ContainedInstall, build: &'a Build<'a>) -> Result<Self, String> {
        let store = PrivateDirectory::new("wheels").map_err(|error| cannot("create", &error))?;
        Ok(Self { install, build, store, resolutions: 0, building: Vec::new(), builds: 0 })
    }

    /// Returns a directory with a wheel for each package that `requirements`, arguments of pip, resolve to.
    ///
    /// # Errors
    ///
    /// A step failed; the message names it and has one hint.
    pub(super) fn of(
        &mut self,
        requirements: &[OsString],
        what: &str,
        (lock, on_line): Call<'_, '_>,
    ) -> Result<PathBuf, String> {
        self.resolutions += 1;
        let destination = self.store.path().join(format!("wheels-{}", self.resolutions));
        fs::create_dir(&destination).map_err(|error| cannot("write", &error))?;
        if requirements.is_empty() {
            return Ok(destination);
        }
        let builds = self.install.containment.builds;
        let mut command = self.python(["-I", "-c", DOWNLOAD]).arg(self.store.path());
        command = if builds {
            command.arg("build")
        } else {
            command.args(["refuse", "--only-binary", ":all:"])
        };
        let command = command
            .args(["--disable-pip-version-check", "--no-input", "--progress-bar", "off"])
            .args(requirements)
            .arg("--dest")
            .arg(&destination);
        loop {
            let what = format!("download packages of {what}");
            self.build.call(command.clone(), "pip", &what, (lock, on_line))?;
            let Some(source) = self.wanted()? else { return Ok(destination) };
            self.make(&source, (lock, on_line))?;
        }
    }

    /// The source distribution at which the last resolution stopped.
    fn wanted(&self) -> Result<Option<Source>, String> {
        let file = self.store.path().join(WANTED);
        let name = match fs::read_to_string(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| cannot("read", &error))?,
        };
        fs::remove_file(&file).map_err(|error| cannot("write", &error))?;
        let directory = self.store.path().join(name);
        let archive = only_file(&directory)?.ok_or("a source distribution was not downloaded")?;
        let name = archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Some(Source { directory, archive, name }))
    }

    /// Builds the wheel of a source distribution.
    fn make(&mut self, source: &Source, (lock, on_line): Call<'_, '_>) -> Result<(), String> {
        let outer = self.building.iter().map(|it| &*it.name);
        let names = outer.chain([&*source.name]).collect::<Vec<_>>().join(" needs ");
        if self.building.iter().any(|it| it.directory == source.directory) {
            return Err(format!(
                "{} is needed to build itself: {names}\nhint: require a version that has a wheel",
                source.name
            ));
        }
        if self.builds == MOST_BUILDS {
            return Err(format!(
                "more than {MOST_BUILDS} source distributions would be built: {names}\nhint: require versions that have wheels"
            ));
        }
        self.builds += 1;
        on_line(&format!("Building {} in a sandbox", source.name));
        self.building.push(source.clone());
        let made = self.make_steps(source, (lock, on_line));
        self.building.pop();
        made
    }

    fn make_steps(&mut self, source: &Source, (lock, on_line): Call<'_, '_>) -> Result<(), String> {
        let work = PrivateDirectory::new("build").map_err(|error| cannot("create", &error))?;
        let (mut requires, mut wheels) = (Vec::new(), None);
        for step in ["unpack", "ask", "build"] {
            let more = self.step(step, source, &work, wheels.as_deref(), (lock, on_line))?;
            wheels = if more.is_empty() {
                None
            } else {
                requires.extend(more);
                let what = format!("the build of {}", source.name);
                Some(self.of(&requires, &what, (lock, on_line))?)
            };
        }
        let no_wheel = || format!("the build of {} left no wheel\nhint: {BUILD_HINT}", source.name);
        let wheel = only_file(&work.path().join("wheel"))?.ok_or_else(no_wheel)?;
        let name =
            wheel.file_name().filter(|name| Path::new(name).extension() == Some("whl".as_ref()));
        let target = source.directory.join(name.ok_or_else(no_wheel)?);
        fs::copy(wheel, target).map(drop).map_err(|error| cannot("write", &error))
    }

    /// Runs a step of a build. Returns what the next one needs.
    fn step(
        &self,
        step: &str,
        source: &Source,
        work: &PrivateDirectory,
        wheels: Option<&Path>,
        (lock, on_line): Call<'_, '_>,
    ) -> Result<Vec<OsString>, String> {
        let mut command = self.python(["-I", "-S", "-c", BUILD]).arg(step);
        command = command.arg(&source.archive).arg(work.path());
        command.cwd = Some(work.path().to_owned());
        let mut read =
            vec![self.build.shared.wanted.venv.directory.clone(), source.directory.clone()];
        if let Some(wheels) = wheels {
            command.args.extend(wheels_in(wheels)?.into_iter().map(PathBuf::into_os_string));
            read.push(wheels.to_owned());
        }
        let command =
            self.install.contain(self.build, command, read, vec![work.path().to_owned()])?;
        let mut requires = None;
        let what = format!("build {} of {}", source.name, self.build.shared.wanted.needs.place());
        let mut receive = |line: &str| match line.strip_prefix(REQUIRES) {
            Some(list) => requires = Some(list.to_owned()),
            None => on_line(line),
        };
        self.build.call_with_hint(&command, "python", (&what, BUILD_HINT), (lock, &mut receive))?;
        let Some(list) = requires.filter(|_| step != "build") else { return Ok(Vec::new()) };
        let list: Vec<String> = serde_json::from_str(&list).map_err(|error| {
            format!("the requirements of the build of {} are not a list: {error}", source.name)
        })?;
        let list: Vec<&str> = list.iter().map(|it| it.trim()).collect();
        match list.iter().find(|it| !is_plain(it)) {
            Some(other) => Err(format!(
                "the build of {} needs `{}`, which does not only name a package of the index\nhint: require a version that \
                 has a wheel",
                source.name,
                other.escape_debug()
            )),
            None => Ok(list.into_iter().map(OsString::from).collect()),
        }
    }

    /// The command that runs a text, whose first argument is that of pip.
    fn python<const N: usize>(&self, args: [&str; N]) -> CommandSpec {
        let wanted = &self.build.shared.wanted;
        let mut command = CommandSpec::new(wanted.venv.python()).args(args).arg(wanted.pip());
        command.cwd = Some(wanted.venv.directory.clone());
        command
    }
}

/// The files of a directory whose names end with `.whl`, sorted.
pub(super) fn wheels_in(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = files_in(directory)?;
    files.retain(|file| file.extension().is_some_and(|it| it == "whl"));
    Ok(files)
}

/// The file of a directory with one file. Links and everything else do not count: a build can write them.
fn only_file(directory: &Path) -> Result<Option<PathBuf>, String> {
    if !directory.symlink_metadata().is_ok_and(|it| it.is_dir()) {
        return Ok(None);
    }
    let mut files = files_in(directory)?;
    Ok(if files.len() == 1 { files.pop() } else { None })
}

fn files_in(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let list = || -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                files.push(entry.path());
            }
        }
        files.sort();
        Ok(files)
    };
    list().map_err(|error| cannot("read", &error))
}
