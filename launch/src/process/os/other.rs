//! Systems without process groups: only the started process itself can be killed; its children may survive.

use std::{io, process::ExitStatus};

use tokio::process::{Child, Command};

use super::super::{Ending, Resources};

/// These signals do not exist.
pub(in super::super) const CPU_TIME_IS_OVER: Option<i32> = None;
pub(in super::super) const KILLED: Option<i32> = None;

/// Refuses resource limits, which are not available.
pub(in super::super) fn configure(_command: &mut Command, resources: &Resources) -> io::Result<()> {
    if resources.is_unlimited() {
        return Ok(());
    }
    let reason = "`memory`, `cpu` and `open_files` cannot be limited on this system; leave them out of `limits`";
    Err(io::Error::new(io::ErrorKind::Unsupported, reason))
}

/// Not known here.
pub(in super::super) fn is_out_of_descriptors(_error: &io::Error) -> bool {
    false
}

/// Returns the ending of a process by its status.
pub(in super::super) fn ending(status: ExitStatus) -> Ending {
    match status.code() {
        Some(code) => Ending::Exited(code),
        None => Ending::Lost { reason: format!("its status makes no sense ({status})") },
    }
}

/// Not available here.
pub(in super::super) fn read_now<P>(_pipe: &P, _buffer: &mut [u8]) -> Option<usize> {
    None
}

/// The started process.
#[derive(Debug)]
pub(in super::super) struct Group {}

impl Group {
    /// The group of `child`; `None` when it has been reaped already.
    pub(in super::super) fn of(child: &Child) -> Option<Self> {
        child.id().map(|_| Self {})
    }

    /// The same as [`Group::kill`].
    pub(in super::super) fn terminate(&self, child: &mut Child) {
        self.kill(child);
    }

    /// Kills the process.
    pub(in super::super) fn kill(&self, child: &mut Child) {
        // It fails only if the process is dead already.
        let _ = child.start_kill();
    }
}

/// Processes cannot be killed by id.
pub(crate) fn kill_group(_leader: u32) {}

/// There are no forks.
pub(in super::super) fn kill_group_of_fork(_leader: u32) {}

/// Reaping is harmless here, because no id is used afterwards.
pub(crate) fn is_dead(_child: u32) -> bool {
    true
}

/// Nothing can be killed after the end of this process.
#[derive(Debug)]
pub(in super::super) struct Guarded;

impl Guarded {
    pub(in super::super) fn new(_leader: u32) -> Self {
        Self
    }
}

/// Waits for the exit. Reaping is harmless here, because no id is used afterwards.
#[derive(Debug)]
pub(in super::super) struct ExitWatch {}

impl ExitWatch {
    /// Nothing to prepare.
    pub(in super::super) fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Returns when the process is dead. Cancel safe.
    pub(in super::super) async fn exited(&mut self, _group: &Group, child: &mut Child) {
        // An error means that the status is lost, which reaping reports.
        let _ = child.wait().await;
    }
}
