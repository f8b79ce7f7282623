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

/// Reserves standard output for the answer: later output of this program and of its child processes
/// is redirected to standard error.
pub(crate) fn claim_stdout() -> io::Result<impl Write> {
    // The duplicate is closed on exec, so that no child of the evaluator can hold the host's pipe open.
    let answer = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // SAFETY: both descriptors are open for as long as the process lives; dup2 has no other requirements.
    if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(answer)
}

/// The signals of crashes, with their messages.
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
    use_larger_signal_stack();
    for ((signal, _), slot) in FATAL.iter().zip(&PREVIOUS) {
        // SAFETY: all-zero is a valid `sigaction` (no handler, empty mask); the pointers are to live locals; the
        // handler only calls async-signal-safe functions.
        let previous = unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = on_fatal as Handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            let mut previous: libc::sigaction = mem::zeroed();
            if libc::sigaction(*signal, &action, &mut previous) == -1 {
                continue;
            }
            previous
        };
        let has_handler = previous.sa_flags & libc::SA_SIGINFO != 0
            && previous.sa_sigaction != libc::SIG_DFL
            && previous.sa_sigaction != libc::SIG_IGN;
        // A crash before this line lacks only the message of the previous handler.
        slot.store(if has_handler { previous.sa_sigaction } else { 0 }, Ordering::Relaxed);
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

/// Gives the main thread a stack for handlers that has room for two of them: the one for an overflow of its stack, and
/// the one for the abort that follows Rust's message about it. Rust's own signal stacks, which the other threads keep, may be
/// hardly larger than what the kernel saves on processors with wide registers.
fn use_larger_signal_stack() {
    const SIZE: usize = 64 << 10;
    // SAFETY: a new anonymous mapping touches nothing that exists. It is never unmapped, so the stack stays valid for as
    // long as the thread lives; the pointer is to a live local.
    unsafe {
        let memory = libc::mmap(
            ptr::null_mut(),
            SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANON,
            -1,
            0,
        );
        if memory != libc::MAP_FAILED {
            let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: SIZE };
            libc::sigaltstack(&stack, ptr::null_mut());
        }
    }
}
