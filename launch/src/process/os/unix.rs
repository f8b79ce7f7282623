//! Unix: process groups, and `waitid` with `WNOWAIT`.
//!
//! A process group can be signalled safely only while its leader has not been reaped: after that the number may belong
//! to somebody else. So the leader's exit is noticed with `WNOWAIT`, which leaves it a zombie and its number taken, and
//! the status is collected only when nothing is left to signal.

use std::{
    io,
    os::{fd::AsFd, unix::process::ExitStatusExt},
    process::ExitStatus,
    time::Duration,
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
};
use tokio::{
    process::{Child, Command},
    signal::unix::{Signal as Signals, SignalKind, signal},
    time::sleep,
};

use super::exec;
use crate::process::{Ending, Resources};

/// How often to look for the exit even if no signal told of it: the threads of this process that may be interrupted by
/// `SIGCHLD` may have ended.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Makes the process lead a group of its own, within these limits.
pub(in super::super) fn configure(command: &mut Command, resources: &Resources) -> io::Result<()> {
    command.process_group(0);
    exec::reset(command.as_std_mut());
    if !resources.is_unlimited() {
        exec::limit(command, resources);
    }
    Ok(())
}

/// Whether this process, or all of them, have as many files open as they may.
pub(in super::super) fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// How a process ended, from its status.
pub(in super::super) fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, Some(signal)) => Ending::Signalled(signal),
        (None, None) => Ending::Lost { reason: format!("its status makes no sense ({status})") },
    }
}

/// Reads what is in a pipe at this moment, whether or not the runtime has heard of it; nothing from a pipe that has ended.
/// `None` when there is nothing yet.
pub(in super::super) fn read_now(pipe: &impl AsFd, buffer: &mut [u8]) -> Option<usize> {
    // The pipes of children do not block here.
    rustix::io::read(pipe, buffer).ok()
}

/// The group led by a process that was started and not reaped yet.
#[derive(Debug)]
pub(in super::super) struct Group {
    leader: Pid,
}

impl Group {
    /// The group of `child`; `None` when it has been reaped already.
    pub(in super::super) fn of(child: &Child) -> Option<Self> {
        let id = i32::try_from(child.id()?).ok()?;
        Pid::from_raw(id).map(|leader| Self { leader })
    }

    /// Asks all members to end.
    pub(in super::super) fn terminate(&self, _child: &mut Child) {
        self.signal(Signal::TERM);
    }

    /// Ends all members.
    pub(in super::super) fn kill(&self, _child: &mut Child) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if peek(self.leader).is_err() {
            // Somebody else in this process has reaped the leader, so the number may be anybody's.
            return;
        }
        // It can fail when no member is left but the zombie of the leader, or when all of them changed their user.
        // Neither can be helped, and the wait that follows is bounded.
        let _ = kill_process_group(self.leader, signal);
    }
}

/// Ends all members of the group that this process leads; nobody if it was reaped.
pub(in super::super) fn kill_group(leader: u32) {
    let leader = i32::try_from(leader).ok().and_then(Pid::from_raw);
    if let Some(leader) = leader {
        Group { leader }.signal(Signal::KILL);
    }
}

/// Waits for the leader's exit and leaves it unreaped.
#[derive(Debug)]
pub(in super::super) struct ExitWatch {
    child_signals: Signals,
}

impl ExitWatch {
    /// Starts to listen; to be made before the process is started, so that no exit is missed.
    pub(in super::super) fn new() -> io::Result<Self> {
        let child_signals = signal(SignalKind::child())?;
        exec::unblock_child_signal();
        Ok(Self { child_signals })
    }

    /// Returns when the leader of `group` is dead. Cancel safe.
    pub(in super::super) async fn exited(&mut self, group: &Group, _child: &mut Child) {
        while !has_exited(group.leader) {
            tokio::select! {
                _ = self.child_signals.recv() => {}
                () = sleep(LOOK_AGAIN) => {}
            }
        }
    }
}

fn has_exited(leader: Pid) -> bool {
    // When somebody else in this process has reaped it, the status is lost, and reaping will say so.
    peek(leader).unwrap_or(true)
}

/// Whether the leader is dead, without reaping it; an error when it is not our unreaped child any more.
fn peek(leader: Pid) -> Result<bool, Errno> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(leader), options) {
        Ok(status) => Ok(status.is_some()),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A process by more than its number, which belongs to somebody else once the process was reaped.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(in super::super) struct Identified(std::os::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Identified {
    /// The process of that number; `None` when the kernel is too old (before 5.3).
    pub(in super::super) fn new(process: Pid) -> Option<Self> {
        use rustix::process::{PidfdFlags, pidfd_open};
        pidfd_open(process, PidfdFlags::empty()).ok().map(Self)
    }

    /// Whether the process is not dead, so that its number is still its own.
    pub(in super::super) fn lives(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut ended = [PollFd::new(&self.0, PollFlags::IN)];
        matches!(poll(&mut ended, Some(&Timespec::default())), Ok(0))
    }
}

/// There is no such name on this system.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(in super::super) struct Identified {}

#[cfg(not(target_os = "linux"))]
impl Identified {
    /// Always `None`.
    pub(in super::super) fn new(_process: Pid) -> Option<Self> {
        None
    }

    /// Whether the process is certainly alive.
    pub(in super::super) fn lives(&self) -> bool {
        false
    }
}
