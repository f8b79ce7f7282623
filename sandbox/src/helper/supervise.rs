//! Waits for the end of the program, and reaps what it leaves.

use std::os::fd::BorrowedFd;

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, WaitOptions, WaitStatus, wait},
};

/// Returns true if the process of this descriptor has ended.
pub(super) fn has_ended(process: BorrowedFd<'_>) -> bool {
    let mut ended = [PollFd::new(&process, PollFlags::IN)];
    // An error counts as the end: going on would not be safe.
    poll(&mut ended, Some(&Timespec::default())) != Ok(0)
}

/// Returns the status of `child` when it has ended; `None` as soon as one of `others` has ended.
///
/// `child_ended` can be read when any child has ended. Other children are reaped: descendants whose parents have ended.
pub(super) fn supervise(
    child: Pid,
    child_ended: BorrowedFd<'_>,
    others: &[BorrowedFd<'_>],
) -> Option<i32> {
    loop {
        let mut found = None;
        while let Ok(Some((ended, status))) = wait(WaitOptions::NOHANG) {
            if ended == child {
                found = Some(status.as_raw());
            }
        }
        if found.is_some() {
            return found;
        }
        let mut events: Vec<_> = others
            .iter()
            .chain([&child_ended])
            .map(|event| PollFd::new(event, PollFlags::IN))
            .collect();
        // Interrupted by a signal: look again.
        let _ = poll(&mut events, None);
        if events[..others.len()].iter().any(|event| !event.revents().is_empty()) {
            return None;
        }
        // Clears the notification; which child ended is asked above.
        let _ = rustix::io::read(child_ended, &mut [0; 1024]);
    }
}

/// Reaps the children that `wait` waits for until there are none.
pub(super) fn wait_for_all(wait: impl Fn() -> Result<Option<(Pid, WaitStatus)>, Errno>) {
    while matches!(wait(), Ok(_) | Err(Errno::INTR)) {}
}
