//! Unix: process groups, and `waitid` with `WNOWAIT`.
//!
//! A process group can be signalled safely only while its leader is not reaped: after that its id may be reused. So the
//! exit of the leader is noticed with `WNOWAIT`, which leaves it a zombie and its id valid, and it is reaped only when
//! nothing is left to signal.
//!
//! The memory limit is `RLIMIT_DATA` on Linux: `RLIMIT_AS` also counts reserved addresses, of which Node.js needs
//! gigabytes to start. Limits are set between `fork` and `exec`; without limits a program is started by the faster
//! `posix_spawn`. A limit holds for each process by itself.

use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::ExitStatusExt,
    },
    process::ExitStatus,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
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

/// Interval at which the exit is polled without a signal: the threads of this process that receive `SIGCHLD` may have
/// ended.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Makes the process lead its own group, with these limits.
pub(in super::super) fn configure(command: &mut Command, resources: &Resources) -> io::Result<()> {
    command.process_group(0);
    let is_reset = exec::reset(command.as_std_mut());
    if !resources.is_unlimited() {
        exec::limit(command, resources);
    }
    if is_reset || !resources.is_unlimited() {
        exec::refuse_text(command.as_std())?;
    }
    Ok(())
}

/// Returns true if this process, or the system, is out of file descriptors.
pub(in super::super) fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// Returns the ending of a process by its status.
pub(in super::super) fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, Some(signal)) => Ending::Signalled(signal),
        (None, None) => Ending::Lost { reason: format!("its status makes no sense ({status})") },
    }
}

/// Reads what a pipe holds at this moment, whether or not the runtime was notified; nothing from a pipe that has ended.
/// `None` if there is nothing yet.
pub(in super::super) fn read_now(pipe: &impl AsFd, buffer: &mut [u8]) -> Option<usize> {
    // The pipes of children are non-blocking here.
    rustix::io::read(pipe, buffer).ok()
}

/// The group led by a process that is not reaped yet.
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

    /// Sends `SIGTERM` to all members.
    pub(in super::super) fn terminate(&self, _child: &mut Child) {
        self.signal(Signal::TERM);
    }

    /// Kills all members.
    pub(in super::super) fn kill(&self, _child: &mut Child) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if peek(self.leader).is_err() {
            // Other code in this process has reaped the leader, so the id may have been reused.
            return;
        }
        // It fails if only the zombie of the leader is left, or if all members changed their user. The following wait
        // is bounded.
        let _ = kill_process_group(self.leader, signal);
    }
}

/// Kills all members of the group of this leader, unless the leader was reaped.
pub(crate) fn kill_group(leader: u32) {
    let leader = i32::try_from(leader).ok().and_then(Pid::from_raw);
    if let Some(leader) = leader {
        Group { leader }.signal(Signal::KILL);
    }
}

/// Kills all members of the group of a fork, which its server has not reaped.
pub(in super::super) fn kill_group_of_fork(leader: u32) {
    let leader = i32::try_from(leader).ok().and_then(Pid::from_raw);
    if let Some(leader) = leader {
        // It fails if only the zombie of the leader is left.
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// Returns true if this child is dead, and does not reap it. Also true if other code of this process has reaped it.
pub(crate) fn is_dead(child: u32) -> bool {
    let child = i32::try_from(child).ok().and_then(Pid::from_raw);
    child.is_none_or(|child| peek(child) != Ok(false))
}

/// Waits for the exit of the leader without reaping it.
#[derive(Debug)]
pub(in super::super) struct ExitWatch {
    child_signals: Signals,
}

impl ExitWatch {
    /// Starts to listen; to be called before the process is started, so that no exit is missed.
    pub(in super::super) fn new() -> io::Result<Self> {
        let child_signals = signal(SignalKind::child())?;
        exec::unblock_child_signal();
        Ok(Self { child_signals })
    }

    /// Returns when the leader of `group` is dead. Cancel safe.
    pub(in super::super) async fn exited(&mut self, group: &Group, _child: &mut Child) {
        // If other code in this process has reaped it, the status is lost, which reaping reports.
        while !peek(group.leader).unwrap_or(true) {
            tokio::select! {
                _ = self.child_signals.recv() => {}
                () = sleep(LOOK_AGAIN) => {}
            }
        }
    }
}

/// Returns whether the leader is dead, without reaping it; an error if it is not our unreaped child any more.
fn peek(leader: Pid) -> Result<bool, Errno> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(leader), options) {
        Ok(status) => Ok(status.is_some()),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Identifies a process by more than its id, which may be reused after the process was reaped.
#[derive(Debug)]
pub(in super::super) struct Identified(OwnedFd);

impl Identified {
    /// The process of that id; `None` if the kernel cannot do so (Linux before 5.3, other systems).
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "only Linux has them"))]
    pub(in super::super) fn new(process: Pid) -> Option<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{PidfdFlags, pidfd_open};
            pidfd_open(process, PidfdFlags::empty()).ok().map(Self)
        }
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// Returns true if the process is not dead, so that its id is valid.
    pub(in super::super) fn lives(&self) -> bool {
        let mut ended = [PollFd::new(&self.0, PollFlags::IN)];
        matches!(poll(&mut ended, Some(&Timespec::default())), Ok(0))
    }
}
