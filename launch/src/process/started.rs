//! Started processes: children of this program, forks of a server, and the containers behind them.

use std::process::Stdio;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::{
    CommandSpec, Ending, SpawnError,
    container::{Container, remove_all},
    forks::Forked,
    os,
    outcome::NOT_ENDED,
    spawn::{Registered, explain, kill_groups, spawn},
};

/// A started process and its group.
///
/// The process is not reaped before [`Started::reap`], so its group can be signalled until then. Dropping kills the
/// group and leaves reaping to the runtime.
#[derive(Debug)]
pub(super) struct Started {
    origin: Origin,
    /// The container behind it, until it is reaped.
    container: Option<Container>,
    contained: bool,
}

/// The parent of the process, which notices its exit and reaps it.
#[derive(Debug)]
enum Origin {
    /// Our child.
    Spawned {
        /// Keeps the process registered while its id is valid; dropped before the child, whose drop may reap it.
        listed: Option<Registered>,
        child: Child,
        group: Option<os::Group>,
        watch: os::ExitWatch,
    },
    /// Child of a fork server.
    Forked(Forked),
}

/// Our ends of the standard streams.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

impl Started {
    pub(super) async fn start(spec: &CommandSpec) -> Result<(Self, Pipes), SpawnError> {
        Self::start_with(spec, Stdio::piped()).await
    }

    /// Starts a process with a standard input that need not be a pipe.
    pub(super) async fn start_with(
        spec: &CommandSpec,
        stdin: Stdio,
    ) -> Result<(Self, Pipes), SpawnError> {
        let watch = os::ExitWatch::new().map_err(|error| explain(spec, &error))?;
        let (named, mut container) = Container::name(spec).unzip();
        let spawned = spawn(named.as_ref().unwrap_or(spec), stdin).await;
        let (mut child, listed) = spawned.map_err(|error| {
            container.iter_mut().for_each(Container::set_gone);
            explain(spec, &error)
        })?;
        let pipes = Pipes {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
        };
        let group = os::Group::of(&child);
        let origin = Origin::Spawned { child, group, watch, listed: Some(listed) };
        Ok((Self { origin, container, contained: spec.starter.is_some() }, pipes))
    }

    /// Wraps a process that a fork server has forked.
    #[cfg_attr(not(unix), expect(dead_code, reason = "servers need Unix sockets"))]
    pub(super) fn forked(forked: Forked) -> Self {
        let contained = forked.is_contained();
        Self { origin: Origin::Forked(forked), container: None, contained }
    }

    /// Returns when the process is dead. Cancel safe.
    pub(super) async fn exited(&mut self) {
        match &mut self.origin {
            Origin::Spawned { child, group: Some(group), watch, .. } => {
                watch.exited(group, child).await;
            }
            Origin::Spawned { group: None, .. } => {}
            Origin::Forked(forked) => forked.exited().await,
        }
    }

    /// Returns true for a program that an executor contains. What it leaves ends with it.
    pub(super) fn is_contained(&self) -> bool {
        self.contained
    }

    /// The container behind the process, which has to be killed before it.
    pub(super) fn container(&self) -> Option<&Container> {
        self.container.as_ref()
    }

    /// Sends `SIGTERM` to the group.
    pub(super) fn terminate(&mut self) {
        match &mut self.origin {
            Origin::Spawned { child, group: Some(group), .. } => group.terminate(child),
            Origin::Spawned { group: None, .. } => {}
            Origin::Forked(forked) => forked.terminate(),
        }
    }

    /// Kills the group.
    pub(super) fn kill(&mut self) {
        match &mut self.origin {
            Origin::Spawned { child, group: Some(group), .. } => group.kill(child),
            Origin::Spawned { group: None, .. } => {}
            Origin::Forked(forked) => forked.kill(),
        }
    }

    /// Kills what is left of the group, reaps the process and returns how it ended.
    ///
    /// To be called when the process is dead. If it is not, the status is lost and the runtime reaps it later.
    pub(super) fn reap(&mut self) -> Ending {
        self.kill();
        let collected = match &mut self.origin {
            Origin::Spawned { child, group, listed, .. } => {
                *group = None;
                *listed = None;
                child.try_wait()
            }
            Origin::Forked(forked) => return forked.reap(),
        };
        let ending = match collected {
            Ok(Some(status)) => os::ending(status),
            Ok(None) => Ending::Lost { reason: NOT_ENDED.to_owned() },
            Err(error) => Ending::Lost { reason: format!("its status could not be had: {error}") },
        };
        match self.container.take() {
            Some(mut container) => container.ending(ending),
            None => ending,
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Kills every process group that this library has started and that still runs, and prevents further starts: for a
/// program that is about to exit. Pending calls find their processes ended by a signal.
///
/// Takes at most half a second, and usually no time. Kills nothing where there are no process groups.
pub fn kill_all() {
    kill_groups();
    remove_all();
}
