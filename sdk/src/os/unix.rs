//! File descriptors and fatal signals.

#![expect(unsafe_code, reason = "the standard library has neither dup2 nor signal handlers")]

use std::{
    fs::File,
    io::{self, Write},
    mem,
    os::fd::AsFd,
    ptr,
    sync::atomic::{AtomicUsize, Ordering},
};

use libc::{c_int, c_void, siginfo_t};

use crate::exit;

/// Takes standard output for the answer alone: what is printed from now on, by this program or by those it starts,
/// goes to standard error.
pub(crate) fn claim_stdout() -> io::Result<impl Write> {
    // The duplicate is closed on exec, so that no child of the evaluator can hold the host's pipe open.
    let answer = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // SAFETY: both descriptors are open for as long as the process lives; dup2 has no other requirements.
    if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(answer)
}

/// The signals that a crash ends in, with what is said about them.
const FATAL: [(c_int, &str); 7] = [
    (libc::SIGABRT, "error: the evaluator crashed: aborted (SIGABRT)\n"),
    (libc::SIGSEGV, "error: the evaluator crashed: invalid memory access (SIGSEGV)\n"),
    (libc::SIGBUS, "error: the evaluator crashed: invalid memory access (SIGBUS)\n"),
    (libc::SIGILL, "error: the evaluator crashed: illegal instruction (SIGILL)\n"),
    (libc::SIGFPE, "error: the evaluator crashed: arithmetic error (SIGFPE)\n"),
    (libc::SIGTRAP, "error: the evaluator crashed: breakpoint (SIGTRAP)\n"),
    (libc::SIGSYS, "error: the evaluator crashed: forbidden system call (SIGSYS)\n"),
];

/// The handlers that were there before, in the order of [`FATAL`]; 0 where there was none.
static PREVIOUS: [AtomicUsize; FATAL.len()] = [const { AtomicUsize::new(0) }; FATAL.len()];

type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// Turns death by a signal into a message and an exit code: there are hosts that take a signal for a pass.
///
/// A signal that cannot be handled is left as it is.
pub(crate) fn report_fatal_signals() {
    ensure_alternate_stack();
    for ((signal, _), slot) in FATAL.iter().zip(&PREVIOUS) {
        // SAFETY: all-zero is a valid `sigaction` (no handler, empty mask); the pointers are to live locals; the
        // handler only does what is allowed in one.
        unsafe {
            let mut previous: libc::sigaction = mem::zeroed();
            if libc::sigaction(*signal, ptr::null(), &mut previous) == -1 {
                continue;
            }
            let has_handler = previous.sa_flags & libc::SA_SIGINFO != 0
                && previous.sa_sigaction != libc::SIG_DFL
                && previous.sa_sigaction != libc::SIG_IGN;
            // Stored before the handler that reads it is in place.
            slot.store(if has_handler { previous.sa_sigaction } else { 0 }, Ordering::Relaxed);
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = on_fatal as Handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(*signal, &action, ptr::null_mut());
        }
    }
}

extern "C" fn on_fatal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let known = FATAL.iter().position(|(fatal, _)| *fatal == signal);
    let message = known.map_or("error: the evaluator crashed\n", |index| FATAL[index].1);
    let previous = known.map_or(0, |index| PREVIOUS[index].load(Ordering::Relaxed));
    // SAFETY: write and _exit are async-signal-safe. A non-zero `previous` is a handler of three arguments that was
    // installed for this signal, and it gets the very arguments the kernel gave us.
    unsafe {
        if previous != 0 {
            // Rust's own handler says which thread overflowed its stack and aborts, which comes back here as SIGABRT.
            // For any other fault it returns.
            mem::transmute::<usize, Handler>(previous)(signal, info, context);
        }
        libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
        libc::_exit(c_int::from(exit::CRASHED));
    }
}

/// Handlers need a stack when it is the stack that overflowed. Rust gives every thread of its own one, but not where
/// another handler was there before it.
fn ensure_alternate_stack() {
    const SIZE: usize = 64 << 10;
    // SAFETY: all-zero is a valid `stack_t`; the pointers are to live locals; the new stack is never freed.
    unsafe {
        let mut current: libc::stack_t = mem::zeroed();
        if libc::sigaltstack(ptr::null(), &mut current) == -1
            || current.ss_flags & libc::SS_DISABLE == 0
        {
            return;
        }
        let stack = Box::leak(vec![0_u8; SIZE].into_boxed_slice());
        let stack =
            libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
        libc::sigaltstack(&stack, ptr::null_mut());
    }
}
