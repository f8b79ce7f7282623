//! What programs inherit of signals: which are blocked, and which are ignored.
//!
//! Both outlive the start of another program. A parent that blocks or ignores signals for reasons of its own would decide
//! how evaluators behave: one that blocks `CHLD` keeps them from noticing that a process of theirs has exited, one that
//! ignores it makes the exit codes of such processes unknown.

#![expect(
    unsafe_code,
    reason = "no safe interface asks what is ignored, and little is safe between fork and exec"
)]

use std::{io, mem::MaybeUninit, os::unix::process::CommandExt, process::Command, ptr};

/// Signals that are not ignored by what is started here, whoever ignores them: those by which programs learn of the exit of
/// their own processes, are asked to end, and are told that their processor time is used up. `HUP`, `INT` and `QUIT` stay as
/// they are: `nohup` and shells ignore them on behalf of programs.
const DEFAULT: [libc::c_int; 3] = [libc::SIGCHLD, libc::SIGTERM, libc::SIGXCPU];

/// Has the program that the command starts begin with no signal blocked, and with the default actions of the
/// signals in [`DEFAULT`].
///
/// Changes the command only where something is blocked or ignored here: a command with such a step is started by `fork`
/// instead of `posix_spawn`, which costs more the more memory this process has.
pub fn reset(command: &mut Command) {
    if !is_any_blocked() && !DEFAULT.iter().any(|signal| is_ignored(*signal)) {
        return;
    }
    let step = || {
        let mut none = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: all of these may be called between fork and exec, and `none` is written before it is read.
        unsafe {
            for signal in DEFAULT {
                if libc::signal(signal, libc::SIG_DFL) == libc::SIG_ERR {
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
    // SAFETY: the closure makes system calls and nothing else: it allocates nothing, takes no lock and cannot panic.
    unsafe { command.pre_exec(step) };
}

/// Lets `CHLD` reach this thread, so that the exit of a process is noticed at once, and not when it is looked for. To be
/// called when something listens to it.
pub(super) fn unblock_child_signal() {
    let mut child = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is written before it is read. Errors are impossible with these arguments.
    unsafe {
        libc::sigemptyset(child.as_mut_ptr());
        libc::sigaddset(child.as_mut_ptr(), libc::SIGCHLD);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, child.as_ptr(), ptr::null_mut());
    }
}

/// Whether this thread blocks any signal.
fn is_any_blocked() -> bool {
    let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: without a new mask this only writes the present one, and does so unless it fails.
    let mask = unsafe {
        if libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), mask.as_mut_ptr()) != 0 {
            return false;
        }
        mask.assume_init()
    };
    // SAFETY: the mask is initialized. Numbers that are no signal are an error (-1), not a member.
    (1..=HIGHEST).any(|signal| unsafe { libc::sigismember(&raw const mask, signal) } == 1)
}

/// No system has signals beyond this number.
const HIGHEST: libc::c_int = 128;

fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action this only writes the present one, and does so unless it fails.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}
