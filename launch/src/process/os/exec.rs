//! Resource limits and signal dispositions, which a process gets between fork and exec.

#![expect(
    unsafe_code,
    reason = "no safe interface asks what is ignored, and little is safe between fork and exec"
)]

use std::{
    fs::File,
    io::{self, Read as _},
    mem::MaybeUninit,
    os::unix::process::CommandExt,
    path::Path,
    process::Command,
    ptr,
};

#[cfg(target_os = "linux")]
use rustix::process::prlimit;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, setrlimit};

use crate::process::Resources;

/// Signal of a process whose processor time is used up.
pub(in super::super) const CPU_TIME_IS_OVER: Option<i32> = Some(Signal::XCPU.as_raw());

/// The signal that cannot be caught.
pub(in super::super) const KILLED: Option<i32> = Some(Signal::KILL.as_raw());

/// The resource that is limited as memory.
const MEMORY: Resource = if cfg!(target_os = "linux") { Resource::Data } else { Resource::As };

/// Limits the program that the command starts.
///
/// To be called only if there is a limit: such a command is started by `fork` instead of `posix_spawn`, which costs
/// more the more memory this process has.
pub(in super::super) fn limit(command: &mut tokio::process::Command, resources: &Resources) {
    // Everything is computed here. The child only makes one system call for each limit.
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

/// Limits a process that runs already and has not started its program.
#[cfg(target_os = "linux")]
pub(in super::super) fn limit_running(process: Pid, resources: &Resources) -> io::Result<()> {
    limits_for(resources)
        .into_iter()
        .flatten()
        .try_for_each(|(resource, limit)| prlimit(Some(process), resource, limit).map(drop))
        .map_err(io::Error::from)
}

/// Refuses limits: only a process can limit itself here.
#[cfg(not(target_os = "linux"))]
pub(in super::super) fn limit_running(_process: Pid, resources: &Resources) -> io::Result<()> {
    if resources.is_unlimited() { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// Limits to set, bounded by those of this process, which its children inherit.
fn limits_for(resources: &Resources) -> [Option<(Resource, Rlimit)>; 3] {
    [
        (MEMORY, resources.memory.map(|bytes| (bytes, bytes))),
        // A program that ignores the signal is killed a second later.
        (Resource::Cpu, resources.cpu.map(|seconds| (seconds, seconds.saturating_add(1)))),
        (Resource::Nofile, resources.open_files.map(|files| (files, files))),
    ]
    .map(|(resource, wanted)| {
        wanted.map(|(soft, hard)| (resource, within(getrlimit(resource), soft, hard)))
    })
}

/// The limit to set, given the inherited one, which may be stricter.
fn within(present: Rlimit, soft: u64, hard: u64) -> Rlimit {
    let bounded = |wanted: u64| present.maximum.map_or(wanted, |maximum| wanted.min(maximum));
    Rlimit { current: Some(bounded(soft)), maximum: Some(bounded(hard)) }
}

/// Makes the program of the command start with no signal blocked and none ignored. Both are inherited: a program with
/// `CHLD` blocked does not notice the exit of its children, one that ignores it loses their exit codes, and one that ignores
/// `INT`, as programs in the background of a shell do, cannot be stopped by it. What `nohup` asks for is the matter of this
/// process: its programs lead groups of their own, which no terminal signals.
///
/// Changes the command only if something is blocked or ignored here, and returns true then: such a command is started by `fork`
/// instead of `posix_spawn`, which costs more the more memory this process has.
pub(crate) fn reset(command: &mut Command) -> bool {
    // The standard library ignores `PIPE` in this process, and resets it in each child.
    let ignored: Vec<_> =
        (1..=HIGHEST).filter(|it| *it != libc::SIGPIPE && is_ignored(*it)).collect();
    if !is_any_blocked() && ignored.is_empty() {
        return false;
    }
    let step = move || {
        let mut none = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: these functions may be called between fork and exec, and `none` is written before it is read.
        unsafe {
            for signal in &ignored {
                if libc::signal(*signal, libc::SIG_DFL) == libc::SIG_ERR {
                    return Err(io::Error::last_os_error());
                }
            }
            libc::sigemptyset(none.as_mut_ptr());
            // Returns an error number, which becomes an `io::Error` without allocation.
            match libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut()) {
                0 => Ok(()),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    };
    // SAFETY: the closure only makes system calls: it allocates nothing, takes no lock and cannot panic.
    unsafe { command.pre_exec(step) };
    true
}

/// Refuses a file that is no program and names no interpreter. To be called for a command that is started by `fork`: the standard
/// library then calls `execvp`, which lets `/bin/sh` run such a file, while `posix_spawn` refuses it. So whether it runs would
/// depend on limits and on what is ignored here.
///
/// # Errors
///
/// The one of `posix_spawn` if the file is a text without `#!`.
pub(super) fn refuse_text(command: &Command) -> io::Result<()> {
    let program = Path::new(command.get_program());
    // Other names are searched on PATH.
    if !program.is_absolute() || !program.is_file() {
        return Ok(());
    }
    // A program may be executable and unreadable.
    let Ok(mut file) = File::open(program) else { return Ok(()) };
    let mut start = [0; 256];
    let length = file.read(&mut start)?;
    if start[..length].starts_with(b"#!") || start[..length].contains(&0) {
        return Ok(());
    }
    Err(io::Error::from_raw_os_error(libc::ENOEXEC))
}

/// Unblocks `CHLD` for this thread, so that the exit of a process is noticed at once. To be called when something
/// listens to it.
pub(super) fn unblock_child_signal() {
    let mut child = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is written before it is read. Errors are impossible with these arguments.
    unsafe {
        libc::sigemptyset(child.as_mut_ptr());
        libc::sigaddset(child.as_mut_ptr(), libc::SIGCHLD);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, child.as_ptr(), ptr::null_mut());
    }
}

/// Returns true if this thread blocks any signal.
fn is_any_blocked() -> bool {
    let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: without a new mask this only writes the current one, unless it fails.
    let mask = unsafe {
        if libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), mask.as_mut_ptr()) != 0 {
            return false;
        }
        mask.assume_init()
    };
    // SAFETY: the mask is initialized. Numbers that are not signals are an error (-1), not a member.
    (1..=HIGHEST).any(|signal| unsafe { libc::sigismember(&raw const mask, signal) } == 1)
}

/// No system has signals beyond this number.
const HIGHEST: libc::c_int = 128;

fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action this only writes the current one, unless it fails.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
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
