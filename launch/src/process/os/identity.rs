//! Names of processes that are not our children.

use rustix::process::Pid;

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
