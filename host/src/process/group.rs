//! A started process and the duty to leave nothing of it behind.

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::{CommandSpec, Ending, SpawnError, living::Listed, os, spawn};

/// A started process with everything it starts in turn.
///
/// The process itself is not reaped before [`Started::reap`], so its group can be signalled until then. Dropping ends
/// the group at once and leaves reaping to the runtime.
#[derive(Debug)]
pub(super) struct Started {
    child: Child,
    group: Option<os::Group>,
    watch: os::ExitWatch,
    /// As long as its number is its own.
    listed: Option<Listed>,
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
        let watch = os::ExitWatch::new().map_err(|error| spawn::explain(spec, &error))?;
        let (mut child, listed) = spawn::spawn(spec).await?;
        let pipes = Pipes {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
        };
        let group = os::Group::of(&child);
        Ok((Self { child, group, watch, listed: Some(listed) }, pipes))
    }

    /// Returns when the process is dead. Cancel safe.
    pub(super) async fn exited(&mut self) {
        if let Some(group) = &self.group {
            self.watch.exited(group, &mut self.child).await;
        }
    }

    /// Asks the whole group to end.
    pub(super) fn terminate(&mut self) {
        if let Some(group) = &self.group {
            group.terminate(&mut self.child);
        }
    }

    /// Ends the whole group.
    pub(super) fn kill(&mut self) {
        if let Some(group) = &self.group {
            group.kill(&mut self.child);
        }
    }

    /// Ends what is left of the group, collects the status of the process and says how it ended.
    ///
    /// To be called when the process is dead. If it is not, the status is lost and the runtime reaps it later.
    pub(super) fn reap(&mut self) -> Ending {
        self.kill();
        self.group = None;
        self.listed = None;
        match self.child.try_wait() {
            Ok(Some(status)) => os::ending(status),
            Ok(None) => Ending::Lost { reason: "it did not end when it was killed".to_owned() },
            Err(error) => Ending::Lost { reason: format!("its status could not be had: {error}") },
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
        // Before the child is dropped, which may reap it.
        self.listed = None;
    }
}
