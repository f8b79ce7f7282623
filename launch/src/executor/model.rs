//! The [`Executor`] trait and the values that pass through it.

use std::{collections::BTreeSet, fmt, path::PathBuf};

use evaluator_sandbox::{Level, Listener};

use super::docker::Image;
use crate::process::CommandSpec;

/// Turns the command of a runtime into the command that is started.
///
/// An executor does not start anything itself: supervision (time limits, output, process groups) is the same for all.
pub trait Executor: Send + Sync + fmt::Debug {
    /// Name in the key `executor:` of a configuration.
    fn name(&self) -> &str;

    /// Returns true if programs are kept from the files, the network and the processes of this machine, and if the executor
    /// itself sets the resource limits of programs. Default: `false`.
    fn contains(&self) -> bool {
        false
    }

    /// Returns true if evaluations can be [forked](crate::process::forks) from a server that runs in this executor.
    /// Default: `false`.
    fn forks(&self, _containment: &Containment) -> bool {
        false
    }

    /// Returns true if a program without network reaches the [listener](Scope::listener) of its scope. Default: `false`.
    fn listens(&self, _containment: &Containment) -> bool {
        false
    }

    /// Checks that the executor can be used on this machine with these settings. Returns a description of how programs are
    /// contained, in one line.
    ///
    /// # Errors
    ///
    /// It is not available; the message has one hint. An evaluator whose executor is not available is reported as broken, and
    /// never runs elsewhere.
    fn check(&self, containment: &Containment) -> Result<String, String>;

    /// Returns the image in whose file system programs with these settings run; `None`, the default, for that of this
    /// machine. Runtimes then use its interpreters and packages and install nothing. Called after a successful
    /// [`check`](Self::check) and before any clock starts. May take long, because it may download the image.
    ///
    /// # Errors
    ///
    /// Why the image cannot be used.
    fn image(&self, _containment: &Containment) -> Result<Option<Image>, String> {
        Ok(None)
    }

    /// Returns how programs with these settings are contained, for reports and saved runs; `None` if they are not. Called
    /// after a successful [`check`](Self::check). Default: the name and the network of an executor that
    /// [contains](Self::contains) programs.
    fn contained(&self, containment: &Containment) -> Option<Contained> {
        self.contains().then(|| Contained {
            executor: self.name().to_owned(),
            network: containment.network,
            ..Contained::default()
        })
    }

    /// Returns the command to start in place of `command`. Its standard streams must reach the evaluator unchanged.
    ///
    /// # Errors
    ///
    /// Why the command cannot run in this executor.
    fn wrap(&self, command: CommandSpec, scope: &Scope<'_>) -> Result<CommandSpec, String>;
}

/// Maximum size of a file that a contained program writes, in bytes.
pub const MAX_FILE_SIZE: u64 = 64 << 20;

/// Memory of a process in a sandbox, or of a container, whose entry has no limit of its own, in bytes.
pub const CONTAINED_MEMORY: u64 = 1 << 30;

/// Containment of a program, for reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contained {
    /// Name of the executor.
    pub executor: String,
    /// Level of a sandbox: `full` or `partial`.
    pub level: Option<String>,
    /// Version of Landlock that restricts the program; `None` if none does.
    pub landlock_abi: Option<u32>,
    /// Namespaces of its own, e.g. `user`.
    pub namespaces: Vec<String>,
    /// Whether it may use IPv4 and IPv6.
    pub network: bool,
    /// Id of the image of its container.
    pub image: Option<String>,
}

/// Rights of one program.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Settings of its entry.
    pub containment: &'a Containment,
    /// Files that its runtime needs.
    pub visible: &'a Visible,
    /// Result of [`Executor::image`] for it.
    pub image: Option<&'a Image>,
    /// Server of the host that it reaches without network, if the executor [listens](Executor::listens).
    pub listener: Option<&'a Listener>,
}

impl<'a> Scope<'a> {
    /// Creates a scope without image and listener.
    pub fn new(containment: &'a Containment, visible: &'a Visible) -> Self {
        Self { containment, visible, image: None, listener: None }
    }
}

/// Files and directories that a program cannot run without, as its runtime found them: its source or the directory of its
/// source, its interpreter, its packages. Absolute paths. Executors that contain programs show them, read-only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visible {
    /// Paths, each with everything below it.
    pub paths: BTreeSet<PathBuf>,
}

/// A source of crates that a contained Rust package may use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CrateSource {
    /// A directory with packages, as an absolute path.
    Directory(PathBuf),
    /// The URL of a Git repository or of an index.
    Url(String),
}

impl fmt::Display for CrateSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::Url(url) => f.write_str(url),
        }
    }
}

/// Rights of a contained program: the keys `sandbox` and `docker` of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Containment {
    /// Level; default: [`Level::Full`].
    pub level: Level,
    /// Whether it may use IPv4 and IPv6; default: `false`.
    pub network: bool,
    /// Absolute paths that it may read besides those that its runtime needs; default: none.
    pub read: Vec<PathBuf>,
    /// Absolute paths of directories that it may change; default: none.
    pub write: Vec<PathBuf>,
    /// Bytes of its temporary directory; default: 64 MiB.
    pub tmp: u64,
    /// Maximum number of processes and threads; default: 64.
    pub processes: u32,
    /// Whether packages may be built from source distributions of the internet; default: `false`.
    pub builds: bool,
    /// Sources of crates, besides crates.io, from which Rust packages may be built; default: none.
    pub sources: Vec<CrateSource>,
    /// Settings of a container engine.
    pub docker: Docker,
}

impl Default for Containment {
    fn default() -> Self {
        Self {
            level: Level::default(),
            network: false,
            read: Vec::new(),
            write: Vec::new(),
            tmp: 64 << 20,
            processes: 64,
            builds: false,
            sources: Vec::new(),
            docker: Docker::default(),
        }
    }
}

/// Settings of a container engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Docker {
    /// Name, digest or id of the image. Required by the executor `docker`.
    pub image: Option<String>,
    /// Name of the engine's command; default: `docker` if it is on `PATH`, else `podman`.
    pub engine: Option<String>,
    /// Whether an image that is missing is downloaded, before any clock starts; default: `false`.
    pub pull: bool,
}
