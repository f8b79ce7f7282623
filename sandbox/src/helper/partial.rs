//! The partial level: no namespaces. The program is a child of the process that the host started.

use std::{fs, io, path::Path, thread, time::Duration};

use std::os::fd::{AsFd, OwnedFd};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{
        DumpableBehavior, PidfdFlags, Signal, getpgrp, getpid, kill_current_process_group,
        pidfd_open, set_dumpable_behavior, set_parent_process_death_signal, setpgid,
    },
};

use super::{
    supervise::{has_ended, supervise},
    task::Task,
};
use crate::{
    order::{During, Failure, HELPER_FAILED, Step},
    os,
};

/// Runs the program; returns its status.
pub(super) fn run(task: Task) -> Result<Option<i32>, Failure> {
    let step = Step::Process;
    // The group is what ends the descendants of the program.
    if getpgrp() != getpid() {
        setpgid(None, None).during(step, || "lead a process group".to_owned())?;
    }
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .during(step, || "protect its memory".to_owned())?;
    let this =
        pidfd_open(getpid(), PidfdFlags::empty()).during(step, || "watch itself".to_owned())?;
    let parent = std::env::temp_dir();
    let parent =
        fs::canonicalize(&parent).during(step, || format!("resolve {}", parent.display()))?;
    let tmp = parent.join(format!("evaluator-sandbox-{}", getpid()));
    let Some(keeper) = os::fork().during(step, || "start a process".to_owned())? else {
        keep(&tmp, &this);
    };
    // Out of the group it survives the signals to the group. Only then there is something to remove.
    setpgid(Some(keeper), Some(keeper)).during(step, || "make a process group".to_owned())?;
    make_temporary(&tmp).during(step, || format!("make {}", tmp.display()))?;
    let Some(program) = os::fork().during(step, || "start a process".to_owned())? else {
        let followed = set_parent_process_death_signal(Some(Signal::KILL));
        if followed.is_err() || has_ended(this.as_fd()) {
            os::exit(HELPER_FAILED);
        }
        task.start.run(&task.order, Some(&tmp))
    };
    os::close_standard_streams();
    let ended = supervise(program, task.child_ended.as_fd(), &[task.host.as_fd()]);
    if ended.is_none() {
        // The host has exited, so no other process kills the descendants. This kills this process, too.
        let _ = kill_current_process_group(Signal::KILL);
    }
    Ok(ended)
}

/// Makes a directory that belongs to this process: an id may have been used before.
fn make_temporary(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::DirBuilder::new().mode(0o700).create(path)
}

/// Attempts to remove the temporary directory while processes that are being killed still write to it.
const ATTEMPTS: u32 = 100;

/// Removes the temporary directory when outer has ended, however that happens.
fn keep(tmp: &Path, outer: &OwnedFd) -> ! {
    os::close_standard_streams();
    while poll(&mut [PollFd::new(outer, PollFlags::IN)], None).is_err() {}
    for _ in 0..ATTEMPTS {
        match fs::remove_dir_all(tmp) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                thread::sleep(Duration::from_millis(50));
            }
            _ => break,
        }
    }
    os::exit(0)
}
