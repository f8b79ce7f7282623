//! The [`Runtime`] trait and what passes through it.

use std::{
    any::Any,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Composition, Syntax, Visible, own_tests::OwnTests, paths};
use crate::process::{Cancellation, CommandSpec, forks::ServerCommand};

/// Maps files of one language to commands.
///
/// Implement it to teach the host a language, and add it with [`Runtimes::register`](super::Runtimes::register).
pub trait Runtime: Send + Sync + fmt::Debug {
    /// Name a person reads, e.g. `Python`.
    fn name(&self) -> &str;

    /// File name extensions with their dot, lower case, e.g. `[".py"]`. Compared without regard to case.
    ///
    /// A runtime that lists none is asked only about files that no other runtime claims.
    fn extensions(&self) -> &[&str];

    /// Whether this runtime wants the existing file or folder at `path`; by its extension unless overridden.
    fn claims(&self, path: &Path) -> bool {
        paths::has_extension(path, self.extensions())
    }

    /// Whether this machine can run files of this language. Looks things up; starts no evaluator.
    fn availability(&self) -> Availability;

    /// What can be said of an evaluator before it is prepared, e.g. the interpreter that will run it. Builds nothing and
    /// starts no evaluator.
    ///
    /// # Errors
    ///
    /// What would keep [`prepare`](Self::prepare) from making it ready, as far as that can be seen; by default only whether
    /// the runtime is [available](Self::availability).
    fn inspect(&self, _entrypoint: &Entrypoint) -> Result<String, PrepareError> {
        match self.availability() {
            Availability::Available { detail } => Ok(detail),
            Availability::Missing { reason } => Err(PrepareError::RuntimeMissing { reason }),
        }
    }

    /// Makes evaluators ready to be launched, in the order of `entrypoints`; one result for each.
    ///
    /// Runs before the clock of any evaluation starts and may take long (compile, install). All evaluators of a run that
    /// belong to this runtime come in one call, so work can be shared. Blocks the calling thread; what takes long ends
    /// soon after `cancellation` says so, with whatever error.
    fn prepare(
        &self,
        entrypoints: &[Entrypoint],
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>>;

    /// The same runtime, which installs no packages to make an evaluator ready; `None`, as by default, if it never does.
    fn without_installing(&self) -> Option<Arc<dyn Runtime>> {
        None
    }

    /// Whether a file is an evaluator, or a module of one, that brings tests. Decided by names and text; starts nothing.
    fn has_tests(&self, _source: &Path) -> bool {
        false
    }

    /// Makes an evaluator's own tests ready to be run, with `args` for the program that runs them.
    ///
    /// Takes what the evaluator itself would get (packages, interpreter, toolchain), so it may take as long as
    /// [`prepare`](Self::prepare).
    ///
    /// # Errors
    ///
    /// Why there is no way to run tests, as by default; [`PrepareError::NoTests`] if there are no tests.
    fn own_tests(
        &self,
        entrypoint: &Entrypoint,
        _args: &[OsString],
        _cancellation: &Cancellation,
        _on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Result<OwnTests, PrepareError> {
        Err(PrepareError::NoTests {
            path: entrypoint.path.clone(),
            hint: format!("tests of the runtime `{}` cannot be run from here", self.name()),
        })
    }

    /// The program of an evaluator that needs no more work before it can be started. Builds nothing and starts no
    /// evaluator; by default nothing is known.
    fn built(&self, _entrypoint: &Entrypoint) -> Built {
        Built::Unknown
    }

    /// What an evaluator that was prepared consists of; by default its file and the program that is started. A
    /// Results are reused for as long as all of this stays what it is.
    fn composition(&self, entrypoint: &Entrypoint, launch: &Launch) -> Composition {
        Composition {
            files: [paths::absolute(&entrypoint.path)].into(),
            programs: [launch.one_shot.program.clone().into()].into(),
            ..Composition::default()
        }
    }

    /// Makes the command of a server from which the evaluations of a program of this language can be forked, out of the command
    /// that would run one of them; `None`, as by default, where there is no such thing.
    ///
    /// What is forked must be as good as what is started: see [`forks`](crate::process::forks).
    fn fork_server(&self) -> Option<ForkServerOf> {
        None
    }

    /// Makes the command whose processes keep for each other what they have compiled, out of the `command` that runs the
    /// evaluator once; `None`, as by default, where there is nothing to gain by it.
    ///
    /// A process of that command must be as good as one of `command`. Asked before the clock of any evaluation starts.
    ///
    /// # Errors
    ///
    /// Why it cannot be done here, though there would be something to gain.
    fn compile_cache(
        &self,
        _entrypoint: &Entrypoint,
        _command: &CommandSpec,
        _cancellation: &Cancellation,
    ) -> Result<Option<CompileCacheOf>, String> {
        Ok(None)
    }

    /// Looks for mistakes in a source file without running it, and without leaving anything behind.
    fn check_syntax(&self, _source: &Path, _cancellation: &Cancellation) -> Syntax {
        Syntax::WhenPrepared
    }
}

/// Makes the command of a server out of the command that runs an evaluator once, or says why there can be none.
pub type ForkServerOf = fn(&CommandSpec) -> Result<ServerCommand, String>;

/// Makes such a command out of the command that runs an evaluator once, or says why there can be none.
pub type CompileCacheOf = fn(&CommandSpec) -> Result<CachedCommand, String>;

/// A command whose processes keep for each other what they have compiled.
#[derive(Debug)]
pub struct CachedCommand {
    /// What to start.
    pub command: CommandSpec,
    /// A file without which the command fails before the evaluator begins.
    pub needs: PathBuf,
    /// What has to exist as long as processes of the command run, and goes when this is dropped.
    pub keeps: Box<dyn Any + Send + Sync>,
}

/// Where an evaluator begins: the file (or, for some languages, the folder) that a configuration names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entrypoint {
    /// The file or folder.
    pub path: PathBuf,
    /// Whether it came from a source of evaluators rather than from the person who runs it. What is done to make such an
    /// evaluator ready must neither trust its files nor hand it this process's secrets.
    pub fetched: bool,
}

impl From<PathBuf> for Entrypoint {
    /// An evaluator of the person who runs it.
    fn from(path: PathBuf) -> Self {
        Self { path, fetched: false }
    }
}

/// Whether a runtime can be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can; says what was found, e.g. the path of the interpreter.
    Available {
        /// What was found.
        detail: String,
    },
    /// It cannot.
    Missing {
        /// What is missing and one hint, e.g. `node was not found on PATH; install Node.js 18 or later`.
        reason: String,
    },
}

/// Whether an evaluator was made ready before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    /// It was, and nothing of it has changed since.
    Ready(Box<Launch>),
    /// It was not, or has changed since.
    Stale,
    /// Programs of this language are not built.
    Unknown,
}

/// How to start an evaluator that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// One document on standard input, one on standard output.
    pub one_shot: CommandSpec,
    /// The streaming form, to be used only when the evaluator says that it has one (`--describe`). The last argument is
    /// `--stream`; what a configuration adds goes before it.
    pub worker: Option<CommandSpec>,
}

impl Launch {
    /// The same with these variables.
    #[must_use]
    pub fn seeing(self, visible: &Visible) -> Self {
        if visible.is_all() {
            return self;
        }
        self.map(|command| visible.give_to(command))
    }

    /// The same with both commands changed.
    #[must_use]
    pub fn map(self, change: impl Fn(CommandSpec) -> CommandSpec) -> Self {
        Self { one_shot: change(self.one_shot), worker: self.worker.map(change) }
    }
}

/// Something a person may want to see while evaluators are made ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrepareEvent {
    /// Work on a source (or several) began: a build, an install.
    Started {
        /// What is done, e.g. `building 3 Rust evaluators`.
        what: String,
    },
    /// A line of progress, e.g. `Compiling serde v1.0.229`.
    Progress {
        /// The line, without its line end.
        line: String,
    },
    /// A compiler or installer said something a person should read as it is (rendered diagnostics).
    Diagnostic {
        /// The text, possibly of several lines, possibly with terminal colours.
        rendered: String,
    },
    /// The work ended.
    Finished {
        /// What was done and how long it took.
        what: String,
    },
}

/// Why an evaluator could not be made ready.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The file is not there (or is not a file).
    #[error("evaluator file not found: {}", .path.display())]
    NotFound {
        /// Absolute path.
        path: PathBuf,
    },
    /// No runtime is registered for the extension, and the file is not executable.
    #[error(
        "no runtime for {} (known extensions: {}); a file of any other kind must be executable",
        .path.display(),
        .known.join(", ")
    )]
    UnknownExtension {
        /// The path as given.
        path: PathBuf,
        /// Extensions of all registered runtimes.
        known: Vec<String>,
    },
    /// The runtime exists but not on this machine.
    #[error("runtime not available: {reason}")]
    RuntimeMissing {
        /// What is missing and one hint.
        reason: String,
    },
    /// It did not compile.
    #[error("{summary}")]
    BuildFailed {
        /// One line.
        summary: String,
        /// The compiler's own text.
        rendered: String,
    },
    /// What it depends on could not be installed.
    #[error("Dependency installation failed: {reason}")]
    InstallFailed {
        /// What failed, the end of what the installer said, and one hint; several lines.
        reason: String,
    },
    /// It brings no tests.
    #[error("no test of {}: {hint}", .path.display())]
    NoTests {
        /// The path as given.
        path: PathBuf,
        /// Where tests are looked for, or why none can be run.
        hint: String,
    },
    /// Its package or manifest cannot be used.
    #[error("{reason}")]
    Unusable {
        /// Names the file and gives one hint.
        reason: String,
    },
}
