//! A started process with its process group, and the guarantee that nothing of the group is left behind.

use std::process::Stdio;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::{
    CommandSpec, Ending, SpawnError,
    forks::Forked,
    os,
    spawn::{self, Registered},
};

/// A started process and its group.
///
/// The process is not reaped before [`Started::reap`], so its group can be signalled until then. Dropping kills the
/// group and leaves reaping to the runtime.
#[derive(Debug)]
pub(super) struct Started {
    origin: Origin,
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
        Self::start_with(spec, Stdio::piped).await
    }

    /// Starts a process with a standard input that need not be a pipe.
    pub(super) async fn start_with(
        spec: &CommandSpec,
        stdin: impl Fn() -> Stdio,
    ) -> Result<(Self, Pipes), SpawnError> {
        let watch = os::ExitWatch::new().map_err(|error| spawn::explain(spec, &error))?;
        let (mut child, listed) = spawn::spawn(spec, stdin).await?;
        let pipes = Pipes {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
        };
        let group = os::Group::of(&child);
        Ok((Self { origin: Origin::Spawned { child, group, watch, listed: Some(listed) } }, pipes))
    }

    /// Wraps a process that a fork server has forked.
    #[cfg_attr(not(unix), expect(dead_code, reason = "servers need Unix sockets"))]
    pub(super) fn forked(forked: Forked) -> Self {
        Self { origin: Origin::Forked(forked) }
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
        match collected {
            Ok(Some(status)) => os::ending(status),
            Ok(None) => Ending::Lost { reason: NOT_ENDED.to_owned() },
            Err(error) => Ending::Lost { reason: format!("its status could not be had: {error}") },
        }
    }
}

/// Reason of [`Ending::Lost`] for a process that survives `SIGKILL`.
pub(super) const NOT_ENDED: &str = "it did not end when it was killed";

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
    }
}
