//! How programs are contained.

use std::{collections::BTreeSet, path::PathBuf};

use evaluator_sandbox::Level;

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

/// Files and directories that a program cannot run without, as its runtime found them: its source or the directory of its
/// source, its interpreter, its packages. Absolute paths. Executors that contain programs show them, read-only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visible {
    /// Paths, each with everything below it.
    pub paths: BTreeSet<PathBuf>,
}

/// A source of crates that a contained Rust package may use.
#[derive(Clone, Debug, PartialEq, Eq, Hash, derive_more::Display)]
pub enum CrateSource {
    /// A directory with packages, as an absolute path.
    #[display("{}", _0.display())]
    Directory(PathBuf),
    /// The URL of a Git repository or of an index.
    Url(String),
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
