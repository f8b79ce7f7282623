//! Limits that a process gets before it becomes its program.

#![expect(
    unsafe_code,
    reason = "between fork and exec only some calls are safe, which the compiler cannot check"
)]

use std::io;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tokio::process::Command;

#[cfg(target_os = "linux")]
use rustix::process::{Pid, prlimit};

use super::super::Resources;

/// The signal a process gets when its processor time is used up.
pub(in super::super) const CPU_TIME_IS_OVER: Option<i32> = Some(Signal::XCPU.as_raw());

/// The signal that cannot be caught.
pub(in super::super) const KILLED: Option<i32> = Some(Signal::KILL.as_raw());

/// What counts against the limit of memory.
const MEMORY: Resource = if cfg!(target_os = "linux") { Resource::Data } else { Resource::As };

/// Limits the program that the command starts.
///
/// To be asked for only where there is a limit: a command with such a step is started by `fork` instead of `posix_spawn`, which costs
/// more the more memory this process has.
pub(in super::super) fn limit(command: &mut Command, resources: &Resources) {
    // Everything is computed here. What is left for the child is one system call for each.
    let limits = limits_for(resources);
    let set = move || {
        limits
            .iter()
            .flatten()
            .try_for_each(|(resource, limit)| setrlimit(*resource, *limit))
            .map_err(io::Error::from)
    };
    // SAFETY: the closure makes system calls and nothing else: it allocates nothing, takes no lock and cannot panic. An
    // error number becomes an `io::Error` without allocation.
    unsafe { command.pre_exec(set) };
}

/// Limits a process that runs already and has not yet begun with its program.
#[cfg(target_os = "linux")]
pub(in super::super) fn limit_running(process: Pid, resources: &Resources) -> io::Result<()> {
    limits_for(resources)
        .into_iter()
        .flatten()
        .try_for_each(|(resource, limit)| prlimit(Some(process), resource, limit).map(drop))
        .map_err(io::Error::from)
}

/// What is to be set, no looser than it is here: what we start has inherited that.
fn limits_for(resources: &Resources) -> [Option<(Resource, Rlimit)>; 3] {
    [
        (MEMORY, resources.memory.map(|bytes| (bytes, bytes))),
        // A program that does not mind being told is killed a second later.
        (Resource::Cpu, resources.cpu.map(|seconds| (seconds, seconds.saturating_add(1)))),
        (Resource::Nofile, resources.open_files.map(|files| (files, files))),
    ]
    .map(|(resource, wanted)| {
        wanted.map(|(soft, hard)| (resource, within(getrlimit(resource), soft, hard)))
    })
}

/// The limit to set where one is set already, which may be stricter.
fn within(present: Rlimit, soft: u64, hard: u64) -> Rlimit {
    let bounded = |wanted: u64| present.maximum.map_or(wanted, |maximum| wanted.min(maximum));
    Rlimit { current: Some(bounded(soft)), maximum: Some(bounded(hard)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stricter_limit_stays() {
        let present = |maximum| Rlimit { current: Some(1), maximum };
        let limit = |soft, hard| Rlimit { current: Some(soft), maximum: Some(hard) };
        assert_eq!(within(present(None), 5, 6), limit(5, 6));
        assert_eq!(within(present(Some(10)), 5, 6), limit(5, 6));
        assert_eq!(within(present(Some(3)), 5, 6), limit(3, 3));
    }
}
