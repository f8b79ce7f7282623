//! The [`Runtime`] trait and the values that pass through it.

use std::{
    any::Any,
    ffi::OsString,
    fmt,
    mem::discriminant,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    EnvironmentFilter, Inputs, PrepareError, PrepareEvent, Syntax, own_tests::OwnTests, paths,
};
use crate::{
    executor::{Containment, Image, Visible},
    process::{Cancellation, CommandSpec, forks::ServerCommand},
};

/// Maps files of one language to commands.
///
/// Implement it to teach the host a language, and add it with [`Runtimes::register`](super::Runtimes::register). Only the
/// first methods have to be implemented; the others have defaults for languages without the feature.
pub trait Runtime: Send + Sync + fmt::Debug {
    /// Name for messages, e.g. `Python`.
    fn name(&self) -> &str;

    /// File name extensions with their dot, in lower case, e.g. `[".py"]`. They are compared without regard to case.
    ///
    /// A runtime that lists none is asked only about files that no other runtime claims.
    fn extensions(&self) -> &[&str];

    /// Returns true if this runtime runs the existing file or directory at `path`; by default decided by the extension.
    fn claims(&self, path: &Path) -> bool {
        paths::has_extension(path, self.extensions())
    }

    /// Checks that this machine can run files of this language. Returns what was found, e.g. the path of the interpreter.
    /// Starts no evaluator.
    ///
    /// # Errors
    ///
    /// A program is missing; the message has one hint, e.g. `node was not found on PATH; install Node.js 18 or later`.
    fn availability(&self) -> Result<String, String>;

    /// Describes how an evaluator would be run, e.g. the interpreter. Builds nothing and starts no evaluator.
    ///
    /// # Errors
    ///
    /// [`prepare`](Self::prepare) would fail, as far as that is visible; by default only that the runtime is not
    /// [available](Self::availability).
    fn inspect(&self, _entrypoint: &Entrypoint) -> Result<String, PrepareError> {
        self.availability().map_err(PrepareError::runtime_missing)
    }

    /// Prepares evaluators to be started, in the order of `entrypoints`; one result for each.
    ///
    /// Called before the clock of any evaluation starts, and may take long (compile, install). All evaluators of a run that
    /// belong to this runtime are passed in one call, so that work can be shared. Blocks the calling thread; long work ends
    /// soon after a cancellation, with any error.
    fn prepare(
        &self,
        entrypoints: &[Entrypoint],
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>>;

    /// Returns the same runtime, which installs no packages; `None`, the default, if it never does.
    fn without_installing(&self) -> Option<Arc<dyn Runtime>> {
        None
    }

    /// Returns true if a file is an evaluator, or a module of one, that brings tests. Decided by names and text.
    fn has_tests(&self, _source: &Path) -> bool {
        false
    }

    /// Prepares the tests that an evaluator brings; `args` are passed to the test runner.
    ///
    /// Provides what the evaluator itself would get (packages, interpreter, toolchain), so it may take as long as
    /// [`prepare`](Self::prepare).
    ///
    /// # Errors
    ///
    /// [`PrepareError::NoTests`] if there are none or, as by default, no way to run them.
    fn own_tests(
        &self,
        entrypoint: &Entrypoint,
        _args: &[OsString],
        _cancellation: &Cancellation,
        _on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Result<OwnTests, PrepareError> {
        Err(PrepareError::NoTests {
            path: entrypoint.path.clone(),
            hint: format!("the runtime `{}` cannot run tests", self.name()),
        })
    }

    /// Returns the program of an evaluator if it can be started without further work. Builds nothing.
    fn built(&self, _entrypoint: &Entrypoint) -> Built {
        Built::Unknown
    }

    /// Lists what a prepared evaluator consists of; by default its file and the program that is started. Its earlier results
    /// are reused while all of this is unchanged.
    fn inputs(&self, entrypoint: &Entrypoint, launch: &Launch) -> Inputs {
        Inputs {
            files: [paths::absolute(&entrypoint.path)].into(),
            programs: [launch.one_shot.program.clone().into()].into(),
            ..Inputs::default()
        }
    }

    /// Returns the directory that an evaluator reads in a sandbox, if that may be more than the directory of its source.
    /// Default: `None`.
    fn package_directory(&self, _entrypoint: &Entrypoint) -> Option<PathBuf> {
        None
    }

    /// Checks the syntax of a source file without running it.
    fn check_syntax(&self, _source: &Path, _cancellation: &Cancellation) -> Syntax {
        Syntax::WhenPrepared
    }
}

/// Where an evaluator starts: the file (or, for some languages, the directory) that a configuration names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entrypoint {
    /// The file or directory.
    pub path: PathBuf,
    /// True if it came from a source of evaluators and not from the user. Its preparation must neither trust its files nor
    /// expose secrets of this process to it.
    pub fetched: bool,
    /// Settings of its executor, if that contains programs. Everything that its preparation runs is then contained, too.
    pub contained: Option<Arc<Containment>>,
    /// The image in whose file system it runs, if it does not run in that of this machine.
    pub image: Option<Image>,
    /// Names of variables that its entry sets, for [`Runtime::inspect`]; default: none.
    pub variables: Vec<String>,
}

impl Entrypoint {
    /// Returns true if it gets only the variables that [any program may see](super::Environment::confined).
    pub(super) fn is_confined(&self) -> bool {
        self.fetched || self.contained.is_some()
    }
}

impl From<PathBuf> for Entrypoint {
    /// An evaluator of the user, which is not contained.
    fn from(path: PathBuf) -> Self {
        Self { path, fetched: false, contained: None, image: None, variables: Vec::new() }
    }
}

/// State of the program of an evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    /// It exists, and its sources have not changed since.
    Ready(Box<Launch>),
    /// It does not exist, or its sources have changed since.
    Stale,
    /// Programs of this language are not built.
    Unknown,
}

/// Commands that start a prepared evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// One document on standard input, one on standard output.
    pub one_shot: CommandSpec,
    /// The streaming form, used only if the evaluator declares it (`--describe`). The last argument is `--stream`; arguments of
    /// the configuration go before it.
    pub worker: Option<CommandSpec>,
    /// Work that repeated evaluations of the one-shot form share.
    pub reuse: Reuse,
    /// Files that both commands read.
    pub visible: Visible,
}

/// Work that processes of one program share instead of repeating it.
///
/// Such a process must be indistinguishable from one that is started without it.
#[derive(Clone, Debug, Default)]
pub enum Reuse {
    /// Each evaluation starts a process from scratch.
    #[default]
    None,
    /// Sharing would help, and is not possible here.
    Unavailable {
        /// Alternative and its reason, as [`Reuse::not_forked`] or [`Reuse::not_cached`] write it.
        reason: String,
    },
    /// Evaluations are [forked](crate::process::forks) from a server, whose command is made from the one-shot command. An
    /// error is the reason why evaluations are not forked.
    Fork(fn(&CommandSpec) -> Result<ServerCommand, String>),
    /// Processes share compiled code, by a command made from the one-shot command. An error is the reason why they do not.
    CompiledCode(fn(&CommandSpec) -> Result<CachedCommand, String>),
}

impl Reuse {
    /// Message about evaluations that are not forked.
    pub fn not_forked(reason: &str) -> String {
        format!("a new process for every evaluation ({reason})")
    }

    /// Message about evaluations that each start a container.
    pub fn one_container_each() -> Self {
        let reason = "a new container for every evaluation, which takes about a second; a program with `--stream` keeps its \
                      container";
        Self::Unavailable { reason: reason.to_owned() }
    }

    /// Message about evaluations that do not share compiled code.
    pub fn not_cached(reason: &str) -> String {
        format!("compiled again for every evaluation ({reason})")
    }
}

impl PartialEq for Reuse {
    /// Compares the kind only: functions have no identity.
    fn eq(&self, other: &Self) -> bool {
        discriminant(self) == discriminant(other)
    }
}

impl Eq for Reuse {}

/// A command whose processes share compiled code.
#[derive(Debug)]
pub struct CachedCommand {
    /// The command to start.
    pub command: CommandSpec,
    /// A file without which the command fails before the evaluator starts.
    pub needs: PathBuf,
    /// Files that exist as long as processes of the command run, and are removed when this is dropped.
    pub keeps: Box<dyn Any + Send + Sync>,
}

impl Launch {
    /// A launch without a streaming form.
    pub fn new(one_shot: CommandSpec) -> Self {
        Self { one_shot, worker: None, reuse: Reuse::None, visible: Visible::default() }
    }

    /// A script that a program of an image runs. It sees `directory`.
    pub(super) fn in_image(program: CommandSpec, source: &Path, directory: &Path) -> Self {
        let launch = Self::new(program.arg(source)).with_reuse(Reuse::one_container_each());
        launch.with_visible([directory.to_owned()])
    }

    /// Sets what both commands need to read.
    #[must_use]
    pub fn with_visible(self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { visible: Visible { paths: paths.into_iter().collect() }, ..self }
    }

    /// Adds the streaming form: the one-shot command with the argument `--stream`.
    #[must_use]
    pub fn with_stream(mut self) -> Self {
        self.worker = Some(self.one_shot.clone().arg("--stream"));
        self
    }

    /// Sets how repeated evaluations start faster.
    #[must_use]
    pub fn with_reuse(self, reuse: Reuse) -> Self {
        Self { reuse, ..self }
    }

    /// Gives these variables to both commands.
    #[must_use]
    pub fn seeing(self, visible: &EnvironmentFilter) -> Self {
        self.map(|command| visible.give_to(command))
    }

    /// Changes both commands.
    #[must_use]
    pub fn map(self, change: impl Fn(CommandSpec) -> CommandSpec) -> Self {
        Self { one_shot: change(self.one_shot), worker: self.worker.map(change), ..self }
    }
}
