//! The [`Executor`] trait, and what it gets.

use std::fmt;

use evaluator_sandbox::Listener;

use super::{
    docker::Image,
    model::{Contained, Containment, Visible},
};
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
