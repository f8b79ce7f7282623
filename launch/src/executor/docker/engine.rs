//! Container engines: which one is used, its images, and the containers that dead hosts have left.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{arguments::TMP, owner};
use crate::{
    process::{Cancellation, CommandSpec},
    tool,
};

/// Time limit of a question to an engine, which may be busy.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);

/// Time limit of a download.
const PULL_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Commands of engines, in the order in which they are asked.
const ENGINES: [&str; 2] = ["docker", "podman"];

/// An engine that answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Engine {
    program: String,
    kind: Kind,
    version: String,
}

/// Engines differ in what they ask for and how they report errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Docker,
    Podman,
}

impl Kind {
    /// The question for the version of the engine (not of its client).
    fn question(self) -> [&'static str; 3] {
        match self {
            Self::Docker => ["info", "--format", "{{.ServerVersion}}"],
            Self::Podman => ["info", "--format", "{{.Version.Version}}"],
        }
    }
}

impl Engine {
    /// Returns the engine of this name, or the first of `docker` and `podman` that answers.
    ///
    /// # Errors
    ///
    /// No engine answers; with the error of each.
    pub(super) fn find(chosen: Option<&str>) -> Result<Self, String> {
        // Programs and their files are shown at their paths on this machine.
        if cfg!(windows) {
            return Err("paths of Windows do not exist in containers; use WSL 2".to_owned());
        }
        let others = ENGINES.into_iter().filter(|program| chosen != Some(program));
        let mut problems = Vec::new();
        for program in chosen.into_iter().chain(others) {
            match (Self::ask_version(program), chosen) {
                // It has other images.
                (Ok(_), Some(chosen)) if chosen != program => {
                    return Err(format!(
                        "the engine `{chosen}` does not answer ({}), and `{program}` does; leave `engine` out, or write \
                         `docker: {{engine: {program}}}`",
                        problems.join("; ")
                    ));
                }
                (Ok(engine), _) => return Ok(engine),
                (Err(problem), _) => problems.push(problem),
            }
        }
        Err(format!(
            "no container engine answers ({}); start Docker or Podman",
            problems.join("; ")
        ))
    }

    fn ask_version(program: &str) -> Result<Self, String> {
        let mut problem = String::new();
        // The command `docker` may be that of Podman.
        for kind in [Kind::Docker, Kind::Podman] {
            match call(program, &kind.question(), ANSWER_LIMIT) {
                // Clients of Docker exit with 0 although the engine does not answer.
                Ok(version) if !version.is_empty() && !version.contains("<no value>") => {
                    return Ok(Self { program: program.to_owned(), kind, version });
                }
                Ok(_) => problem = format!("`{program} info` names no version"),
                Err(error) if problem.is_empty() => problem = error,
                Err(_) => {}
            }
        }
        Err(problem)
    }

    pub(super) fn program(&self) -> &str {
        &self.program
    }

    /// Arguments of a container that differ between engines. `tmp` is the size of its temporary directory, and of each of the
    /// image's volumes: an engine makes them on the disk of this machine, without a limit.
    pub(super) fn arguments(&self, tmp: u64, volumes: &BTreeSet<&str>) -> Vec<String> {
        let directories: BTreeSet<&str> =
            [TMP].into_iter().chain(volumes.iter().copied()).collect();
        let tmpfs = directories.into_iter().map(|path| {
            let tmpfs = format!("--tmpfs={path}:rw,nosuid,nodev,size={tmp}");
            // Podman knows no limit of files.
            if self.kind == Kind::Docker { format!("{tmpfs},nr_inodes=16k") } else { tmpfs }
        });
        match self.kind {
            Kind::Docker => tmpfs.collect(),
            // It would pass on proxies with their passwords.
            Kind::Podman => tmpfs
                .chain(["--image-volume=ignore".to_owned(), "--http-proxy=false".to_owned()])
                .chain(most_processes().map(|most| format!("--ulimit=nproc={most}:{most}")))
                .collect(),
        }
    }

    /// Beginning of its standard error where it could not start a program.
    pub(super) fn error_prefix(&self) -> &'static str {
        match self.kind {
            Kind::Docker => "docker: ",
            Kind::Podman => "Error: ",
        }
    }

    /// Name and version in one line.
    pub(super) fn describe(&self) -> String {
        let Self { program, version, .. } = self;
        format!("containers of {program} {version}")
    }

    /// Returns the id of an image.
    ///
    /// # Errors
    ///
    /// The image is not on this machine.
    pub(super) fn image_id(&self, name: &str) -> Result<String, String> {
        let Self { program, .. } = self;
        let question = ["image", "inspect", "--format", "{{.Id}}", "--", name];
        call(program, &question, ANSWER_LIMIT).map_err(|error| {
            format!(
                "the image `{name}` cannot be used ({error}); type `{program} pull {name}`, or set `docker: {{pull: missing}}`"
            )
        })
    }

    /// Returns the directories that an image declares as volumes.
    ///
    /// # Errors
    ///
    /// The engine does not answer, or a directory cannot be named in an argument.
    pub(super) fn volumes(&self, id: &str) -> Result<BTreeSet<String>, String> {
        let question = ["image", "inspect", "--format", "{{json .Config.Volumes}}", "--", id];
        read_volumes(&call(&self.program, &question, ANSWER_LIMIT)?)
    }

    /// Downloads an image.
    pub(super) fn pull(&self, name: &str) -> Result<(), String> {
        call(&self.program, &["pull", "--quiet", "--", name], PULL_LIMIT).map(drop)
    }

    /// Removes the containers of hosts of this user and machine that do not run any more.
    pub(super) fn remove_orphans(&self) -> Result<(), String> {
        let label = format!("label={}", owner::LABEL);
        let question = ["ps", "--all", "--filter", &label, "--format", "{{.ID}} {{.Names}}"];
        let listed = call(&self.program, &question, ANSWER_LIMIT)?;
        let orphans = listed.lines().filter_map(|line| {
            let (id, name) = line.split_once(' ')?;
            owner::is_orphan(name).then_some(id)
        });
        let orphans: Vec<&str> = orphans.collect();
        if !orphans.is_empty() {
            // It fails where another host removes the same ones at this moment; what is still there, the next start removes.
            let _ = call(&self.program, &[&["rm", "--force"], &*orphans].concat(), ANSWER_LIMIT);
        }
        Ok(())
    }
}

/// Reads the volumes of an image: an object with their paths as keys, or `null`.
fn read_volumes(json: &str) -> Result<BTreeSet<String>, String> {
    let unreadable = |error| format!("the volumes of the image cannot be read ({error}): {json}");
    let volumes: Option<BTreeMap<String, serde_json::Value>> =
        serde_json::from_str(json).map_err(unreadable)?;
    let paths: BTreeSet<String> = volumes.unwrap_or_default().into_keys().collect();
    // An argument separates the path from options by a colon.
    match paths.iter().find(|path| !path.starts_with('/') || path.contains(':')) {
        Some(path) => Err(format!(
            "the image declares the volume {path:?}, which cannot be replaced by a temporary directory; use an image \
             without it"
        )),
        None => Ok(paths),
    }
}

/// The maximum number of processes of a user that needs no privileges to be set. Podman otherwise raises it as soon as any
/// limit is given, whatever its configuration says.
#[cfg(target_os = "linux")]
fn most_processes() -> Option<u64> {
    let ids = std::fs::read_to_string("/proc/sys/kernel/pid_max").ok()?.trim().parse().ok()?;
    let own = rustix::process::getrlimit(rustix::process::Resource::Nproc).maximum;
    Some(own.map_or(ids, |own| own.min(ids)))
}

/// Containers run in a virtual machine, whose limits are not known.
#[cfg(not(target_os = "linux"))]
fn most_processes() -> Option<u64> {
    None
}

/// Runs a command of an engine. Returns what it prints.
///
/// # Errors
///
/// The last line of its standard error, with the name of the program.
fn call(program: &str, args: &[&str], limit: Duration) -> Result<String, String> {
    let command = CommandSpec {
        cwd: Some(tool::neutral_directory()),
        ..CommandSpec::new(program).args(args)
    };
    let output =
        tool::output(&command, limit, &Cancellation::new()).map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(output.stdout.trim().to_owned());
    }
    let said = output.stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
    Err(format!("{program}: {}", said.unwrap_or("it failed without a message")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_of_an_image_become_temporary_directories_with_a_limit() {
        for nothing in ["null", "{}"] {
            assert_eq!(read_volumes(nothing), Ok(BTreeSet::new()));
        }
        for refused in ["", "[]", r#"{"data": {}}"#, r#"{"/a:rw": {}}"#] {
            assert!(read_volumes(refused).is_err(), "{refused}");
        }
        let read = read_volumes(r#"{"/data": {}, "/tmp": {}}"#).unwrap();
        let volumes = read.iter().map(String::as_str).collect();
        let engine = |kind| Engine { program: "x".into(), kind, version: "1".into() };
        let tmpfs = |kind| {
            let arguments = engine(kind).arguments(4096, &volumes);
            let tmpfs = arguments
                .into_iter()
                .filter_map(|it| Some(it.strip_prefix("--tmpfs=")?.to_owned()));
            tmpfs.collect::<Vec<_>>()
        };
        let expected = ["/data:rw,nosuid,nodev,size=4096", "/tmp:rw,nosuid,nodev,size=4096"];
        assert_eq!(tmpfs(Kind::Podman), expected);
        assert_eq!(tmpfs(Kind::Docker), expected.map(|it| format!("{it},nr_inodes=16k")));
        let podman = engine(Kind::Podman).arguments(4096, &volumes);
        assert!(podman.contains(&"--image-volume=ignore".to_owned()), "{podman:?}");
    }
}
